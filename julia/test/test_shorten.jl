using Test, Random
using PlanRank
using PlanRank: needed_steps, noperators

isdefined(Main, :RandomTasks) || include("random_tasks.jl")
using .RandomTasks

is_subsequence(part, whole) = (at = 0; all(x -> (at = something(findnext(==(x), whole, at + 1), 0)) > 0, part))

"A random walk that ends in a goal, or nothing."
function wandering_plan(task, rng)
    state, steps = task.init, Int32[]
    while !is_goal_state(task, state)
        applicable = Int32[o for o in 1:noperators(task) if is_applicable(task, state, o)]
        (isempty(applicable) || length(steps) == 40) && return nothing
        push!(steps, rand(rng, applicable))
        state = successor(task, state, steps[end])
    end
    steps
end

@testset "a shortened plan is a plan, a part of the long one and no dearer" begin
    plans, shorter = 0, 0
    for seed in 1:300
        task = random_task(seed)
        plan = wandering_plan(task, MersenneTwister(seed))
        plan === nothing && continue
        short = needed_steps(task, plan)
        @test is_subsequence(short, plan)
        @test replay_cost(task, short) <= replay_cost(task, plan)
        @test replay_cost(task, short) >= cheapest_plan_cost(task)
        @test needed_steps(task, plan, PlanRank.Limits(0.0, typemax(Int))) == plan     # no time, no change
        plans += 1
        shorter += length(short) < length(plan)
    end
    @test plans > 50 && shorter > 20
end
