# One layer of the network over the hypergraph of a task: which edges, bags and vertices are alike, from state to state.

"""
Edges and bags as nodes, and the vertices after the layer in blocks. The key of
- an edge is its layout, its features and the blocks of its tails before the layer;
- a bag is its edges' nodes, ascending, each followed by how often it occurs; an empty bag is node 0;
- a content of vertices is the predicate, the block before the layer (0 without residual connections) and the bags.

These keys say what is alike; put parts for blocks and nodes, and they are the keys of `DistinctParts`.
"""
mutable struct Layer
    edges::Nodes
    bags::Nodes
    blocks::Blocks                      # after the layer
    edge_node::Vector{Int32}
    bag_node::Vector{Int32}
    edges_of_block::Vector{Int32}       # first cells: the edges that use a block, …
    bags_of_edge::Vector{Int32}         # … the bags that hold an edge, …
    contents_of_bag::Vector{Int32}      # … the contents that have a bag, …
    contents_of_block::Vector{Int32}    # … and those that had been in a block
    steps::Interner                     # what has happened to bags: node, and of each edge that changed the old and new
    step_to::Vector{Int32}              # the node each step leads to
    usual_step::Vector{NTuple{3,Int32}} # of each node of bags, the last step of one edge: old, new, and where it led
end

Layer(graph::Hypergraph, groups::Groups) = Layer(Nodes(), Nodes(),
    Blocks(graph.nvertices, length(graph.signature.predicates), groups), zeros(Int32, nedges(graph)),
    zeros(Int32, length(graph.vertex_of_bag)), (Int32[] for _ in 1:4)..., Interner(), Int32[], NTuple{3,Int32}[])

"What changes from one state to the next within a layer. All layers share it."
mutable struct Changes
    edges::Vector{Int32}                # that have a vertex in another block
    bags::Vector{Int32}                 # that hold an edge of another node
    vertices::Vector{Int32}             # that have another bag or, before the layer, another block
    edge_at::Vector{Int32}              # the stamp of when each was noted
    bag_at::Vector{Int32}
    vertex_at::Vector{Int32}
    stamp::Int32
    last_delta::Vector{Int32}           # of each bag: its edges that changed are a list
    delta_old::Vector{Int32}
    delta_new::Vector{Int32}
    delta_next::Vector{Int32}
    key::Vector{Int32}                  # scratch
    pairs::Vector{UInt64}
    tally::Vector{Int32}                # of nodes of edges, zero between uses
end

Changes(graph::Hypergraph) = Changes(Int32[], Int32[], Int32[], zeros(Int32, nedges(graph)),
    zeros(Int32, length(graph.vertex_of_bag)), zeros(Int32, graph.nvertices), 0,
    zeros(Int32, length(graph.vertex_of_bag)), Int32[], Int32[], Int32[], zeros(Int32, 64), UInt64[], Int32[])

# From state to state

"The edges of vertices that are in another block, and the bags that hold these edges."
function move_edges!(layer::Layer, parts, before::Blocks)
    graph, changes, nodes, ticker = parts.graph, parts.changes, layer.edges, parts.ticker
    stamp, key = changes.stamp, changes.key
    foreach(empty!, (changes.edges, changes.bags, changes.delta_old, changes.delta_new, changes.delta_next))
    @inbounds for v in before.moved, e in row(graph.edges_of_vertex, v)
        changes.edge_at[e] == stamp && continue
        changes.edge_at[e] = stamp
        push!(changes.edges, e)
    end
    @inbounds for e in changes.edges
        n = edge_key!(key, parts, before.block, e)
        tick!(ticker, n)
        old = layer.edge_node[e]
        new = node_of!(nodes, key, 0, n, old)
        new == old && continue
        layer.edge_node[e] = new
        move!(nodes, old, new, stamp)
        for bag in row(graph.heads, e)
            if changes.bag_at[bag] != stamp
                changes.bag_at[bag] = stamp
                changes.last_delta[bag] = 0
                push!(changes.bags, bag)
            end
            push!(changes.delta_old, old)
            push!(changes.delta_new, new)
            push!(changes.delta_next, changes.last_delta[bag])
            changes.last_delta[bag] = length(changes.delta_next)
        end
    end
end

"Write the key of an edge; how many entries it has."
@inline function edge_key!(key::Vector{Int32}, parts, block::Vector{Int32}, e::Integer, from::Int = 0)
    graph = parts.graph
    @inbounds begin
        first = graph.tail_first[e]
        n = Int(graph.tail_first[e+1] - first)
        from + n + 2 > length(key) && resize!(key, 2 * (from + n + 2))
        key[from+1], key[from+2] = parts.edge_layout[e], parts.edge_feature[e]
        for i in 1:n
            v = graph.tails[first+i-1]
            key[from+i+2] = v == 0 ? zero(Int32) : block[v]
        end
        kind = graph.edge_type[e]
        parts.ragged[kind] && sort_columns!(key, from + 2, graph.layouts[kind].slot_of_column)
    end
    n + 2
end

function move_bags!(layer::Layer, parts)
    graph, changes, nodes, ticker = parts.graph, parts.changes, layer.bags, parts.ticker
    stamp = changes.stamp
    empty!(changes.vertices)
    @inbounds for bag in changes.bags
        tick!(ticker, 2)
        old = layer.bag_node[bag]
        new = next_bag(layer, changes, old, changes.last_delta[bag], ticker)
        new == old && continue
        layer.bag_node[bag] = new
        move!(nodes, old, new, stamp)
        touch_vertex!(changes, graph.vertex_of_bag[bag])
    end
end

@inline function touch_vertex!(changes::Changes, v::Int32)
    @inbounds changes.vertex_at[v] == changes.stamp && return
    @inbounds changes.vertex_at[v] = changes.stamp
    push!(changes.vertices, v)
    nothing
end

"The node of a bag after the changes of its edges that are listed from `delta` on."
@inline function next_bag(layer::Layer, changes::Changes, old::Int32, delta::Int32, ticker::Ticker)
    @inbounds if changes.delta_next[delta] == 0
        from, to = changes.delta_old[delta], changes.delta_new[delta]
        usual = layer.usual_step[old]
        usual[1] == from && usual[2] == to && return usual[3]
        new = next_bag_of_many(layer, changes, old, delta, ticker)
        layer.usual_step[old] = (from, to, new)
        return new
    end
    next_bag_of_many(layer, changes, old, delta, ticker)
end

const LONGEST_STEP = 16

@noinline function next_bag_of_many(layer::Layer, changes::Changes, old::Int32, delta::Int32, ticker::Ticker)
    pairs, key = changes.pairs, changes.key
    empty!(pairs)
    @inbounds while delta != 0
        push!(pairs, UInt64(changes.delta_old[delta]) << 32 | UInt64(changes.delta_new[delta]))
        delta = changes.delta_next[delta]
    end
    tick!(ticker, length(pairs))
    length(pairs) > LONGEST_STEP && return changed_bag(layer, changes, old, ticker)
    sort_between!(pairs, 1, length(pairs))
    n = 2 * length(pairs) + 1
    n > length(key) && resize!(key, 2n)
    key[1] = old
    @inbounds for (i, pair) in enumerate(pairs)
        key[2i], key[2i+1] = (pair >> 32) % Int32, pair % Int32
    end
    step = intern!(layer.steps, key, 0, n, hash_key(key, 0, n))
    step <= length(layer.step_to) && return layer.step_to[step]
    new = changed_bag(layer, changes, old, ticker)
    push!(layer.step_to, new)
    new
end

"The node of what `old` holds after the changes in `pairs`."
function changed_bag(layer::Layer, changes::Changes, old::Int32, ticker::Ticker)
    nodes, pairs, tally = layer.bags, changes.pairs, changes.tally
    length(tally) < length(layer.edges.place) && lengthen!(tally, length(layer.edges.place))
    @inbounds for pair in pairs
        tally[pair>>32] -= Int32(1)
        tally[pair%UInt32] += Int32(1)
    end
    key, n = changes.key, 0
    cells = key_range(nodes, old)
    most = length(cells) + 2 * length(pairs)
    tick!(ticker, most)
    most > length(key) && resize!(key, 2most)
    @inbounds for cell in first(cells):2:last(cells)
        edge = nodes.keys.records[cell]
        count = nodes.keys.records[cell+1] + tally[edge]
        tally[edge] = 0
        count == 0 && continue
        key[n+1], key[n+2] = edge, count
        n += 2
    end
    n = insert_new!(key, n, pairs, tally)
    node = intern!(nodes.keys, key, 0, n, hash_key(key, 0, n))
    grow_bags!(layer)
    node
end

"Put the edges that the bag did not hold before, those whose tally is not zero, into their places in its key."
function insert_new!(key::Vector{Int32}, n::Int, pairs::Vector{UInt64}, tally::Vector{Int32})
    kept = 0
    @inbounds for i in eachindex(pairs)
        edge = pairs[i] % UInt32
        count = tally[edge]
        tally[edge] = 0
        count == 0 || (pairs[kept+=1] = UInt64(edge) << 32 | UInt64(count))
    end
    kept == 0 && return n
    sort_between!(pairs, 1, kept)
    to, from = n + 2kept, n
    total = to
    @inbounds for i in kept:-1:1
        edge = (pairs[i] >> 32) % Int32
        while from > 0 && key[from-1] > edge
            key[to-1], key[to] = key[from-1], key[from]
            to -= 2
            from -= 2
        end
        key[to-1], key[to] = edge, pairs[i] % Int32
        to -= 2
    end
    total
end

function grow_bags!(layer::Layer)
    length(layer.bags.place) < length(layer.bags.keys) || return
    grow!(layer.bags)
    known = length(layer.usual_step)
    resize!(layer.usual_step, length(layer.bags.place))
    fill!(@view(layer.usual_step[known+1:end]), (Int32(0), Int32(0), Int32(0)))
    nothing
end

function move_vertices!(layer::Layer, parts, before::Blocks)
    changes, blocks, residual = parts.changes, layer.blocks, parts.distinct.residual
    residual && foreach(v -> touch_vertex!(changes, v), before.moved)
    @inbounds for v in changes.vertices
        n = content_key!(changes.key, parts, layer, before, v)
        tick!(parts.ticker, n)
        old = blocks.content[blocks.block[v]]
        new = node_of!(blocks.contents, changes.key, 0, n, old)
        new == old || note!(blocks, v, new, changes.stamp)
    end
    regroup!(blocks, changes.stamp, parts.ticker)
end

@inline function content_key!(key::Vector{Int32}, parts, layer::Layer, before::Blocks, v::Integer, from::Int = 0)
    graph = parts.graph
    @inbounds begin
        first = graph.bag_first[v]
        n = Int(graph.bag_first[v+1] - first)
        from + n + 2 > length(key) && resize!(key, 2 * (from + n + 2))
        key[from+1] = graph.vertex_type[v]
        key[from+2] = parts.distinct.residual ? before.block[v] : zero(Int32)
        for i in 1:n
            key[from+i+2] = layer.bag_node[first+i-1]
        end
    end
    n + 2
end

# From nothing

"The first state: everything is looked at."
function fill_layer!(layer::Layer, parts, before::Blocks)
    graph, keys, ticker = parts.graph, parts.distinct.keys, parts.ticker
    clear!(keys)
    for e in 1:nedges(graph)
        at = open_key!(keys, 0)
        n = edge_key!(keys.entries, parts, before.block, e, at)
        tick!(ticker, n)
        close_key!(keys, n)
    end
    number_all!(layer.edges.keys, keys, ticker)
    become!(layer.edges, layer.edge_node, eachindex(layer.edge_node), keys)
    clear!(keys)
    full = Int32[bag for bag in eachindex(layer.bag_node) if !isempty(row(graph.bag_edges, bag))]
    foreach(bag -> write_bag_key!(keys, graph.bag_edges, Int(bag), layer.edge_node, ticker), full)
    number_all!(layer.bags.keys, keys, ticker)
    grow_bags!(layer)
    become!(layer.bags, layer.bag_node, full, keys)
    clear!(keys)
    for v in 1:graph.nvertices
        at = open_key!(keys, 0)
        n = content_key!(keys.entries, parts, layer, before, v, at)
        tick!(ticker, n)
        close_key!(keys, n)
    end
    number_all!(layer.blocks.contents.keys, keys, ticker)
    fill_blocks!(layer.blocks, keys, parts.changes.stamp)
end

"All things have got their nodes, in their order."
function become!(nodes::Nodes, node_of::Vector{Int32}, things, keys::KeyBatch)
    length(nodes.place) < length(nodes.keys) && grow!(nodes)
    for (i, thing) in enumerate(things)
        node_of[thing] = node = keys.numbers[i]
        nodes.members[node] += Int32(1)
    end
    append!(nodes.touched, eachindex(nodes.place))
    nothing
end

"All vertices have got their contents, in their order."
function fill_blocks!(blocks::Blocks, keys::KeyBatch, stamp::Int32)
    grow!(blocks.contents)
    for v in eachindex(blocks.block)
        block = block_of!(blocks, keys.numbers[v])
        enter!(blocks, v % Int32, block)
        touch!(blocks, block, stamp)
    end
    nothing
end

"The nodes of the edges in the bag, ascending, each followed by how often it occurs."
@inline function write_bag_key!(keys::KeyBatch, bag_edges::Rows, bag::Int, edge_node::Vector{Int32},
    ticker::Ticker)
    @inbounds begin
        from, to = bag_edges.offsets[bag], bag_edges.offsets[bag+1] - 1
        n = Int(to - from + 1)
        tick!(ticker, n)
        at = open_key!(keys, 3n)
        entries, members = keys.entries, at + 2n    # the members are sorted behind the key and then counted into it
        for k in 1:n
            entries[members+k] = edge_node[bag_edges.values[from+k-1]]
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
