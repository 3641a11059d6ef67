using Test
using PlanRank
using PlanRank: noperators, nwords

isdefined(Main, :RandomTasks) || include("random_tasks.jl")
isdefined(Main, :Searching) || include("searching.jl")
using .RandomTasks, .Searching

const ENTRY_SEARCHES = (:gbfs, :astar, :wastar)

"Any function of state and operator. Without `ties` no two are equal."
function some_entry_value(state, operator, ties)
    value = 20 * (hash((state, Int(operator))) / typemax(UInt)) - 10
    Float32(ties ? round(value / 4) : value)
end

function insert_entry_values(search, ties)
    values = Float32[]
    for id in search.first_waiting:search.store.count
        _, operators = PlanRank.operators_of(search.rule.rows, id, id)
        append!(values, [some_entry_value(facts_of_state(search, id), o, ties) for o in operators])
    end
    PlanRank.insert_entries!(search, values)
end

"The states in the order they are evaluated."
function evaluations(search, ties; batch = 1)
    order = []
    while PlanRank.expand!(search, batch) > 0
        append!(order, waiting_states(search))
        insert_entry_values(search, ties)
    end
    order
end

"Best-first search over entries by its definition, with a list for the open list; ties are not looked after."
function reference_evaluations(task, alpha, beta, reopen)
    initial = sort(task.init)
    is_goal_state(task, initial) && return []
    g, entries, order = Dict(initial => 0), [], [initial]
    applicable(state) = [o for o in 1:noperators(task) if is_applicable(task, state, o)]
    open_all!(state) = append!(entries, [(state, o) for o in applicable(state)])
    untouched = Set([initial])
    open_all!(initial)
    f((state, o)) = alpha * (g[state] + task.op_cost[o]) + beta * some_entry_value(state, o, false)
    while !isempty(entries)
        state, o = popat!(entries, argmin(map(f, entries)))
        delete!(untouched, state)
        child, cost = successor(task, state, o), g[state] + task.op_cost[o]
        if !haskey(g, child)
            g[child] = cost
            is_goal_state(task, child) && return order
            push!(order, child)
            push!(untouched, child)
            open_all!(child)
        elseif cost < g[child] && (child in untouched || reopen)
            g[child] = cost
            child in untouched && continue
            filter!(entry -> entry[1] != child, entries)
            push!(untouched, child)
            open_all!(child)
        end
    end
    order
end

@testset "order of evaluations is that of the definition" begin
    compared = 0
    for seed in 1:150, (name, alpha, beta) in ((:gbfs, 0, 1), (:astar, 1, 1), (:wastar, 1, 3)), reopen in (false, true)
        task = random_task(seed)
        search = PlanRank.make_search(task, name; entries = true, reopen, weight = 3)
        expected = reference_evaluations(task, alpha, beta, reopen)
        @test evaluations(search, false) == expected
        @test search.evaluated == length(expected)
        compared += length(expected) > 5
    end
    @test compared > 100
end

@testset "plans of searches over entries are plans" begin
    for seed in 1:80, name in ENTRY_SEARCHES, batch in (1, 4), ties in (PlanRank.TIES..., nothing)
        task = random_task(seed)
        search = PlanRank.make_search(task, name; entries = true, ties, seed)
        order = evaluations(search, true; batch)
        @test allunique(order)
        check_outcome(search)
    end
end

@testset "A* over entries with exact values finds optimal plans without detours" begin
    # The value of an entry is what it costs to the goal from the state it leads to.
    for seed in 1:60
        task = random_graph(seed)
        best = cheapest_plan_cost(task)
        (best === nothing || best == 0) && continue
        exact(state) = something(cheapest_plan_cost(task, state), Inf)
        search = PlanRank.make_search(task, :astar; entries = true)
        while PlanRank.expand!(search) > 0
            values = Float32[]
            for id in search.first_waiting:search.store.count
                _, operators = PlanRank.operators_of(search.rule.rows, id, id)
                append!(values, [exact(successor(task, facts_of_state(search, id), o)) for o in operators])
            end
            PlanRank.insert_entries!(search, values)
        end
        @test replay_cost(task, PlanRank.plan(search)) == best
    end
end

@testset "ties among the entries of one state" begin
    # Operators 1 to 4 lead from fact 1 to four states of equal value.
    operators = [([1], [f], [1], 1) for f in 2:5]
    task = small_task(nfacts = 6, init = [1], goal = [6], operators = operators)
    function taken(ties, seed = 0)
        search = PlanRank.make_search(task, :gbfs; entries = true, ties, seed)
        PlanRank.expand!(search)
        PlanRank.insert_entries!(search, zeros(Float32, 4))
        found = Int32[]
        while PlanRank.expand!(search) > 0
            push!(found, only(only(waiting_states(search))))
            PlanRank.insert_entries!(search, Float32[])
        end
        found
    end
    @test sort(taken(:newest)) == 2:5
    @test taken(:newest) == taken(:h_newest) == reverse(taken(:oldest)) == reverse(taken(:h_oldest))
    @test length(unique(taken(:random, seed) for seed in 1:20)) > 5
    @test taken(:random, 3) == taken(:random, 3)
end

@testset "deferred evaluation: a value of the state stands for its entries" begin
    for seed in 1:60, heuristic in (:ff, :goalcount, :blind), name in ENTRY_SEARCHES
        task = random_task(seed)
        search = PlanRank.make_search(task, name; entries = true)
        while PlanRank.run!(search, PlanRank.make_heuristic(task, heuristic); seconds = 1.0) === :running
        end
        solvable = cheapest_plan_cost(task) !== nothing
        @test search.status === (solvable ? :solved : :exhausted)
        solvable && @test has_right_plan(search)
        solvable || heuristic === :ff || @test PlanRank.proved_unsolvable(search)
    end
end

@testset "what a search over entries refuses, and what it keeps" begin
    task = small_task(nfacts = 3, init = [1], goal = [3], operators = [([1], [2], [], 1), ([2], [3], [], 1)])
    fresh(entries = true) = (search = PlanRank.make_search(task, :gbfs; entries); PlanRank.expand!(search); search)
    @test_throws PlanRank.PlanRankError PlanRank.insert_entries!(fresh(), Float32[1, 2])
    @test_throws PlanRank.PlanRankError PlanRank.insert_entries!(fresh(), Float32[])
    @test_throws PlanRank.PlanRankError PlanRank.insert_entries!(fresh(), Float32[NaN])
    @test_throws PlanRank.PlanRankError PlanRank.insert_entries!(fresh(false), Float32[1])
    @test_throws PlanRank.PlanRankError PlanRank.make_search(task, :bfs; entries = true)
    @test_throws PlanRank.PlanRankError PlanRank.make_search(task, :phs; entries = true)

    dead = fresh()
    PlanRank.insert_entries!(dead, Float32[Inf])
    @test PlanRank.expand!(dead) == 0 && dead.status === :exhausted && !PlanRank.proved_unsolvable(dead)

    search = fresh()
    PlanRank.insert_entries!(search, Float32[1])
    # Offsets of two rows, an entry of four bytes for the operator and four for the value, and how many are taken.
    @test PlanRank.bytes(search.rule) == 2 * 8 + (4 + 4) + 4
    @test PlanRank.bytes(search.open) == sizeof(PlanRank.HeapEntry) == 24
    PlanRank.release!(search)
    @test PlanRank.bytes(search.rule) == 0
end
