using Random
using Test
using PlanRank
using PlanRank: Strays, EntryRanking, nwords, ranking_of_plan

isdefined(Main, :RandomTasks) || include("random_tasks.jl")
isdefined(Main, :Searching) || include("searching.jl")
using .RandomTasks, .Searching

applicable(task, state) = [o for o in 1:length(task.op_schema) if is_applicable(task, state, o)]

function states_of_plan(task, plan)
    states = [sort(task.init)]
    foreach(o -> push!(states, successor(task, states[end], o)), plan)
    states
end

"A search that has gone on for a while, guided by numbers made by chance, and which states it has expanded."
function searched(task, seed; entries, most)
    search = PlanRank.make_search(task, :gbfs; entries)
    value(state, operator) = Float32(hash((seed, state, operator)) % 1000)
    while search.expanded < most && PlanRank.expand!(search) > 0
        states = waiting_states(search)
        if entries
            rows = [last(PlanRank.operators_of(search.rule.rows, id, id)) for
                id in search.first_waiting:search.store.count]
            PlanRank.insert_entries!(search, Float32[value(s, o) for (s, row) in zip(states, rows) for o in row])
        else
            PlanRank.insert!(search, Float32[value(s, 0) for s in states])
        end
    end
    # With entries, whatever was evaluated and has actions; a goal and what waits was not.
    expanded(id) = entries ? id < search.first_waiting && !isempty(applicable(task, facts_of_state(search, id))) :
        search.store.status[id] == PlanRank.IS_CLOSED
    search, Set(facts_of_state(search, id) for id in 1:search.store.count if expanded(id))
end

"A plan without loops, by another search than the one that is looked at."
function some_plan(task, seed)
    search = PlanRank.make_search(task, :gbfs; ties = :random, seed)
    PlanRank.run!(search, PlanRank.make_heuristic(task, :blind); seconds = Inf)
    search.status === :solved ? PlanRank.plan(search) : Int32[]
end

"By the definition: layer by layer, the states off the plan that were expanded."
function layers_off_plan(task, path, expanded)
    layers, known, last = [], Set(path), path[1:end-1]
    while !isempty(last)
        last = unique(s for from in last for s in (successor(task, from, o) for o in applicable(task, from))
            if s in expanded && !(s in known))
        union!(known, last)
        push!(layers, Set(last))
    end
    layers
end

"The states that strays are, replayed."
function replayed(task, path, parents, operators)
    states = copy(path)
    for (parent, operator) in zip(parents, operators)
        @test is_applicable(task, states[parent], operator)
        push!(states, successor(task, states[parent], operator))
    end
    states[length(path)+1:end]
end

@testset "what a search expanded off a plan, the nearest first" begin
    met, deep, cut = 0, 0, 0
    for seed in 1:120, entries in (true, false)
        task = isodd(seed) ? random_graph(seed) : random_task(seed)
        plan = some_plan(task, seed)
        isempty(plan) && continue
        search, expanded = searched(task, seed; entries, most = rand(MersenneTwister(seed), (3, 10, 100)))
        path = states_of_plan(task, plan)
        layers = layers_off_plan(task, path, expanded)
        total = sum(length, layers; init = 0)
        found = replayed(task, path, PlanRank.expanded_strays(search, plan, 10^6)...)
        @test allunique(found) && length(found) == total
        before = 0
        for layer in layers
            @test Set(found[before+1:before+length(layer)]) == layer
            before += length(layer)
        end
        for most in (0, 1, 3)
            some = replayed(task, path, PlanRank.expanded_strays(search, plan, most)...)
            @test length(some) <= most && allunique(some) && issubset(some, found)
            @test isempty(layers) || length(some) >= min(most, length(layers[1]))
            most == 0 || isempty(layers) || @test issubset(some[1:min(most, length(layers[1]), end)], layers[1])
            cut += length(some) < total
        end
        met += total > 0
        deep += count(!isempty, layers) > 1
    end
    @test met > 60 && deep > 20 && cut > 50
end

@testset "entries of strays compete from the step on at which the plan was left" begin
    met = 0
    for seed in 1:120, detours in (0, 2)
        task = random_graph(seed)
        plan = some_plan(task, seed)
        isempty(plan) && continue
        search, _ = searched(task, seed; entries = true, most = 30)
        parents, operators = PlanRank.expanded_strays(search, plan, 20)
        r = ranking_of_plan(task, plan; kind = EntryRanking, detours, strays = Strays(parents, operators))
        path = states_of_plan(task, plan)
        n, store = length(path), r.path.store
        states = [facts_of(task, store.words, (i - 1) * nwords(task)) for i in 1:store.count]
        @test allunique(states)
        @test states[1:n] == path
        @test states[n+1:n+length(parents)] == replayed(task, path, parents, operators)
        for (k, (parent, operator)) in enumerate(zip(parents, operators))
            @test r.first_step[n+k] == (parent < n ? parent : r.first_step[parent])
            @test r.g[n+k] == r.g[parent] + task.op_cost[operator]
        end
        for s in n+1:store.count
            row = r.offsets[s]:r.offsets[s+1]-1
            @test sort(r.action[row]) == (is_goal_state(task, states[s]) ? [] : applicable(task, states[s]))
            @test r.leads_to[row] == [something(findfirst(==(successor(task, states[s], o)), path), 0) for
                o in r.action[row]]
        end
        # Detours only where strays are fewer.
        of_step(i, from) = count(==(i), r.first_step[from:end])
        @test all(of_step(i, n + 1) <= max(detours, count(==(i), r.first_step[n+1:n+length(parents)])) for i in 1:n-1)
        met += length(parents) > 0
    end
    @test met > 40
end

"The open lists of a search that expands the path, and each stray when the plan is left for it."
function open_lists_with_strays(task, plan, parents, operators)
    path = states_of_plan(task, plan)
    n = length(path)
    states, g, first_step = copy(path), cumsum([0; task.op_cost[plan]]), collect(1:n)
    for (parent, operator) in zip(parents, operators)
        push!(states, successor(task, states[parent], operator))
        push!(g, g[parent] + task.op_cost[operator])
        push!(first_step, first_step[parent])
    end
    open, lists = Dict{Vector{Int32},Int}(), []
    for i in 1:n-1
        for s in [i; n .+ findall(==(i), first_step[n+1:end])], o in applicable(task, states[s])
            s > n && is_goal_state(task, states[s]) && continue
            child = successor(task, states[s], o)
            child in path[1:i] && continue
            open[child] = min(get(open, child, typemax(Int)), g[s] + task.op_cost[o])
        end
        push!(lists, copy(open))
        delete!(lists[end], path[i+1])
        delete!(open, path[i+1])
    end
    lists
end

@testset "open lists with what is generated off the plan" begin
    larger = 0
    for seed in 1:120
        task = isodd(seed) ? random_graph(seed) : random_task(seed)
        plan = some_plan(task, seed)
        isempty(plan) && continue
        search, _ = searched(task, seed; entries = false, most = 30)
        parents, operators = PlanRank.expanded_strays(search, plan, 20)
        r = ranking_of_plan(task, plan; strays = Strays(parents, operators))
        store = r.path.store
        states = [facts_of(task, store.words, (i - 1) * nwords(task)) for i in 1:store.count]
        lists = open_lists_with_strays(task, plan, parents, operators)
        @test length(r.child) == length(ranking_of_plan(task, plan).child)
        for i in 1:length(plan)
            entries = [k for k in 1:length(r.open_g) if r.open_from[k] <= i < r.open_until[k]]
            @test Dict(states[r.open_state[k]] => r.open_g[k] for k in entries) == lists[i]
            @test length(entries) == length(lists[i])
        end
        larger += length(r.open_g) > length(ranking_of_plan(task, plan).open_g)
    end
    @test larger > 20
end

@testset "strays in words, and what is none" begin
    loaded = PlanRank.load(PlanRank.text_source("d", PlanRank.TOY_DOMAIN), PlanRank.text_source("p",
        PlanRank.TOY_PROBLEM), Inf, typemax(Int))
    told(strays; kind = EntryRanking) = try
        ranking_of_plan(loaded.task, PlanRank.TOY_PLAN; kind, strays = Strays(loaded.task, strays)).path.store.count
    catch e
        e isa PlanRank.PlanRankError && e.kind === :meaning ? e.message : rethrow()
    end
    @test told("") == 8 && told(PlanRank.TOY_STRAYS) == 10
    for kind in (EntryRanking, PlanRank.Ranking)
        @test occursin("state 1 off the plan: (fly) is not applicable", told("0 (fly)"; kind))
        @test occursin("state 1 off the plan: comes from state 8, which is not before it", told("8 (x)"; kind))
        @test occursin("state 1 off the plan: comes from state 7", told("7 (x)"; kind))
        @test occursin("state 1 off the plan: is `what`, expected NUMBER (ACTION)", told("what"; kind))
        @test occursin("state 1 off the plan: leads to a state", told("0 (load red van depot)"; kind))
    end
    search = PlanRank.make_search(loaded.task, :gbfs)
    PlanRank.run!(search, PlanRank.make_heuristic(loaded.task, :blind); seconds = Inf)
    @test told(PlanRank.stray_lines(search, PlanRank.TOY_PLAN, 5)) == 13
end
