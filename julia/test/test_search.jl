using Test
using PlanRank
using PlanRank: Rows, Task, row, nfacts, noperators, nwords

isdefined(Main, :RandomTasks) || include("random_tasks.jl")
isdefined(Main, :Searching) || include("searching.jl")
using .RandomTasks, .Searching

const OPTIMAL = [(:astar, :blind), (:astar, :hmax), (:astar, :lmcut), (:ucs, :blind)]

function solve(task, search_name, heuristic_name; options...)
    search = PlanRank.make_search(task, search_name; options...)
    heuristic = PlanRank.make_heuristic(task, heuristic_name)
    while PlanRank.run!(search, heuristic; seconds = 0.05) === :running
    end
    search
end

defined_for(task, heuristic) = heuristic !== :lmcut || !PlanRank.has_conditional_effects(task)

@testset "successors of random tasks" begin
    for seed in 1:60
        task = random_task(seed)
        generator = PlanRank.SuccessorGenerator(task)
        for state in some_states(task, seed)
            packed = PlanRank.pack_facts(state, nwords(task))
            found = PlanRank.applicable_operators!(Int32[], generator, packed, 0)
            @test sort(found) == [o for o in 1:noperators(task) if is_applicable(task, state, o)]
            for operator in found
                next = similar(packed)
                PlanRank.apply!(next, 0, generator, packed, 0, operator)
                @test next == PlanRank.pack_facts(successor(task, state, operator), nwords(task))
            end
        end
    end
end

@testset "optimal costs" begin
    solvable = 0
    for seed in 1:150
        task = random_task(seed)
        expected = cheapest_plan_cost(task)
        solvable += expected !== nothing
        for (name, heuristic) in OPTIMAL, batch in (1, 4)
            defined_for(task, heuristic) || continue
            batch == 1 || name === :ucs || continue
            search = solve(task, name, heuristic; batch)
            if expected === nothing
                @test search.status === :exhausted
                @test PlanRank.proved_unsolvable(search)
            else
                @test search.status === :solved
                batch == 1 && @test replay_cost(task, PlanRank.plan(search)) == expected
                @test has_right_plan(search)
            end
        end
    end
    @test 40 < solvable < 150
end

@testset "plans of every search are plans" begin
    for seed in 1:60, name in (:gbfs, :wastar, :bfs, :astar), ties in PlanRank.TIES, batch in (1, 3)
        task = random_task(seed)
        search = solve(task, name, :ff; ties, batch, reopen = isodd(seed), weight = 3)
        if cheapest_plan_cost(task) === nothing
            @test PlanRank.proved_unsolvable(search)
        else
            @test has_right_plan(search)
        end
    end
end

"The textbook algorithm, with a list for the open list."
function textbook_expansions(task, alpha, beta, value, reopen)
    initial = sort(task.init)
    g, open, closed, order = Dict(initial => 0), [initial], Set(), []
    h = Dict(initial => value(initial))
    generator = PlanRank.SuccessorGenerator(task)
    isinf(h[initial]) && return order
    while !isempty(open)
        best = argmin([(alpha * g[s] + beta * h[s], h[s], -i) for (i, s) in enumerate(open)])
        state = open[best]
        deleteat!(open, best)
        push!(closed, state)
        is_goal_state(task, state) && return order
        push!(order, state)
        applicable = PlanRank.applicable_operators!(Int32[], generator, PlanRank.pack_facts(state, nwords(task)), 0)
        for operator in reverse(applicable)
            next = successor(task, state, operator)
            cost = g[state] + task.op_cost[operator]
            if !haskey(g, next)
                g[next] = cost
                h[next] = value(next)
                isinf(h[next]) || push!(open, next)
            elseif cost < g[next] && !isinf(h[next])
                if next in closed
                    reopen || continue
                    g[next] = cost
                    delete!(closed, next)
                    push!(open, next)
                else
                    g[next] = cost
                    alpha == 0 || push!(deleteat!(open, findfirst(==(next), open)), next)
                end
            end
        end
    end
    order
end

"A search driven from outside, with batches of k."
function drive(search, value, k)
    n = nwords(search.task)
    while (new = PlanRank.expand!(search, k)) > 0
        rows = PlanRank.new_words(search)
        insert!(search, [value(facts_of(search.task, rows, (i - 1) * n)) for i in 1:new])
    end
    search
end

@testset "order of expansions" begin
    for seed in 1:60, fraction in (0.0, 0.25)   # fractions go to the binary heap
        task = random_task(seed; conditional = false)
        hadd = PlanRank.make_heuristic(task, :hadd)
        value(state) = evaluate_facts(hadd, task, state) + fraction * (sum(state; init = 0) % 3)
        insert_waiting!(search) = insert!(search, map(value, waiting_states(search)))
        for (name, alpha, beta, reopen) in ((:astar, 1, 1, true), (:gbfs, 0, 1, false))
            textbook = textbook_expansions(task, alpha, beta, value, reopen)
            @test expansions(insert_waiting!, PlanRank.make_search(task, name)) == textbook
            @test drive(PlanRank.make_search(task, name), value, 1).expanded == length(textbook)
            in_batches = drive(PlanRank.make_search(task, name), value, 5)
            if cheapest_plan_cost(task) === nothing
                @test in_batches.status === :exhausted
            else
                @test has_right_plan(in_batches)
            end
        end
    end
end

@testset "corner cases" begin
    goal_at_once = small_task(nfacts = 1, init = [1], goal = [1])
    search = solve(goal_at_once, :astar, :lmcut)
    @test search.status === :solved && isempty(PlanRank.plan(search))

    no_goal = small_task(nfacts = 2, operators = [([1], [], [1], 3)], init = [1], goal = [2])
    search = solve(no_goal, :gbfs, :blind)
    @test search.status === :exhausted && PlanRank.proved_unsolvable(search)
    search = solve(no_goal, :gbfs, :ff)
    @test search.dead_ends == 1 && PlanRank.proved_unsolvable(search)

    unreachable = without_goal(no_goal)         # as the front end makes it when the goal is known to be false
    for name in keys(PlanRank.HEURISTICS)
        @test PlanRank.proved_unsolvable(solve(unreachable, :astar, name))
    end

    told_so = PlanRank.make_search(no_goal, :gbfs)
    @test PlanRank.expand!(told_so) == 1
    insert!(told_so, Float32[Inf])
    @test PlanRank.expand!(told_so) == 0
    @test told_so.status === :exhausted && !PlanRank.proved_unsolvable(told_so)

    free = small_task(nfacts = 3, operators = [([1], [2], [1], 0), ([2], [3], [2], 0)], init = [1], goal = [3])
    for (name, heuristic) in ((:astar, :lmcut), (:gbfs, :ff), (:bfs, :blind))
        search = solve(free, name, heuristic)
        @test PlanRank.plan(search) == [1, 2] && has_right_plan(search)
    end

    dear = small_task(nfacts = 3, init = [1], goal = [3],
        operators = [([1], [2], [], typemax(Int32)), ([2], [3], [], 5)])
    for (name, heuristic) in [OPTIMAL; (:bfs, :blind); (:gbfs, :ff)]
        search = solve(dear, name, heuristic)
        @test replay_cost(dear, PlanRank.plan(search)) == Int(typemax(Int32)) + 5 && has_right_plan(search)
    end

    @test_throws PlanRank.PlanRankError PlanRank.make_search(free, :dfs)
    @test_throws PlanRank.PlanRankError PlanRank.make_search(free, :gbfs; ties = :best)
    @test_throws PlanRank.PlanRankError PlanRank.make_search(free, :gbfs; batch = 0)
    @test_throws PlanRank.PlanRankError PlanRank.make_heuristic(free, :h2)
    @test_throws PlanRank.PlanRankError PlanRank.plan(PlanRank.make_search(free, :gbfs))
    @test_throws PlanRank.PlanRankError insert!(PlanRank.make_search(free, :gbfs), [1.0, 2.0])
    @test_throws PlanRank.PlanRankError insert!(PlanRank.make_search(free, :gbfs), [NaN])
end

"Facts 1 to n + 1 in a row, each reached from the one before."
chain(n, cost) = small_task(nfacts = n + 1, init = [1], goal = [n + 1],
    operators = [([f], [f + 1], [f], cost) for f in 1:n])

@testset "no cost makes a solvable task look unsolvable" begin
    for cost in (123456789, 1 << 30 - 1, 1 << 30, typemax(Int32)), n in (1, 2, 3, 30)
        task = chain(n, cost)
        for name in keys(PlanRank.HEURISTICS), algorithm in (:astar, :gbfs)
            search = solve(task, algorithm, name)
            @test search.status === :solved && has_right_plan(search)
            @test search.store.g[search.goal_id] == n * Int(cost)
        end
    end
    far_apart = small_task(nfacts = 3, init = [1], goal = [3],
        operators = [([1], [2], [], 600_000_000), ([2], [3], [], 1_100_000_000), ([1], [1], [], 1)])
    for name in keys(PlanRank.HEURISTICS)
        @test solve(far_apart, :gbfs, name).status === :solved
    end
end

"2^n states: every fact can be switched on and off."
switches(n) = small_task(nfacts = n + 1, init = Int[], goal = [n + 1],
    operators = [[([], [f], [], 1) for f in 1:n]; [([f], [], [f], 1) for f in 1:n]])

@testset "memory" begin
    task = switches(20)
    search = PlanRank.make_search(task, :bfs)
    blind = PlanRank.make_heuristic(task, :blind)
    PlanRank.run!(search, blind; seconds = Inf)
    @test search.status === :exhausted && search.store.count == 2^20
    @test PlanRank.memory_bytes(search) / search.store.count < 8 + 40

    limit = 20_000_000
    limited = PlanRank.make_search(task, :astar; memory_limit = limit)
    PlanRank.run!(limited, blind; seconds = Inf)
    @test limited.status === :memory
    @test 0.85 * limit < PlanRank.memory_bytes(limited) <= 1.01 * limit

    fractions = PlanRank.make_search(task, :astar)          # in the binary heap
    while fractions.store.count < 500_000
        n = PlanRank.expand!(fractions, 1000)
        insert!(fractions, Float32.(sin.(fractions.first_waiting:fractions.store.count) .+ 2))
    end
    @test fractions.open isa PlanRank.HeapOpen
    @test PlanRank.memory_bytes(fractions) / fractions.store.count < 8 + 50
end

@testset "slices" begin
    task = switches(20)
    search = PlanRank.make_search(task, :bfs)
    blind = PlanRank.make_heuristic(task, :blind)
    PlanRank.run!(search, blind; seconds = 0.01)
    seconds = @elapsed status = PlanRank.run!(search, blind; seconds = 0.05)
    @test status === :running && seconds < 0.1
    @test PlanRank.run!(PlanRank.make_search(task, :bfs), blind; seconds = Inf, max_expansions = 10) === :running
    few = PlanRank.make_search(task, :bfs)
    PlanRank.run!(few, blind; seconds = Inf, max_expansions = 10)
    @test few.expanded == 10
end
