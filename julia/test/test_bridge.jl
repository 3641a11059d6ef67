using Test, TOML
using PlanRank
using PlanRank: Source, nwords, in_units

isdefined(Main, :RandomTasks) || include("random_tasks.jl")
isdefined(Main, :Texts) || include("texts.jl")
using .RandomTasks, .Texts

const LIMITLESS = (Inf, typemax(Int))

# Places on a ring with shortcuts; lengths have decimals, so that the scale is 100.
const RING = """(define (domain ring) (:requirements :typing :action-costs) (:types place parcel)
(:predicates (at ?p - place) (in ?x - parcel) (lies ?x - parcel ?p - place) (road ?a ?b - place))
(:functions (total-cost) - number (length ?a ?b - place) - number)
(:action drive :parameters (?a ?b - place) :precondition (and (at ?a) (road ?a ?b))
  :effect (and (not (at ?a)) (at ?b) (increase (total-cost) (length ?a ?b))))
(:action take :parameters (?x - parcel ?p - place) :precondition (and (at ?p) (lies ?x ?p))
  :effect (and (not (lies ?x ?p)) (in ?x) (increase (total-cost) 0.7)))
(:action drop :parameters (?x - parcel ?p - place) :precondition (and (at ?p) (in ?x))
  :effect (and (not (in ?x)) (lies ?x ?p) (increase (total-cost) 1.1))))"""

function ring_problem(n)
    pairs = unique((a, mod1(a + step, n)) for a in 1:n for step in (1, 3, n - 2))
    lengths = Iterators.cycle((0.7, 1.1, 0.25, 2.35, 1.49))
    facts = ["(road p$a p$b) (= (length p$a p$b) $length)" for ((a, b), length) in zip(pairs, lengths)]
    """(define (problem ring$n) (:domain ring) (:objects $(join(("p$i" for i in 1:n), ' ')) - place x y z - parcel)
    (:init (at p1) (lies x p2) (lies y p3) (lies z p$n) (= (total-cost) 0) $(join(facts, '\n')))
    (:goal (and (lies x p$n) (lies y p1) (lies z p2))) (:metric minimize (total-cost)))"""
end

load_ring(n) = PlanRank.load(Source("ring", RING), Source("problem", ring_problem(n)), LIMITLESS...)

new_search(loaded, name, entries = false, preferred = false) =
    PlanRank.new_search(loaded, name, entries, preferred, false, 3.0, nothing, nothing, 1, 0, LIMITLESS...)

plan_and_cost(loaded, search) =
    (plan = PlanRank.plan_lines(search); (plan, PlanRank.validate(loaded, plan, "plan")[2]))

"As Python drives a search with values it has made, in Float32."
function drive_with(loaded, heuristic, search)
    while (n = PlanRank.expand_batch(search, 1, Inf)) > 0
        states = PlanRank.new_words(search)
        values = GC.@preserve states PlanRank.heuristic_values(loaded, heuristic, UInt(pointer(states)), n)
        handed_in = Float32.(values)
        GC.@preserve handed_in PlanRank.insert_values(search, UInt(pointer(handed_in)), n)
    end
end

@testset "decimal costs: a search driven over the bridge is the search that Julia runs" begin
    for n in (4, 6), name in ("astar", "wastar", "gbfs"), guide in ("blind", "goalcount", "hmax", "hadd", "ff", "lmcut")
        loaded = load_ring(n)
        @test PlanRank.dimensions(loaded)[5] == 100
        heuristic = PlanRank.new_heuristic(loaded, guide, LIMITLESS...)
        whole, driven = new_search(loaded, name), new_search(loaded, name)
        while PlanRank.run_slice(whole, heuristic, 1.0, typemax(Int)) == "running" end
        drive_with(loaded, heuristic, driven)
        @test PlanRank.search_status(driven) == PlanRank.search_status(whole) == "solved"
        @test PlanRank.statistics(driven) == PlanRank.statistics(whole)
        @test plan_and_cost(loaded, driven) == plan_and_cost(loaded, whole)
    end
end

@testset "values of a heuristic come back as they went out" begin
    for scale in (10, 100, 1000, 10^6, 10^9), value in [0:50_000; 2^23-1000:2^23]
        in_units(Float32(value / scale), scale) == value || @test (scale, value) === nothing
    end
    @test any(value -> Float32(Float64(Float32(value / 100)) * 100) != value, 0:50_000)    # so it is needed
    @test in_units(Inf32, 100) == Inf32 && isnan(in_units(NaN32, 100)) && in_units(-0.5f0, 10) == -5
    @test in_units(0.0123f0, 100) == Float32(Float64(0.0123f0) * 100)
end

@testset "costs and values are those the user wrote" begin
    loaded = load_ring(5)
    task = loaded.task
    costs = PlanRank.task_costs(loaded)
    @test costs isa Vector{Float64} && costs == task.op_cost / 100
    @test sort(unique(costs[task.schemas[task.op_schema] .!= "drive"])) == [0.7, 1.1]
    search, hmax = new_search(loaded, "astar"), PlanRank.new_heuristic(loaded, "hmax", LIMITLESS...)
    drive_with(loaded, hmax, search)
    plan, cost = plan_and_cost(loaded, search)
    @test cost ≈ sum(costs[PlanRank.plan(search)])
    @test cost ≈ search.store.g[search.goal_id] / 100
    @test PlanRank.statistics(new_search(loaded, "astar"))[6] == Inf
    @test PlanRank.statistics(search)[6] == search.best_h / 100

    initial = PlanRank.pack_facts(task.init, nwords(task))
    values = GC.@preserve initial PlanRank.heuristic_values(loaded, hmax, UInt(pointer(initial)), 1)
    @test values == [PlanRank.evaluate(hmax, initial, 0) / 100]
    columns = PlanRank.ranking_columns(loaded, plan, "")
    @test columns[2][end] == Float32(cost) && columns[10] == Float32.(costs[columns[11].+1])
    columns = PlanRank.entry_ranking_columns(loaded, plan, 0, "", false)
    @test columns[2][end] == Float32(cost) && columns[5] == Float32.(costs[columns[6].+1])
end

@testset "values that come with actions are scaled too" begin
    loaded = load_ring(4)
    search = new_search(loaded, "phs")
    @test PlanRank.expand_batch(search, 1, Inf) == 1
    offsets, operators = PlanRank.new_operators(search)
    applicable = PlanRank.applicable_operators!(Int32[], search.generator, PlanRank.new_words(search), 0)
    @test offsets == [0, length(operators)] && operators == applicable .- 1
    values, logs = Float32[2.35], fill(-1.0f0, length(operators))
    GC.@preserve values logs PlanRank.insert_values_and_policy(search, UInt(pointer(values)), 1, UInt(pointer(logs)),
        length(logs))
    @test search.store.h[1] == 235 && PlanRank.statistics(search)[6] == 2.35

    search = new_search(loaded, "gbfs", true)
    PlanRank.expand_batch(search, 1, Inf)
    values = fill(2.35f0, length(last(PlanRank.new_operators(search))))
    GC.@preserve values PlanRank.insert_entry_values(search, UInt(pointer(values)), length(values))
    @test search.store.h[1] == 235 && PlanRank.statistics(search)[6] == 2.35
end

@testset "without decimals values are handed on untouched" begin
    task = small_task(nfacts = 2, init = [1], goal = [2], operators = [([1], [2], [], 1)])
    values = Float32[0.1, 1e30, -2]
    @test in_units(task, values) === values
end

@testset "texts and files" begin
    domain, problem, plan = PlanRank.TOY_DOMAIN, PlanRank.TOY_PROBLEM, PlanRank.TOY_PLAN
    texts = [Source("my domain", domain), Source("my problem", problem), Source("my plan", plan)]
    from_text = PlanRank.load(texts[1], texts[2], LIMITLESS...)
    mktempdir() do folder
        files = [joinpath(folder, name) for name in ("domain.pddl", "problem.pddl", "plan")]
        foreach(write, files, (domain, problem, plan))
        sources = PlanRank.file_source.(files)
        from_files, mixed = (PlanRank.load(first, sources[2], LIMITLESS...) for first in (sources[1], texts[1]))
        for list in keys(PlanRank.NAME_LISTS)
            @test PlanRank.joined_names(from_files, list) == PlanRank.joined_names(from_text, list)
            @test PlanRank.joined_names(from_files, list) == PlanRank.joined_names(mixed, list)
        end
        @test PlanRank.validate_sources(sources..., LIMITLESS...) == (7, 11.0)
    end
    @test PlanRank.validate_sources(texts..., LIMITLESS...) == (7, 11.0)
    blamed(i, text) = error_of() do
        PlanRank.validate_sources((k == i ? Source(one.name, text) : one for (k, one) in enumerate(texts))...,
            LIMITLESS...)
    end.file
    @test blamed(1, "(define") == "my domain"
    @test blamed(2, "(define") == "my problem"
    @test blamed(3, "(fly van)") == "my plan"
    broken = PlanRank.text_source("my problem", "(define\n (domain toy))")
    error = error_of(() -> PlanRank.load(texts[1], broken, LIMITLESS...))
    @test (error.file, error.line, error.column) == ("my problem", 2, 2)
end

@testset "the version is that of Project.toml" begin
    project = TOML.parsefile(joinpath(@__DIR__, "..", "..", "Project.toml"))
    @test PlanRank.module_version() == project["version"]
    @test PlanRank.parts_format() == PlanRank.PARTS_FORMAT
end

# What is not called there is compiled only when a user first needs it.
@testset "the workload calls all that Python may call" begin
    @test PlanRank.workload() === nothing
    sources = joinpath(@__DIR__, "..")
    texts = (read(joinpath(sources, name), String) for name in ("bridge.jl", "bridge_models.jl", "workload.jl"))
    bridge, bridge_models, workload = texts
    defined = Set(String(m[1]) for m in eachmatch(r"^(?:function )?([a-z_]+)\("m, bridge * bridge_models))
    union!(defined, ["proved_unsolvable", "new_words", "resident_bytes", "peak_bytes"])
    helpers = ["include_dependency", "borrowed", "from_zero", "lines", "in_units", "step_lines", "layout_rows",
        "as_written", "all_words"]
    called(name) = occursin(Regex("(?<![a-z_])$name[(,)]"), workload)
    @test issubset(helpers, defined) && length(defined) > 40
    @test isempty(filter(name -> !(name in helpers || called(name)), defined))
end

@testset "static atoms, declarations and a table of numbers for facts" begin
    loaded = load_ring(4)
    predicates, actions = split.(PlanRank.declared(loaded), '\n')
    @test actions == ["drive ?a ?b", "take ?x ?p", "drop ?x ?p"]
    predicate, offsets, objects = PlanRank.static_atoms(loaded)
    @test all(==("road ?a ?b"), predicates[predicate.+1]) && length(offsets) == length(predicate) + 1
    roads = Set((loaded.task.objects[objects[o+1]+1], loaded.task.objects[objects[o+2]+1]) for o in offsets[1:end-1])
    @test ("p1", "p2") in roads
    @test count(r -> first(r) == "p1", collect(roads)) == length(unique(mod1(1 + step, 4) for step in (1, 3, 2)))
    numbers = [Float64(f) for f in 1:PlanRank.nfacts(loaded.task)]
    table = GC.@preserve numbers PlanRank.new_table(loaded, UInt(pointer(numbers)), length(numbers))
    initial = PlanRank.pack_facts(loaded.task.init, nwords(loaded.task))
    value = GC.@preserve initial PlanRank.heuristic_values(loaded, table, UInt(pointer(initial)), 1)
    @test value == [Float64(sum(loaded.task.init))]
    @test PlanRank.domain_signature(Source("ring", RING)) == PlanRank.signature_text(loaded)
end
