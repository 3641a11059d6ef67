using Test
using PlanRank
using PlanRank: Limits, PlanRankError, Source, Ticker, load, parse_domain, parse_problem, ground, outline_of

isdefined(Main, :Texts) || include("texts.jl")
using .Texts

const LATE = Limits(0.0, typemax(Int))
const CRAMPED = Limits(Inf, 1)

domain_text(; types = "", constants = "", predicates = "(p ?x) (q ?x ?y)", parameters = "?x", condition = "()",
    effect = "(p ?x)") = """(define (domain d) (:requirements :adl) (:types $types) (:constants $constants)
    (:predicates $predicates) (:action a :parameters ($parameters) :precondition $condition :effect $effect))"""

problem_text(objects, init = "", goal = "()") =
    "(define (problem e) (:domain d) (:objects $objects) (:init $init) (:goal $goal))"

numbered(f, n) = join(map(f, 1:n), ' ')

"What `f` throws, if the user asks to stop from the `n`-th question on."
const QUESTIONS = Ref(0)
const STOP_FROM = Ref(0)
count_question()::Cint = (QUESTIONS[] += 1) >= STOP_FROM[]
function stopped(f; from = 1)
    before = PlanRank.STOP_QUESTION[], PlanRank.SECONDS_PER_CHECK[]
    QUESTIONS[], STOP_FROM[] = 0, from
    PlanRank.STOP_QUESTION[] = @cfunction(count_question, Cint, ())
    PlanRank.SECONDS_PER_CHECK[] = 0.0      # how often it is asked must not depend on how fast the machine is
    try
        error_of(f)
    finally
        PlanRank.STOP_QUESTION[], PlanRank.SECONDS_PER_CHECK[] = before
    end
end

kind_of(x) = x isa PlanRankError ? x.kind : x

# Each is long in one phase only.
const OBJECTS = problem_text(numbered(i -> "o$i", 1_000))
const LONG = Dict(
    "comment" => (";"^1_000_000 * "\n" * domain_text(), problem_text("o")),
    "word" => ("(" * "a"^1_000_000, problem_text("o")),
    "spaces" => (" "^1_000_000 * domain_text(), problem_text("o")),
    "brackets" => ("(define " * "()"^10_000 * ")", problem_text("o")),
    "types" => (domain_text(types = numbered(i -> "t$i - t$(i + 1)", 5_000)), problem_text("o")),
    "parameters" => (domain_text(parameters = "?x " * numbered(i -> "?v$i", 5_000)), problem_text("o")),
    "objects" => (domain_text(), problem_text(numbered(i -> "o$i", 5_000))),
    "atoms" => (domain_text(), problem_text("o", "(p o) "^5_000)),
)

@testset "every phase of parsing keeps the limits: $name" for name in sort(collect(keys(LONG)))
    domain, problem = LONG[name]
    parsed(limits) = parse_problem(problem, "p", parse_domain(domain, "d", limits), limits)
    name in ("word", "brackets") || parsed(Limits())
    @test kind_of(error_of(() -> parsed(LATE))) == :time
    @test kind_of(error_of(() -> parsed(CRAMPED))) == :memory
    @test kind_of(stopped(() -> parsed(Limits()))) == :interrupted
    @test kind_of(stopped(() -> outline_of(domain * problem))) == :interrupted
end

@testset "limits of loading and validating count for parsing" begin
    sources = Source("d", domain_text()), Source("p", problem_text(numbered(i -> "o$i", 5_000)))
    for (limits, kind) in ((LATE, :time), (CRAMPED, :memory))
        error = error_of(() -> load(sources..., limits))
        @test kind_of(error) == kind && occursin("parsing", error.message)
        error = error_of(() -> PlanRank.validate(sources..., Source("plan", ""), limits))
        @test kind_of(error) == kind && occursin("parsing", error.message)
    end
    mktempdir() do folder
        file = joinpath(folder, "domain.pddl")
        write(file, domain_text())
        @test kind_of(error_of(() -> load(Source(file), sources[2], LATE))) == :time
        @test kind_of(error_of(() -> load(Source(file), sources[2], CRAMPED))) == :memory
        @test kind_of(stopped(() -> PlanRank.outline(file))) == :interrupted
    end
end

@testset "a replay keeps the limits" begin
    domain = parse_domain(domain_text(condition = "(forall (?y ?z) (imply (q ?y ?z) (p ?y)))"), "d")
    problem = parse_problem(OBJECTS, "p", domain)
    replay(limits) = PlanRank.validate_plan(domain, problem, "(a o1)", "plan", limits)
    @test kind_of(error_of(() -> replay(LATE))) == :time
    @test kind_of(error_of(() -> replay(CRAMPED))) == :memory
    @test kind_of(stopped(() -> replay(Limits()))) == :interrupted
    @test kind_of(stopped(() -> replay(Limits()); from = 3)) == :interrupted     # in the midst of it
end

const GROUNDING = Dict(
    "joins that find nothing" => domain_text(parameters = "?x ?y ?z ?w",
        condition = "(and (q ?x ?y) (q ?z ?w) (q ?x ?w) (q ?w ?y) (not (q ?z ?w)))"),
    "actions" => domain_text(parameters = "?x ?y", effect = "(q ?x ?y)"),
    "quantifiers" => domain_text(condition = "(forall (?y ?z) (or (q ?y ?z) (not (p ?y))))",
        effect = "(and (p ?x) (q ?x ?x))"),
    "choices" => domain_text(parameters = "?x ?y", condition = "(forall (?z) (exists (?w) (q ?z ?w)))",
        effect = "(q ?x ?y)"),
    "effects" => domain_text(effect = "(and (p ?x) (forall (?y ?z) (when (q ?y ?z) (q ?z ?y))))"),
    "wide actions" => domain_text(constants = numbered(i -> "c$i", 2_000),
        effect = "(and " * numbered(i -> "(q ?x c$i) (not (q c$i ?x))", 2_000) * ")"),
    "many parameters" => domain_text(parameters = "?x " * numbered(i -> "?v$i", 3_000)),
)

@testset "every phase of grounding keeps the limits: $name" for name in sort(collect(keys(GROUNDING)))
    domain = parse_domain(GROUNDING[name], "d")
    init = numbered(i -> "(q o$i o$(i % 300 + 1)) (q o$i o1)", 1_000)
    problem = parse_problem(problem_text(numbered(i -> "o$i", 1_000), init), "p", domain)
    @test kind_of(error_of(() -> ground(domain, problem, LATE))) == :time
    @test kind_of(error_of(() -> ground(domain, problem, CRAMPED))) == :memory
    @test kind_of(stopped(() -> ground(domain, problem); from = 3)) == :interrupted     # in the midst of it
end

@testset "memory is asked for before it is taken" begin
    limits = Limits(Inf, PlanRank.resident_bytes() + 200 << 20)
    ticker = Ticker(limits, "trying")
    @test PlanRank.claim!(ticker, 100 << 20) === nothing
    error = error_of(() -> PlanRank.claim!(ticker, 1 << 30))
    @test kind_of(error) == :memory && error.message == "out of memory while trying"
    @test PlanRank.resident_bytes() < limits.memory
    @test kind_of(error_of(() -> PlanRank.zeros_within(ticker, 1 << 28))) == :memory
    full = zeros(Int32, PlanRank.LARGE_LENGTH)
    @test kind_of(error_of(() -> PlanRank.push_within!(Ticker(CRAMPED), full, 1))) == :memory
    PlanRank.push_within!(ticker, full, 1)
    @test length(full) == PlanRank.LARGE_LENGTH + 1 && full[end] == 1 && iszero(full[1:end-1])
    @test iszero(PlanRank.zeros_within(Ticker(), PlanRank.LARGE_LENGTH + 3))
end

const KEPT = Ref(Vector{UInt8}[])
keep(n) = (KEPT[] = [zeros(UInt8, 50 << 20) for _ in 1:n]; nothing)

@testset "garbage is no reason to be out of memory" begin
    keep(4)
    limits = Limits(Inf, PlanRank.resident_bytes() - 100 << 20)
    @test kind_of(error_of(() -> PlanRank.check(limits, "trying"))) == :memory
    keep(0)
    @test PlanRank.check(limits, "trying") === nothing
end

@testset "names are sorted as strings are, piece by piece" begin
    constants = "a a! a% a-b ab a\$ a~ b!a b!"
    domain = domain_text(constants = constants, predicates = "(p ?x) (p! ?x ?y) (p!! ) (q ?x ?y)",
        parameters = "?x ?y", condition = "(or (p ?x) (not (p!!)))", effect = "(and (p! ?x ?y) (p ?x) (p!!))")
    loaded = load(Source("d", domain), Source("p", problem_text("c d")))
    for list in ("facts", "operators")
        names = PlanRank.sorted_names(loaded, list, Inf, typemax(Int))
        count, size = PlanRank.names_in_pieces(names)
        pieces = [PlanRank.names_piece(names, done) for done in 0:size:count-1]
        @test join(pieces, '\n') == join(sort(split(PlanRank.joined_names(loaded, list), '\n')), '\n')
    end
    loaded = load(Source("d", GROUNDING["actions"]), Source("p", problem_text(numbered(i -> "o$i", 150))))
    names = PlanRank.sorted_names(loaded, "operators", Inf, typemax(Int))
    count, size = PlanRank.names_in_pieces(names)
    @test count == 150^2 > 2 * size && PlanRank.names_piece(names, count) == ""
    pieces = [PlanRank.names_piece(names, done) for done in 0:size:count-1]
    @test join(pieces, '\n') == join(sort(split(PlanRank.joined_names(loaded, "operators"), '\n')), '\n')
    @test kind_of(error_of(() -> PlanRank.sorted_names(loaded, "operators", 0.0, typemax(Int)))) == :time
    @test kind_of(error_of(() -> PlanRank.sorted_names(loaded, "operators", Inf, 1))) == :memory
end
