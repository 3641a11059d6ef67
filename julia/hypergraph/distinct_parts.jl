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

"A task's hypergraph with all that is alike in it, for the state looked at last."
mutable struct PartsOfState
    distinct::DistinctParts
    graph::Hypergraph
    columns::Union{ActionColumns,Nothing}           # of networks that rank actions
    action_layout::Vector{Int32}                    # of each schema, its number in `distinct`
    edge_layout::Vector{Int32}                      # numbers in `distinct`
    edge_feature::Vector{Int32}
    ragged::Vector{Bool}                            # of each kind of edge: some literal has several columns
    ragged_layout::Vector{Bool}                     # the same of each layout in `distinct`
    fresh::Bool                                     # no state has been looked at yet
    state::Vector{UInt64}
    relaxed::Union{FFHeuristic,Nothing}             # of networks that see relaxed plans
    needed::Vector{UInt64}                          # the facts that the relaxed plan of the state makes true
    needed_next::Vector{UInt64}
    first_blocks::Blocks                            # of the vertices before the first layer
    layers::Vector{Layer}                           # in blocks; …
    flat::Vector{FlatLayer}                         # … those that follow them
    nstates::Int                                    # looked at since the beginning
    entering::Vector{Int32}                         # scratch
    compact_at::Vector{Int}                         # of each layer: so many numbers in its keys are too many
    heads::Heads
    changes::Changes
    ticker::Ticker
    unfinished::Bool                                # the last state was not looked at to the end
end

function PartsOfState(distinct::DistinctParts, graph::Hypergraph, columns = nothing, limits::Limits = Limits();
    relaxed::Union{FFHeuristic,Nothing} = nothing)
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
    ragged_layout = fill(false, length(distinct.layouts))
    ragged_layout[layouts] = ragged
    nbags = length(graph.vertex_of_bag)
    claim!(ticker, 4 * (distinct.layers + 1) * (4 * graph.nvertices + nedges(graph) + nbags))
    first_blocks, layers, changes = nothing_met(graph, distinct.layers)
    words() = zeros(UInt64, max(1, cld(graph.nvertices, 64)))
    PartsOfState(distinct, graph, columns, action_layouts, layouts[graph.edge_type], features, ragged, ragged_layout,
        true, words(), relaxed, words(), words(), first_blocks, layers, FlatLayer[], 0, Int32[],
        zeros(Int, distinct.layers), Heads(graph, ticker), changes, Ticker(limits, SCORING), false)
end

function nothing_met(graph::Hypergraph, layers::Integer)
    groups = Groups(graph.nvertices)
    Blocks(graph.nvertices, length(graph.signature.predicates), groups), [Layer(graph, groups) for _ in 1:layers],
    Changes(graph)
end

"The blocks of the vertices after so many layers."
blocks_after(parts::PartsOfState, layers::Integer) = layers == 0 ? parts.first_blocks : parts.layers[layers].blocks

# The part of everything in the last state, in each layer.
function vertex_parts(parts::PartsOfState, layer::Integer)
    layer > length(parts.layers) && return parts.flat[layer-length(parts.layers)].after
    blocks = blocks_after(parts, layer)
    blocks.part[blocks.block]
end

function edge_parts(parts::PartsOfState, layer::Integer)
    layer > length(parts.layers) && return parts.flat[layer-length(parts.layers)].edges
    nodes = parts.layers[layer].edges
    nodes.part[parts.layers[layer].edge_node]
end

function bag_parts(parts::PartsOfState, layer::Integer)
    layer > length(parts.layers) && return parts.flat[layer-length(parts.layers)].bags
    nodes = parts.layers[layer].bags
    Int32[node == 0 ? 0 : nodes.part[node] for node in parts.layers[layer].bag_node]
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
    changes = parts.changes
    changes.stamp += Int32(1)
    parts.relaxed === nothing || find_needed_facts!(parts, words, offset)
    note_changed_facts!(parts, words, offset)
    for (number, layer) in enumerate(parts.layers)
        changes.stamp += Int32(1)
        before = blocks_after(parts, number - 1)
        if parts.fresh
            fill_layer!(layer, parts, before)
        else
            move_edges!(layer, parts, before)
            move_bags!(layer, parts)
            move_vertices!(layer, parts, before)
        end
        find_layer_parts!(layer, parts, number, before)
    end
    find_flat_layers!(parts)
    foreach(number -> compact_if_large!(parts, number), eachindex(parts.layers))
    parts.fresh = parts.unfinished = false
    parts.nstates += 1
    from = first_to_flatten(parts)
    from === nothing || flatten!(parts, from)
    nothing
end

"Begin anew, as if no state had been looked at."
function forget!(parts::PartsOfState)
    parts.first_blocks, parts.layers, parts.changes = nothing_met(parts.graph, parts.distinct.layers)
    clear!(parts.distinct.keys)
    empty!(parts.flat)
    parts.nstates = 0
    parts.fresh = true
    nothing
end

"""
Forget all parts met so far, so that they take no memory; those of the next state are new again, and numbered from 1.
Layouts and features stay. For tasks that have their `DistinctParts` to themselves.
"""
function forget_parts!(parts::PartsOfState)
    distinct, layers = parts.distinct, parts.distinct.layers
    distinct.vertices = [Interner() for _ in 0:layers]
    distinct.edges, distinct.bags = [Interner() for _ in 1:layers], [Interner() for _ in 1:layers]
    distinct.actions = Interner()
    features = distinct.taken_features
    count_as_taken!(distinct)
    distinct.taken_features = features
    distinct.keys = KeyBatch()
    forget!(parts)
end

"All that was met has been handed out, and so have the readout and the actions of the states."
function count_as_taken!(distinct::DistinctParts)
    taken(interners, l) = l == 0 ? 0 : length(interners[l].records)
    for l in 0:distinct.layers
        distinct.taken[l+1] = (taken(distinct.vertices, l + 1), taken(distinct.edges, l), taken(distinct.bags, l))
    end
    distinct.taken_actions = length(distinct.actions.records)
    distinct.taken_features = length(distinct.features)
    foreach(empty!, (distinct.readout_lengths, distinct.readout_parts, distinct.readout_counts))
    foreach(empty!, (distinct.action_lengths, distinct.action_parts, distinct.action_counts, distinct.action_places))
    nothing
end

"Memory of the parts met so far: their keys, and the tables that find these."
function kept_bytes(distinct::DistinctParts)
    bytes = sizeof(distinct.actions.records) + sizeof(distinct.actions.table)
    for interners in (distinct.vertices, distinct.edges, distinct.bags), in in interners
        bytes += sizeof(in.records) + sizeof(in.table)
    end
    bytes
end

const LEAST_GARBAGE = 1 << 18

"What a layer remembers of former states stays in proportion to what there is."
function compact_if_large!(parts::PartsOfState, number::Int)
    layer = parts.layers[number]
    n = nrecords(layer)
    if !parts.fresh
        n > parts.compact_at[number] || return
        compact!(layer)
        n = nrecords(layer)
    end
    parts.compact_at[number] = 3n + length(layer.edge_node) + length(layer.bag_node) + LEAST_GARBAGE
    nothing
end

"The facts that the relaxed plan of the next state makes true; none for a dead end."
function find_needed_facts!(parts::PartsOfState, words, offset::Int)
    evaluate(parts.relaxed, words, offset)
    fill!(parts.needed_next, 0)
    for fact in parts.relaxed.needed
        parts.needed_next[(fact-1)>>6+1] |= one(UInt64) << ((fact - 1) & 63)
    end
end

function note_changed_facts!(parts::PartsOfState, words, offset::Int)
    blocks, state, key, stamp = parts.first_blocks, parts.state, parts.changes.key, parts.changes.stamp
    if parts.fresh
        copyto!(state, 1, words, offset + 1, length(state))
        copyto!(parts.needed, parts.needed_next)
        clear!(parts.distinct.keys)
        for v in 1:parts.graph.nvertices
            tick!(parts.ticker)
            fact_key!(parts.distinct.keys.entries, parts, v, open_key!(parts.distinct.keys, 2))
            close_key!(parts.distinct.keys, 2)
        end
        number_all!(blocks.contents.keys, parts.distinct.keys, parts.ticker)
        fill_blocks!(blocks, parts.distinct.keys, stamp)
    else
        @inbounds for w in eachindex(state)
            differing = (words[offset+w] ⊻ state[w]) | (parts.needed_next[w] ⊻ parts.needed[w])
            differing == 0 && continue
            state[w], parts.needed[w] = words[offset+w], parts.needed_next[w]
            while differing != 0
                v = (64 * (w - 1) + trailing_zeros(differing) + 1) % Int32
                differing &= differing - 1
                v > parts.graph.nvertices && break
                fact_key!(key, parts, v, 0)
                note!(blocks, v, node_of!(blocks.contents, key, 0, 2, blocks.content[blocks.block[v]]), stamp)
            end
        end
        regroup!(blocks, stamp, parts.ticker)
    end
    settle!(blocks, nothing, stamp)
    find_first_parts!(blocks, parts)
end

const NEEDED_BIT = 30

"A vertex before the first layer is its predicate and its flags."
@inline function fact_key!(key::Vector{Int32}, parts::PartsOfState, v::Integer, from::Int)
    @inbounds key[from+1] = parts.graph.vertex_type[v]
    @inbounds key[from+2] = parts.graph.goal_flags[v] | Int32(has_fact(parts.state, 0, v)) |
        Int32(has_fact(parts.needed, 0, v)) << NEEDED_BIT
    nothing
end

function find_first_parts!(blocks::Blocks, parts::PartsOfState)
    keys, contents = parts.distinct.keys, blocks.contents
    clear!(keys)
    for content in contents.asked
        at = open_key!(keys, 2)
        copyto!(keys.entries, at + 1, contents.keys.records, first(key_range(contents, content)), 2)
        close_key!(keys, 2)
    end
    number_all!(parts.distinct.vertices[1], keys, parts.ticker)
    take_parts!(blocks, keys)
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

function note_readout!(parts::PartsOfState)
    distinct, blocks = parts.distinct, blocks_after(parts, length(parts.layers))
    isempty(parts.flat) || return note_flat_readout!(distinct, parts.graph, last(parts.flat).after)
    @inbounds for kind in blocks.kinds
        push!(distinct.readout_lengths, length(kind))
        for block in kind
            push!(distinct.readout_parts, blocks.part[block])
            push!(distinct.readout_counts, blocks.size[block])
        end
    end
end

function make_room!(distinct::DistinctParts, n::Int)
    old = length(distinct.tally)
    old >= n && return
    resize!(distinct.tally, 2n)
    fill!(@view(distinct.tally[old+1:end]), 0)
    resize!(distinct.met, 2n)
end

function note_actions!(parts::PartsOfState, operators)
    distinct, keys = parts.distinct, parts.distinct.keys
    clear!(keys)
    for operator in operators
        tick!(parts.ticker, 8)
        write_action_key!(keys, parts, parts.columns, Int(operator) + 1)
    end
    number_all!(distinct.actions, keys, parts.ticker)
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
    blocks, state, is_flat = blocks_after(parts, length(parts.layers)), parts.state, !isempty(parts.flat)
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
            entries[at+i+2] = !counts ? zero(Int32) : is_flat ? last(parts.flat).after[fact] :
                blocks.part[blocks.block[fact]]
        end
        slots = columns.layouts[schema].slot_of_column
        width == 0 || slots[end] == width || sort_columns!(entries, at + 2, slots)
    end
    close_key!(keys, width + 2)
end
