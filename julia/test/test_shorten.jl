using Test, Random
using PlanRank
using PlanRank: clean_plan, needed_steps, noperators

isdefined(Main, :RandomTasks) || include("random_tasks.jl")
using .RandomTasks

const NO_TIME = PlanRank.Limits(0.0, typemax(Int))

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

"A random walk that may go on after the goal, up to its last goal state; nothing if it meets none."
function long_winded_plan(task, rng)
    state, steps, solved = task.init, Int32[], is_goal_state(task, task.init) ? 0 : nothing
    while length(steps) < 60
        applicable = Int32[o for o in 1:noperators(task) if is_applicable(task, state, o)]
        isempty(applicable) && break
        push!(steps, rand(rng, applicable))
        state = successor(task, state, steps[end])
        is_goal_state(task, state) && (solved = length(steps))
    end
    solved === nothing ? nothing : steps[1:solved]
end

states_on(task, plan) = accumulate((state, o) -> successor(task, state, o), plan; init = sort(task.init))
visited(task, plan) = [[sort(task.init)]; states_on(task, plan)]

@testset "a clean plan is a plan, visits no state twice, ends at its first goal and is no dearer" begin
    plans, shorter, free, conditional = 0, 0, 0, 0
    for seed in 1:600
        task = iszero(seed % 4) ? random_graph(seed) : random_task(seed)
        plan = long_winded_plan(task, MersenneTwister(seed))
        plan === nothing && continue
        unhurried, hurried = clean_plan(task, plan), clean_plan(task, plan, NO_TIME)
        for clean in (unhurried, hurried)
            states = visited(task, clean)
            @test is_subsequence(clean, plan)
            @test cheapest_plan_cost(task) <= replay_cost(task, clean) <= replay_cost(task, plan)
            @test allunique(states)
            @test findfirst(state -> is_goal_state(task, state), states) == length(states)
        end
        @test length(unhurried) <= length(hurried)
        @test clean_plan(task, unhurried) == needed_steps(task, unhurried) == unhurried
        plans += 1
        is_shorter = length(unhurried) < length(plan)
        shorter += is_shorter
        free += is_shorter && any(o -> task.op_cost[o] == 0, plan)
        conditional += is_shorter && length(task.cond_slot) > 0
    end
    @test plans > 150 && shorter > 100 && free > 30 && conditional > 30
end

@testset "what is cut out of a plan" begin
    # Facts are places; operators 1 and 2 lead from 1 to 2 and back, 3 on to the goal, 4 beyond it.
    places = small_task(nfacts = 4, init = [1], goal = [3], operators = [([1], [2], [1], 1), ([2], [1], [2], 1),
        ([2], [3], [2], 1), ([3], [4], [3], 1), ([4], [3], [4], 0)])
    @test clean_plan(places, Int32[1, 3]) == [1, 3]
    @test clean_plan(places, Int32[1, 2, 1, 3]) == [1, 3]                   # a loop
    @test clean_plan(places, Int32[1, 2, 1, 2, 1, 3], NO_TIME) == [1, 3]    # loops are cut even if time is up
    @test clean_plan(places, Int32[1, 3, 4, 5]) == [1, 3]                   # after the goal
    @test isempty(clean_plan(small_task(nfacts = 1, init = [1], goal = [1], operators = [([1], [1], [], 1)]), Int32[1]))

    # Operator 1 and its undoing 3 do not meet in one state, because 2 comes between.
    needless = small_task(nfacts = 4, init = [1], goal = [1, 4],
        operators = [([1], [2], [1], 0), ([], [3], [], 2), ([2], [1], [2], 0), ([3], [4], [], 2)])
    @test clean_plan(needless, Int32[1, 2, 3, 4]) == [2, 4]                 # though the steps left out cost nothing
    @test clean_plan(needless, Int32[1, 2, 3, 4], NO_TIME) == [1, 2, 3, 4]
end

const SWITCHES = """(define (domain switches) (:requirements :adl) (:types lamp)
    (:predicates (on ?l - lamp) (dark) (seen))
    (:action press :parameters (?l - lamp)
      :effect (and (when (on ?l) (not (on ?l))) (when (not (on ?l)) (on ?l)) (when (dark) (not (dark)))))
    (:action look :parameters () :precondition (not (dark)) :effect (seen))
    (:action idle :parameters () :precondition (not (dark)) :effect (and)))"""

function switches(goal)
    problem = "(define (problem p) (:domain switches) (:objects a b - lamp) (:init (dark)) (:goal $goal))"
    PlanRank.load(PlanRank.Source("domain", SWITCHES), PlanRank.Source("problem", problem), Inf, typemax(Int))
end

cleaned(loaded, steps...) = split(PlanRank.clean_plan_lines(loaded, join(steps, '\n'), Inf), '\n'; keepempty = false)

@testset "plans in words, with conditional effects and actions that change nothing" begin
    lit = switches("(and (on a) (seen))")
    best = ["(press a)", "(look)"]
    @test cleaned(lit, best...) == best
    @test cleaned(lit, "(PRESS a) ; light", "(press  b)", "(look)", "(press b)") == best
    @test !("(idle)" in PlanRank.operator_names(lit.task))
    @test cleaned(lit, "(press a)", "(idle)", "(look)", "(idle)") == best
    @test_throws PlanRank.PlanRankError cleaned(lit, "(look)", "(press a)")
    @test_throws PlanRank.PlanRankError cleaned(lit, "(press a)")
    @test isempty(cleaned(switches("(dark)")))

    # Either press is needed while the other is there, so only cutting the loop finds that neither is.
    unlit = switches("(and (on a) (not (on b)) (seen))")
    presses = ["(press a)", "(press b)", "(press b)", "(look)"]
    operators = Int32[findfirst(==(step), PlanRank.operator_names(unlit.task)) for step in presses]
    @test needed_steps(unlit.task, operators) == operators
    @test cleaned(unlit, presses...) == best
end
