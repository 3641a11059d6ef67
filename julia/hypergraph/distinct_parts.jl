# The distinct parts of a network's input, found before the network runs. Two vertices with equal inputs so far are the
# same part; so are two edges with equal tails, and two bags with equal multisets of edges. The network computes each
# part once. From one state to the next, only what the changed facts can reach is looked at again.

"""
The parts met so far, in each layer, for all tasks of a domain. The parts of one kind and layer are numbered from 1 in
the order they are met. A part is known by its key:
- an edge by its layout, its features and the parts of its tails;
- a bag by the parts of its edges, ascending, each followed by how often it occurs;
- a vertex by its predicate, its part in the layer before (0 without residual connections) and the parts of its bags;
- a vertex before the first layer by its predicate and its flags;
- an action by its layout, its features and the parts of the facts in its columns after the last layer.

`take_new!` hands the parts met since its last call to the network, with the readout and the actions of the states.
"""
mutable struct DistinctParts
    signature::Signature
    layers::Int
    residual::Bool
    receivers::Symbol
    layouts::Vector{EdgeLayout}
    layout_number::Dict{EdgeLayout,Int32}
    features::Vector{NTuple{3,Float32}}
    feature_number::Dict{NTuple{3,Float32},Int32}
    vertices::Vector{Interner}          # [layer + 1]
    edges::Vector{Interner}             # [layer]
    bags::Vector{Interner}
    taken::Vector{NTuple{3,Int}}        # [layer + 1]: where the records of vertices, edges and bags handed out end
    taken_features::Int
    readout_lengths::Vector{Int32}      # one for each state and predicate
    readout_parts::Vector{Int32}        # the parts of the vertices of that predicate …
    readout_counts::Vector{Int32}       # … and how many vertices are each
    actions::Interner
    taken_actions::Int
    action_lengths::Vector{Int32}       # one for each state: how many different parts its actions are
    action_parts::Vector{Int32}         # these parts …
    action_counts::Vector{Int32}        # … and how many actions are each
    action_places::Vector{Int32}        # of each action, the place of its part in `action_parts`
    keys::KeyBatch
    tally::Vector{Int32}                # how often each part occurs, zero between uses
    met::Vector{Int32}                  # the parts that occur, in its first places: pushing would cost more
end

function DistinctParts(signature::Signature, layers::Integer, residual::Bool, receivers::Symbol)
    layers >= 1 || throw(PlanRankError(:usage, "a network has at least one layer, not $layers"))
    DistinctParts(signature, layers, residual, receivers, EdgeLayout[], Dict{EdgeLayout,Int32}(), NTuple{3,Float32}[],
        Dict{NTuple{3,Float32},Int32}(), [Interner() for _ in 0:layers], [Interner() for _ in 1:layers],
        [Interner() for _ in 1:layers], fill((0, 0, 0), layers + 1), 0, (Int32[] for _ in 1:3)..., Interner(), 0,
        (Int32[] for _ in 1:4)..., KeyBatch(), Int32[], Int32[])
end

number!(list::Vector{T}, numbers::Dict{T,Int32}, item::T) where {T} =
    get!(() -> (push!(list, item); Int32(length(list))), numbers, item)

"A task's hypergraph with the part of everything in it, for the state looked at last."
mutable struct PartsOfState
    distinct::DistinctParts
    graph::Hypergraph
    columns::Union{ActionColumns,Nothing}           # of networks that rank actions
    action_layout::Vector{Int32}                    # of each schema, its number in `distinct`
    edge_layout::Vector{Int32}                      # numbers in `distinct`
    edge_feature::Vector{Int32}
    ragged::Vector{Bool}                            # of each kind of edge: some literal has several columns
    fresh::Bool                                     # no state has been looked at yet
    state::Vector{UInt64}
    vertex_part::Vector{Vector{Int32}}              # [layer + 1][vertex]
    edge_part::Vector{Vector{Int32}}                # [layer][edge]
    bag_part::Vector{Vector{Int32}}
    changed::Vector{Int32}                          # vertices whose part changed in the layer before
    edge_stamp::Vector{Int32}                       # equal to `stamp`: touched in this layer already
    bag_stamp::Vector{Int32}
    vertex_stamp::Vector{Int32}
    stamp::Int32
    touched_edges::Vector{Int32}
    touched_bags::Vector{Int32}
    touched_vertices::Vector{Int32}
    vertices_of_type::Vector{Vector{Int32}}         # the vertices of each predicate
    ticker::Ticker
    unfinished::Bool                                # the last state was not looked at to the end
end

function PartsOfState(distinct::DistinctParts, graph::Hypergraph, columns = nothing, limits::Limits = Limits())
    ticker = Ticker(limits, PREPARING)
    signature = distinct.signature
    number(layout) = number!(distinct.layouts, distinct.layout_number, layout)
    layouts = map(number, graph.layouts)
    action_layouts = columns === nothing ? Int32[] : map(number, columns.layouts)
    features = Int32[]
    for f in graph.edge_features
        tick!(ticker)
        push!(features, number!(distinct.features, distinct.feature_number, f))
    end
    ragged = [length(l.slot_of_column) != nsenders(signature.edges[l.type], distinct.receivers) for l in graph.layouts]
    vertices_of_type = [Int32[] for _ in signature.predicates]
    for v in 1:graph.nvertices
        push!(vertices_of_type[graph.vertex_type[v]], v)
    end
    nbags = length(graph.vertex_of_bag)
    claim!(ticker, 4 * (distinct.layers + 1) * (graph.nvertices + nedges(graph) + nbags))
    PartsOfState(distinct, graph, columns, action_layouts, layouts[graph.edge_type], features, ragged, true,
        zeros(UInt64, max(1, cld(graph.nvertices, 64))),
        [zeros(Int32, graph.nvertices) for _ in 0:distinct.layers],
        [zeros(Int32, nedges(graph)) for _ in 1:distinct.layers], [zeros(Int32, nbags) for _ in 1:distinct.layers],
        Int32[], zeros(Int32, nedges(graph)), zeros(Int32, nbags), zeros(Int32, graph.nvertices), 0, Int32[], Int32[],
        Int32[], vertices_of_type, Ticker(limits, SCORING), false)
end

"""
Find the parts of n packed states that lie one after the other; note their readout and, of networks that rank actions,
the parts of their actions: those of state i are the operators from `offsets[i] + 1` to `offsets[i+1]`, from 0.
"""
function find_parts!(parts::PartsOfState, words::AbstractVector{UInt64}, n::Integer, offsets = zeros(Int32, n + 1),
    operators = Int32[])
    width = length(parts.state)
    for i in 1:n
        next_state!(parts, words, (i - 1) * width)
        note_readout!(parts)
        parts.columns === nothing || note_actions!(parts, @view operators[offsets[i]+1:offsets[i+1]])
    end
end

function next_state!(parts::PartsOfState, words::AbstractVector{UInt64}, offset::Int)
    parts.unfinished && forget!(parts)
    parts.unfinished = true
    note_changed_facts!(parts, words, offset)
    for layer in 1:parts.distinct.layers
        parts.stamp += Int32(1)
        empty!(parts.touched_bags)
        empty!(parts.touched_vertices)
        find_edge_parts!(parts, layer)
        find_bag_parts!(parts, layer)
        find_vertex_parts!(parts, layer)
    end
    parts.fresh = parts.unfinished = false
end

"Begin anew, as if no state had been looked at."
function forget!(parts::PartsOfState)
    for columns in (parts.vertex_part, parts.edge_part, parts.bag_part), column in columns
        fill!(column, 0)
    end
    parts.fresh = true
    nothing
end

function note_changed_facts!(parts::PartsOfState, words, offset::Int)
    graph, state = parts.graph, parts.state
    empty!(parts.changed)
    for w in eachindex(state)
        word = words[offset+w]
        differing = parts.fresh ? typemax(UInt64) : word ⊻ state[w]
        state[w] = word
        while differing != 0
            v = 64 * (w - 1) + trailing_zeros(differing) + 1
            differing &= differing - 1
            v > graph.nvertices && break
            push!(parts.changed, v)
        end
    end
    keys = parts.distinct.keys
    clear!(keys)
    @inbounds for v in parts.changed
        tick!(parts.ticker)
        at = open_key!(keys, 2)
        keys.entries[at+1] = graph.vertex_type[v]
        keys.entries[at+2] = graph.goal_flags[v] | Int32(has_fact(state, 0, v))
        close_key!(keys, 2)
    end
    number_all!(parts.distinct.vertices[1], keys, parts.ticker)
    @inbounds for (i, v) in enumerate(parts.changed)
        parts.vertex_part[1][v] = keys.numbers[i]
    end
end

function find_edge_parts!(parts::PartsOfState, layer::Int)
    graph, keys, touched = parts.graph, parts.distinct.keys, parts.touched_edges
    empty!(touched)
    if parts.fresh
        append!(touched, 1:nedges(graph))
        has_edges(bag) = !isempty(row(graph.bag_edges, bag))
        append!(parts.touched_bags, filter(has_edges, eachindex(graph.vertex_of_bag)))
    else
        @inbounds for v in parts.changed, e in row(graph.edges_of_vertex, v)
            parts.edge_stamp[e] == parts.stamp && continue
            parts.edge_stamp[e] = parts.stamp
            push!(touched, e)
        end
    end
    clear!(keys)
    foreach(e -> write_edge_key!(keys, parts, layer, Int(e)), touched)
    number_all!(parts.distinct.edges[layer], keys, parts.ticker)
    edge_part = parts.edge_part[layer]
    @inbounds for (i, e) in enumerate(touched)
        edge_part[e] == keys.numbers[i] && continue
        edge_part[e] = keys.numbers[i]
        parts.fresh && continue
        for bag in row(graph.heads, e)
            parts.bag_stamp[bag] == parts.stamp && continue
            parts.bag_stamp[bag] = parts.stamp
            push!(parts.touched_bags, bag)
        end
    end
end

@inline function write_edge_key!(keys::KeyBatch, parts::PartsOfState, layer::Int, e::Int)
    graph, before = parts.graph, parts.vertex_part[layer]
    @inbounds begin
        first = graph.tail_first[e]
        width = graph.tail_first[e+1] - first
        tick!(parts.ticker, width)
        at = open_key!(keys, width + 2)
        entries = keys.entries
        entries[at+1] = parts.edge_layout[e]
        entries[at+2] = parts.edge_feature[e]
        for i in 1:width
            v = graph.tails[first+i-1]
            entries[at+i+2] = v == 0 ? zero(Int32) : before[v]
        end
        kind = graph.edge_type[e]
        parts.ragged[kind] && sort_columns!(entries, at + 2, graph.layouts[kind].slot_of_column)
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

function find_bag_parts!(parts::PartsOfState, layer::Int)
    graph, distinct, keys = parts.graph, parts.distinct, parts.distinct.keys
    edge_part, bag_part = parts.edge_part[layer], parts.bag_part[layer]
    clear!(keys)
    foreach(bag -> write_bag_key!(keys, graph.bag_edges, Int(bag), edge_part, parts.ticker), parts.touched_bags)
    number_all!(distinct.bags[layer], keys, parts.ticker)
    @inbounds for (i, bag) in enumerate(parts.touched_bags)
        bag_part[bag] == keys.numbers[i] && continue
        bag_part[bag] = keys.numbers[i]
        touch_vertex!(parts, graph.vertex_of_bag[bag])
    end
end

"The parts of the edges in the bag, ascending, each followed by how often it occurs."
@inline function write_bag_key!(keys::KeyBatch, bag_edges::Rows, bag::Int, edge_part::Vector{Int32},
    ticker::Ticker)
    @inbounds begin
        from, to = bag_edges.offsets[bag], bag_edges.offsets[bag+1] - 1
        n = Int(to - from + 1)
        tick!(ticker, n)
        at = open_key!(keys, 3n)
        entries, members = keys.entries, at + 2n    # the members are sorted behind the key and then counted into it
        for k in 1:n
            entries[members+k] = edge_part[bag_edges.values[from+k-1]]
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

@inline function touch_vertex!(parts::PartsOfState, v::Int32)
    @inbounds parts.vertex_stamp[v] == parts.stamp && return
    @inbounds parts.vertex_stamp[v] = parts.stamp
    push!(parts.touched_vertices, v)
    nothing
end

function find_vertex_parts!(parts::PartsOfState, layer::Int)
    distinct, keys = parts.distinct, parts.distinct.keys
    (distinct.residual || parts.fresh) && foreach(v -> touch_vertex!(parts, v), parts.changed)
    clear!(keys)
    foreach(v -> write_vertex_key!(keys, parts, layer, Int(v)), parts.touched_vertices)
    number_all!(distinct.vertices[layer+1], keys, parts.ticker)
    empty!(parts.changed)
    after = parts.vertex_part[layer+1]
    @inbounds for (i, v) in enumerate(parts.touched_vertices)
        after[v] == keys.numbers[i] && continue
        after[v] = keys.numbers[i]
        push!(parts.changed, v)
    end
end

@inline function write_vertex_key!(keys::KeyBatch, parts::PartsOfState, layer::Int, v::Int)
    graph, bags = parts.graph, parts.bag_part[layer]
    @inbounds begin
        from, to = graph.bag_first[v], graph.bag_first[v+1] - 1
        n = to - from + 3
        tick!(parts.ticker, n)
        at = open_key!(keys, n)
        entries = keys.entries
        entries[at+1] = graph.vertex_type[v]
        entries[at+2] = parts.distinct.residual ? parts.vertex_part[layer][v] : zero(Int32)
        for k in from:to
            entries[at+k-from+3] = bags[k]
        end
    end
    close_key!(keys, n)
end

function make_room!(distinct::DistinctParts, n::Int)
    old = length(distinct.tally)
    old >= n && return
    resize!(distinct.tally, 2n)
    fill!(@view(distinct.tally[old+1:end]), 0)
    resize!(distinct.met, 2n)
end

function note_readout!(parts::PartsOfState)
    distinct = parts.distinct
    vertex_part = parts.vertex_part[end]
    make_room!(distinct, length(distinct.vertices[end]))
    tally, met = distinct.tally, distinct.met
    @inbounds for vertices in parts.vertices_of_type
        n = 0
        for v in vertices
            part = vertex_part[v]
            tally[part] == 0 && (met[n+=1] = part)
            tally[part] += one(Int32)
        end
        push!(distinct.readout_lengths, n)
        for i in 1:n
            push!(distinct.readout_parts, met[i])
            push!(distinct.readout_counts, tally[met[i]])
            tally[met[i]] = 0
        end
    end
end

function note_actions!(parts::PartsOfState, operators)
    distinct, keys = parts.distinct, parts.distinct.keys
    clear!(keys)
    for operator in operators
        tick!(parts.ticker, 8)
        write_action_key!(keys, parts, parts.columns, Int(operator) + 1)
    end
    number_all!(distinct.actions, keys)
    make_room!(distinct, length(distinct.actions))
    tally, before, n = distinct.tally, length(distinct.action_parts), 0
    @inbounds for i in 1:length(operators)          # `tally` has the place of each part that has been met
        part = keys.numbers[i]
        if tally[part] == 0
            push!(distinct.action_parts, part)
            push!(distinct.action_counts, 0)
            tally[part] = n += 1
        end
        distinct.action_counts[before+tally[part]] += one(Int32)
        push!(distinct.action_places, before + tally[part])
    end
    foreach(part -> tally[part] = 0, @view distinct.action_parts[before+1:end])
    push!(distinct.action_lengths, n)
    nothing
end

function write_action_key!(keys::KeyBatch, parts::PartsOfState, columns::ActionColumns, o::Int)
    after, state = parts.vertex_part[end], parts.state
    @inbounds begin
        schema = columns.task.op_schema[o]
        first = columns.first[o]
        width = columns.first[o+1] - first
        at = open_key!(keys, width + 2)
        entries = keys.entries
        entries[at+1] = parts.action_layout[schema]
        entries[at+2] = parts.edge_feature[o]       # edges of operators come first and in their order
        for i in 1:width
            fact, effect = columns.facts[first+i-1], columns.effect[first+i-1]
            counts = fact != 0 && (effect == 0 || fires(columns.task, effect, state, 0))
            entries[at+i+2] = counts ? after[fact] : zero(Int32)
        end
        slots = columns.layouts[schema].slot_of_column
        width == 0 || slots[end] == width || sort_columns!(entries, at + 2, slots)
    end
    close_key!(keys, width + 2)
end
