using Test, Random
using PlanRank
using PlanRank: Signature, Hypergraph, DistinctParts, PartsOfState, Shape, Network, find_parts!, evaluate_new!, forget!,
    forget_parts!, kept_bytes, relation_places, nsenders, nfacts

isdefined(Main, :random_walk) || include("walks.jl")

"A network of two layers, whose weights are random."
function random_network(rng, distinct, residual)
    weights, width, signature = Dict{String,Matrix{Float32}}(), 4, distinct.signature
    nrelations = relation_places(signature, distinct.receivers)[2]
    add(name, inputs, outputs = width) = foreach(
        ((part, n),) -> weights["$name.$part"] = randn(rng, Float32, outputs, n), (("map", inputs), ("bias", 1)))
    for layer in 0:1
        before = layer == 0 ? 6 : width
        for (kind, edge) in enumerate(signature.edges)
            add("layer$layer.edge$(kind-1)", nsenders(edge, distinct.receivers) * before + 3)
            add("action$(kind-1)", (length(edge.tails) + length(edge.heads)) * width + 3)
        end
        foreach(p -> add("layer$layer.vertex$(p-1)", nrelations[p] * 2width + residual * before), eachindex(nrelations))
    end
    add("head.value", width * length(nrelations), 1)
    add("actions.context", 2width * length(nrelations))
    add("actions.state", width)
    add("actions.score", width, 1)
    value = residual ? :held : :sum
    shape = Shape([6, width, width], width, residual, true, false, [:mean, :max], value, [:sum], [:mean, :max], true,
        true, true)
    Network(shape, weights, signature)
end

function evaluated(parts, network, steps)
    offsets = Int32[0; cumsum(length(operators) for (_, operators) in steps)]
    find_parts!(parts, reduce(vcat, first.(steps)), length(steps), offsets, reduce(vcat, last.(steps)))
    values, scores = zeros(Float32, length(steps)), zeros(Float32, offsets[end])
    evaluate_new!(values, scores, network, parts.distinct)
    [values; scores]
end

@testset "values and scores do not depend on what was evaluated before" begin
    compared = 0
    for seed in 1:60
        rng = MersenneTwister(seed)
        domain, task = random_domain_and_task(rng)
        signature = Signature(domain)
        nfacts(task) == 0 && continue
        receivers, residual = rand(rng, (:adds, :effects, :all)), rand(rng, Bool)
        graph = Hypergraph(signature, task; receivers = receivers, distances = true)
        columns, ff = PlanRank.ActionColumns(signature, task), PlanRank.FFHeuristic(task)
        new_parts() = PartsOfState(DistinctParts(signature, 2, residual, receivers), graph, columns; relaxed = ff)
        parts, steps = new_parts(), random_walk(task, rng, 12)
        network = random_network(rng, parts.distinct, residual)
        for i in [eachindex(steps); rand(rng, eachindex(steps), 8)]
            chosen = steps[i:min(end, i + rand(rng, 0:2))]
            found = evaluated(parts, network, chosen)
            anew = deepcopy(network)
            forget!(anew)
            @test found ≈ evaluated(new_parts(), anew, chosen) rtol = 1e-4 atol = 1e-4
            if rand(rng) < 0.1
                before = kept_bytes(parts.distinct) + kept_bytes(network)
                forget_parts!(parts)
                forget!(network)
                @test kept_bytes(parts.distinct) + kept_bytes(network) < before
            end
            compared += 1
        end
    end
    @test compared > 500
end
