using Test
using PlanRank
using PlanRank: parse_domain, schemas_of, fluent_predicates, operator_names, noperators, row

isdefined(Main, :Texts) || include("texts.jl")
using .Texts

domain_with(precondition, effect) = """(define (domain n) (:requirements :adl) (:types a b) (:constants k - a)
 (:predicates (p ?x - a) (q ?x - a ?y - b) (s ?x - a) (z))
 (:action act :parameters (?x - a ?y - b) :precondition $precondition :effect $effect))"""

function schemas(precondition, effect="(p ?x)")
    d = parse_domain(domain_with(precondition, effect), "d")
    schemas_of(d.actions[1], fluent_predicates(d))
end

@testset "preconditions" begin
    s = only(schemas("(and (p ?x) (and (s ?x) (not (z))) (p ?x))"))
    # one slot for p, none for the static s
    @test [(l.predicate, l.slot) for l in s.condition.positive] == [(1, 1), (3, 0)]
    @test [l.predicate for l in s.condition.negative] == [4]
    @test length(schemas("(or (p ?x) (and (s ?x) (or (z) (q ?x ?y))))")) == 3
    @test length(schemas("(imply (p ?x) (z))")) == 2
    @test length(schemas("(not (and (p ?x) (z)))")) == 2
    s = only(schemas("(exists (?w - b) (q ?x ?w))"))
    @test length(s.parameters) == 2 && length(s.condition.variables) == 1
    s = only(schemas("(forall (?w - b) (q ?x ?w))"))
    @test isempty(s.condition.positive) && length(s.condition.rest) == 1
    @test only(schemas("(= ?x k)")).parameters == [-1, 2]
    @test only(schemas("(and (= ?x k) (= k k))")).parameters == [-1, 2]
    @test only(schemas("(and (= ?x k) (not (= ?x ?x)))")).condition.unequal == [(-1, -1)]
    # 2^20 disjuncts are not multiplied out
    many = "(and " * "(or (p ?x) (z)) "^20 * ")"
    @test 1 <= length(schemas(many)) <= PlanRank.MAX_BRANCHES
end

@testset "effects" begin
    s = only(schemas("()", """(and (p ?x) (not (p ?x))
        (forall (?w - b) (when (or (z) (s ?x)) (and (q ?x ?w) (not (z))))))"""))
    @test length(s.add) == 1 && isempty(s.del)          # adding wins
    @test length(s.effects) == 2                        # one for each disjunct
    @test all(e -> length(e.add) == 1 && length(e.del) == 1 && length(e.condition.variables) == 1, s.effects)
end

problem(init) = "(define (problem n) (:domain n) (:objects a1 a2 - a b1 b2 b3 - b) (:init $init) (:goal (z)))"
task(precondition, effect, init) = task_from_text(domain_with(precondition, effect), problem(init))

@testset "conditional effects in the ground task" begin
    # the static conditions are settled while grounding; z is fluent only if some effect changes it
    nested = "(forall (?w - a) (when (s ?w) (when (not (z)) (p ?w))))"
    settled, open = (task("(s ?x)", effect, "(s a1) (s k)") for effect in (nested, "(and (z) $nested)"))
    @test noperators(settled) == noperators(open) == 2 * 3
    @test isempty(settled.cond_slot) && all(o -> length(row(settled.add, o)) == 2, 1:6)
    @test diff(open.cond_offsets) == fill(2, 6)
    t = task("()", "(and (z) (forall (?w - b) (when (and (z) (s ?x)) (q ?x ?w))))", "(s a2)")
    @test count(o -> t.cond_offsets[o+1] > t.cond_offsets[o], 1:noperators(t)) == 3
    @test all(==(1), t.cond_slot) && length(t.cond_slot) == 9
end

@testset "negative preconditions" begin
    t = task("(and (not (s ?x)) (not (p ?x)) (not (q ?x ?y)))", "(p ?x)", "(s a1)")
    @test noperators(t) == 2 * 3
    @test !any(startswith("(act a1"), operator_names(t))            # settled: s is static
    @test all(o -> length(row(t.neg, o)) == 1, 1:noperators(t))     # q is never true: dropped
end
