using Test
using PlanRank
using PlanRank: noperators, nwords

isdefined(Main, :RandomTasks) || include("random_tasks.jl")
isdefined(Main, :Searching) || include("searching.jl")
using .RandomTasks, .Searching

const RULES = (:phs, :levints)

"Any function of state and operator, as logarithms of probabilities over the operators given."
function some_policy(state, operators, sharpness)
    scores = [sharpness * sin(3.0 * o + sum(state; init = 0)) for o in operators]
    Float32.(scores .- log(sum(exp, scores; init = 0.0)))
end

"Sometimes negative, sometimes equal for several states."
some_value(state) = Float32(10 * (sum(state; init = 0) % 7 - 2))

"Values and policies of the waiting states as Python hands them in."
function evaluate_waiting(search, sharpness)
    values, logs = Float32[], Float32[]
    for (i, state) in enumerate(waiting_states(search))
        id = search.first_waiting + i - 1
        operators = last(PlanRank.operators_of(search.rule.rows, id, id))
        @test sort(operators) == [o for o in 1:noperators(search.task) if is_applicable(search.task, state, o)]
        push!(values, some_value(state))
        append!(logs, some_policy(state, operators, sharpness))
    end
    PlanRank.insert_with_policy!(search, values, logs)
end

mutable struct Path
    g::Int
    log_probability::Float64
end

"Best-first search by the definition, with a list for the open list and no reopening."
function reference_expansions(task, name, sharpness)
    value(state) = name === :phs ? max(Float64(some_value(state)), 0.0) : 0.0
    order_of(path, h) = log(path.g + 1.0 + h) - path.log_probability * (1 + h / (path.g + 1.0))
    initial = sort(task.init)
    paths, open, order = Dict(initial => Path(0, 0.0)), [initial], []
    generator = PlanRank.SuccessorGenerator(task)
    while !isempty(open)
        best = argmin([(order_of(paths[s], value(s)), some_value(s), -i) for (i, s) in enumerate(open)])
        state = open[best]
        deleteat!(open, best)
        is_goal_state(task, state) && return order
        push!(order, state)
        applicable = PlanRank.applicable_operators!(Int32[], generator, PlanRank.pack_facts(state, nwords(task)), 0)
        logs = some_policy(state, sort(applicable), sharpness)
        siblings = []
        for operator in reverse(applicable)
            next = successor(task, state, operator)
            step = name === :levints ? 1 : Int(task.op_cost[operator])
            chance = logs[findfirst(==(operator), sort(applicable))]
            found = Path(paths[state].g + step, paths[state].log_probability + chance)
            if !haskey(paths, next)
                paths[next] = found
                push!(open, next)
                push!(siblings, next)
            elseif next in open && order_of(found, 0.0) < order_of(paths[next], 0.0)
                if next in siblings
                    paths[next] = found
                elseif order_of(found, value(next)) < order_of(paths[next], value(next))
                    paths[next] = found
                    push!(deleteat!(open, findfirst(==(next), open)), next)
                end
            end
        end
    end
    order
end

@testset "priorities are those of the papers" begin
    task = small_task(nfacts = 2, init = [1], goal = [2], operators = [([1], [2], [], 3)])
    phs, levints = PlanRank.PolicyRule(task, true), PlanRank.PolicyRule(task, false)
    for g in (0, 1, 7, 1000), probability in (1.0, 0.3, 1e-4), h in (0.0, 0.5, 12.0)
        cost = g + 1
        @test exp(PlanRank.path_priority(phs, g, log(probability), Float32(h))) ≈
            (cost + h) / probability^(1 + h / cost)
        @test exp(PlanRank.path_priority(levints, g, log(probability), Float32(h))) ≈ cost / probability
        @test PlanRank.path_priority(phs, g, log(probability), -3.0f0) ==
            PlanRank.path_priority(phs, g, log(probability), 0.0f0)
    end
    @test isfinite(PlanRank.path_priority(phs, 5, -1e6, 1.0f4))     # a probability far too small for a float
end

@testset "order of policy-guided expansions" begin
    compared = 0
    for seed in 1:60, name in RULES, sharpness in (0.0, 0.3, 4.0)
        task = random_task(seed; conditional = false)
        expected = reference_expansions(task, name, sharpness)
        @test expansions(search -> evaluate_waiting(search, sharpness), PlanRank.make_search(task, name)) == expected
        compared += length(expected) > 5
    end
    @test compared > 60
end

@testset "plans of policy-guided search are plans" begin
    for seed in 1:60, name in RULES, batch in (1, 4), reopen in (false, true)
        task = random_task(seed)
        search = PlanRank.make_search(task, name; reopen)
        while PlanRank.expand!(search, batch) > 0
            evaluate_waiting(search, 2.0)
        end
        check_outcome(search)
    end
end

# A detour lowers the priority of PHS*, yet no path may lead over its own end: the plan would have no end.
@testset "paths never loop" begin
    circle = [([f], [f % 4 + 1], [f], 1) for f in 1:4]
    task = small_task(nfacts = 5, init = [1], goal = [5], operators = [circle; [([2], [5], [2], 1)]])
    for name in RULES
        search = PlanRank.make_search(task, name; reopen = true)
        while (n = PlanRank.expand!(search, 1)) > 0
            from, to = search.first_waiting, search.store.count
            rows = [last(PlanRank.operators_of(search.rule.rows, id, id)) for id in from:to]
            logs_of(row) = length(row) == 2 ? Float32[o == 5 ? log(0.001) : log(0.999) for o in row] :
                           zeros(Float32, length(row))
            PlanRank.insert_with_policy!(search, fill(100.0f0, n), reduce(vcat, map(logs_of, rows)))
        end
        @test PlanRank.plan(search) == [1, 5]
        @test search.reopened == 0
    end
end

@testset "what policy-guided search refuses" begin
    task = small_task(nfacts = 3, init = [1], goal = [3], operators = [([1], [2], [], 1), ([2], [3], [], 1)])
    fresh(name = :phs) = (search = PlanRank.make_search(task, name); PlanRank.expand!(search); search)
    refuses(arguments...; search = fresh()) =
        @test_throws PlanRank.PlanRankError PlanRank.insert_with_policy!(search, arguments...)
    refuses(Float32[1, 2], Float32[0])
    refuses(Float32[1], Float32[0, 0])
    refuses(Float32[1], Float32[])
    refuses(Float32[1], Float32[NaN])
    refuses(Float32[NaN], Float32[0])
    refuses(Float32[1], Float32[0]; search = fresh(:gbfs))
    @test_throws PlanRank.PlanRankError insert!(fresh(), Float32[1])
    @test_throws PlanRank.PlanRankError PlanRank.run!(fresh(), PlanRank.make_heuristic(task, :ff))
end

@testset "memory of policies" begin
    task = small_task(nfacts = 2, init = [1], goal = [2], operators = [([1], [2], [], 1)])
    search = PlanRank.make_search(task, :phs)
    PlanRank.expand!(search)
    PlanRank.insert_with_policy!(search, Float32[1], Float32[0])
    @test PlanRank.bytes(search.rule) == 8 + 2 * 8 + 4 + 4
    @test PlanRank.memory_bytes(search) == sum(PlanRank.bytes, (search.rule, search.store, search.open))
    PlanRank.release!(search)
    @test PlanRank.bytes(search.rule) == 0
end
