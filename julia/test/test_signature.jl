using Test
using PlanRank
using PlanRank: Signature, signature_text, parse_domain

@testset "the signature does not depend on the order of the domain file" begin
    actions = ["(:action a :parameters (?x) :precondition (p ?x) :effect (and (q ?x) (not (p ?x))))",
        "(:action b :parameters (?x) :precondition (not (q ?x)) :effect (and (p ?x) (when (p ?x) (q ?x))))"]
    predicates = ["(p ?x)", "(q ?x)", "(static ?x)"]
    text(order, names) = """(define (domain d) (:requirements :adl) (:predicates $(join(predicates[names], ' ')))
        $(join(actions[order], ' ')))"""
    one, two = (signature_text(Signature(parse_domain(text(order, names), "d")))
                for (order, names) in (([1, 2], 1:3), ([2, 1], 3:-1:1)))
    @test one == two
    @test one == """
    domain d
    predicate p
    predicate q
    edge a : +p : +q -p
    edge b : -q : +p +q
    edge b/1 : -q +p : +q
    """
end
