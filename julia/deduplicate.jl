# Equal parts of a network's computation, found before it runs. Two vertices that have had equal inputs so far are one
# class, and so are two edges with equal tails and two bags with equal multisets of edges. Classes are found by
# comparing keys, never by their hash alone. Only what a change of facts can reach is looked at from state to state.

"""
Numbers sequences of Int32 in the order they are met; equal ones get the same number. A slot of the table holds the hash
and the number, so that a probe reads little memory.
"""
mutable struct Interner
    keys::Vector{Int32}
    offsets::Vector{Int}
    table::Vector{UInt64}
end

Interner() = Interner(Int32[], [1], zeros(UInt64, 64))
Base.length(in::Interner) = length(in.offsets) - 1

@inline function hash_key(key::Vector{Int32}, n::Int)
    h = 0x9e3779b97f4a7c15 ⊻ UInt64(n)
    @inbounds for i in 1:n
        h = (h ⊻ (key[i] % UInt32)) * 0xd6e8feb86659fd93
        h ⊻= h >> 32
    end
    h & 0xffffffff00000000 ⊻ (h << 32)
end

@inline first_slot(hash::UInt64, slots::Int) = (hash >> 32) % Int & (slots - 1) + 1
@inline id_in(entry::UInt64) = entry % UInt32 % Int32
@inline hash_in(entry::UInt64) = entry & 0xffffffff00000000

"The number of the sequence `key[1:n]`."
@inline function intern!(in::Interner, key::Vector{Int32}, n::Int)
    hash = hash_key(key, n)
    table = in.table
    slot = first_slot(hash, length(table))
    @inbounds while true
        entry = table[slot]
        entry == 0 && break
        hash_in(entry) == hash && same_key(in, id_in(entry), key, n) && return id_in(entry)
        slot = slot & (length(table) - 1) + 1
    end
    add_key!(in, key, n, hash, slot)
end

@inline function same_key(in::Interner, id::Int32, key::Vector{Int32}, n::Int)
    @inbounds begin
        first = in.offsets[id]
        in.offsets[id+1] - first == n || return false
        for i in 1:n
            in.keys[first+i-1] == key[i] || return false
        end
    end
    true
end

@noinline function add_key!(in::Interner, key::Vector{Int32}, n::Int, hash::UInt64, slot::Int)
    at = length(in.keys)
    resize!(in.keys, at + n)
    copyto!(in.keys, at + 1, key, 1, n)
    push!(in.offsets, at + n + 1)
    in.table[slot] = hash | length(in) % UInt64
    2 * length(in) >= length(in.table) && rebuild!(in)
    length(in) % Int32
end

function rebuild!(in::Interner)
    entries = filter(!=(0), in.table)
    in.table = table = zeros(UInt64, 4 * length(in.table))
    for entry in entries
        slot = first_slot(hash_in(entry), length(table))
        while table[slot] != 0
            slot = slot & (length(table) - 1) + 1
        end
        table[slot] = entry
    end
end

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
    taken::Vector{NTuple{3,Int}}        # [layer + 1]: how many vertices, edges and bags were handed out
    taken_features::Int
    readout_lengths::Vector{Int32}      # of each state and predicate, then the classes and how many vertices are of each
    readout_classes::Vector{Int32}
    readout_counts::Vector{Int32}
    action_lengths::Vector{Int32}       # of each state, how many operators are applicable, then which, and their edges
    actions::Vector{Int32}
    action_edges::Vector{Int32}
    key::Vector{Int32}
    tally::Vector{Int32}                # how often a class was met, zero between uses
    met::Vector{Int32}                  # the classes met, in its first `met_count` places: pushing would cost more
    met_count::Int
end

function Classifier(signature::Signature, layers::Integer, residual::Bool, deletes::Bool)
    layers >= 1 || throw(PlanRankError(:usage, "a network has at least one layer, not $layers"))
    Classifier(signature, layers, residual, deletes, EdgeLayout[], Dict{EdgeLayout,Int32}(), NTuple{3,Float32}[],
        Dict{NTuple{3,Float32},Int32}(), [Interner() for _ in 0:layers], [Interner() for _ in 1:layers],
        [Interner() for _ in 1:layers], fill((0, 0, 0), layers + 1), 0, (Int32[] for _ in 1:6)..., zeros(Int32, 64), (Int32[] for _ in 1:2)..., 0)
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
        by_type, Int32[])
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
            set_first_class!(cursor, v)
        end
    end
end

function set_first_class!(cursor::Cursor, v::Int)
    key = cursor.classifier.key
    @inbounds key[1] = cursor.graph.vertex_type[v]
    @inbounds key[2] = cursor.graph.goal_flags[v] | UInt8(has_fact(cursor.state, 0, v))
    cursor.vertex_class[1][v] = intern!(cursor.classifier.vertices[1], key, 2)
end

function classify_edges!(cursor::Cursor, layer::Int)
    graph = cursor.graph
    if cursor.fresh
        for e in 1:nedges(graph)
            classify_edge!(cursor, layer, e)
        end
        append!(cursor.touched_bags, 1:length(graph.vertex_of_bag))
    else
        @inbounds for v in cursor.changed, e in row(graph.edges_of_vertex, v)
            cursor.edge_stamp[e] == cursor.stamp && continue
            cursor.edge_stamp[e] = cursor.stamp
            classify_edge!(cursor, layer, Int(e)) || continue
            for bag in row(graph.heads, e)
                cursor.bag_stamp[bag] == cursor.stamp && continue
                cursor.bag_stamp[bag] = cursor.stamp
                push!(cursor.touched_bags, bag)
            end
        end
    end
end

"Whether the class of the edge is another one now."
function classify_edge!(cursor::Cursor, layer::Int, e::Int)
    graph, classifier = cursor.graph, cursor.classifier
    key, before = classifier.key, cursor.vertex_class[layer]
    first = graph.tail_first[e]
    width = graph.tail_first[e+1] - first
    length(key) < width + 2 && resize!(key, 2 * width + 2)
    @inbounds begin
        key[1] = cursor.edge_layout[e]
        key[2] = cursor.edge_feature[e]
        for i in 1:width
            v = graph.tails[first+i-1]
            key[i+2] = v == 0 ? zero(Int32) : before[v]
        end
        cursor.ragged[graph.edge_type[e]] && sort_columns!(key, graph.layouts[graph.edge_type[e]].slot_of_column)
        class = intern!(classifier.edges[layer], key, Int(width) + 2)
        cursor.edge_class[layer][e] == class && return false
        cursor.edge_class[layer][e] = class
    end
    true
end

"The facts of one literal have no order."
function sort_columns!(key::Vector{Int32}, slot_of_column::Vector{Int32})
    first = 1
    while first <= length(slot_of_column)
        last = something(findnext(!=(slot_of_column[first]), slot_of_column, first), length(slot_of_column) + 1) - 1
        last > first && sort!(@view(key[first+2:last+2]); rev = true)
        first = last + 1
    end
end

function classify_bags!(cursor::Cursor, layer::Int)
    graph, classifier = cursor.graph, cursor.classifier
    classes, bags = cursor.edge_class[layer], cursor.bag_class[layer]
    interner = classifier.bags[layer]
    make_room!(classifier, length(classifier.edges[layer]))
    offsets, members = graph.bag_edges.offsets, graph.bag_edges.values
    tally, met = classifier.tally, classifier.met
    @inbounds for bag in cursor.touched_bags
        from, to = offsets[bag], offsets[bag+1] - Int32(1)
        class = zero(Int32)
        if to >= from
            n = 0
            for k in from:to
                member = classes[members[k]]
                tally[member] == 0 && (met[n+=1] = member)
                tally[member] += one(Int32)
            end
            classifier.met_count = n
            class = intern!(interner, classifier.key, tally_key!(classifier))
        end
        (class == bags[bag] && !cursor.fresh) && continue
        bags[bag] = class
        touch_vertex!(cursor, graph.vertex_of_bag[bag])
    end
end

function make_room!(classifier::Classifier, n::Int)
    old = length(classifier.tally)
    old >= n && return
    resize!(classifier.tally, 2n)
    fill!(@view(classifier.tally[old+1:end]), 0)
    resize!(classifier.met, 2n)
end

"The classes counted, ascending, each with its number, as a key; its length. The tally is empty afterwards."
function tally_key!(classifier::Classifier)
    met, key, tally, n = classifier.met, classifier.key, classifier.tally, classifier.met_count
    length(key) < 2n && resize!(key, 4n)
    n > 1 && sort_first!(met, n)
    @inbounds for i in 1:n
        class = met[i]
        key[2i-1] = class
        key[2i] = tally[class]
        tally[class] = 0
    end
    2n
end

"Insertion sort for the usual handful, without the calls of the general one."
function sort_first!(numbers::Vector{Int32}, n::Int)
    n > 40 && return sort!(@view numbers[1:n])
    @inbounds for i in 2:n
        x = numbers[i]
        j = i - 1
        while j >= 1 && numbers[j] > x
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
    graph, classifier, key = cursor.graph, cursor.classifier, cursor.classifier.key
    residual = classifier.residual
    (residual || cursor.fresh) && foreach(v -> touch_vertex!(cursor, v), cursor.changed)
    empty!(cursor.changed)
    before, after = cursor.vertex_class[layer], cursor.vertex_class[layer+1]
    @inbounds for v in cursor.touched_vertices
        from, to = graph.bag_first[v], graph.bag_first[v+1] - 1
        n = to - from + 3
        length(key) < n && resize!(key, 2n)
        key[1] = graph.vertex_type[v]
        key[2] = residual ? before[v] : zero(Int32)
        for k in from:to
            key[k-from+3] = cursor.bag_class[layer][k]
        end
        class = intern!(classifier.vertices[layer+1], key, Int(n))
        if class != after[v]
            after[v] = class
            push!(cursor.changed, v)
        end
    end
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
    first_classes = c.vertices[1]
    from = c.taken[1][1] + 1
    push!(out, length(first_classes) - from + 1)
    for id in from:length(first_classes)
        push!(out, first_classes.keys[2id])
    end
    c.taken[1] = (length(first_classes), 0, 0)
    for layer in 1:c.layers
        vertices, edges, bags = c.taken[layer+1]
        write_groups!(out, c.edges[layer], edges + 1)
        write_bags!(out, c.bags[layer], bags + 1)
        write_groups!(out, c.vertices[layer+1], vertices + 1)
        c.taken[layer+1] = (length(c.vertices[layer+1]), length(c.edges[layer]), length(c.bags[layer]))
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

"New keys from number `from` on, grouped by their first entry."
function write_groups!(out::Vector{Int32}, in::Interner, from::Int)
    groups = Dict{Int32,Vector{Int32}}()
    for id in from:length(in)
        push!(get!(Vector{Int32}, groups, in.keys[in.offsets[id]]), id)
    end
    push!(out, length(groups))
    for group in sort!(collect(keys(groups)))
        ids = groups[group]
        width = in.offsets[ids[1]+1] - in.offsets[ids[1]] - 2
        push!(out, group - Int32(1), length(ids), width)
        append!(out, ids)
        for id in ids
            push!(out, in.keys[in.offsets[id]+1])
        end
        at = length(out)
        resize!(out, at + length(ids) * width)
        for id in ids
            copyto!(out, at + 1, in.keys, in.offsets[id] + 2, width)
            at += width
        end
    end
end

function write_bags!(out::Vector{Int32}, in::Interner, from::Int)
    push!(out, length(in) - from + 1)
    push!(out, (in.offsets[end] - in.offsets[from]) ÷ 2)
    for id in from:length(in)
        push!(out, (in.offsets[id+1] - in.offsets[id]) ÷ 2)
    end
    for start in 0:1, at in in.offsets[from]+start:2:in.offsets[end]-1
        push!(out, in.keys[at])
    end
end
