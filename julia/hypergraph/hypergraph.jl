# The hypergraph a model reads: vertices are facts, edges ground actions. Its types (predicates, schemas) come from the
# domain alone, so that all tasks of a domain share them.
#
# A negative precondition has a place of its own among the tails, apart from the positive ones. A conditional effect is
# an edge of its own: its tails are the preconditions of the action and then those of the effect. A literal under a
# quantifier may stand for several facts, or none; the network adds them up. Tails are what a message is made of, heads
# where it arrives: where all facts receive, the facts that an action adds are tails too, and those it needs are heads.

"Tails in columns: those of one literal stand side by side, as many as it has at most in this task."
struct EdgeLayout
    type::Int32
    slot_of_column::Vector{Int32}
end

Base.:(==)(a::EdgeLayout, b::EdgeLayout) = a.type == b.type && a.slot_of_column == b.slot_of_column
Base.hash(a::EdgeLayout, seed::UInt) = hash(a.slot_of_column, hash(a.type, seed))

const IN_GOAL = Int32(2)
const IN_NEGATIVE_GOAL = Int32(4)
const ONE_FROM_GOAL = Int32(8)  # so many times as the fact is steps from a goal, and once more; see `goal_distances`

"""
The hypergraph of a task. Edge e has its tails in `tails[tail_first[e]:tail_first[e+1]-1]`, 0 where a literal has fewer
facts than columns. Messages arrive in bags: vertex v has bags `bag_first[v]:bag_first[v+1]-1`, one for each relation of
its predicate; `bag_edges` has the edges of each, `heads` the bags of each edge.
"""
struct Hypergraph
    signature::Signature
    nvertices::Int
    vertex_type::Vector{Int32}
    vertices_of_type::Vector{Vector{Int32}}
    goal_flags::Vector{Int32}
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

"""
Edges while the graph is made: the facts of tails and heads, and beside them the place of the literal each comes from.
"""
struct DraftEdges
    type::Vector{Int32}
    cost::Vector{Float32}
    needs::Vector{Int32}                        # how many, and
    adds::Vector{Int32}
    tails::Rows
    tail_slots::Vector{Int32}
    heads::Rows
    head_slots::Vector{Int32}
end

function Hypergraph(signature::Signature, task::Task, limits::Limits = Limits(); receivers::Symbol = :adds,
    distances::Bool = false)
    ticker = Ticker(limits, PREPARING)
    draft = draft_edges(signature, task, ticker)
    receivers === :all && (draft = with_all_connected(signature, draft, ticker))
    places, relation_counts = relation_places(signature, receivers)
    layouts = edge_layouts([nsenders(e, receivers) for e in signature.edges], draft, ticker)
    vertex_type = signature.number[task.fact_predicate]
    bag_first = Vector{Int32}(cumsum(Int32[1; relation_counts[vertex_type]]))
    features = [Float32.((draft.cost[e], draft.needs[e], draft.adds[e])) for e in eachindex(draft.type)]
    tail_first, tails, facts_of_edge = tail_columns(draft, layouts, ticker)
    heads = bags_of_edges(draft, places, bag_first, ticker)
    vertex_of_bag = zeros(Int32, bag_first[end] - 1)
    for v in 1:nfacts(task)
        vertex_of_bag[bag_first[v]:bag_first[v+1]-1] .= v
    end
    vertices_of_type = [Int32[] for _ in signature.predicates]
    foreach(v -> push!(vertices_of_type[vertex_type[v]], v), eachindex(vertex_type))
    Hypergraph(signature, nfacts(task), vertex_type, vertices_of_type, goal_flags(task, distances, ticker), layouts,
        draft.type, features, tail_first, tails, transposed(facts_of_edge, nfacts(task), ticker), bag_first,
        transposed(heads, length(vertex_of_bag), ticker), heads, vertex_of_bag)
end

"Operators first, in their order, then conditional effects."
function draft_edges(signature::Signature, task::Task, ticker::Ticker)
    draft = DraftEdges(Int32[], Float32[], Int32[], Int32[], Rows(), Int32[], Rows(), Int32[])
    positives(c::Conjunction) = length(slot_predicates(c, true, signature.number))
    own_positives = [positives(s.condition) for s in signature.schemas]
    effect_positives = [Int[positives(e.condition) for e in s.effects] for s in signature.schemas]
    function add_action_tails!(o)
        add_literals!(draft.tails, draft.tail_slots, task.pre, task.pre_slot, o, 0)
        add_literals!(draft.tails, draft.tail_slots, task.neg, task.neg_slot, o, own_positives[task.op_schema[o]])
    end
    for o in 1:noperators(task)
        type = signature.action_edge[task.op_schema[o]]
        add_action_tails!(o)
        adds = add_literals!(draft.heads, draft.head_slots, task.add, task.add_slot, o, 0)
        add_literals!(draft.heads, draft.head_slots, task.del, task.del_slot, o, adds_of(signature, type))
        close_edge!(draft, type, task.op_cost[o] / task.cost_scale, adds, ticker)
    end
    for o in 1:noperators(task), c in task.cond_offsets[o]:task.cond_offsets[o+1]-1
        schema, number = task.op_schema[o], task.cond_slot[c]
        action = signature.action_edge[schema]
        shift = length(signature.edges[action].tails)
        add_action_tails!(o)
        add_literals!(draft.tails, draft.tail_slots, task.cond_pre, task.cond_pre_slot, c, shift)
        add_literals!(draft.tails, draft.tail_slots, task.cond_neg, task.cond_neg_slot, c,
            shift + effect_positives[schema][number])
        adds = add_literals!(draft.heads, draft.head_slots, task.cond_add, task.cond_add_slot, c, 0)
        add_literals!(draft.heads, draft.head_slots, task.cond_del, task.cond_del_slot, c, adds_of(signature, action))
        close_edge!(draft, signature.effect_edge[schema][number], task.op_cost[o] / task.cost_scale, adds, ticker)
    end
    draft
end

adds_of(signature::Signature, type::Integer) = count(signature.edges[type].head_positive)

"Append row i with its slots to the row that is being made; how many literals these are."
function add_literals!(rows::Rows, slots::Vector{Int32}, from::Rows, from_slots::Vector{Int32}, i::Integer, shift)
    range = from.offsets[i]:from.offsets[i+1]-1
    for k in range
        push!(rows.values, from.values[k])
        push!(slots, from_slots[k] + shift)
    end
    length(range)
end

function close_edge!(draft::DraftEdges, type::Int32, cost::Real, adds::Integer, ticker::Ticker)
    push!(draft.type, type)
    push!(draft.cost, cost)
    push!(draft.needs, length(draft.tails.values) + 1 - draft.tails.offsets[end])
    push!(draft.adds, adds)
    close_rows!((draft.tails, draft.heads), ticker)
end

function close_rows!(both, ticker::Ticker)
    for rows in both
        tick!(ticker, length(rows.values) + 2 - rows.offsets[end])
        push!(rows.offsets, length(rows.values) + 1)
    end
end

"The same edges with what they add among the tails, behind the rest, and what they need among the heads."
function with_all_connected(signature::Signature, draft::DraftEdges, ticker::Ticker)
    tails, tail_slots, heads, head_slots = Rows(), Int32[], Rows(), Int32[]
    slot_of_add = [length(e.tails) .+ cumsum(used_adds(e)) for e in signature.edges]
    for e in eachindex(draft.type)
        type = signature.edges[draft.type[e]]
        add_literals!(tails, tail_slots, draft.tails, draft.tail_slots, e, 0)
        for k in draft.heads.offsets[e]:draft.heads.offsets[e+1]-1
            slot = draft.head_slots[k]
            type.head_positive[slot] || continue
            push!(tails.values, draft.heads.values[k])
            push!(tail_slots, slot_of_add[draft.type[e]][slot])
        end
        add_literals!(heads, head_slots, draft.heads, draft.head_slots, e, 0)
        add_literals!(heads, head_slots, draft.tails, draft.tail_slots, e, length(type.heads))
        close_rows!((tails, heads), ticker)
    end
    DraftEdges(draft.type, draft.cost, draft.needs, draft.adds, tails, tail_slots, heads, head_slots)
end

"Columns for each kind of edge: one for each literal, more where some edge has several facts for it."
function edge_layouts(literals::Vector{Int}, draft::DraftEdges, ticker::Ticker)
    widths = [ones(Int, n) for n in literals]
    counts = zeros(Int, maximum(length, widths; init = 0))
    for e in eachindex(draft.type)
        width = widths[draft.type[e]]
        fill!(counts, 0)
        tick!(ticker, length(counts) + 1)
        for k in draft.tails.offsets[e]:draft.tails.offsets[e+1]-1
            slot = draft.tail_slots[k]
            width[slot] = max(width[slot], counts[slot] += 1)
        end
    end
    [EdgeLayout(t, reduce(vcat, (fill(Int32(s), w) for (s, w) in enumerate(widths[t])); init = Int32[]))
     for t in eachindex(literals)]
end

"The tails in the columns of the layouts, where those of each edge begin, and the facts among them as sets."
function tail_columns(draft::DraftEdges, layouts::Vector{EdgeLayout}, ticker::Ticker)
    tail_first, tails, facts_of_edge = Int32[1], Int32[], Rows()
    column_of_slot = [Int[findfirst(==(s), l.slot_of_column) for s in 1:maximum(l.slot_of_column; init = 0)]
                      for l in layouts]
    used = zeros(Int, maximum(length, column_of_slot; init = 0))
    for e in eachindex(draft.type)
        columns, before = column_of_slot[draft.type[e]], length(tails)
        width = length(layouts[draft.type[e]].slot_of_column)
        tick!(ticker, width + 1)
        resize!(tails, before + width)
        fill!(@view(tails[before+1:end]), 0)
        fill!(used, 0)
        for k in draft.tails.offsets[e]:draft.tails.offsets[e+1]-1
            slot, fact = draft.tail_slots[k], draft.tails.values[k]
            tails[before+columns[slot]+used[slot]] = fact
            used[slot] += 1
            push!(facts_of_edge.values, fact)
        end
        for (slot, column) in enumerate(columns)
            used[slot] > 1 && sort_between!(tails, before + column, before + column + used[slot] - 1)
        end
        close_set!(facts_of_edge)
        push!(tail_first, length(tails) + 1)
    end
    tail_first, tails, facts_of_edge
end

function bags_of_edges(draft::DraftEdges, places::Vector{Vector{Int32}}, bag_first::Vector{Int32}, ticker::Ticker)
    heads = Rows()
    for e in eachindex(draft.type)
        for k in draft.heads.offsets[e]:draft.heads.offsets[e+1]-1
            tick!(ticker)
            place = places[draft.type[e]][draft.head_slots[k]]
            place > 0 && push!(heads.values, bag_first[draft.heads.values[k]] + place - Int32(1))
        end
        sort_between!(heads.values, Int(heads.offsets[end]), length(heads.values))
        push!(heads.offsets, length(heads.values) + 1)
    end
    heads
end

function goal_flags(task::Task, distances::Bool, ticker::Ticker)
    flags = distances ? ONE_FROM_GOAL .* (goal_distances(task, ticker) .+ Int32(1)) : zeros(Int32, nfacts(task))
    foreach(f -> flags[f] |= IN_GOAL, task.goal_pos.values)
    foreach(f -> flags[f] |= IN_NEGATIVE_GOAL, task.goal_neg.values)
    flags
end
