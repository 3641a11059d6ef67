"Rows of varying length in two flat vectors: row i is `values[offsets[i]:offsets[i+1]-1]`."
struct Rows
    offsets::Vector{Int32}
    values::Vector{Int32}
end

Rows() = Rows(Int32[1], Int32[])
Base.length(r::Rows) = length(r.offsets) - 1
Base.@propagate_inbounds row(r::Rows, i::Integer) = @view r.values[r.offsets[i]:r.offsets[i+1]-1]

function rows_of(lists, ticker::Ticker = Ticker())
    rows = Rows()
    for list in lists
        tick!(ticker, 1 + length(list))
        append!(rows.values, list)
        push!(rows.offsets, length(rows.values) + 1)
    end
    rows
end

"-1, 0 or 1 as row i comes before row j in a dictionary, is equal to it, or comes after it."
@inline function compared(r::Rows, i::Integer, j::Integer)
    @inbounds first_i, first_j = r.offsets[i], r.offsets[j]
    @inbounds n_i, n_j = r.offsets[i+1] - first_i, r.offsets[j+1] - first_j
    @inbounds for k in 0:min(n_i, n_j)-1
        a, b = r.values[first_i+k], r.values[first_j+k]
        a == b || return a < b ? -1 : 1
    end
    cmp(n_i, n_j)
end

"Make what was pushed to `rows.values` since the last row the next one: sorted, every value once."
function close_set!(rows::Rows)
    values = rows.values
    first = Int(rows.offsets[end])
    sort_between!(values, first, length(values))
    kept = first - 1
    @inbounds for i in first:length(values)
        i > first && values[i] == values[kept] && continue
        kept += 1
        values[kept] = values[i]
    end
    resize!(values, kept)
    push!(rows.offsets, kept + 1)
    nothing
end

"Insertion sort for the usual handful, without the calls of the general one."
@inline function sort_between!(numbers::Vector, from::Int, to::Int)
    to - from > 64 && return (sort!(@view numbers[from:to]); nothing)
    @inbounds for i in from+1:to
        x = numbers[i]
        j = i - 1
        while j >= from && numbers[j] > x
            numbers[j+1] = numbers[j]
            j -= 1
        end
        numbers[j+1] = x
    end
    nothing
end

"""
A ground planning task. Indices are 1-based and Int32.

Facts are the reachable ground atoms of predicates that some effect changes; static atoms are gone.
Operators are the reachable ground actions. Literal lists keep the order of the schema and may repeat a fact
(`(stack b b)`); beside each list its slots say which literal of the schema every entry comes from. A fact that an
operator both adds and deletes unconditionally is only in `add`: adding wins. Conditional effects
`cond_offsets[o]:cond_offsets[o+1]-1` belong to operator o; adding wins among all effects that fire together.
Costs are integers; the cost the user wrote is `op_cost / cost_scale`.
The goal holds if all literals of any one row of `goal_pos` and `goal_neg` (same number of rows) do.
"""
Base.@kwdef struct Task
    domain::String
    problem::String
    objects::Vector{String}
    predicates::Vector{String}
    schemas::Vector{String}             # several may share a name: one for each disjunct of a precondition
    fact_predicate::Vector{Int32}
    fact_args::Rows                     # into objects
    op_schema::Vector{Int32}
    op_args::Rows                       # the action's own parameters, into objects
    op_cost::Vector{Int32}
    cost_scale::Int32
    unit_cost::Bool                     # no metric: every action costs one
    pre::Rows
    pre_slot::Vector{Int32}
    neg::Rows                           # facts that must be false
    neg_slot::Vector{Int32}
    add::Rows
    add_slot::Vector{Int32}
    del::Rows
    del_slot::Vector{Int32}
    cond_offsets::Vector{Int32}
    cond_pre::Rows
    cond_neg::Rows
    cond_add::Rows
    cond_del::Rows
    cond_slot::Vector{Int32}            # which conditional effect of the schema
    cond_pre_slot::Vector{Int32} = Int32[]
    cond_neg_slot::Vector{Int32} = Int32[]
    cond_add_slot::Vector{Int32} = Int32[]
    cond_del_slot::Vector{Int32} = Int32[]
    init::Vector{Int32}                 # sorted
    goal_pos::Rows
    goal_neg::Rows
end

nfacts(t::Task) = length(t.fact_predicate)
noperators(t::Task) = length(t.op_schema)
has_conditional_effects(t::Task) = length(t.cond_pre) > 0
@inline has_conditional_effects(t::Task, operator::Integer) =
    @inbounds t.cond_offsets[operator] < t.cond_offsets[operator+1]

"Number of 64-bit words of a packed state; fact f is bit (f-1)%64 of word (f-1)÷64+1."
nwords(t::Task) = max(1, cld(nfacts(t), 64))

function atom_name(head::String, args, objects::Vector{String})
    io = IOBuffer()
    print(io, '(', head)
    for a in args
        print(io, ' ', objects[a])
    end
    print(io, ')')
    String(take!(io))
end

fact_name(t::Task, f::Integer) = atom_name(t.predicates[t.fact_predicate[f]], row(t.fact_args, f), t.objects)
operator_name(t::Task, o::Integer) = atom_name(t.schemas[t.op_schema[o]], row(t.op_args, o), t.objects)

fact_names(t::Task) = String[fact_name(t, f) for f in 1:nfacts(t)]
operator_names(t::Task) = String[operator_name(t, o) for o in 1:noperators(t)]
