using Test
using PlanRank
using PlanRank: noperators, nwords

isdefined(Main, :RandomTasks) || include("random_tasks.jl")
isdefined(Main, :Searching) || include("searching.jl")
using .RandomTasks, .Searching

dive_value(state, operator) = Float32(20 * (hash((:dive, state, Int(operator))) / typemax(UInt)) - 10)

"The states in the order they are evaluated."
function dive_evaluations(search; batch = 1)
    order = []
    while PlanRank.expand!(search, batch) > 0
        values = Float32[]
        for id in search.first_waiting:search.store.count
            _, operators = PlanRank.operators_of(search.rule.rows, id, id)
            append!(values, [dive_value(facts_of_state(search, id), o) for o in operators])
        end
        append!(order, waiting_states(search))
        PlanRank.insert_entries!(search, values)
    end
    order
end

"The same by its definition, with a list of entries; no two values are equal."
function reference_dive(task)
    initial = sort(task.init)
    is_goal_state(task, initial) && return []
    known, order, entries, path, lowest = Set([initial]), [initial], [], [], Inf
    dives = false
    parent = Dict{Any,Any}(initial => nothing)
    function open!(state)
        mine = [(dive_value(state, o), state, o) for o in 1:noperators(task) if is_applicable(task, state, o)]
        isempty(mine) && return
        append!(entries, mine)
        goes_on = !isempty(path) && parent[state] == path[end]
        if minimum(first, mine) < lowest
            lowest = minimum(first, mine)
            goes_on || empty!(path)
            goes_on = true
        end
        goes_on && push!(path, state)
    end
    open!(initial)
    while !isempty(entries)
        dives = !dives
        while dives && !isempty(path) && !any(entry -> entry[2] == path[end], entries)
            pop!(path)
        end
        open = dives && !isempty(path) ? filter(entry -> entry[2] == path[end], entries) : entries
        entry = open[argmin(map(first, open))]
        deleteat!(entries, findfirst(==(entry), entries))
        child = successor(task, entry[2], entry[3])
        child in known && continue
        push!(known, child)
        parent[child] = entry[2]
        is_goal_state(task, child) && return order
        push!(order, child)
        open!(child)
    end
    order
end

@testset "diving is what its definition says" begin
    longer = 0
    for seed in 1:300
        task = random_task(seed)
        order = dive_evaluations(PlanRank.make_search(task, :dive; entries = true))
        @test order == reference_dive(task)
        longer += length(order) > 5
    end
    @test longer > 50
end

@testset "diving finds a plan or proves that there is none, in batches too" begin
    for seed in 1:200, batch in (1, 3)
        search = PlanRank.make_search(random_task(seed), :dive; entries = true)
        dive_evaluations(search; batch)
        check_outcome(search)
    end
end

@testset "diving ranks actions" begin
    @test_throws PlanRank.PlanRankError PlanRank.make_search(random_task(1), :dive)
end
