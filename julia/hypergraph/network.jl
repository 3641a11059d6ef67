# The network in search. Python's `network.forward` says what it computes; here it is done for what is new only, and
# what was computed before is kept.

"The options of a network; Python's `Architecture` describes them."
struct Shape
    widths::Vector{Int}                 # numbers that describe a vertex, before the first layer and after each
    dim::Int
    residual::Bool
    mixing::Bool
    shared::Bool
    messages::Vector{Symbol}
    value::Symbol
    pooling::Vector{Symbol}
    context::Vector{Symbol}
    distances::Bool
    relaxed::Bool
    scores_actions::Bool
end

"How edges or actions of one kind are mapped: a projection for each literal, and the weights of the three features."
struct EdgeMap
    dense::Dense
    literals::Vector{Projection}
    features::Int                       # their weights begin after this row
end

function EdgeMap(dense::Dense, width::Integer)
    features = size(dense.map, 2) - 3
    EdgeMap(dense, [Projection(dense, before) for before in 0:width:features-1], features)
end

"""
A network with what it has computed for the parts met so far: of vertices before the first layer and after each, of
edges and bags in each layer, and of actions.
"""
mutable struct Network
    shape::Shape
    edges::Vector{Vector{EdgeMap}}      # [layer][kind]
    mixing::Vector{Vector{Dense}}       # [layer][predicate]
    hidden::Union{Dense,Nothing}
    value::Dense
    actions::Vector{EdgeMap}            # [kind], unused for kinds that are no actions
    context::Union{Dense,Nothing}
    context_map::Dense
    score::Vector{Float32}
    vertex_rows::Vector{Table}          # [layer + 1]
    held::Vector{Vector{Bool}}          # [layer + 1], of each part: whether a fact that holds, or a goal
    edge_rows::Vector{Table}            # [layer]
    bag_rows::Vector{Table}
    action_rows::Table
    inputs::Vector{Float32}             # scratch
    outputs::Vector{Float32}
    pool::Pool
end

"Weights by the names that Python gives them, matrices as [output, input] and biases as matrices of one column."
function Network(shape::Shape, weights::Dict{String,Matrix{Float32}}, signature::Signature)
    dense(name) = Dense(weights["$name.map"], vec(weights["$name.bias"]))
    layers, kinds = length(shape.widths) - 1, eachindex(signature.edges)
    named(l) = "layer$(shape.shared ? min(l - 1, 1) : l - 1)"
    edges = [[EdgeMap(dense("$(named(l)).edge$(kind-1)"), shape.widths[l]) for kind in kinds] for l in 1:layers]
    mixing = [shape.mixing ? [dense("$(named(l)).vertex$(p-1)") for p in eachindex(signature.predicates)] : Dense[]
              for l in 1:layers]
    none = Dense(zeros(Float32, 0, 0), Float32[])
    action(kind) = haskey(weights, "action$kind.map") ? dense("action$kind") : Dense(zeros(Float32, 0, 3), Float32[])
    scores = shape.scores_actions
    network = Network(shape, edges, mixing, shape.value === :pooled ? dense("head.hidden") : nothing,
        dense("head.value"), scores ? [EdgeMap(action(kind - 1), shape.widths[end]) for kind in kinds] : EdgeMap[],
        scores ? dense("actions.context") : nothing,
        scores ? Dense(weights["actions.state.map"], zeros(Float32, shape.dim)) : none,
        scores ? vec(weights["actions.score.map"]) : Float32[], Table[], Vector{Bool}[], Table[], Table[],
        Table(shape.dim), Float32[], Float32[], Pool())
    forget!(network)
    network
end

"All that was computed; the parts are numbered from 1 again."
function forget!(network::Network)
    shape = network.shape
    layers = length(network.edges)
    network.vertex_rows, network.held = map(Table, shape.widths), [Bool[] for _ in 0:layers]
    network.edge_rows = [Table(shape.dim) for _ in 1:layers]
    network.bag_rows = [Table(length(shape.messages) * shape.dim) for _ in 1:layers]
    network.action_rows = Table(shape.dim)
    each_projection(forget!, network)
end

function each_projection(visit::F, network::Network) where {F}
    for maps in network.edges, edge_map in maps
        foreach(visit, edge_map.literals)
    end
    foreach(edge_map -> foreach(visit, edge_map.literals), network.actions)
end

function kept_bytes(network::Network)
    bytes = Ref(sizeof(network.action_rows.values))
    for tables in (network.vertex_rows, network.edge_rows, network.bag_rows), table in tables
        bytes[] += sizeof(table.values)
    end
    each_projection(p -> bytes[] += sizeof(p.place) + sizeof(p.products.values), network)
    bytes[]
end

"""
Values of the states whose readout was noted, and the scores of their actions, into these vectors. What is new is
computed and counts as taken.
"""
function evaluate_new!(values, scores, network::Network, distinct::DistinctParts)
    compute_first_vertices!(network, distinct)
    for layer in 1:distinct.layers
        compute_edges!(network, distinct, layer)
        compute_bags!(network, distinct, layer)
        compute_vertices!(network, distinct, layer)
    end
    compute_values!(values, network, distinct)
    if network.shape.scores_actions
        compute_actions!(network, distinct)
        compute_scores!(scores, network, distinct)
    end
    count_as_taken!(distinct)
end

function compute_first_vertices!(network::Network, distinct::DistinctParts)
    table, shape, records = network.vertex_rows[1], network.shape, distinct.vertices[1].records
    reserve!(table, length(distinct.vertices[1]))
    lengthen!(network.held[1], length(distinct.vertices[1]))
    for place in new_records(distinct.vertices[1], distinct.taken[1][1])
        part, flags = records[place], records[place+RECORD_HEAD+1]
        row = Float32[flags&1, flags>>1&1, flags>>2&1]
        if shape.distances
            way = (flags & (Int32(1) << NEEDED_BIT - Int32(1))) >> 3
            push!(row, way > 0, max(way - 1, 0) / 10)
        end
        shape.relaxed && push!(row, flags >> NEEDED_BIT & 1)
        copyto!(table.values, start(table, part) + 1, row, 1, table.width)
        network.held[1][part] = flags & 7 > 0
    end
end

function compute_edges!(network::Network, distinct::DistinctParts, layer::Int)
    in, table = distinct.edges[layer], network.edge_rows[layer]
    reserve!(table, length(in))
    for place in new_records(in, distinct.taken[layer+1][2])
        at = start(table, in.records[place])
        map_edge!(table.values, at, network.edges[layer], distinct, in.records, place, network.vertex_rows[layer])
        relu!(table.values, at, table.width)
    end
end

"Map the edge or action whose record is at this place; its features and facts have their own weights each."
function map_edge!(out::Vector{Float32}, at::Int, maps::Vector{EdgeMap}, distinct::DistinctParts,
    records::Vector{Int32}, place::Int, vertices::Table)
    @inbounds begin
        width, first = records[place+1], place + RECORD_HEAD
        layout = distinct.layouts[records[first]]
        edge_map = maps[layout.type]
        start_with_bias!(out, at, edge_map.dense)
        dense, features = edge_map.dense, distinct.features[records[first+1]]
        for i in 1:3
            row = (edge_map.features + i - 1) * noutputs(dense)
            @simd ivdep for o in 1:noutputs(dense)
                out[at+o] = muladd(features[i], dense.map[row+o], out[at+o])
            end
        end
        for column in 1:width-2
            literal = edge_map.literals[layout.slot_of_column[column]]
            add_projected!(out, at, literal, vertices, records[first+1+column])
        end
    end
end

function compute_bags!(network::Network, distinct::DistinctParts, layer::Int)
    in, edges, table, pool = distinct.bags[layer], network.edge_rows[layer], network.bag_rows[layer], network.pool
    reserve!(table, length(in))
    records = in.records
    for place in new_records(in, distinct.taken[layer+1][3])
        clear!(pool, edges.width)
        @inbounds for i in place+RECORD_HEAD:2:place+RECORD_HEAD+records[place+1]-1
            add!(pool, edges, records[i], records[i+1])
        end
        write_pooled!(table.values, start(table, records[place]), pool, network.shape.messages, edges.width)
    end
end

function compute_vertices!(network::Network, distinct::DistinctParts, layer::Int)
    in, table, before = distinct.vertices[layer+1], network.vertex_rows[layer+1], network.vertex_rows[layer]
    reserve!(table, length(in))
    lengthen!(network.held[layer+1], length(in))
    for place in new_records(in, distinct.taken[layer+1][1])
        part, old = in.records[place], in.records[place+RECORD_HEAD+1]
        old == 0 || (network.held[layer+1][part] = network.held[layer][old])
        compute_vertex!(table, start(table, part), network, in.records, place, layer)
        network.shape.shared && layer > 1 && mix_with_former!(table, part, before, old)
    end
end

function compute_vertex!(table::Table, at::Int, network::Network, records::Vector{Int32}, place::Int, layer::Int)
    bags, before, shape = network.bag_rows[layer], network.vertex_rows[layer], network.shape
    first = place + RECORD_HEAD
    old, arriving = records[first+1], first+2:first+records[place+1]-1
    if !shape.mixing
        for cell in arriving
            copyto!(table.values, at + 1, bags.values, start(bags, records[cell]) + 1, bags.width)
            at += bags.width
        end
        shape.residual && copyto!(table.values, at + 1, before.values, start(before, old) + 1, before.width)
        return
    end
    dense, row = network.mixing[layer][records[first]], 0
    start_with_bias!(table.values, at, dense)
    for cell in arriving
        from = start(bags, records[cell])
        records[cell] == 0 || add_product!(table.values, at, dense.map, row, bags.values, from, bags.width)
        row += bags.width
    end
    shape.residual && add_product!(table.values, at, dense.map, row, before.values, start(before, old), before.width)
    relu!(table.values, at, table.width)
end

const SHARED_SCALE = sqrt(0.5f0)        # keeps the size of sums of two

function mix_with_former!(table::Table, part::Int32, before::Table, old::Int32)
    at, from = start(table, part), start(before, old)
    for i in 1:table.width
        table.values[at+i] = (table.values[at+i] + before.values[from+i]) * SHARED_SCALE
    end
end

"""
The vertices of each state from `readout` on, pooled for each predicate, in `network.inputs`; where its readout ends. If
`held`, only those that hold or are goals.
"""
function pool_state!(network::Network, distinct::DistinctParts, state::Int, readout::Int, kinds::Vector{Symbol},
    held::Bool)
    table, pool, counts = network.vertex_rows[end], network.pool, network.held[end]
    predicates = length(distinct.signature.predicates)
    lengthen!(network.inputs, predicates * length(kinds) * table.width)
    at = 0
    @inbounds for p in 1:predicates
        clear!(pool, table.width)
        length = distinct.readout_lengths[(state-1)*predicates+p]
        for i in readout+1:readout+length
            part = distinct.readout_parts[i]
            (!held || counts[part]) && add!(pool, table, part, distinct.readout_counts[i])
        end
        readout += length
        at = write_pooled!(network.inputs, at, pool, kinds, table.width)
    end
    readout
end

"The outputs of a dense map of `network.inputs`, in `network.outputs`."
function apply!(network::Network, dense::Dense)
    lengthen!(network.outputs, noutputs(dense))
    start_with_bias!(network.outputs, 0, dense)
    add_product!(network.outputs, 0, dense.map, 0, network.inputs, 0, size(dense.map, 2))
    network.outputs
end

function apply_relu!(network::Network, dense::Dense)
    apply!(network, dense)
    relu!(network.outputs, 0, noutputs(dense))
    lengthen!(network.inputs, noutputs(dense))
    copyto!(network.inputs, 1, network.outputs, 1, noutputs(dense))
end

const SUM = [:sum]

function compute_values!(values, network::Network, distinct::DistinctParts)
    shape, readout = network.shape, 0
    kinds = shape.value === :pooled ? shape.pooling : SUM
    for state in eachindex(values)
        readout = pool_state!(network, distinct, state, readout, kinds, shape.value === :held)
        network.hidden === nothing || apply_relu!(network, network.hidden)
        values[state] = apply!(network, network.value)[1]
    end
end

function compute_actions!(network::Network, distinct::DistinctParts)
    in, table = distinct.actions, network.action_rows
    reserve!(table, length(in))
    for place in new_records(in, distinct.taken_actions)
        map_edge!(table.values, start(table, in.records[place]), network.actions, distinct, in.records, place,
            network.vertex_rows[end])
    end
end

"What an action is does not depend on the rest of its state, which is added here, once for actions that are alike."
function compute_scores!(scores, network::Network, distinct::DistinctParts)
    rows, weights, readout, before = network.action_rows, network.score, 0, 0
    of_part = Vector{Float32}(undef, length(distinct.action_parts))
    for (state, n) in enumerate(distinct.action_lengths)
        readout = pool_state!(network, distinct, state, readout, network.shape.context, false)
        n == 0 && continue
        apply_relu!(network, network.context)
        context = apply!(network, network.context_map)
        @inbounds for i in before+1:before+n
            from, score = start(rows, distinct.action_parts[i]), 0f0
            for k in 1:rows.width
                score = muladd(weights[k], positive(rows.values[from+k] + context[k]), score)
            end
            of_part[i] = score
        end
        before += n
    end
    for i in eachindex(scores)
        scores[i] = of_part[distinct.action_places[i]]
    end
end
