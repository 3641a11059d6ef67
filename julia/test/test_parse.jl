using Test, Random
using PlanRank
using PlanRank: parse_domain, parse_problem, nfacts, noperators

isdefined(Main, :Texts) || include("texts.jl")
using .Texts

const DOMAIN = """(define (domain d) (:requirements :adl)
(:types truck plane - vehicle place vehicle)
(:constants hub - place)
(:predicates (at ?v - vehicle ?p - place) (road ?a ?b - place) (big ?x - (either truck place)))
(:action go
 :parameters (?v - truck ?a ?b - place)
 :precondition (and (at ?v ?a) (road ?a ?b))
 :effect (and (not (at ?v ?a)) (at ?v ?b))))"""
const PROBLEM = """(define (problem p) (:domain d)
(:objects t1 - truck x y - place)
(:init (at t1 x) (road x y) (road y hub))
(:goal (at t1 hub)))"""

outcome(domain, problem) = error_of(() -> task_from_text(domain, problem, PlanRank.Limits(time() + 20, typemax(Int));
    domain_name = "d.pddl", problem_name = "p.pddl"))

@testset "a good domain" begin
    d = parse_domain(DOMAIN, "d.pddl")
    p = parse_problem(PROBLEM, "p.pddl", d)
    @test d.types.names == ["object", "truck", "vehicle", "plane", "place"]
    @test [o.name for o in p.objects] == ["hub", "t1", "x", "y"]
    @test d.actions[1].parameters == 3 && d.actions[1].precondition.kind == :and
    t = outcome(uppercase(DOMAIN), PROBLEM)
    @test nfacts(t) == 3 && noperators(t) == 2
    # without spaces, with comments, with other line ends, with a byte order mark
    for change in ("?v - vehicle ?p" => "?v - vehicle?p", "\n" => " ; bad) é comment\n", "\n" => "\r\n",
        "(define" => "\ufeff(define", "(:requirements :adl)" => "")
        @test noperators(outcome(replace(DOMAIN, change), PROBLEM)) == 2
    end
end

"Replaces `old` in the domain or the problem and checks the error's kind, line, column and words."
function check_error(where, old, new, kind, line, column, words...)
    @assert occursin(old, where == :domain ? DOMAIN : PROBLEM)
    changed(text) = replace(text, old => new, count = 1)
    e = where == :domain ? outcome(changed(DOMAIN), PROBLEM) : outcome(DOMAIN, changed(PROBLEM))
    @test e isa PlanRank.PlanRankError
    e isa PlanRank.PlanRankError || return
    @test (e.kind, e.file, e.line, e.column) == (kind, where == :domain ? "d.pddl" : "p.pddl", line, column)
    for word in words
        @test occursin(word, e.message)
    end
    @test !occursin('\n', e.message) && length(e.message) < 400
end

@testset "errors say where, what was found and what was expected" begin
    check_error(:domain, "- vehicle place vehicle", "- vehicle place vehicle vehicle - truck", :meaning, 2, 9, "cycle")
    check_error(:domain, "hub - place", "hub - palace", :meaning, 3, 19, "unknown type 'palace'")
    check_error(:domain, "(:constants hub", "(:constants hub hub", :meaning, 3, 17, "twice")
    check_error(:domain, "(road ?a ?b - place)", "(road ?a ?b - place) (road)", :meaning, 4, 65,
        "predicate 'road' is declared twice")
    check_error(:domain, "(at ?v ?a) (road", "(at ?v) (road", :meaning, 7, 21, "1 argument", "expected 2")
    check_error(:domain, "(at ?v ?a) (road", "(at ?a ?v) (road", :meaning, 7, 25, "'?a'", "place", "expected vehicle",
        "argument 1")
    check_error(:domain, "(at ?v ?a) (road", "(at ?w ?a) (road", :meaning, 7, 25, "unknown variable '?w'")
    check_error(:domain, "(at ?v ?a) (road", "(at ?v nowhere) (road", :meaning, 7, 28, "unknown object 'nowhere'")
    check_error(:domain, "(at ?v ?a) (road", "(att ?v ?a) (road", :meaning, 7, 22, "unknown predicate 'att'")
    check_error(:domain, "(?v - truck ?a", "(?v - truck ?v", :meaning, 6, 26, "'?v' is declared twice")
    check_error(:domain, ":effect", ":efect", :syntax, 8, 2, "found ':efect'", "expected")
    check_error(:domain, "(at ?v ?b)", "at", :syntax, 8, 32, "found 'at'", "expected an effect")
    # the 'and' is left open
    check_error(:domain, "(road ?a ?b))\n", "(road ?a ?b)\n", :syntax, 7, 16, "no ')'")
    check_error(:domain, "(?v - truck ?a ?b - place)", "(?v - truck ?a ?b - place", :syntax, 6, 14, "no ')'")
    check_error(:problem, "(road x y)", "(road x y", :syntax, 3, 18, "no ')'")
    check_error(:problem, "(at t1 hub)))", "(at t1 hub))))", :syntax, 4, 21, "')'")
    check_error(:problem, "(:domain d)", "(:domain other)", :meaning, 1, 30, "'other'", "expected 'd'")
    check_error(:problem, "(road x y)", "(road x t1)", :meaning, 3, 26, "truck", "expected place")
    check_error(:problem, "(road x y)", "(road x z)", :meaning, 3, 26, "unknown object 'z'")
    check_error(:problem, "x y - place", "x x - place", :meaning, 2, 24, "twice")
    check_error(:problem, "(:goal", "(:gaol", :syntax, 4, 1, "gaol", "expected one of")
    check_error(:problem, "(road x y)", "(road x y) (not (at t1 x))", :meaning, 3, 29, "true")
end

@testset "what is not supported is refused by name" begin
    check_error(:domain, "(:action go", "(:durative-action go", :unsupported, 5, 1, "durative actions")
    check_error(:domain, "(:action go", "(:derived (road ?a ?b - place) (road ?b ?a)) (:action go", :unsupported, 5, 1,
        "derived predicates")
    check_error(:domain, "(at ?v ?a) (road", "(> (fuel ?v) 1) (road", :unsupported, 7, 21, "numeric")
    check_error(:domain, "(at ?v ?a) (road", "(preference q (at ?v ?a)) (road", :unsupported, 7, 21, "preferences")
    check_error(:domain, "(at ?v ?b)", "(at ?v ?b) (assign (fuel) 3)", :unsupported, 8, 43, "numeric")
    check_error(:domain, ":adl", ":adl :magic", :unsupported, 1, 40, ":magic")
    check_error(:problem, "(:goal", "(:constraints (and)) (:goal", :unsupported, 4, 1, "trajectory constraints")
    check_error(:problem, "(:goal", "(:metric maximize (profit)) (:goal", :unsupported, 4, 1, "metric", "maximize")
    check_error(:problem, "(road x y)", "(at 5 (road x y))", :unsupported, 3, 18, "timed initial literals")
end

@testset "a lone CR ends a line as LF and CRLF do" begin
    for line_end in ("\n", "\r", "\r\n")
        commented = replace(DOMAIN, "\n" => " ; bad) comment" * line_end)
        @test noperators(outcome(commented, PROBLEM)) == 2
        e = outcome(replace(commented, "(at ?v ?a) (road" => "(att ?v ?a) (road"), PROBLEM)
        @test (e.line, e.column) == (7, 22)
        e = outcome(DOMAIN, replace(replace(PROBLEM, "\n" => line_end^2), "(at t1 hub)" => "(at t1 hut)"))
        @test (e.line, e.column) == (7, 15)
        domain = parse_domain(DOMAIN, "d.pddl")
        problem = parse_problem(PROBLEM, "p.pddl", domain)
        plan = "; two steps" * line_end * "(go t1 x y)" * line_end * "(go t1 y hub)"
        @test PlanRank.validate_plan(domain, problem, plan, "plan") == (2, 2.0)
    end
end

@testset "the types of PDDL itself" begin
    check_error(:domain, "(:types truck", "(:types number truck", :meaning, 2, 9, "'number'", "expected another name")
    check_error(:domain, "place vehicle)", "place vehicle - number)", :meaning, 2, 47, "'number'")
    check_error(:domain, "- vehicle place", "- vehicle object - truck place", :meaning, 2, 31, "'object'", "top")
    for types in ("truck plane - vehicle place vehicle object", "truck plane - vehicle place vehicle - object object",
        "truck - object truck plane - vehicle place vehicle")
        @test noperators(outcome(replace(DOMAIN, "truck plane - vehicle place vehicle" => types), PROBLEM)) == 2
    end
end

"For each type those it is below, found by going from type to type until nothing is new."
function closure(n, edges)
    below = [Set([i, 1]) for i in 1:n]
    while any(!issubset(below[b], below[a]) && (union!(below[a], below[b]); true) for (a, b) in edges) end
    below
end

@testset "types may have several parents" begin
    rng = MersenneTwister(5)
    for _ in 1:200
        n = rand(rng, 1:12)
        edges = unique((a, rand(rng, 1:a-1)) for a in rand(rng, 2:n+1, rand(rng, 0:2n)))
        name(type) = type == 1 ? "object" : "t$type"
        declared = join(("$(name(a)) - $(name(b))" for (a, b) in edges), ' ')
        tree = parse_domain("(define (domain d) (:types t2 - object $declared))", "d").types
        number = Dict(type => Int32(i) for type in 1:n+1 for i in 1:length(tree.names) if tree.names[i] == name(type))
        below = closure(n + 1, edges)
        types = sort(collect(keys(number)))
        @test all(PlanRank.is_below(tree, number[a], number[b]) == (b in below[a]) for a in types for b in types)
        shared(a, b) = any(t -> a in below[t] && b in below[t], types)
        @test all(PlanRank.overlap(tree, [number[a]], [number[b]]) == shared(a, b) for a in types for b in types)
    end
end

@testset "very many types, parameters and objects" begin
    chain = join(("t$i - t$(i + 1)" for i in 1:100_000), ' ')
    loop = chain * " t100001 - t99990"
    many(types) = """(define (domain d) (:types $types) (:predicates (p ?x - t100001))
        (:action a :parameters (?x - t1) :precondition (p ?x) :effect (not (p ?x))))"""
    problem = "(define (problem p) (:domain d) (:objects o - t1) (:init (p o)) (:goal ()))"
    limits = PlanRank.Limits(Inf, PlanRank.resident_bytes() + 1_000_000_000)     # a table of all pairs takes more
    @test noperators(task_from_text(many(chain), problem, limits)) == 1
    e = error_of(() -> task_from_text(many(loop), problem, limits))
    @test e.kind == :meaning && occursin("'t99990' is above and below 't99991'", e.message)
    parameters = join(("?x$i" for i in 1:20_000), ' ')
    wide = """(define (domain d) (:predicates (p $parameters))
        (:action a :parameters ($parameters) :effect (p $parameters)))"""
    @test parse_domain(wide, "d").actions[1].effect.terms == 1:20_000
    objects = "(define (problem p) (:domain d) (:objects $(join(("o$i" for i in 1:300_000), ' '))) (:init) (:goal ()))"
    @test length(parse_problem(objects, "p", parse_domain("(define (domain d))", "d")).objects) == 300_000
end

@testset "variables are those of the innermost list that names them" begin
    text = """(define (domain d) (:predicates (p ?x ?y)) (:action a :parameters (?x ?y)
        :precondition (and (forall (?x) (exists (?x) (p ?x ?y))) (p ?x ?y)) :effect (p ?x ?y))
        (:action b :parameters (?y) :effect (p ?y ?y)))"""
    a, b = parse_domain(text, "d").actions
    @test a.precondition.parts[1].parts[1].parts[1].terms == [4, 2]
    @test a.precondition.parts[2].terms == a.effect.terms == [1, 2] && b.effect.terms == [1, 1]
    e = error_of(() -> parse_domain(replace(text, "(p ?y ?y)" => "(p ?x ?y)"), "d"))
    @test e.kind == :meaning && occursin("unknown variable '?x'", e.message)
end

@testset "hopeless input gets one sentence" begin
    for text in ("", ";", "(", ")", "()", "(define)", "x", "\0", "(define (domain \0))", "("^100_000,
        "("^100_000 * ")"^100_000, "a"^1_000_000, "(define (domain " * "a"^1_000_000 * "))",
        "(define " * "(domain "^900, String(rand(MersenneTwister(1), UInt8, 5_000)), PROBLEM, DOMAIN * DOMAIN)
        for e in (outcome(text, PROBLEM), outcome(DOMAIN, text == PROBLEM ? DOMAIN : text))
            @test e isa PlanRank.PlanRankError
            @test length(sprint(showerror, e)) < 400
        end
    end
    deep(n) = replace(DOMAIN, "(at ?v ?a) (road" => "(not "^n * "(at ?v ?a)" * ")"^n * " (road")
    @test noperators(outcome(deep(900), PROBLEM)) == 2
    @test outcome(deep(2_000), PROBLEM).kind == :syntax
    for file in ("/nowhere/at/all.pddl", @__DIR__)
        e = error_of(() -> PlanRank.load(PlanRank.Source(file), PlanRank.Source(file)))
        @test e isa PlanRank.PlanRankError && e.kind == :usage
    end
end

const STRANGE_TOKENS = ["(", ")", "(not ", "forall", "-", "(either", "?z", "=", "1.5", ":init", "\0", "é"]

"One random change to a text, token by token."
function mutate(rng, text)
    tokens = String[m.match for m in eachmatch(r"\(|\)|[^\s()]+|\s+", text)]
    i, j = rand(rng, eachindex(tokens)), rand(rng, eachindex(tokens))
    kind = rand(rng, 1:7)
    kind == 1 && deleteat!(tokens, i)
    kind == 2 && insert!(tokens, i, tokens[i] * " ")
    kind == 3 && ((tokens[i], tokens[j]) = (tokens[j], tokens[i]))
    kind == 4 && (tokens[i] = tokens[j])
    kind == 5 && insert!(tokens, i, rand(rng, STRANGE_TOKENS))
    kind == 6 && (tokens[i] *= "x")
    kind == 7 && return join(tokens[1:i])
    join(tokens)
end

@testset "damaged texts give a task or a PlanRankError" begin
    rng = MersenneTwister(3)
    for _ in 1:1500
        domain, problem = DOMAIN, PROBLEM
        for _ in 1:rand(rng, 1:3)
            rand(rng, Bool) ? (domain = mutate(rng, domain)) : (problem = mutate(rng, problem))
        end
        result = outcome(domain, problem)
        result isa Union{PlanRank.Task,PlanRank.PlanRankError} || println(domain, problem)
        @test result isa Union{PlanRank.Task,PlanRank.PlanRankError}
    end
end
