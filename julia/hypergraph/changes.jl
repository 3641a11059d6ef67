# What changes from one state to the next within a layer: which edges, bags and vertices, and how.

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

@inline function touch_vertex!(changes::Changes, v::Int32)
    @inbounds changes.vertex_at[v] == changes.stamp && return
    @inbounds changes.vertex_at[v] = changes.stamp
    @inbounds changes.vertices[changes.nvertices+=1] = v
    nothing
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
