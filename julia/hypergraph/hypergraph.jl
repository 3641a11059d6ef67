# The hypergraph a model reads: vertices are facts, edges ground actions. Its types (predicates, schemas) come from the
# domain alone, so that all tasks of a domain share them.
#
# A negative precondition has a place of its own among the tails, apart from the positive ones. A conditional effect is
# an edge of its own: its tails are the preconditions of the action and then those of the effect. A literal under a
# quantifier may stand for several facts, or none; the network adds them up.

"Tails in columns: those of one literal stand side by side, as many as it has at most in this task."
struct EdgeLayout
    type::Int32
    slot_of_column::Vector{Int32}
end

Base.:(==)(a::EdgeLayout, b::EdgeLayout) = a.type == b.type && a.slot_of_column == b.slot_of_column
Base.hash(a::EdgeLayout, seed::UInt) = hash(a.slot_of_column, hash(a.type, seed))

const IN_GOAL = 0x02
const IN_NEGATIVE_GOAL = 0x04

"""
The hypergraph of a task. Edge e has its tails in `tails[tail_first[e]:tail_first[e+1]-1]`, 0 where a literal has fewer
facts than columns. Messages arrive in bags: vertex v has bags `bag_first[v]:bag_first[v+1]-1`, one for each relation of
its predicate; `bag_edges` has the edges of each, `heads` the bags of each edge.
"""
struct Hypergraph
    signature::Signature
    nvertices::Int
    vertex_type::Vector{Int32}
    goal_flags::Vector{UInt8}
    layouts::Vector{EdgeLayout}                 # of each kind of edge
    edge_type::Vector{Int32}
    edge_features::Vector{NTuple{3,Float32}}    # cost, number of preconditions, number of add effects
    tail_first::Vector{Int32}
    tails::Vector{Int32}
    edges_of_vertex::Rows                       # edges that have the vertex among their tails
    bag_first::Vector{Int32}
    bag_edges::Rows
    heads::Rows
    vertex_of_bag::Vector{Int32}
end

nedges(g::Hypergraph) = length(g.edge_type)

"An edge while the graph is made: (place of the literal, fact) for tails, (place of the literal, fact) for heads."
struct DraftEdge
    type::Int32
    cost::Float32
    tails::Vector{Tuple{Int32,Int32}}
    heads::Vector{Tuple{Int32,Int32}}
    adds::Int
end

function Hypergraph(signature::Signature, task::Task; deletes::Bool = false)
    drafts = draft_edges(signature, task)
    places, relation_counts = relation_places(signature, deletes)
    layouts = edge_layouts(signature, drafts)
    vertex_type = signature.number[task.fact_predicate]
    bag_first = cumsum(Int32[1; relation_counts[vertex_type]])
    edge_type, features, tail_first, tails = Int32[], NTuple{3,Float32}[], Int32[1], Int32[]
    bag_pairs, tail_pairs = Tuple{Int32,Int32}[], Tuple{Int32,Int32}[]
    for (e, draft) in enumerate(drafts)
        push!(edge_type, draft.type)
        push!(features, (draft.cost, length(draft.tails), draft.adds))
        layout = layouts[draft.type]
        for slot in unique(layout.slot_of_column)
            facts = sort!(Int32[f for (s, f) in draft.tails if s == slot])
            append!(tails, facts)
            append!(tails, zeros(Int32, count(==(slot), layout.slot_of_column) - length(facts)))
            foreach(f -> push!(tail_pairs, (f, e)), unique(facts))
        end
        push!(tail_first, length(tails) + 1)
        for (slot, fact) in draft.heads
            place = places[draft.type][slot]
            place > 0 && push!(bag_pairs, (bag_first[fact] + place - Int32(1), e))
        end
    end
    unique!(sort!(tail_pairs))
    sort!(bag_pairs)
    vertex_of_bag = zeros(Int32, bag_first[end] - 1)
    for v in 1:nfacts(task)
        vertex_of_bag[bag_first[v]:bag_first[v+1]-1] .= v
    end
    Hypergraph(signature, nfacts(task), vertex_type, goal_flags(task), layouts, edge_type, features, tail_first, tails,
        rows_of_pairs(tail_pairs, nfacts(task)), bag_first, rows_of_pairs(bag_pairs, length(vertex_of_bag)),
        rows_of_pairs(sort!([(e, b) for (b, e) in bag_pairs]), length(drafts)), vertex_of_bag)
end

"Operators first, in their order, then conditional effects."
function draft_edges(signature::Signature, task::Task)
    with_slots(rows, slots, o, shift = 0) =
        Tuple{Int32,Int32}[(slots[k] + shift, rows.values[k]) for k in rows.offsets[o]:rows.offsets[o+1]-1]
    positives(c::Conjunction) = length(slot_predicates(c, true, signature.number))
    positives_of = [(positives(s.condition), Int[positives(e.condition) for e in s.effects]) for s in signature.schemas]
    plain, conditional = DraftEdge[], DraftEdge[]
    for o in 1:noperators(task)
        schema = task.op_schema[o]
        own_positives, effect_positives = positives_of[schema]
        type = signature.action_edge[schema]
        cost = Float32(task.op_cost[o] / task.cost_scale)
        tails = [with_slots(task.pre, task.pre_slot, o); with_slots(task.neg, task.neg_slot, o, own_positives)]
        adds = with_slots(task.add, task.add_slot, o)
        first_delete = count(signature.edges[type].head_positive)
        deletes = with_slots(task.del, task.del_slot, o, first_delete)
        push!(plain, DraftEdge(type, cost, tails, [adds; deletes], length(adds)))
        for c in task.cond_offsets[o]:task.cond_offsets[o+1]-1
            number = task.cond_slot[c]
            shift = length(signature.edges[type].tails)
            more = [with_slots(task.cond_pre, task.cond_pre_slot, c, shift);
                    with_slots(task.cond_neg, task.cond_neg_slot, c, shift + effect_positives[number])]
            effect_adds = with_slots(task.cond_add, task.cond_add_slot, c)
            effect_deletes = with_slots(task.cond_del, task.cond_del_slot, c, first_delete)
            push!(conditional, DraftEdge(signature.effect_edge[schema][number], cost, [tails; more],
                [effect_adds; effect_deletes], length(effect_adds)))
        end
    end
    [plain; conditional]
end

"Columns for each kind of edge: one for each literal, more where some edge has several facts for it."
function edge_layouts(signature::Signature, drafts::Vector{DraftEdge})
    widths = [ones(Int, length(type.tails)) for type in signature.edges]
    for draft in drafts
        for slot in unique(first.(draft.tails))
            n = count(t -> t[1] == slot, draft.tails)
            widths[draft.type][slot] = max(widths[draft.type][slot], n)
        end
    end
    [EdgeLayout(t, reduce(vcat, (fill(Int32(s), w) for (s, w) in enumerate(widths[t])); init = Int32[]))
     for t in eachindex(signature.edges)]
end

function goal_flags(task::Task)
    flags = zeros(UInt8, nfacts(task))
    foreach(f -> flags[f] |= IN_GOAL, task.goal_pos.values)
    foreach(f -> flags[f] |= IN_NEGATIVE_GOAL, task.goal_neg.values)
    flags
end

"Rows of the second elements of pairs sorted by their first, which counts from 1 to n."
function rows_of_pairs(pairs::Vector{Tuple{Int32,Int32}}, n::Integer)
    counts = zeros(Int32, n)
    foreach(p -> counts[p[1]] += 1, pairs)
    Rows(cumsum(Int32[1; counts]), last.(pairs))
end
