using Random
using Test
using PlanRank
using PlanRank: Task, nwords, ranking_of_plan, operator_name, PlanRankError

isdefined(Main, :RandomTasks) || include("random_tasks.jl")
isdefined(Main, :Texts) || include("texts.jl")
using .RandomTasks, .Texts

states_of(task, r) = [facts_of(task, r.path.store.words, (i - 1) * nwords(task)) for i in 1:r.path.store.count]

"The open lists of a search that expands only the path: state => cost, for steps 1 to l, from the definition."
function open_lists(task, plan)
    path, cost = [sort(task.init)], 0
    open, lists = Dict{Vector{Int32},Int}(), []
    for operator in plan
        for o in 1:length(task.op_schema)
            is_applicable(task, path[end], o) || continue
            child = successor(task, path[end], o)
            child in path && continue
            open[child] = min(get(open, child, typemax(Int)), cost + task.op_cost[o])
        end
        push!(path, successor(task, path[end], operator))
        cost += task.op_cost[operator]
        push!(lists, copy(open))
        delete!(lists[end], path[end])
        delete!(open, path[end])
    end
    path, lists
end

function plan_of(task, seed)
    search = PlanRank.make_search(task, seed % 4 < 2 ? :astar : :gbfs; ties = :random, seed)
    PlanRank.run!(search, PlanRank.make_heuristic(task, :blind); seconds = Inf)
    search.status === :solved ? PlanRank.plan(search) : Int32[]
end

message(f) = try
    f()
    ""
catch e
    e isa PlanRankError && e.kind === :meaning ? e.message : rethrow()
end

@testset "open lists of random plans" begin
    compared, twice, later = 0, 0, 0
    for seed in 1:400
        task = isodd(seed) ? random_graph(seed) : random_task(seed)
        plan = plan_of(task, seed)
        isempty(plan) && continue
        r = ranking_of_plan(task, plan)
        path, lists = open_lists(task, plan)
        states = states_of(task, r)
        l = length(plan)
        @test allunique(states) && states[1:l+1] == path
        @test r.path.g == cumsum([0; task.op_cost[plan]])
        for i in 1:l
            entries = [k for k in 1:length(r.open_g) if r.open_from[k] <= i < r.open_until[k]]
            @test Dict(states[r.open_state[k]] => r.open_g[k] for k in entries) == lists[i]
            @test length(entries) == length(lists[i])
            row = r.path.offsets[i]:r.path.offsets[i+1]-1
            @test sort(r.path.action[row]) == [o for o in 1:length(task.op_schema) if is_applicable(task, path[i], o)]
            @test all(states[r.child[k]] == successor(task, path[i], r.path.action[k]) for k in row)
            @test r.path.action[row][r.path.chosen[i]] == plan[i]
        end
        @test all(k -> PlanRank.is_later_on_path(r, k) == (states[r.open_state[k]] in path), 1:length(r.open_g))
        compared += 1
        twice += !allunique(r.open_state)
        later += any(k -> PlanRank.is_later_on_path(r, k), 1:length(r.open_g))
    end
    @test compared > 150
    @test twice > 3
    @test later > 3
end

@testset "plans in words" begin
    task = task_from_text(PlanRank.TOY_DOMAIN, PlanRank.TOY_PROBLEM)
    plan = ["(load red van depot)", "(DRIVE van  depot north)", "(unload red van north) ; there", "",
        "(drive van north depot)", "(load blue van depot)", "(drive van depot south)", "(unload blue van south)",
        "; end"]
    r = ranking_of_plan(task, join(plan, '\n'))
    @test r.path.g == [0, 1, 3, 4, 6, 7, 10, 11]
    @test [operator_name(task, r.path.action[r.path.offsets[i]+r.path.chosen[i]-1]) for i in (1, 2)] ==
          ["(load red van depot)", "(drive van depot north)"]

    told(steps...) = message(() -> ranking_of_plan(task, join(steps, '\n')))
    @test told() == "the plan is empty, but the initial state is no goal"
    @test told("; nothing") == told()
    @test occursin("step 1: (unload red van depot) needs (in red van), which does not hold",
        told("(unload red van depot)"))
    @test occursin("step 2: (fly van) is no action", told(plan[1], "(fly van)"))
    @test occursin("after 1 step(s) (at red north) does not hold", told(plan[1]))
    @test occursin("step 2: (unload red van depot) leads back to a state", told(plan[1], "(unload red van depot)"))
    @test occursin("the goal is reached after step 7 already, but the plan has 8 steps",
        told(plan..., "(drive van south depot)"))
end

@testset "operators that share a name" begin
    domain = """(define (domain d) (:requirements :adl) (:predicates (p) (q) (r) (s))
        (:action switch :parameters () :precondition (p) :effect (and (q) (not (p))))
        (:action go :parameters () :precondition (or (p) (q)) :effect (r))
        (:action stop :parameters () :precondition (and (q) (r)) :effect (s)))"""
    task = task_from_text(domain, "(define (problem x) (:domain d) (:init (p)) (:goal (s)))")
    @test count(o -> operator_name(task, o) == "(go)", 1:length(task.op_schema)) == 2
    for plan in ("(go)\n(switch)\n(stop)", "(switch)\n(go)\n(stop)")
        @test ranking_of_plan(task, plan).path.g == 0:3
    end
end

@testset "corner cases" begin
    at_goal = small_task(nfacts = 1, init = [1], goal = [1])
    @test occursin("the initial state is a goal", message(() -> ranking_of_plan(at_goal, Int32[])))
    free = small_task(nfacts = 3, init = [1], goal = [3],
        operators = [([1], [2], [1], 0), ([2], [3], [2], 0), ([2], [], [], 0)])
    r = ranking_of_plan(free, [1, 2])
    @test r.path.g == [0, 0, 0] && isempty(r.open_g) && r.path.store.count == 3
    @test r.child[1] == 2 && sort(r.child[2:3]) == [2, 3]
    @test occursin("step 1: (act) needs (f2)", message(() -> ranking_of_plan(free, [2])))
    # s_2 is open from the start at cost 5, and again at 2 when s_1 is expanded; the third state at 7 and then at 1.
    again = small_task(nfacts = 4, init = [1], goal = [4], operators = [([1], [2], [1], 1), ([1], [3], [1], 7),
        ([1], [4], [1], 9), ([2], [3], [2], 0), ([2], [4], [2], 1), ([1], [3], [1], 8)])
    r = ranking_of_plan(again, [1, 5])
    rows = Set(zip(r.open_state, r.open_from, r.open_until, r.open_g))
    third, goal = setdiff(1:4, [1, 2, 3])[1], 3
    @test rows == Set([(third, 1, 2, 7), (third, 2, 3, 1), (goal, 1, 2, 9)])
end

@testset "entries of a plan: its own states, and which of them each action leads to" begin
    compared = 0
    for seed in 1:80
        task = random_graph(seed)
        plan = plan_of(task, seed)
        isempty(plan) && continue
        expected, found = ranking_of_plan(task, plan), ranking_of_plan(task, plan; kind = PlanRank.EntryRanking)
        n = PlanRank.nsteps(expected) + 1
        @test found.path.store.count == n
        @test [found.path.store.words[i] for i in 1:n*nwords(task)] ==
              [expected.path.store.words[i] for i in 1:n*nwords(task)]
        for name in (:g, :offsets, :action, :chosen)
            @test getfield(found.path, name) == getfield(expected.path, name)
        end
        @test found.leads_to == [child <= n ? child : 0 for child in expected.child]
        @test (found.g, found.first_step) == (found.path.g, 1:n)
        @test found.offsets == [found.path.offsets; found.path.offsets[end]] && found.action == found.path.action
        compared += 1
    end
    @test compared > 20
end

"The least cost from a state of the store to a goal, Inf if there is no way, by Dijkstra's algorithm over a list."
function true_cost(task, generator, store, s)
    goal, costs, closed = PlanRank.GoalTest(task), Dict(s => 0), Set{Int}()
    while length(closed) < length(costs)
        cost, id = minimum((costs[id], id) for id in keys(costs) if !(id in closed))
        push!(closed, id)
        offset = PlanRank.state_offset(store, id)
        PlanRank.is_goal(goal, store.words, offset) && return cost
        for operator in PlanRank.applicable_operators!(Int32[], generator, store.words, offset)
            child = first(PlanRank.successor!(store, generator, id, operator))
            costs[child] = min(get(costs, child, typemax(Int)), cost + task.op_cost[operator])
        end
    end
    Inf
end

@testset "detours: states off the plan, one action away that is proved to be wrong" begin
    met = 0
    for seed in 1:80, detours in 1:3
        task = random_graph(seed)
        plan = plan_of(task, seed)
        isempty(plan) && continue
        plain = ranking_of_plan(task, plan; kind = PlanRank.EntryRanking)
        found = ranking_of_plan(task, plan; kind = PlanRank.EntryRanking, detours)
        n, store = PlanRank.nsteps(plain.path) + 1, found.path.store
        rows(r, s) = r.offsets[s]:r.offsets[s+1]-1
        @test found.offsets[1:n+1] == plain.offsets && length(found.offsets) == store.count + 1
        @test found.leads_to[1:length(plain.leads_to)] == plain.leads_to && found.g[1:n] == plain.g
        generator = PlanRank.SuccessorGenerator(task)
        successor(s, o) = PlanRank.find(store, PlanRank.write_successor!(store, generator, s,
            PlanRank.hash_words(store, PlanRank.state_offset(store, s)), o))
        for s in n+1:store.count
            i = found.first_step[s]
            ways = [o for o in found.action[rows(found, i)] if successor(i, o) == s]
            @test !isempty(ways) && found.g[s] in found.g[i] .+ task.op_cost[ways]
            for k in rows(found, s)
                to = successor(s, found.action[k])
                @test found.leads_to[k] == (to <= n ? to : 0)
            end
            met += 1
        end
        @test all(count(==(i), found.first_step[n+1:end]) <= detours for i in 1:n-1)
        for s in n+1:length(found.first_step)
            @test found.g[s] + true_cost(task, generator, store, s) > found.g[n]
        end
    end
    @test met > 50
end
