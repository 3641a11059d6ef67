using Test
using PlanRank
using PlanRank: outline_of

problem(objects) = "(define (problem p) (:domain d) $objects (:init) (:goal ()))"

@testset "the kind of a text" begin
    @test outline_of("(define (domain d))") == ("domain", 0)
    @test outline_of("(define (problem p))") == ("problem", 0)
    @test outline_of("; (define (domain d))\n\t(DEFINE ( Problem p))") == ("problem", 0)
    @test outline_of("\ufeff(define (domain d) (:constants a b))") == ("domain", 0)
    for text in ("", "(", ")", "define", "(define)", "(define (plan p))", "(define domain d)", "(domain d)", "\0", "é",
        "(pick-up a)\n(stack a b)\n", "(define (", "((define (domain d)))")
        @test outline_of(text) == ("", 0)
    end
end

@testset "how many objects a problem declares" begin
    for (objects, number) in (("", 0), ("(:objects)", 0), ("(:objects a b c)", 3), ("(:OBJECTS A B)", 2),
        ("(:objects a b - block)", 2), ("(:objects a - block b c - place d)", 4),
        ("(:objects a - (either block place) b)", 2), ("(:objects a b - (either (block) place) c - x d)", 4),
        ("(:objects a ; b c\n d)", 2), ("( :objects a\n\t-\nblock b)", 2), ("(:objects a-b c- -d)", 3),
        ("(:objects a) (:objects b c)", 1), ("(:objects - a)", 0), ("(:objects a -)", 1))
        @test outline_of(problem(objects)) == ("problem", number)
    end
    @test outline_of("(define (domain d) (:objects a b))") == ("domain", 0)
end

# The error itself, with its place, comes from `load`.
@testset "a broken text still says what it is" begin
    @test outline_of("(define (domain d) (:action a :parameters (?x") == ("domain", 0)
    @test outline_of("(define (problem p) (:objects a b)") == ("problem", 2)
    @test outline_of("(define (problem p) (:objects a b") == ("problem", 2)
    @test outline_of("(define (problem p) (:objects a b é c))") == ("problem", 2)
    @test outline_of("(define (problem p) (:objects a b)))) (:objects c)") == ("problem", 2)
    @test outline_of("(define (problem p) " * "("^2_000) == ("problem", 0)
    whole = problem("(:objects a - block b)")
    beginning, counted = ncodeunits("(define (problem"), findfirst(" b)", whole)[2]
    for stop in 1:ncodeunits(whole)
        kind, objects = outline_of(whole[1:stop])
        @test kind == (stop < beginning ? "" : "problem")
        stop < counted || @test objects == 2
    end
end

@testset "files" begin
    mktempdir() do folder
        file = joinpath(folder, "p.pddl")
        write(file, problem("(:objects a b - block c)"))
        @test PlanRank.outline(file) == ("problem", 3)
        @test_throws PlanRank.PlanRankError PlanRank.outline(folder)
        @test_throws PlanRank.PlanRankError PlanRank.outline(joinpath(folder, "none.pddl"))
    end
end

@testset "as many objects as the parser finds" begin
    domain = PlanRank.parse_domain(PlanRank.TOY_DOMAIN, "d")
    parsed = PlanRank.parse_problem(PlanRank.TOY_PROBLEM, "p", domain)
    @test outline_of(PlanRank.TOY_PROBLEM) == ("problem", length(parsed.objects) - length(domain.constants))
end
