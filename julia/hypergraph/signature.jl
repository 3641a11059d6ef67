# What all tasks of a domain have in common for a model: predicates, kinds of edges and where messages arrive.

"One kind of edge. Tails and heads are the predicates (numbers in the signature) of its literals, signs beside them."
struct EdgeType
    name::String
    tails::Vector{Int32}
    tail_positive::Vector{Bool}
    heads::Vector{Int32}
    head_positive::Vector{Bool}         # an add effect, else a delete effect
    head_used::Vector{Bool}             # heads are numbered through the schema; a conditional effect has only its own
end

"""
What a model is tied to: the fluent predicates and the kinds of edges, each sorted by name, so that the order in the
domain file does not matter.
"""
struct Signature
    domain::String
    predicates::Vector{String}
    number::Vector{Int32}               # of each predicate of the domain, 0 for static ones
    edges::Vector{EdgeType}
    action_edge::Vector{Int32}          # kind of edge of each schema
    effect_edge::Vector{Vector{Int32}}  # and of its conditional effects
    schemas::Vector{Schema}
end

function Signature(domain::Domain)
    fluent = fluent_predicates(domain)
    used = findall(fluent)
    order = used[sortperm([domain.predicates[p].name for p in used])]
    number = zeros(Int32, length(fluent))
    number[order] = 1:length(order)
    schemas = all_schemas(domain, fluent)
    kinds = EdgeType[]
    for schema in schemas
        push!(kinds, edge_type(schema, nothing, 0, number))
        for (i, effect) in enumerate(schema.effects)
            push!(kinds, edge_type(schema, effect, i, number))
        end
    end
    places = invperm(sortperm([kind.name for kind in kinds]))   # stable: disjuncts keep their order
    action_edge, effect_edge, next = Int32[], Vector{Int32}[], 0
    for schema in schemas
        push!(action_edge, places[next += 1])
        push!(effect_edge, Int32[places[next += 1] for _ in schema.effects])
    end
    edges = similar(kinds)
    edges[places] = kinds
    predicates = [domain.predicates[p].name for p in order]
    Signature(domain.name, predicates, number, edges, action_edge, effect_edge, schemas)
end

function edge_type(schema::Schema, effect::Union{Nothing,LiftedEffect}, i::Integer, number::Vector{Int32})
    tails, tail_positive = Int32[], Bool[]
    conditions = effect === nothing ? [schema.condition] : [schema.condition, effect.condition]
    for condition in conditions, positive in (true, false)
        found = slot_predicates(condition, positive, number)
        append!(tails, found)
        append!(tail_positive, fill(positive, length(found)))
    end
    # Effects of a schema are numbered through, conditional ones included: one whose condition always holds is plain.
    in_order(literals) = predicates_by_slot(((l.slot, l.predicate) for l in literals), number)
    adds = in_order(reduce(vcat, (e.add for e in schema.effects); init = schema.add))
    deletes = in_order(reduce(vcat, (e.del for e in schema.effects); init = schema.del))
    used = trues(length(adds) + length(deletes))
    if effect !== nothing
        used .= false
        foreach(l -> l.slot > 0 && (used[l.slot] = true), effect.add)
        foreach(l -> l.slot > 0 && (used[length(adds)+l.slot] = true), effect.del)
    end
    name = effect === nothing ? schema.name : "$(schema.name)/$i"
    EdgeType(name, tails, tail_positive, [adds; deletes], [trues(length(adds)); falses(length(deletes))], used)
end

function slot_predicates(c::Conjunction, positive::Bool, number::Vector{Int32})
    found = Tuple{Int32,Int32}[(l.slot, l.predicate) for l in (positive ? c.positive : c.negative)]
    function visit(part::Condition)
        part.kind === :literal && part.positive == positive && push!(found, (part.slot, part.predicate))
        foreach(visit, part.parts)
    end
    foreach(visit, c.rest)
    predicates_by_slot(found, number)
end

function predicates_by_slot(pairs, number::Vector{Int32})
    fluent = sort!(Tuple{Int32,Int32}[p for p in pairs if p[1] > 0])
    Int32[number[predicate] for (_, predicate) in fluent]
end

"A line for each predicate and kind of edge; equal texts mean that a model of one domain reads the other."
function signature_text(s::Signature)
    io = IOBuffer()
    println(io, "domain ", s.domain)
    foreach(p -> println(io, "predicate ", p), s.predicates)
    for e in s.edges
        print(io, "edge ", e.name, " :")
        foreach((p, sign) -> print(io, ' ', sign ? '+' : '-', s.predicates[p]), e.tails, e.tail_positive)
        print(io, " :")
        for h in findall(e.head_used)
            print(io, ' ', e.head_positive[h] ? '+' : '-', s.predicates[e.heads[h]])
        end
        println(io)
    end
    String(take!(io))
end

"""
Where messages arrive: for each kind of edge and each of its heads, and behind these its tails, the place among those of
the predicate; 0 where none arrive. `receivers` are :adds, as in the paper, :effects, deletes too, or :all, the facts an
action needs or adds: those it deletes are nearly always among those it needs.
"""
function relation_places(s::Signature, receivers::Symbol)
    counts = zeros(Int32, length(s.predicates))
    places = [zeros(Int32, length(e.heads) + length(e.tails)) for e in s.edges]
    for (t, e) in enumerate(s.edges)
        for h in eachindex(e.heads)
            takes_part = e.head_positive[h] || receivers === :effects
            e.head_used[h] && takes_part && (places[t][h] = counts[e.heads[h]] += 1)
        end
        receivers === :all || continue
        for (i, predicate) in enumerate(e.tails)
            places[t][length(e.heads)+i] = counts[predicate] += 1
        end
    end
    places, counts
end

"""
How many literals the messages of a kind of edge are made of: the preconditions, and where all facts receive those it
adds, so that each hears of the others.
"""
nsenders(e::EdgeType, receivers::Symbol) = length(e.tails) + (receivers === :all ? count(used_adds(e)) : 0)

used_adds(e::EdgeType) = e.head_used .& e.head_positive
