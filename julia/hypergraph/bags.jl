# Bags of edges from one state to the next: those whose edges became other nodes, many at a time where they are alike.

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
