using Test
using PlanRank: goal_distances, fact_name

isdefined(Main, :Texts) || include("texts.jl")
using .Texts

const SLIDE = """
(define (domain slide) (:predicates (at ?t ?p) (free ?p) (next ?a ?b) (stuck ?t))
  (:action move :parameters (?t ?a ?b) :precondition (and (at ?t ?a) (free ?b) (next ?a ?b))
    :effect (and (at ?t ?b) (not (at ?t ?a)) (free ?a) (not (free ?b))))
  (:action glue :parameters (?t ?a) :precondition (at ?t ?a) :effect (stuck ?t))
  (:action hop :parameters (?t ?a ?b) :precondition (and (stuck ?t) (next ?a ?b))
    :effect (when (at ?t ?a) (and (at ?t ?b) (not (at ?t ?a))))))
"""

slide_problem(goal, next) = """
(define (problem p) (:domain slide) (:objects x y a b c d)
  (:init (at x a) (at y b) (free c) (free d) $next) (:goal $goal))
"""

function distances(goal, next)
    task = task_from_text(SLIDE, slide_problem(goal, next))
    Dict(fact_name(task, f) => d for (f, d) in enumerate(goal_distances(task)))
end

@testset "distances from goals: one argument changes a step" begin
    row = "(next a b) (next b c) (next c d) (next b a)"
    found = distances("(and (at x d) (free a))", row)
    @test [found["(at x $p)"] for p in "dcba"] == [0, 1, 2, 3]
    @test [found["(at y $p)"] for p in "bcd"] == [-1, -1, -1]       # another tile's way does not count
    @test [found["(free $p)"] for p in "abcd"] == [0, 1, 2, 3]      # the hole goes the other way
    @test found["(stuck x)"] == -1
    @test distances("(at x a)", row)["(at x c)"] == -1              # no way back
    @test distances("(or (at x d) (at x b))", row)["(at x a)"] == 1
end

@testset "conditional effects are steps too" begin
    found = distances("(at x d)", "(next a d)")
    @test found["(at x a)"] == 1
end
