using Test, Random
using PlanRank
using PlanRank: Limits, parse_domain, parse_problem, ground, nfacts, noperators, row, fact_names, operator_names

isdefined(Main, :Lifted) || include("lifted.jl")
isdefined(Main, :RandomPDDL) || include("random_pddl.jl")
isdefined(Main, :Texts) || include("texts.jl")
using .Lifted, .RandomPDDL, .Texts

const BLOCKS = """(define (domain blocks) (:predicates (on ?x ?y) (ontable ?x) (clear ?x) (handempty) (holding ?x))
(:action pick-up :parameters (?x) :precondition (and (clear ?x) (ontable ?x) (handempty))
    :effect (and (not (ontable ?x)) (not (clear ?x)) (not (handempty)) (holding ?x)))
(:action put-down :parameters (?x) :precondition (holding ?x)
    :effect (and (not (holding ?x)) (clear ?x) (handempty) (ontable ?x)))
(:action stack :parameters (?x ?y) :precondition (and (holding ?x) (clear ?y))
    :effect (and (not (holding ?x)) (not (clear ?y)) (clear ?x) (handempty) (on ?x ?y)))
(:action unstack :parameters (?x ?y) :precondition (and (on ?x ?y) (clear ?x) (handempty))
    :effect (and (holding ?x) (clear ?y) (not (clear ?x)) (not (handempty)) (not (on ?x ?y)))))"""

towers(n) = """(define (problem towers) (:domain blocks) (:objects $(join(("b$i" for i in 1:n), " ")))
(:init (handempty) $(join(("(ontable b$i) (clear b$i)" for i in 1:n), " "))) (:goal (on b1 b2)))"""

@testset "blocks: counts, slots" begin
    t = task_from_text(BLOCKS, towers(4))
    @test nfacts(t) == 4^2 + 3 * 4 + 1              # (on b1 b1) included: nothing in the domain forbids it
    @test noperators(t) == 2 * 4 + 2 * 4^2
    @test t.unit_cost && all(==(1), t.op_cost)
    @test "(stack b1 b1)" in operator_names(t)
    @test t.init == sort(t.init) && length(t.init) == 9
    @test fact_names(t)[row(t.goal_pos, 1)] == ["(on b1 b2)"]
    stack = [o for o in 1:noperators(t) if t.schemas[t.op_schema[o]] == "stack"]
    # for one schema every operator's k-th slot is the same lifted literal
    for o in stack
        span = t.pre.offsets[o]:t.pre.offsets[o+1]-1
        @test t.pre_slot[span] == [1, 2]
        @test [t.predicates[t.fact_predicate[f]] for f in row(t.pre, o)] == ["holding", "clear"]
        @test [t.predicates[t.fact_predicate[f]] for f in row(t.add, o)] == ["clear", "handempty", "on"]
        @test isempty(intersect(row(t.add, o), row(t.del, o)))     # adding wins, as in (stack b1 b1)
    end
end

@testset "the ground task means what the text means" begin
    rng = MersenneTwister(20)
    compared = conditional = 0
    for _ in 1:300
        domain_text, problem_text = random_pddl(rng)
        domain = parse_domain(domain_text, "domain")
        problem = parse_problem(problem_text, "problem", domain)
        task = ground(domain, problem)
        conditional += PlanRank.has_conditional_effects(task)
        state = initial_state(problem)
        @test ground_state(task, state) == Set(task.init)
        for _ in 1:4
            wanted, found = transitions(domain, problem, state), ground_transitions(task, state)
            wanted == found || println(domain_text, "\n", problem_text)
            @test wanted == found
            @test goal_holds(domain, problem, state) == ground_goal_holds(task, state)
            compared += length(wanted)
            isempty(wanted) && break
            state = rand(rng, sort!(collect(wanted); by=first))[2]
        end
    end
    @test compared > 1000 && conditional > 30
end

const COSTS = """(define (domain roads) (:types place) (:predicates (at ?p - place) (closed ?p - place))
(:functions (total-cost) - number (length ?a ?b - place) - number)
(:action drive :parameters (?a ?b - place) :precondition (and (at ?a) (not (closed ?b)))
  :effect (and (not (at ?a)) (at ?b) (increase (total-cost) (length ?a ?b))))
(:action wait :effect (increase (total-cost) 2.5))
(:action jump :parameters (?a - place) :precondition (not (at ?a)) :effect (at ?a)))"""

roads(values, metric = "(:metric minimize (total-cost))") = """(define (problem r) (:domain roads)
(:objects x y z - place) (:init (at x) (closed z) (= (total-cost) 0) $values) (:goal (at y)) $metric)"""

@testset "costs" begin
    t = task_from_text(COSTS, roads("(= (length x y) 4) (= (length y x) 0.25) (= (length x z) 1)"))
    cost = Dict(zip(operator_names(t), t.op_cost))
    @test t.cost_scale == 100 && !t.unit_cost
    # no value, no action; z is closed for ever; waiting changes nothing; no cost written is cost 0
    @test cost == Dict("(drive x y)" => 400, "(drive y x)" => 25, "(jump x)" => 0, "(jump y)" => 0, "(jump z)" => 0)
    t = task_from_text(COSTS, roads("(= (length x y) 4)", ""))
    @test t.unit_cost && t.cost_scale == 1 && all(==(1), t.op_cost)
    for (values, kind) in (("(= (length x y) -1)", :unsupported), ("(= (length x y) 3000000000)", :unsupported),
        ("(= (length x y) 4) (= (length x y) 5)", :meaning))
        error = error_of(() -> task_from_text(COSTS, roads(values)))
        @test error isa PlanRank.PlanRankError && error.kind == kind
    end
end

@testset "limits" begin
    chain = """(define (domain grid) (:predicates (p ?a ?b ?c ?d))
        (:action go :parameters (?a ?b ?c ?d) :effect (p ?a ?b ?c ?d)))"""
    many = """(define (problem many) (:domain grid) (:objects $(join(("o$i" for i in 1:60), " "))) (:init)
        (:goal (p o1 o1 o1 o1)))"""
    error = error_of(() -> task_from_text(chain, many, Limits(time() + 0.2, typemax(Int))))
    @test error isa PlanRank.PlanRankError && error.kind == :time
    error = error_of(() -> task_from_text(chain, many, Limits(Inf, PlanRank.resident_bytes() + 50_000_000)))
    @test error isa PlanRank.PlanRankError && error.kind == :memory
end

@testset "goals" begin
    goal(g) = task_from_text(BLOCKS, replace(towers(3), "(on b1 b2)" => g))
    @test length(goal("(or (on b1 b2) (and (on b2 b3) (not (clear b2))))").goal_pos) == 2
    @test length(goal("(forall (?x) (clear ?x))").goal_pos.values) == 3
    @test length(goal("(exists (?x) (on ?x b1))").goal_pos) == 3
    @test length(goal("(= b1 b2)").goal_pos) == 0       # can never hold: no row
    trivial = goal("(and)")
    @test length(trivial.goal_pos) == 1 && isempty(trivial.goal_pos.values)
end
