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
    alone::Vector{Int32}                # of each node of edges, the bag that holds one such edge and nothing else
    steps::Interner                     # what has happened to bags: node, and of edges that changed old, new, how many
    step_to::Vector{Int32}              # the node each step leads to
    leader::Vector{NTuple{3,Int32}}     # of each node of bags the last that left it: stamp, delta, and where it went
end

const NO_LEADER = (Int32(0), Int32(0), Int32(0))

Layer(graph::Hypergraph, groups::Groups) = Layer(Nodes(), Nodes(),
    Blocks(graph.nvertices, length(graph.signature.predicates), groups), zeros(Int32, nedges(graph)),
    zeros(Int32, length(graph.vertex_of_bag)), (Int32[] for _ in 1:5)..., Interner(), Int32[], NTuple{3,Int32}[])

# From state to state; bags are in bags.jl

"The edges of vertices that are in another block: which nodes they become, in groups of those that change alike."
function move_edges!(layer::Layer, parts, before::Blocks)
    graph, changes, nodes, ticker = parts.graph, parts.changes, layer.edges, parts.ticker
    stamp, key, n = changes.stamp, changes.key, 0
    @inbounds for i in 1:before.nmoved, e in row(graph.edges_of_vertex, before.moved[i])
        changes.edge_at[e] == stamp && continue
        changes.edge_at[e] = stamp
        changes.edges[n+=1] = e
    end
    changes.nedges = n
    foreach(empty!, (changes.old, changes.new, changes.count, changes.kind, changes.next_of_old, changes.next_of_new))
    @inbounds for i in 1:n
        e = changes.edges[i]
        width = edge_key!(key, parts, before.block, e)
        tick!(ticker, width)
        old = layer.edge_node[e]
        new = node_of!(nodes, key, 0, width, old)
        changes.change[i] = 0
        new == old && continue
        layer.edge_node[e] = new
        changes.change[i] = change = change_of!(changes, old, new, graph.edge_type[e])
        changes.count[change] += Int32(1)
    end
    @inbounds for change in eachindex(changes.old)
        old, new = changes.old[change], changes.new[change]
        move!(nodes, old, new, stamp, changes.count[change])
        changes.of_old[old] = changes.of_new[new] = 0
    end
    order_edges!(changes)
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

function move_vertices!(layer::Layer, parts, before::Blocks)
    changes, blocks, residual = parts.changes, layer.blocks, parts.distinct.residual
    if residual
        for i in 1:before.nmoved
            touch_vertex!(changes, before.moved[i])
        end
    end
    @inbounds for i in 1:changes.nvertices
        v = changes.vertices[i]
        n = content_key!(changes.key, parts, layer.bag_node, before.block, v)
        tick!(parts.ticker, n)
        old = blocks.content[blocks.block[v]]
        new = node_of!(blocks.contents, changes.key, 0, n, old)
        new == old || note!(blocks, v, new, changes.stamp)
    end
    regroup!(blocks, changes.stamp, parts.ticker)
end

"Write the key of a vertex from those of its bags and its own before the layer; how many entries it has."
@inline function content_key!(key::Vector{Int32}, parts, bags::Vector{Int32}, before::Vector{Int32}, v::Integer,
    from::Int = 0)
    graph = parts.graph
    @inbounds begin
        first = graph.bag_first[v]
        n = Int(graph.bag_first[v+1] - first)
        from + n + 2 > length(key) && resize!(key, 2 * (from + n + 2))
        key[from+1] = graph.vertex_type[v]
        key[from+2] = parts.distinct.residual ? before[v] : zero(Int32)
        for i in 1:n
            key[from+i+2] = bags[first+i-1]
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
    lengthen_leaders!(layer, length(layer.bags))
    become!(layer.bags, layer.bag_node, full, keys)
    clear!(keys)
    for v in 1:graph.nvertices
        at = open_key!(keys, 0)
        n = content_key!(keys.entries, parts, layer.bag_node, before.block, v, at)
        tick!(ticker, n)
        close_key!(keys, n)
    end
    number_all!(layer.blocks.contents.keys, keys, ticker)
    fill_blocks!(layer.blocks, keys, parts.changes.stamp)
end

"All things have got their nodes, in their order."
function become!(nodes::Nodes, node_of::Vector{Int32}, things, keys::KeyBatch)
    note_places!(nodes)
    for (i, thing) in enumerate(things)
        node_of[thing] = node = keys.numbers[i]
        nodes.members[node] += Int32(1)
    end
    append!(nodes.touched, 1:length(nodes))
    nothing
end

"All vertices have got their contents, in their order."
function fill_blocks!(blocks::Blocks, keys::KeyBatch, stamp::Int32)
    note_places!(blocks.contents)
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
