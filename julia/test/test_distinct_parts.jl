using Test, Random
using PlanRank
using PlanRank: Signature, Hypergraph, DistinctParts, PartsOfState, find_parts!, next_state!, take_new!, vertex_parts,
    edge_parts, bag_parts, SuccessorGenerator, applicable_operators!, nwords, nfacts, row, nedges

isdefined(Main, :random_walk) || include("walks.jl")

all_parts(parts) = ([vertex_parts(parts, l) for l in 0:parts.distinct.layers],
    [(edge_parts(parts, l), bag_parts(parts, l)) for l in 1:parts.distinct.layers])

"Do this with layers in blocks until they are made flat on purpose."
function in_blocks(f)
    PlanRank.FLATTENS[] = false
    try
        f()
    finally
        PlanRank.FLATTENS[] = true
    end
end

@testset "multisets have the same number in whatever order they come" begin
    rng, in, tally, key = MersenneTwister(1), PlanRank.Interner(), zeros(Int32, 60), Int32[]
    known = Dict{Vector{UInt64},Int32}()
    for _ in 1:3000
        items = unique(rand(rng, UInt64(1):UInt64(rand(rng, (4, 60))), rand(rng, 1:40)))
        pairs = items .<< 32 .| rand(rng, UInt64(1):UInt64(2), length(items))
        expected = get!(known, sort(pairs), length(known) + 1)
        @test PlanRank.intern_multiset!(in, pairs, length(pairs), tally, key) == expected
        @test iszero(tally)
    end
    @test length(in) == length(known) < 3000
    for (pairs, number) in known, place in PlanRank.new_records(in, 0)
        in.records[place] == number || continue
        entries = in.records[place+2:place+1+in.records[place+1]]
        @test entries == reinterpret(Int32, bitrotate.(pairs, 32))
    end
end

"Blocks are exactly the parts, lists and counts agree, and what is linked is what has members."
function check_blocks(parts)
    for number in 0:length(parts.layers)
        blocks = PlanRank.blocks_after(parts, number)
        living = sort(unique(blocks.block))
        @test allunique(blocks.part[living])
        @test blocks.size[living] == [count(==(b), blocks.block) for b in living]
        @test sort(reduce(vcat, blocks.kinds)) == living
        @test blocks.owner[blocks.content[living]] == living
        @test findall(blocks.contents.linked) == sort(blocks.content[living])
        number == 0 && continue
        layer = parts.layers[number]
        for (nodes, node_of) in ((layer.edges, layer.edge_node), (layer.bags, filter(!=(0), layer.bag_node)))
            living = sort(unique(node_of))
            @test findall(nodes.linked) == findall(>(0), nodes.members) == living
            @test nodes.members[living] == [count(==(n), node_of) for n in living]
            @test allunique(nodes.part[living])
        end
    end
end

"Steps along a walk, back, and to states far away: which state of the walk comes when."
journey(rng, n) = [1:n; n:-1:1; rand(rng, 1:n, n); repeat(rand(rng, 1:n, 2), 3)]

@testset "parts found from state to state are those found from nothing" begin
    compared, compactions, flattened = 0, 0, 0
    in_blocks() do; for seed in 1:200
        rng = MersenneTwister(seed)
        domain, task = random_domain_and_task(rng)
        nfacts(task) == 0 && continue
        receivers, residual, layers = rand(rng, (:adds, :effects, :all)), rand(rng, Bool), rand(rng, 1:4)
        graph = Hypergraph(Signature(domain), task; receivers = receivers)
        distinct = DistinctParts(Signature(domain), layers, residual, receivers)
        sees_plans = rand(rng, Bool)
        new_parts() = PartsOfState(distinct, graph; relaxed = sees_plans ? PlanRank.FFHeuristic(task) : nothing)
        moving = new_parts()
        states, width = walked_states(task, rng, 15), nwords(task)
        count = length(states) ÷ width
        expected = map(1:count) do i
            fresh = new_parts()
            next_state!(fresh, states, (i - 1) * width)
            all_parts(fresh)
        end
        for i in journey(rng, count)
            next_state!(moving, states, (i - 1) * width)
            @test all_parts(moving) == expected[i]
            check_blocks(moving)
            if rand(rng) < 0.1
                foreach(PlanRank.compact!, moving.layers)
                compactions += 1
                @test all_parts(moving) == expected[i]
            end
            if rand(rng) < 0.03 && !isempty(moving.layers)
                PlanRank.flatten!(moving, rand(rng, eachindex(moving.layers)))
                flattened += 1
                @test all_parts(moving) == expected[i]
            end
            compared += 1
        end
    end end
    @test compared > 3000
    @test compactions > 300
    @test flattened > 100
end

const FERRY = """
(define (domain ferry) (:requirements :typing :negative-preconditions) (:types car place)
  (:predicates (at-ferry ?l - place) (at ?c - car ?l - place) (empty) (on ?c - car))
  (:action sail :parameters (?from ?to - place) :precondition (and (at-ferry ?from) (not (at-ferry ?to)))
    :effect (and (at-ferry ?to) (not (at-ferry ?from))))
  (:action board :parameters (?c - car ?l - place) :precondition (and (at ?c ?l) (at-ferry ?l) (empty))
    :effect (and (on ?c) (not (at ?c ?l)) (not (empty))))
  (:action debark :parameters (?c - car ?l - place) :precondition (and (on ?c) (at-ferry ?l))
    :effect (and (at ?c ?l) (empty) (not (on ?c)))))"""

function ferry_task(rng, cars, places)
    somewhere() = join(" (at c$c l$(rand(rng, 1:places)))" for c in 1:cars)
    objects = join(" c$c" for c in 1:cars) * " - car" * join(" l$l" for l in 1:places) * " - place"
    problem = "(define (problem p) (:domain ferry) (:objects$objects) (:init (empty) (at-ferry l1)$(somewhere())) " *
              "(:goal (and$(somewhere()))))"
    loaded = PlanRank.load(PlanRank.Source("d", FERRY), PlanRank.Source("p", problem))
    loaded.domain, loaded.task
end

@testset "the same where many facts are alike and go from block to block together" begin
    in_blocks() do; for (seed, receivers, residual) in ((1, :adds, true), (2, :effects, true), (3, :all, false),
        (4, :all, true))
        rng = MersenneTwister(seed)
        domain, task = ferry_task(rng, 12, 6)
        graph = Hypergraph(Signature(domain), task; receivers = receivers)
        distinct = DistinctParts(Signature(domain), 3, residual, receivers)
        moving, width = PartsOfState(distinct, graph), nwords(task)
        states = walked_states(task, rng, 150)
        append!(states, zeros(UInt64, width), fill(typemax(UInt64), width))     # no fact holds, and all
        for i in journey(rng, length(states) ÷ width)
            next_state!(moving, states, (i - 1) * width)
            check_blocks(moving)
            rand(rng) < 0.2 || continue
            fresh = PartsOfState(distinct, graph)
            next_state!(fresh, states, (i - 1) * width)
            @test all_parts(moving) == all_parts(fresh)
        end
    end end
end

@testset "where all receive, a message is made of what an action needs and adds, and arrives there" begin
    ordered(facts...) = sort(reduce(vcat, facts))
    compared = 0
    for seed in 1:100
        rng = MersenneTwister(seed)
        domain, task = random_domain_and_task(rng)
        signature = Signature(domain)
        graph, paper = (Hypergraph(signature, task; receivers = r) for r in (:all, :adds))
        @test graph.edge_features == paper.edge_features
        for o in 1:length(task.op_schema)
            needed = unique(ordered(row(task.pre, o), row(task.neg, o)))
            used = filter(>(0), graph.tails[graph.tail_first[o]:graph.tail_first[o+1]-1])
            @test unique(sort(used)) == unique(ordered(needed, row(task.add, o)))
            @test unique(sort(graph.vertex_of_bag[row(graph.heads, o)])) == unique(sort(used))
            compared += 1
        end
    end
    @test compared > 300
end

"Reads what `take_new!` gives, field by field as its table says."
mutable struct PartsReader
    numbers::Vector{Int32}
    at::Int
end

next!(r::PartsReader, n) = (r.at += n; r.numbers[r.at-n+1:r.at])
next_one!(r::PartsReader) = Int(next!(r, 1)[1])

"Rows of (part, kind, own, inputs)."
function next_groups!(r::PartsReader)
    parts = []
    for _ in 1:next_one!(r)
        kind, n, width = next!(r, 3)
        numbers, own, inputs = next!(r, n), next!(r, n), reshape(next!(r, n * width), Int(width), Int(n))
        append!(parts, [(numbers[i], kind, own[i], inputs[:, i]) for i in 1:n])
    end
    parts
end

"The lists as vectors of pairs."
pairs_of(lengths, first, second) =
    [collect(zip(first, second))[to-n+1:to] for (n, to) in zip(lengths, cumsum(lengths))]

function next_lists!(r::PartsReader)
    lengths = next!(r, next_one!(r))
    total = next_one!(r)
    pairs_of(lengths, next!(r, total), next!(r, total))
end

function next_layer!(r::PartsReader)
    edges = next_groups!(r)
    n, total = next!(r, 2)
    bags = pairs_of(next!(r, n), next!(r, total), next!(r, total))
    (edges = edges, bags = bags, vertices = next_groups!(r))
end

function read_parts(numbers, layers)
    r = PartsReader(numbers, 0)
    @test next_one!(r) == PlanRank.PARTS_FORMAT
    flags, rows = next!(r, next_one!(r)), [next_layer!(r) for _ in 1:layers]
    readout, actions, scored = next_lists!(r), next_groups!(r), next_lists!(r)
    places = next!(r, next_one!(r))
    @test r.at == length(numbers)
    (flags = flags, layers = rows, readout = readout, actions = actions, scored = scored, places = places)
end

tails(graph, e) = graph.tails[graph.tail_first[e]:graph.tail_first[e+1]-1]

"Check that the parts handed out so far describe the state the graph is in. Ragged literals have no order of facts."
function check_layer(parts, layer, edges, bags, vertices)
    graph, residual = parts.graph, parts.distinct.residual
    before, edge_part, bag_part = vertex_parts(parts, layer - 1), edge_parts(parts, layer), bag_parts(parts, layer)
    after = vertex_parts(parts, layer)
    part_or_none(numbers, i) = i == 0 ? Int32(0) : numbers[i]
    for e in 1:nedges(graph)
        kind, feature, inputs = edges[edge_part[e]]
        @test (kind, feature) == (parts.edge_layout[e] - 1, parts.edge_feature[e])
        @test sort(inputs) == sort([part_or_none(before, v) for v in tails(graph, e)])
    end
    for v in 1:graph.nvertices
        own_bags = graph.bag_first[v]:graph.bag_first[v+1]-1
        @test vertices[after[v]] ==
              (graph.vertex_type[v] - 1, residual ? before[v] : 0, bag_part[own_bags])
        for bag in own_bags
            members = edge_part[row(graph.bag_edges, bag)]
            isempty(members) && continue
            @test bags[bag_part[bag]] == [(p, count(==(p), members)) for p in sort(unique(members))]
        end
    end
end

"What an operator needs, adds and deletes in the state, by literal, as parts after the last layer."
function seen_of(parts, o)
    task, places = parts.columns.task, PlanRank.LiteralPlaces(parts.distinct.signature, parts.columns.task.op_schema[o])
    seen = [Int32[] for _ in 1:places.total]
    PlanRank.each_literal(task, places, o) do literal, fact, effect
        holds = effect == 0 || (all(f -> PlanRank.has_fact(parts.state, 0, f), row(task.cond_pre, effect)) &&
                                !any(f -> PlanRank.has_fact(parts.state, 0, f), row(task.cond_neg, effect)))
        holds && push!(seen[literal], vertex_parts(parts, parts.distinct.layers)[fact])
    end
    map(sort, seen)
end

function check_actions(parts, known, scored, places, applicable)
    distinct = parts.distinct
    @test length(places) == length(applicable) == sum(last, scored; init = 0)
    for (o, place) in zip(applicable, places)
        layout, feature, inputs = known[first(scored[place+1])]
        @test distinct.features[feature] == parts.graph.edge_features[o]
        slots = distinct.layouts[layout+1].slot_of_column
        @test [sort(filter(!=(0), inputs[slots.==s])) for s in 1:maximum(slots; init = 0)] == seen_of(parts, o)
    end
    @test allunique(first.(scored))
    @test [count(==(i - 1), places) for i in eachindex(scored)] == last.(scored)
end

@testset "what is handed out is what was met, each part once" begin
    compared = 0
    for seed in 1:40
        rng = MersenneTwister(seed)
        domain, task = random_domain_and_task(rng)
        nfacts(task) == 0 && continue
        layers, signature = 2, Signature(domain)
        distinct = DistinctParts(signature, layers, rand(rng, Bool), :adds)
        generator = SuccessorGenerator(task)
        columns = rand(rng, Bool) ? PlanRank.ActionColumns(signature, task) : nothing
        ff = PlanRank.FFHeuristic(task)
        parts = PartsOfState(distinct, Hypergraph(signature, task), columns; relaxed = seed % 2 == 0 ? ff : nothing)
        known_actions = Dict()
        states, width = walked_states(task, rng, 6), nwords(task)
        flags, feature_entries = Int32[], 0
        known = [(edges = Dict(), bags = [], vertices = Dict()) for _ in 1:layers]
        for i in 0:length(states)÷width-1
            applicable = applicable_operators!(Int32[], generator, states, i * width)
            find_parts!(parts, states[i*width+1:(i+1)*width], 1, Int32[0, length(applicable)], applicable .- Int32(1))
            numbers, features = take_new!(distinct)
            new = read_parts(numbers, layers)
            append!(flags, new.flags)
            feature_entries += length(features)
            for (layer, old) in zip(new.layers, known)
                for (table, rows) in ((old.edges, layer.edges), (old.vertices, layer.vertices)), (part, more...) in rows
                    @test !haskey(table, part)
                    table[part] = more
                end
                append!(old.bags, layer.bags)
            end
            foreach(layer -> check_layer(parts, layer, known[layer]...), 1:layers)
            holds(v) = PlanRank.has_fact(states, i * width, v)
            is_needed(v) = parts.relaxed !== nothing && v in ff.needed
            @test flags[vertex_parts(parts, 0)] ==
                  [parts.graph.goal_flags[v] | holds(v) | is_needed(v) << 30 for v in 1:nfacts(task)]
            @test !any(v -> is_needed(v) && holds(v), 1:nfacts(task))
            last_parts(p) = vertex_parts(parts, layers)[parts.graph.vertex_type.==p]
            @test map(Set, new.readout) == [Set((x, count(==(x), last_parts(p))) for x in last_parts(p))
                                            for p in eachindex(signature.predicates)]
            if columns === nothing
                @test isempty(new.actions) && isempty(new.scored) && isempty(new.places)
            else
                for (part, more...) in new.actions
                    @test !haskey(known_actions, part)
                    known_actions[part] = more
                end
                check_actions(parts, known_actions, only(new.scored), new.places, applicable)
            end
            compared += 1
        end
        @test feature_entries == 3 * length(unique(parts.graph.edge_features))
    end
    @test compared > 80
end

@testset "after everything was forgotten the parts are those of a new beginning" begin
    compared = 0
    for seed in 1:40
        rng = MersenneTwister(seed)
        domain, task = random_domain_and_task(rng)
        nfacts(task) == 0 && continue
        signature = Signature(domain)
        states, width = walked_states(task, rng, 10), nwords(task)
        begin_with(parts) = (find_parts!(parts, states[end-width+1:end], 1); take_new!(parts.distinct)[1])
        graph = Hypergraph(signature, task; receivers = :all)
        new_parts() = PartsOfState(DistinctParts(signature, 2, true, :all), graph)
        used = new_parts()
        find_parts!(used, states, length(states) ÷ width)
        take_new!(used.distinct)
        PlanRank.forget_parts!(used)
        @test begin_with(used) == begin_with(new_parts())
        compared += 1
    end
    @test compared > 20
end
