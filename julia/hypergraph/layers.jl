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

"The bags of each edge, sorted by how they are looked after."
struct Heads
    alone::Rows                         # those that hold no other edge
    shared::Rows                        # those that hold others too, but for …
    common::Vector{Vector{Int32}}       # … those that hold all edges of a kind and no others, by kind
end

function Heads(graph::Hypergraph, ticker::Ticker)
    of_kind = zeros(Int, length(graph.layouts))
    foreach(kind -> of_kind[kind] += 1, graph.edge_type)
    common, is_common = [Int32[] for _ in of_kind], falses(length(graph.vertex_of_bag))
    for bag in eachindex(graph.vertex_of_bag)
        edges = row(graph.bag_edges, bag)
        tick!(ticker, length(edges))
        length(edges) > 1 || continue
        kind = graph.edge_type[edges[1]]
        length(edges) == of_kind[kind] || continue
        all(e -> graph.edge_type[e] == kind, edges) && allunique_sorted(edges) || continue
        is_common[bag] = true
        push!(common[kind], bag)
    end
    alone, shared = Rows(), Rows()
    for e in 1:nedges(graph)
        for bag in row(graph.heads, e)
            is_common[bag] || push!(length(row(graph.bag_edges, bag)) == 1 ? alone.values : shared.values, bag)
        end
        close_rows!((alone, shared), ticker)
    end
    Heads(alone, shared, common)
end

allunique_sorted(list) = all(i -> list[i-1] < list[i], 2:length(list))

"What changes from one state to the next within a layer. All layers share it."
mutable struct Changes
    edges::Vector{Int32}                # that have a vertex in another block, and …
    change::Vector{Int32}               # … the change that each undergoes, 0 for none
    bags::Vector{Int32}                 # that hold an edge of another node
    vertices::Vector{Int32}             # that have another bag or, before the layer, another block
    nedges::Int                         # how many these are
    nbags::Int
    nvertices::Int
    edge_at::Vector{Int32}              # the stamp of when each was noted
    bag_at::Vector{Int32}
    vertex_at::Vector{Int32}
    stamp::Int32
    old::Vector{Int32}                  # of each change of edges: from this node …
    new::Vector{Int32}                  # … to that one
    count::Vector{Int32}
    kind::Vector{Int32}
    next_of_old::Vector{Int32}          # changes from the same node, and to the same node, are lists
    next_of_new::Vector{Int32}
    of_old::Vector{Int32}               # of each node of edges the first change, 0 between uses
    of_new::Vector{Int32}
    order::Vector{Int32}                # the edges by change
    ends::Vector{Int32}
    last_delta::Vector{Int32}           # of each bag, the last of its deltas; these are a list:
    delta::Vector{NTuple{3,Int32}}      # the change, how many edges undergo it, the delta before
    ndeltas::Int
    key::Vector{Int32}                  # scratch
    triples::Vector{NTuple{3,Int32}}    # old, new, count
    pairs::Vector{UInt64}
    tally::Vector{Int32}                # of nodes or parts of edges, zero between uses
end

function Changes(graph::Hypergraph)
    zeros_for(n) = zeros(Int32, n)
    edges, bags, vertices = nedges(graph), length(graph.vertex_of_bag), graph.nvertices
    Changes(zeros_for(edges), zeros_for(edges), zeros_for(bags), zeros_for(vertices), 0, 0, 0, zeros_for(edges),
        zeros_for(bags), zeros_for(vertices), 0, (Int32[] for _ in 1:8)..., zeros_for(edges), Int32[], zeros_for(bags),
        fill((Int32(0), Int32(0), Int32(0)), 64), 0, zeros_for(64), NTuple{3,Int32}[], UInt64[], Int32[])
end

# From state to state

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

"The number of the change from one node of edges to another. Both lists have it; the shorter one says so first."
@inline function change_of!(changes::Changes, old::Int32, new::Int32, kind::Int32)
    max(old, new) > min(length(changes.of_old), length(changes.of_new)) &&
        foreach(list -> lengthen!(list, max(old, new)), (changes.of_old, changes.of_new))
    @inbounds begin
        a, b = changes.of_old[old], changes.of_new[new]
        while a != 0 && b != 0
            changes.new[a] == new && return a
            changes.old[b] == old && return b
            a, b = changes.next_of_old[a], changes.next_of_new[b]
        end
    end
    new_change!(changes, old, new, kind)
end

@noinline function new_change!(changes::Changes, old::Int32, new::Int32, kind::Int32)
    push!(changes.old, old)
    push!(changes.new, new)
    push!(changes.count, 0)
    push!(changes.kind, kind)
    push!(changes.next_of_old, changes.of_old[old])
    push!(changes.next_of_new, changes.of_new[new])
    changes.of_old[old] = changes.of_new[new] = length(changes.old)
end

"The edges sorted by their change; those of change c end at `ends[c]`."
function order_edges!(changes::Changes)
    resize!(changes.ends, length(changes.old))
    last = Int32(0)
    @inbounds for change in eachindex(changes.old)
        changes.ends[change] = last             # where it begins, as yet
        last += changes.count[change]
    end
    @inbounds for i in 1:changes.nedges
        change = changes.change[i]
        change == 0 && continue
        changes.order[changes.ends[change]+=Int32(1)] = changes.edges[i]
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

"The bags that hold edges which are other nodes now."
function move_bags!(layer::Layer, parts)
    changes, heads, ticker = parts.changes, parts.heads, parts.ticker
    changes.nvertices = changes.nbags = changes.ndeltas = 0
    lengthen!(layer.alone, length(layer.edges))
    first = Int32(1)
    @inbounds for change in eachindex(changes.old)
        alone = Int32(0)
        for place in first:changes.ends[change]
            e = changes.order[place]
            from, to = heads.alone.offsets[e], heads.alone.offsets[e+1] - 1
            if from <= to
                alone == 0 && (alone = bag_alone!(layer, changes.new[change]))
                for k in from:to
                    become!(layer, parts, heads.alone.values[k], alone)
                end
            end
            note_deltas!(changes, change % Int32, heads.shared, e)
            tick!(ticker, 4)
        end
        first = changes.ends[change] + Int32(1)
    end
    @inbounds for i in 1:changes.nbags
        tick!(ticker, 2)
        bag = changes.bags[i]
        become!(layer, parts, bag, next_bag(layer, changes, layer.bag_node[bag], changes.last_delta[bag], ticker))
    end
    move_common_bags!(layer, parts)
end

@inline function become!(layer::Layer, parts, bag::Int32, new::Int32)
    @inbounds old = layer.bag_node[bag]
    new == old && return
    @inbounds layer.bag_node[bag] = new
    move!(layer.bags, old, new, parts.changes.stamp)
    @inbounds touch_vertex!(parts.changes, parts.graph.vertex_of_bag[bag])
end

"The bag that holds one edge of this node."
function bag_alone!(layer::Layer, edge::Int32)
    @inbounds layer.alone[edge] == 0 || return layer.alone[edge]
    layer.alone[edge] = bag_of!(layer, Int32[edge, 1], 2)
end

function bag_of!(layer::Layer, key::Vector{Int32}, n::Int)
    node = node_of!(layer.bags, key, 0, n)
    lengthen_leaders!(layer, node)
    node
end

function lengthen_leaders!(layer::Layer, n::Integer)
    known = length(layer.leader)
    n > known || return
    resize!(layer.leader, max(n, 2known))
    fill!(@view(layer.leader[known+1:end]), NO_LEADER)
    nothing
end

"Edge e undergoes this change in the bags that it shares with others."
@inline function note_deltas!(changes::Changes, change::Int32, shared::Rows, e::Int32)
    @inbounds for k in shared.offsets[e]:shared.offsets[e+1]-1
        bag = shared.values[k]
        last = Int32(0)
        if changes.bag_at[bag] != changes.stamp
            changes.bag_at[bag] = changes.stamp
            changes.bags[changes.nbags+=1] = bag
        else
            last = changes.last_delta[bag]
            delta = changes.delta[last]
            if delta[1] == change
                changes.delta[last] = (change, delta[2] + Int32(1), delta[3])
                continue
            end
        end
        changes.ndeltas = n = changes.ndeltas + 1
        n > length(changes.delta) && resize!(changes.delta, 2n)
        changes.delta[n] = (change, Int32(1), last)
        changes.last_delta[bag] = n
    end
end

@inline function touch_vertex!(changes::Changes, v::Int32)
    @inbounds changes.vertex_at[v] == changes.stamp && return
    @inbounds changes.vertex_at[v] = changes.stamp
    @inbounds changes.vertices[changes.nvertices+=1] = v
    nothing
end

"The node of a bag after the changes of its edges that are listed from `delta` on."
@inline function next_bag(layer::Layer, changes::Changes, old::Int32, delta::Int32, ticker::Ticker)
    @inbounds stamp, leading, new = layer.leader[old]
    stamp == changes.stamp && same_deltas(changes.delta, leading, delta) && return new
    new = step!(layer, changes, old, delta, ticker)
    @inbounds layer.leader[old] = (changes.stamp, delta, new)
    new
end

@inline function same_deltas(deltas::Vector{NTuple{3,Int32}}, a::Int32, b::Int32)
    @inbounds while a != 0 && b != 0
        change_a, count_a, a = deltas[a]
        change_b, count_b, b = deltas[b]
        change_a == change_b && count_a == count_b || return false
    end
    a == b
end

const LONGEST_STEP = 16

"The same for the first of a group of bags."
function step!(layer::Layer, changes::Changes, old::Int32, delta::Int32, ticker::Ticker)
    triples, key = changes.triples, changes.key
    empty!(triples)
    @inbounds while delta != 0
        change, count, delta = changes.delta[delta]
        push!(triples, (changes.old[change], changes.new[change], count))
    end
    tick!(ticker, length(triples))
    length(triples) > LONGEST_STEP && return changed_bag(layer, changes, old, ticker)
    sort_between!(triples, 1, length(triples))
    n = 3 * length(triples) + 1
    n > length(key) && resize!(key, 2n)
    key[1] = old
    @inbounds for (i, triple) in enumerate(triples)
        key[3i-1], key[3i], key[3i+1] = triple
    end
    step = intern!(layer.steps, key, 0, n, hash_key(key, 0, n))
    step <= length(layer.step_to) && return layer.step_to[step]
    new = changed_bag(layer, changes, old, ticker)
    push!(layer.step_to, new)
    new
end

"The bags that hold all edges of a kind undergo all its changes."
function move_common_bags!(layer::Layer, parts)
    changes, triples = parts.changes, parts.changes.triples
    for (kind, bags) in enumerate(parts.heads.common)
        isempty(bags) && continue
        empty!(triples)
        @inbounds for change in eachindex(changes.old)
            changes.kind[change] == kind || continue
            push!(triples, (changes.old[change], changes.new[change], changes.count[change]))
        end
        isempty(triples) && continue
        new = changed_bag(layer, changes, layer.bag_node[bags[1]], parts.ticker)
        foreach(bag -> become!(layer, parts, bag, new), bags)
    end
end

"The node of what `old` holds after the changes in `triples`."
function changed_bag(layer::Layer, changes::Changes, old::Int32, ticker::Ticker)
    nodes, triples, tally = layer.bags, changes.triples, changes.tally
    lengthen!(tally, length(layer.edges))
    @inbounds for (from, to, count) in triples
        tally[from] -= count
        tally[to] += count
    end
    key, n = changes.key, 0
    cells = key_range(nodes, old)
    most = length(cells) + 2 * length(triples)
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
    bag_of!(layer, key, insert_new!(key, n, changes))
end

"Put the edges that the bag did not hold before, those whose tally is not zero, into their places in its key."
function insert_new!(key::Vector{Int32}, n::Int, changes::Changes)
    pairs, tally, kept = changes.pairs, changes.tally, 0
    length(pairs) < length(changes.triples) && resize!(pairs, 2 * length(changes.triples))
    @inbounds for (_, edge, _) in changes.triples
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
