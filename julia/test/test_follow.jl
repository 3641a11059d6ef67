using Test
using PlanRank
using PlanRank: PlanRankError

isdefined(Main, :RandomTasks) || include("random_tasks.jl")
isdefined(Main, :Searching) || include("searching.jl")
using .RandomTasks, .Searching

@testset "following a search" begin
    solved = 0
    for seed in 1:40, name in (:astar, :gbfs)
        task = random_graph(seed)
        blind = PlanRank.make_heuristic(task, :blind)
        whole = PlanRank.make_search(task, name)
        PlanRank.run!(whole, blind; seconds = Inf)
        search, taken = PlanRank.make_search(task, name), Int32[]
        while search.status === :running
            insert!(search, [evaluate_facts(blind, task, state) for state in waiting_states(search)])
            push!(taken, PlanRank.take_best!(search))
        end
        @test (search.status, search.expanded) == (whole.status, whole.expanded)
        solved += search.status === :solved
        search.status === :solved && @test PlanRank.plan(search) == PlanRank.plan(whole)
        @test count(!=(0), taken) == search.expanded + (search.status === :solved)
        for from in 1:search.store.count, to in 1:search.store.count
            a, b = facts_of_state(search, from), facts_of_state(search, to)
            fitting = [o for o in 1:length(task.op_schema) if is_applicable(task, a, o) && successor(task, a, o) == b]
            found = PlanRank.joining_operator(search, from, to)
            if isempty(fitting)
                @test found == 0
            else
                @test found in fitting && task.op_cost[found] == minimum(task.op_cost[fitting])
            end
        end
    end
    @test solved > 20
    search = PlanRank.make_search(random_graph(1), :astar)
    @test_throws PlanRankError PlanRank.take_best!(search)
end
