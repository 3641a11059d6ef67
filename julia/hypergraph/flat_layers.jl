# Layers in which so few edges are alike that blocks cost more than they save: a part for each edge, bag and vertex, and
# what a changed part reaches is looked up again, one by one.

"The part of everything in one layer, and of the vertices before it."
struct FlatLayer
    before::Vector{Int32}               # of each vertex; in all layers but the first flat one `after` of the last
    edges::Vector{Int32}
    bags::Vector{Int32}
    after::Vector{Int32}
    changed::Vector{Int32}              # vertices that are another part after the layer
end

const FEW_EDGES = 1000
const ALIKE_ENOUGH = 4                  # so many edges for each node
const LOOKS = (1, 16, 128, 1024)        # after so many states it is asked whether blocks pay
const FLATTENS = Ref(true)              # tests of blocks turn it off

"The first of the layers in blocks that had better be flat; those after it are finer still."
function first_to_flatten(parts)
    FLATTENS[] && parts.nstates in LOOKS || return nothing
    nedges(parts.graph) <= FEW_EDGES && return isempty(parts.layers) ? nothing : 1
    findfirst(parts.layers) do layer
        living = count(>(0), layer.edges.members)
        ALIKE_ENOUGH * living > nedges(parts.graph)
    end
end

"From this layer on everything has a part of its own, until all is forgotten."
function flatten!(parts, from::Int)
    before = vertex_parts(parts, from - 1)
    flat = FlatLayer[]
    for number in from:length(parts.layers)
        after = vertex_parts(parts, number)
        push!(flat, FlatLayer(before, edge_parts(parts, number), bag_parts(parts, number), after, Int32[]))
        before = after
    end
    isempty(parts.flat) || (parts.flat[1] = rebased(parts.flat[1], before))
    prepend!(parts.flat, flat)
    resize!(parts.layers, from - 1)
    nothing
end

rebased(layer::FlatLayer, before::Vector{Int32}) =
    FlatLayer(before, layer.edges, layer.bags, layer.after, layer.changed)

"The vertices that are another part after the last of the layers in blocks."
function note_entering!(entering::Vector{Int32}, known::Vector{Int32}, blocks::Blocks)
    empty!(entering)
    @inbounds for i in 1:blocks.nmoved
        note_if_changed!(entering, known, blocks, blocks.moved[i])
    end
    @inbounds for block in blocks.changed
        v = blocks.first[block]
        while v != 0
            note_if_changed!(entering, known, blocks, v)
            v = blocks.next[v]
        end
    end
end

@inline function note_if_changed!(entering::Vector{Int32}, known::Vector{Int32}, blocks::Blocks, v::Int32)
    @inbounds part = blocks.part[blocks.block[v]]
    @inbounds known[v] == part && return
    @inbounds known[v] = part
    push!(entering, v)
    nothing
end

function find_flat_layers!(parts)
    isempty(parts.flat) && return
    changed, number = parts.entering, length(parts.layers)
    note_entering!(changed, parts.flat[1].before, blocks_after(parts, number))
    for layer in parts.flat
        parts.changes.stamp += Int32(1)
        number += 1
        find_flat_edges!(layer, parts, number, changed)
        find_flat_bags!(layer, parts, number)
        find_flat_vertices!(layer, parts, number, changed)
        changed = layer.changed
    end
end

"The parts of the edges of these vertices; the bags of those that changed are noted."
function find_flat_edges!(layer::FlatLayer, parts, number::Int, changed::Vector{Int32})
    graph, changes, keys, n = parts.graph, parts.changes, parts.distinct.keys, 0
    stamp = changes.stamp
    clear!(keys)
    @inbounds for v in changed, e in row(graph.edges_of_vertex, v)
        changes.edge_at[e] == stamp && continue
        changes.edge_at[e] = stamp
        changes.edges[n+=1] = e
        at = open_key!(keys, 0)
        width = edge_key!(keys.entries, parts, layer.before, e, at)
        tick!(parts.ticker, width)
        close_key!(keys, width)
    end
    number_all!(parts.distinct.edges[number], keys, parts.ticker)
    changes.nbags = 0
    @inbounds for i in 1:n
        e, part = changes.edges[i], keys.numbers[i]
        layer.edges[e] == part && continue
        layer.edges[e] = part
        for k in graph.heads.offsets[e]:graph.heads.offsets[e+1]-1
            bag = graph.heads.values[k]
            changes.bag_at[bag] == stamp && continue
            changes.bag_at[bag] = stamp
            changes.bags[changes.nbags+=1] = bag
        end
    end
end

"The parts of the bags that were noted; the vertices of those that changed are noted."
function find_flat_bags!(layer::FlatLayer, parts, number::Int)
    graph, changes, in = parts.graph, parts.changes, parts.distinct.bags[number]
    tally, pairs = changes.tally, changes.pairs
    lengthen!(tally, length(parts.distinct.edges[number]))
    changes.nvertices = 0
    @inbounds for i in 1:changes.nbags
        bag = changes.bags[i]
        first, last = graph.bag_edges.offsets[bag], graph.bag_edges.offsets[bag+1] - 1
        length(pairs) <= last - first && resize!(pairs, 2 * (last - first + 1))
        tick!(parts.ticker, 2 * (last - first + 1))
        n = 0
        for k in first:last
            part = layer.edges[graph.bag_edges.values[k]]
            tally[part] == 0 && (pairs[n+=1] = part)
            tally[part] += Int32(1)
        end
        for k in 1:n
            part = pairs[k]
            pairs[k] = part << 32 | UInt64(tally[part])
            tally[part] = 0
        end
        part = intern_multiset!(in, pairs, n, tally, changes.key)
        layer.bags[bag] == part && continue
        layer.bags[bag] = part
        touch_vertex!(changes, graph.vertex_of_bag[bag])
    end
end

"The parts of the vertices that were noted, and of those that had changed before the layer."
function find_flat_vertices!(layer::FlatLayer, parts, number::Int, changed::Vector{Int32})
    changes, keys = parts.changes, parts.distinct.keys
    parts.distinct.residual && foreach(v -> touch_vertex!(changes, v), changed)
    clear!(keys)
    @inbounds for i in 1:changes.nvertices
        at = open_key!(keys, 0)
        n = content_key!(keys.entries, parts, layer.bags, layer.before, changes.vertices[i], at)
        tick!(parts.ticker, n)
        close_key!(keys, n)
    end
    number_all!(parts.distinct.vertices[number+1], keys, parts.ticker)
    empty!(layer.changed)
    @inbounds for i in 1:changes.nvertices
        v, part = changes.vertices[i], keys.numbers[i]
        layer.after[v] == part && continue
        layer.after[v] = part
        push!(layer.changed, v)
    end
end

"The readout of the last flat layer: the vertices of each predicate, counted."
function note_flat_readout!(distinct, graph::Hypergraph, part_of::Vector{Int32})
    make_room!(distinct, length(distinct.vertices[end]))
    tally = distinct.tally
    for kind in graph.vertices_of_type
        first = length(distinct.readout_parts)
        @inbounds for v in kind
            part = part_of[v]
            tally[part] == 0 && push!(distinct.readout_parts, part)
            tally[part] += Int32(1)
        end
        push!(distinct.readout_lengths, length(distinct.readout_parts) - first)
        @inbounds for i in first+1:length(distinct.readout_parts)
            part = distinct.readout_parts[i]
            push!(distinct.readout_counts, tally[part])
            tally[part] = 0
        end
    end
end
