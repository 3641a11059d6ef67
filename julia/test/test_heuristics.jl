using Test
using PlanRank
using PlanRank: row, nwords, noperators

isdefined(Main, :RandomTasks) || include("random_tasks.jl")
isdefined(Main, :Searching) || include("searching.jl")
isdefined(Main, :Texts) || include("texts.jl")
using .RandomTasks, .Searching, .Texts

"hmax or hadd by its definition: a fixpoint over literals, an operator at a time."
function fixpoint(task, state, combine)
    cost = Dict{Tuple{Int,Bool},Float64}()
    for f in 1:PlanRank.nfacts(task)
        cost[(f, f in state)] = 0.0
        cost[(f, !(f in state))] = Inf
    end
    needs(pre, neg) = combine([[cost[(f, true)] for f in unique(pre)]; [cost[(f, false)] for f in unique(neg)]])
    rules = []
    for o in 1:noperators(task)
        pre, neg = row(task.pre, o), row(task.neg, o)
        push!(rules, (pre, neg, row(task.add, o), row(task.del, o), task.op_cost[o]))
        for c in task.cond_offsets[o]:task.cond_offsets[o+1]-1
            push!(rules, ([pre; row(task.cond_pre, c)], [neg; row(task.cond_neg, c)], row(task.cond_add, c),
                row(task.cond_del, c), task.op_cost[o]))
        end
    end
    changed = true
    while changed
        changed = false
        for (pre, neg, add, del, own) in rules
            reached = own + needs(pre, neg)
            for key in [[(Int(f), true) for f in add]; [(Int(f), false) for f in del]]
                if reached < cost[key]
                    cost[key] = reached
                    changed = true
                end
            end
        end
    end
    minimum(needs(row(task.goal_pos, r), row(task.goal_neg, r)) for r in 1:length(task.goal_pos))
end

largest(values) = maximum(values; init = 0.0)
total(values) = sum(values; init = 0.0)
optimal(task, state) = (cost = cheapest_plan_cost(task, state); cost === nothing ? Inf : Float64(cost))

@testset "hmax and hadd are their definitions; dead ends agree" begin
    for seed in 1:150
        task = random_task(seed)
        hmax, hadd, ff = [PlanRank.make_heuristic(task, name) for name in (:hmax, :hadd, :ff)]
        for state in some_states(task, seed)
            value(h) = evaluate_facts(h, task, state)
            @test value(hmax) == fixpoint(task, state, largest)
            @test value(hadd) == fixpoint(task, state, total)
            @test isinf(value(ff)) == isinf(value(hadd))
            @test value(ff) <= value(hadd)
            # one operator pays once for all its conditional effects, also where one of them needs another
            PlanRank.has_conditional_effects(task) || @test value(hmax) <= value(ff)
        end
    end
end

@testset "blind <= hmax <= lmcut <= h*" begin
    for seed in 1:150
        task = random_task(seed; conditional = false)
        blind, hmax, lmcut, goalcount =
            [PlanRank.make_heuristic(task, name) for name in (:blind, :hmax, :lmcut, :goalcount)]
        for state in some_states(task, seed)[1:3:end]
            value(h) = evaluate_facts(h, task, state)
            best = optimal(task, state)
            @test value(blind) <= value(hmax) <= value(lmcut) <= best
            @test isinf(value(hmax)) == isinf(value(lmcut))
            is_goal_state(task, state) && @test value(blind) == 0
            @test (value(goalcount) == 0) == is_goal_state(task, state)
        end
    end
end

@testset "lmcut counts disjoint landmarks" begin
    chain = small_task(nfacts = 4, init = [1], goal = [4],
        operators = [([1], [2], [], 3), ([2], [3], [], 0), ([3], [4], [], 4)])
    @test evaluate_facts(PlanRank.make_heuristic(chain, :lmcut), chain, [1]) == 7
    apart = small_task(nfacts = 3, init = [1], goal = [2, 3], operators = [([1], [2], [], 3), ([1], [3], [], 4)])
    @test evaluate_facts(PlanRank.make_heuristic(apart, :lmcut), apart, [1]) == 7
    @test evaluate_facts(PlanRank.make_heuristic(apart, :hmax), apart, [1]) == 4
end

@testset "lmcut refuses conditional effects by name" begin
    task = random_task(3; conditional = true)
    error = error_of(() -> PlanRank.make_heuristic(task, :lmcut))
    @test error isa PlanRank.PlanRankError && error.kind === :unsupported
    @test occursin("lmcut", error.message) && occursin("conditional effects", error.message)
end

@testset "large sums do not wrap" begin
    doubling = [([f, f + 30], [f + 1, f + 31], [], 1) for f in 1:29]        # hadd doubles with every step
    task = small_task(nfacts = 60, init = [1, 31], goal = [30, 60], operators = [doubling; [([1], [31], [], 1 << 30)]])
    hadd = PlanRank.make_heuristic(task, :hadd)
    @test 2.0^29 < evaluate_facts(hadd, task, [1, 31]) < 2.0^32
    @test evaluate_facts(hadd, task, [1]) > 2.0^29
    dear = small_task(nfacts = 3, init = [1], goal = [3],
        operators = [([1], [2], [], typemax(Int32)), ([2], [3], [], typemax(Int32))])
    for name in (:hmax, :hadd, :lmcut)
        @test 0 < evaluate_facts(PlanRank.make_heuristic(dear, name), dear, [1]) < Inf
    end
end

@testset "costs beyond the cap are the cap" begin
    cap = Float64(PlanRank.COST_CAP)
    at_most(value) = isinf(value) ? value : min(value, cap)
    for seed in 1:150
        task = with_costs(cost -> min(Int(cost) << 28, typemax(Int32)), random_task(seed; conditional = false))
        hmax, hadd, ff, lmcut = [PlanRank.make_heuristic(task, name) for name in (:hmax, :hadd, :ff, :lmcut)]
        for state in some_states(task, seed)
            value(h) = evaluate_facts(h, task, state)
            @test value(hmax) == at_most(fixpoint(task, state, largest))
            @test value(hadd) == at_most(fixpoint(task, state, total))
            @test value(hmax) <= value(lmcut) <= optimal(task, state)
            @test value(hmax) <= value(ff) && isinf(value(ff)) == isinf(value(hmax))
        end
    end
end

@testset "up to 60,000 preconditions" begin
    n = PlanRank.MOST_PRECONDITIONS
    for cost in (1, typemax(Int32))
        task = small_task(nfacts = n + 2, init = [1], goal = [n + 2],
            operators = [([1], 2:n+1, [], cost), (2:n+1, [n + 2], [], 1)])
        limit = Int(PlanRank.COST_CAP)
        @test evaluate_facts(PlanRank.make_heuristic(task, :hadd), task, [1]) == min(n * Int(cost) + 1, limit)
        @test evaluate_facts(PlanRank.make_heuristic(task, :hmax), task, [1]) == min(Int(cost) + 1, limit)
        for name in (:ff, :lmcut)
            @test evaluate_facts(PlanRank.make_heuristic(task, name), task, [1]) == Int(cost) + 1
        end
    end
end

evaluations(heuristic, words, n) = sum(_ -> PlanRank.evaluate(heuristic, words, 0), 1:n)

@testset "no allocation in the hot loop" begin
    task = random_task(1; conditional = false)
    packed = PlanRank.pack_facts(task.init, nwords(task))
    for name in (:blind, :goalcount, :hmax, :hadd, :ff, :lmcut)
        heuristic = PlanRank.make_heuristic(task, name)
        evaluations(heuristic, packed, 10)
        @test @allocated(evaluations(heuristic, packed, 1000)) < 1000
    end
end
