# Equal parts of a network's computation, found before it runs. Two vertices that have had equal inputs so far are one
# class, and so are two edges with equal tails and two bags with equal multisets of edges. Only what a change of facts
# can reach is looked at from state to state.

"""
The classes met so far, layer by layer, for all tasks of a domain. What is new since the last `take_new!` has not been
handed to the network yet. Keys: of an edge its layout, features and tail classes; of a bag its edge classes, ascending,
each with how often it occurs; of a vertex its predicate, its own class before (0 without residual connections) and its
bags; before the first layer its predicate and flags.
"""
mutable struct Classifier
    signature::Signature
    layers::Int
    residual::Bool
    deletes::Bool
    layouts::Vector{EdgeLayout}
    layout_number::Dict{EdgeLayout,Int32}
    features::Vector{NTuple{3,Float32}}
    feature_number::Dict{NTuple{3,Float32},Int32}
    vertices::Vector{Interner}          # [layer + 1]
    edges::Vector{Interner}             # [layer]
    bags::Vector{Interner}
    taken::Vector{NTuple{3,Int}}        # [layer + 1]: where the records of vertices, edges and bags handed out end
    taken_features::Int
    readout_lengths::Vector{Int32}      # of each state and predicate, then the classes and how many vertices are of each
    readout_classes::Vector{Int32}
    readout_counts::Vector{Int32}
    action_lengths::Vector{Int32}       # of each state, how many operators are applicable, then which, and their edges
    actions::Vector{Int32}
    action_edges::Vector{Int32}
    keys::KeyBatch
    tally::Vector{Int32}                # how often a class was met, zero between uses
    met::Vector{Int32}                  # the classes met, in its first places: pushing would cost more
end

function Classifier(signature::Signature, layers::Integer, residual::Bool, deletes::Bool)
    layers >= 1 || throw(PlanRankError(:usage, "a network has at least one layer, not $layers"))
    Classifier(signature, layers, residual, deletes, EdgeLayout[], Dict{EdgeLayout,Int32}(), NTuple{3,Float32}[],
        Dict{NTuple{3,Float32},Int32}(), [Interner() for _ in 0:layers], [Interner() for _ in 1:layers],
        [Interner() for _ in 1:layers], fill((0, 0, 0), layers + 1), 0, (Int32[] for _ in 1:6)..., KeyBatch(), Int32[], Int32[])
end

number!(list::Vector{T}, numbers::Dict{T,Int32}, item::T) where {T} =
    get!(() -> (push!(list, item); Int32(length(list))), numbers, item)

"A task's hypergraph and the classes of everything in it for one state, the one looked at last."
mutable struct Cursor
    classifier::Classifier
    graph::Hypergraph
    generator::Union{SuccessorGenerator,Nothing}    # for policies, which need the applicable operators
    edge_layout::Vector{Int32}                      # numbers in the classifier
    edge_feature::Vector{Int32}
    ragged::Vector{Bool}                            # of each kind of edge: some literal has several columns
    fresh::Bool
    state::Vector{UInt64}
    vertex_class::Vector{Vector{Int32}}             # [layer + 1][vertex]
    edge_class::Vector{Vector{Int32}}               # [layer][edge]
    bag_class::Vector{Vector{Int32}}
    changed::Vector{Int32}                          # vertices whose class changed in the layer before
    edge_stamp::Vector{Int32}
    bag_stamp::Vector{Int32}
    vertex_stamp::Vector{Int32}
    stamp::Int32
    touched_edges::Vector{Int32}
    touched_bags::Vector{Int32}
    touched_vertices::Vector{Int32}
    vertices_of_type::Vector{Vector{Int32}}            # vertices of each predicate
    applicable::Vector{Int32}
end

function Cursor(classifier::Classifier, graph::Hypergraph, generator = nothing)
    signature = classifier.signature
    layouts = [number!(classifier.layouts, classifier.layout_number, l) for l in graph.layouts]
    features = [number!(classifier.features, classifier.feature_number, f) for f in graph.edge_features]
    ragged = [length(l.slot_of_column) != length(signature.edges[l.type].tails) for l in graph.layouts]
    by_type = [Int32[v for v in 1:graph.nvertices if graph.vertex_type[v] == p] for p in eachindex(signature.predicates)]
    nbags = length(graph.vertex_of_bag)
    Cursor(classifier, graph, generator, layouts[graph.edge_type], features, ragged, true,
        zeros(UInt64, max(1, cld(graph.nvertices, 64))),
        [zeros(Int32, graph.nvertices) for _ in 0:classifier.layers],
        [zeros(Int32, nedges(graph)) for _ in 1:classifier.layers], [zeros(Int32, nbags) for _ in 1:classifier.layers],
        Int32[], zeros(Int32, nedges(graph)), zeros(Int32, nbags), zeros(Int32, graph.nvertices), 0, Int32[], Int32[],
        Int32[], by_type, Int32[])
end

"Classify everything in n packed states that lie one after the other, and note what their values are pooled from."
function classify!(cursor::Cursor, words::AbstractVector{UInt64}, n::Integer)
    width = length(cursor.state)
    for i in 1:n
        next_state!(cursor, words, (i - 1) * width)
        note_readout!(cursor)
        cursor.generator === nothing || note_actions!(cursor)
    end
end

function next_state!(cursor::Cursor, words::AbstractVector{UInt64}, offset::Int)
    note_changed_facts!(cursor, words, offset)
    for layer in 1:cursor.classifier.layers
        cursor.stamp += Int32(1)
        empty!(cursor.touched_bags)
        empty!(cursor.touched_vertices)
        classify_edges!(cursor, layer)
        classify_bags!(cursor, layer)
        classify_vertices!(cursor, layer)
    end
    cursor.fresh = false
end

function note_changed_facts!(cursor::Cursor, words, offset::Int)
    graph, state = cursor.graph, cursor.state
    empty!(cursor.changed)
    for w in eachindex(state)
        word = words[offset+w]
        differing = cursor.fresh ? typemax(UInt64) : word ⊻ state[w]
        state[w] = word
        while differing != 0
            v = 64 * (w - 1) + trailing_zeros(differing) + 1
            differing &= differing - 1
            v > graph.nvertices && break
            push!(cursor.changed, v)
        end
    end
    keys = cursor.classifier.keys
    clear!(keys)
    @inbounds for v in cursor.changed
        at = open_key!(keys, 2)
        keys.entries[at+1] = graph.vertex_type[v]
        keys.entries[at+2] = graph.goal_flags[v] | UInt8(has_fact(state, 0, v))
        close_key!(keys, 2)
    end
    number_all!(cursor.classifier.vertices[1], keys)
    @inbounds for (i, v) in enumerate(cursor.changed)
        cursor.vertex_class[1][v] = keys.numbers[i]
    end
end

function classify_edges!(cursor::Cursor, layer::Int)
    graph, keys, touched = cursor.graph, cursor.classifier.keys, cursor.touched_edges
    empty!(touched)
    if cursor.fresh
        append!(touched, 1:nedges(graph))
        append!(cursor.touched_bags, filter(bag -> !isempty(row(graph.bag_edges, bag)), eachindex(graph.vertex_of_bag)))
    else
        @inbounds for v in cursor.changed, e in row(graph.edges_of_vertex, v)
            cursor.edge_stamp[e] == cursor.stamp && continue
            cursor.edge_stamp[e] = cursor.stamp
            push!(touched, e)
        end
    end
    clear!(keys)
    foreach(e -> write_edge_key!(keys, cursor, layer, Int(e)), touched)
    number_all!(cursor.classifier.edges[layer], keys)
    classes = cursor.edge_class[layer]
    @inbounds for (i, e) in enumerate(touched)
        classes[e] == keys.numbers[i] && continue
        classes[e] = keys.numbers[i]
        cursor.fresh && continue
        for bag in row(graph.heads, e)
            cursor.bag_stamp[bag] == cursor.stamp && continue
            cursor.bag_stamp[bag] = cursor.stamp
            push!(cursor.touched_bags, bag)
        end
    end
end

@inline function write_edge_key!(keys::KeyBatch, cursor::Cursor, layer::Int, e::Int)
    graph, before = cursor.graph, cursor.vertex_class[layer]
    @inbounds begin
        first = graph.tail_first[e]
        width = graph.tail_first[e+1] - first
        at = open_key!(keys, width + 2)
        entries = keys.entries
        entries[at+1] = cursor.edge_layout[e]
        entries[at+2] = cursor.edge_feature[e]
        for i in 1:width
            v = graph.tails[first+i-1]
            entries[at+i+2] = v == 0 ? zero(Int32) : before[v]
        end
        kind = graph.edge_type[e]
        cursor.ragged[kind] && sort_columns!(entries, at + 2, graph.layouts[kind].slot_of_column)
    end
    close_key!(keys, width + 2)
end

"The facts of one literal have no order."
function sort_columns!(entries::Vector{Int32}, at::Int, slot_of_column::Vector{Int32})
    first = 1
    while first <= length(slot_of_column)
        last = something(findnext(!=(slot_of_column[first]), slot_of_column, first), length(slot_of_column) + 1) - 1
        last > first && sort!(@view(entries[at+first:at+last]); rev = true)
        first = last + 1
    end
end

function classify_bags!(cursor::Cursor, layer::Int)
    graph, classifier, keys = cursor.graph, cursor.classifier, cursor.classifier.keys
    classes, bags = cursor.edge_class[layer], cursor.bag_class[layer]
    clear!(keys)
    foreach(bag -> write_bag_key!(keys, graph.bag_edges, Int(bag), classes), cursor.touched_bags)
    number_all!(classifier.bags[layer], keys)
    @inbounds for (i, bag) in enumerate(cursor.touched_bags)
        keys.numbers[i] == bags[bag] && continue
        bags[bag] = keys.numbers[i]
        touch_vertex!(cursor, graph.vertex_of_bag[bag])
    end
end

"The classes of the edges in the bag, ascending, each with how often it occurs."
@inline function write_bag_key!(keys::KeyBatch, bag_edges::Rows, bag::Int, classes::Vector{Int32})
    @inbounds begin
        from, to = bag_edges.offsets[bag], bag_edges.offsets[bag+1] - 1
        n = Int(to - from + 1)
        at = open_key!(keys, 3n)
        entries, members = keys.entries, at + 2n    # the members are sorted behind the key and then counted into it
        for k in 1:n
            entries[members+k] = classes[bag_edges.values[from+k-1]]
        end
        sort_between!(entries, members + 1, members + n)
        distinct = 0
        for k in members+1:members+n
            if distinct > 0 && entries[at+2distinct-1] == entries[k]
                entries[at+2distinct] += one(Int32)
            else
                distinct += 1
                entries[at+2distinct-1] = entries[k]
                entries[at+2distinct] = one(Int32)
            end
        end
    end
    close_key!(keys, 2distinct)
end

"Insertion sort for the usual handful, without the calls of the general one."
@inline function sort_between!(numbers::Vector{Int32}, from::Int, to::Int)
    to - from > 64 && return (sort!(@view numbers[from:to]); nothing)
    @inbounds for i in from+1:to
        x = numbers[i]
        j = i - 1
        while j >= from && numbers[j] > x
            numbers[j+1] = numbers[j]
            j -= 1
        end
        numbers[j+1] = x
    end
    nothing
end

@inline function touch_vertex!(cursor::Cursor, v::Int32)
    @inbounds cursor.vertex_stamp[v] == cursor.stamp && return
    @inbounds cursor.vertex_stamp[v] = cursor.stamp
    push!(cursor.touched_vertices, v)
    nothing
end

function classify_vertices!(cursor::Cursor, layer::Int)
    classifier, keys = cursor.classifier, cursor.classifier.keys
    (classifier.residual || cursor.fresh) && foreach(v -> touch_vertex!(cursor, v), cursor.changed)
    clear!(keys)
    foreach(v -> write_vertex_key!(keys, cursor, layer, Int(v)), cursor.touched_vertices)
    number_all!(classifier.vertices[layer+1], keys)
    empty!(cursor.changed)
    after = cursor.vertex_class[layer+1]
    @inbounds for (i, v) in enumerate(cursor.touched_vertices)
        after[v] == keys.numbers[i] && continue
        after[v] = keys.numbers[i]
        push!(cursor.changed, v)
    end
end

@inline function write_vertex_key!(keys::KeyBatch, cursor::Cursor, layer::Int, v::Int)
    graph, bags = cursor.graph, cursor.bag_class[layer]
    @inbounds begin
        from, to = graph.bag_first[v], graph.bag_first[v+1] - 1
        n = to - from + 3
        at = open_key!(keys, n)
        entries = keys.entries
        entries[at+1] = graph.vertex_type[v]
        entries[at+2] = cursor.classifier.residual ? cursor.vertex_class[layer][v] : zero(Int32)
        for k in from:to
            entries[at+k-from+3] = bags[k]
        end
    end
    close_key!(keys, n)
end

function make_room!(classifier::Classifier, n::Int)
    old = length(classifier.tally)
    old >= n && return
    resize!(classifier.tally, 2n)
    fill!(@view(classifier.tally[old+1:end]), 0)
    resize!(classifier.met, 2n)
end

function note_readout!(cursor::Cursor)
    classifier = cursor.classifier
    classes = cursor.vertex_class[end]
    make_room!(classifier, length(classifier.vertices[end]))
    tally, met = classifier.tally, classifier.met
    @inbounds for vertices in cursor.vertices_of_type
        n = 0
        for v in vertices
            class = classes[v]
            tally[class] == 0 && (met[n+=1] = class)
            tally[class] += one(Int32)
        end
        push!(classifier.readout_lengths, n)
        for i in 1:n
            push!(classifier.readout_classes, met[i])
            push!(classifier.readout_counts, tally[met[i]])
            tally[met[i]] = 0
        end
    end
end

function note_actions!(cursor::Cursor)
    classifier, applicable = cursor.classifier, cursor.applicable
    empty!(applicable)
    applicable_operators!(applicable, cursor.generator, cursor.state, 0)
    push!(classifier.action_lengths, length(applicable))
    append!(classifier.actions, applicable)
    for operator in applicable      # edges of operators come first and in their order
        push!(classifier.action_edges, cursor.edge_class[end][operator])
    end
end

"""
Everything that was met since the last call, in one flat vector of counts and numbers (the classes themselves count from
1, everything else from 0), and the features of edges met for the first time. `planrank/models/batch.py` reads it:
first classes: n, flags; for each layer, edges: number of layouts, for each of them number, n, width, ids, features,
tails (n × width); bags: n, total, lengths, edges, counts; vertices: number of predicates, for each of them number, n,
width, ids, own classes, bags (n × width); then the readout: n, lengths, total, classes, counts; then the actions: n,
lengths, total, operators, edges.
"""
function take_new!(c::Classifier)
    out = Int32[]
    first_classes = new_records(c.vertices[1], c.taken[1][1])
    push!(out, length(first_classes))
    append!(out, c.vertices[1].records[first_classes.+(RECORD_HEAD+1)])
    c.taken[1] = (length(c.vertices[1].records), 0, 0)
    for layer in 1:c.layers
        vertices, edges, bags = c.vertices[layer+1], c.edges[layer], c.bags[layer]
        old_vertices, old_edges, old_bags = c.taken[layer+1]
        write_groups!(out, edges.records, new_records(edges, old_edges))
        write_bags!(out, bags.records, new_records(bags, old_bags))
        write_groups!(out, vertices.records, new_records(vertices, old_vertices))
        c.taken[layer+1] = map(in -> length(in.records), (vertices, edges, bags))
    end
    write_lists!(out, c.readout_lengths, c.readout_classes, c.readout_counts)
    write_lists!(out, c.action_lengths, c.actions .- Int32(1), c.action_edges)
    foreach(empty!, (c.readout_lengths, c.readout_classes, c.readout_counts, c.action_lengths, c.actions, c.action_edges))
    features = Float32[x for f in @view(c.features[c.taken_features+1:end]) for x in f]
    c.taken_features = length(c.features)
    out, features
end

function write_lists!(out::Vector{Int32}, lengths::Vector{Int32}, first::Vector{Int32}, second::Vector{Int32})
    push!(out, length(lengths))
    append!(out, lengths)
    push!(out, length(first))
    append!(out, first)
    append!(out, second)
end

"The records at these places, grouped by the first entry of their keys."
function write_groups!(out::Vector{Int32}, records::Vector{Int32}, places::Vector{Int})
    head = RECORD_HEAD
    kinds = sort!(unique(records[place+head] for place in places))
    push!(out, length(kinds))
    for kind in kinds
        members = filter(place -> records[place+head] == kind, places)
        width = records[members[1]+1] - 2
        push!(out, kind - Int32(1), length(members), width)
        append!(out, @view records[members])
        append!(out, @view records[members.+(head+1)])
        at = length(out)
        resize!(out, at + length(members) * width)
        for place in members
            copyto!(out, at + 1, records, place + head + 2, width)
            at += width
        end
    end
end

function write_bags!(out::Vector{Int32}, records::Vector{Int32}, places::Vector{Int})
    lengths = records[places.+1] .÷ Int32(2)
    total = sum(lengths; init = 0)
    push!(out, length(places), total)
    append!(out, lengths)
    at = length(out)
    resize!(out, at + 2total)
    @inbounds for (place, n) in zip(places, lengths), k in 1:n
        at += 1
        out[at] = records[place+RECORD_HEAD+2k-2]
        out[at+total] = records[place+RECORD_HEAD+2k-1]
    end
end
