using Test, Random
using PlanRank
using PlanRank: Windows, improve!, needed_steps, noperators, nwords

isdefined(Main, :RandomTasks) || include("random_tasks.jl")
using .RandomTasks

"The goal reached by chance, after wandering about; nothing if it is not."
function found_by_chance(task, rng)
    state, steps = task.init, Int32[]
    while length(steps) < 50
        is_goal_state(task, state) && return steps
        applicable = Int32[o for o in 1:noperators(task) if is_applicable(task, state, o)]
        isempty(applicable) && return nothing
        push!(steps, rand(rng, applicable))
        state = successor(task, state, steps[end])
    end
    nothing
end

tasks_and_plans(seeds) = ((task, plan) for seed in seeds for task in (random_task(seed), random_graph(seed))
    for plan in (found_by_chance(task, MersenneTwister(seed)),) if plan !== nothing)

@testset "plans become cheaper step by step, until it is proved that they are the cheapest" begin
    plans, cheaper, conditional = 0, 0, 0
    for (task, plan) in tasks_and_plans(1:300)
        windows = Windows(task, plan)
        cost = replay_cost(task, plan)
        while (found = improve!(windows; seconds = 10)) === :cheaper
            @test replay_cost(task, windows.plan) < cost
            cost = replay_cost(task, windows.plan)
            cheaper += 1
            conditional += PlanRank.has_conditional_effects(task)
        end
        @test found === :optimal
        @test cost == replay_cost(task, windows.plan) == cheapest_plan_cost(task)
        plans += 1
    end
    @test plans > 100 && cheaper > 100 && conditional > 20
end

"Switches in a row, each turned on, off and on again, by way of all the others."
function switches(n)
    on(i) = ([2i - 1], [2i], [2i - 1], 1)
    off(i) = ([2i], [2i - 1], [2i], 1)
    operators = [[on(i) for i in 1:n]; [off(i) for i in 1:n]]
    small_task(; nfacts = 2n, init = 1:2:2n, goal = 2:2:2n, operators), Int32[1:n; n+1:2n; 1:n]
end

@testset "small windows make long plans cheaper, whichever states are kept" begin
    # A detour in the middle of a long plan, which leaving out steps does not find.
    n = 41
    walk = small_task(nfacts = n + 2, init = [1], goal = [n],
        operators = [[([i], [i + 1], [i], 1) for i in 1:n-1]; [([20], [n + 1], [20], 1), ([n + 1], [n + 2], [n + 1], 1),
            ([n + 2], [21], [n + 2], 1)]])
    around = Int32[1:19; n; n + 1; n + 2; 21:n-1]
    @test needed_steps(walk, around) == around
    for gap in (1, 7)
        windows = Windows(walk, around)
        PlanRank.leave_out!(windows)
        PlanRank.begin_pass!(windows, cld(length(around), gap) * nwords(walk))
        @test windows.gap == gap
        @test improve!(windows; seconds = 10) === :cheaper
        @test windows.plan == 1:n-1
    end
end

@testset "another plan, slices without time, and plans that cost nothing" begin
    task, plan = switches(6)
    windows = Windows(task, plan)
    @test improve!(windows; seconds = 0) === :running
    while improve!(windows; seconds = 10) === :cheaper end
    @test length(windows.plan) == 6
    PlanRank.restart!(windows, plan)
    @test windows.plan == plan && improve!(windows; seconds = 10) === :cheaper
    free = with_costs(_ -> 0, task)
    @test improve!(Windows(free, plan); seconds = 10) === :optimal
    solved = small_task(nfacts = 1, init = [1], goal = [1])
    @test improve!(Windows(solved, Int32[]); seconds = 10) === :optimal
end

"Action Elimination as it is written in the paper."
function needed_steps_by_definition(task, plan)
    i = 1
    while i <= length(plan)
        state, kept = foldl((state, o) -> successor(task, state, o), plan[1:i-1]; init = sort(task.init)), Int32[]
        for step in plan[i+1:end]
            is_applicable(task, state, step) || continue
            state = successor(task, state, step)
            push!(kept, step)
        end
        is_goal_state(task, state) ? (plan = [plan[1:i-1]; kept]) : (i += 1)
    end
    plan
end

@testset "the steps that are needed are those of the definition" begin
    for (task, plan) in tasks_and_plans(301:500)
        @test needed_steps(task, plan) == needed_steps_by_definition(task, plan)
    end
end

@testset "below a bound there is a cheaper plan or the proof that there is none" begin
    ways = ((:wastar, 3, :ff), (:astar, 1, :hmax), (:wastar, 2, :lmcut), (:ucs, 1, :blind))
    for seed in 1:150, (name, weight, guide) in ways
        task = random_task(seed)
        guide === :lmcut && PlanRank.has_conditional_effects(task) && continue
        cheapest = cheapest_plan_cost(task)
        cheapest === nothing && continue
        for above in (0, 1, 4)
            search = PlanRank.make_search(task, name; weight, bound = cheapest + above)
            heuristic = PlanRank.make_heuristic(task, guide)
            while PlanRank.run!(search, heuristic; seconds = 1) === :running end
            if above == 0
                @test PlanRank.proved_unsolvable(search)
            else
                @test cheapest <= replay_cost(task, PlanRank.plan(search)) < cheapest + above
            end
        end
    end
end

@testset "a bound that is lowered on the way" begin
    proofs = 0
    for seed in 1:150, guide in (:ff, :hmax)
        task = random_task(seed)
        cheapest = cheapest_plan_cost(task)
        cheapest === nothing && continue
        search, heuristic = PlanRank.make_search(task, :wastar; weight = 3), PlanRank.make_heuristic(task, guide)
        PlanRank.run!(search, heuristic; seconds = 1, max_expansions = 3)
        search.status === :running || continue
        search.bound = cheapest
        while PlanRank.run!(search, heuristic; seconds = 1) === :running end
        @test PlanRank.proved_unsolvable(search)
        proofs += 1
    end
    @test proofs > 10
end
