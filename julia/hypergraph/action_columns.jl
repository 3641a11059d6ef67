"""
What a network that ranks actions sees of each operator: the facts it needs, adds and deletes, in columns as the tails
of edges are. The literals of a layout are those of the preconditions, positive ones first, and then those of the
effects, adds first, conditional ones included. A literal under a quantifier may have several columns.

Operator o has `facts[first[o]:first[o+1]-1]`, 0 where a literal has fewer facts than columns. What an effect under a
condition changes counts only in states where the condition holds: `effect` is its number in the task, 0 for a fact that
always counts.
"""
struct ActionColumns
    task::Task
    layouts::Vector{EdgeLayout}         # of each schema
    first::Vector{Int}
    facts::Vector{Int32}
    effect::Vector{Int32}
end

"Where the literals of a schema begin among those of its layout."
struct LiteralPlaces
    negative::Int32
    add::Int32
    del::Int32
    total::Int32
end

function LiteralPlaces(signature::Signature, schema::Integer)
    edge = signature.edges[signature.action_edge[schema]]
    negative, tails = count(edge.tail_positive), length(edge.tails)
    LiteralPlaces(negative, tails, tails + count(edge.head_positive), tails + length(edge.heads))
end

"Call `visit(literal, fact, effect)` for each fact that operator o needs or changes."
function each_literal(visit::F, task::Task, places::LiteralPlaces, o::Integer) where {F}
    visit_row(rows, slots, i, before, effect) =
        for k in rows.offsets[i]:rows.offsets[i+1]-1
            @inbounds visit(before + slots[k], rows.values[k], effect)
        end
    visit_row(task.pre, task.pre_slot, o, Int32(0), Int32(0))
    visit_row(task.neg, task.neg_slot, o, places.negative, Int32(0))
    visit_row(task.add, task.add_slot, o, places.add, Int32(0))
    visit_row(task.del, task.del_slot, o, places.del, Int32(0))
    for c in task.cond_offsets[o]:task.cond_offsets[o+1]-1
        visit_row(task.cond_add, task.cond_add_slot, c, places.add, c)
        visit_row(task.cond_del, task.cond_del_slot, c, places.del, c)
    end
end

function ActionColumns(signature::Signature, task::Task, limits::Limits = Limits())
    ticker = Ticker(limits, PREPARING)
    places = [LiteralPlaces(signature, s) for s in eachindex(task.schemas)]
    layouts, column_of = action_layouts(signature, task, places, ticker)
    widths = Int[length(layout.slot_of_column) for layout in layouts]
    first = cumsum([1; widths[task.op_schema]])
    claim!(ticker, 8 * first[end])
    facts, effects = zeros(Int32, first[end] - 1), zeros(Int32, first[end] - 1)
    for o in 1:noperators(task)
        tick!(ticker, 8)
        schema = task.op_schema[o]
        each_literal(task, places[schema], o) do literal, fact, effect
            at = first[o] + column_of[schema][literal] - 1
            while facts[at] != 0
                at += 1
            end
            facts[at], effects[at] = fact, effect
        end
    end
    ActionColumns(task, layouts, first, facts, effects)
end

"The layout of each schema, as wide as its operators need, and the first column of each literal in it."
function action_layouts(signature::Signature, task::Task, places::Vector{LiteralPlaces}, ticker::Ticker)
    widths = [ones(Int32, p.total) for p in places]
    counts = [zeros(Int32, p.total) for p in places]
    for o in 1:noperators(task)
        tick!(ticker, 8)
        schema = task.op_schema[o]
        count, width = counts[schema], widths[schema]
        fill!(count, 0)
        each_literal((literal, fact, effect) -> count[literal] += Int32(1), task, places[schema], o)
        width .= max.(width, count)
    end
    layout(s) = EdgeLayout(signature.action_edge[s],
        reduce(vcat, (fill(Int32(i), w) for (i, w) in enumerate(widths[s])); init = Int32[]))
    map(layout, eachindex(places)), [cumsum(Int32[1; width]) for width in widths]
end
