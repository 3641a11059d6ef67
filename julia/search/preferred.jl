# Preferred operators: entries that the heuristic thinks to be good first steps. They come first in the row of a state,
# and a second open list has the states that have some left. A state has one value for all its entries, as in deferred
# evaluation with alpha = 0, so it stays where it is in both lists while its entries are taken one by one.

const BOOST = 1000

"""
Which list is next: the one with the lower turn count, as in Fast Downward. Whenever a state has the lowest h so far,
the preferred list is `BOOST` turns ahead of where it was.
"""
mutable struct Preferred
    open::HeapOpen                      # the states with `taken < counts`
    counts::GrowingVector{Int32}        # of preferred entries, for each state that was evaluated
    is_marked::Vector{Bool}             # operators preferred in the state that is evaluated next
    marked::Vector{Int32}
    turns::Int                          # of the list of all entries
    preferred_turns::Int
end

Preferred(task::Task, ties::Symbol, seed::Integer) = Preferred(HeapOpen(GrowingVector{Float32}(), ties, seed),
    GrowingVector{Int32}(), fill(false, noperators(task)), Int32[], 0, 0)

"These are the preferred operators of the first of the waiting states; its value comes next."
function prefer!(rule::EntryRule{Preferred}, operators)
    preferred = rule.extension
    for operator in operators
        preferred.is_marked[operator] && continue
        preferred.is_marked[operator] = true
        push!(preferred.marked, operator)
    end
end

note_evaluation!(rule::EntryRule{Preferred}, heuristic) = prefer!(rule, helpful_operators(heuristic))

@inline place_in_row(preferred::Preferred, operator::Int32, f::Float64) =
    f < Inf && @inbounds(preferred.is_marked[operator]) ? -Inf : f

"Operators of the row that stand for preferred ones are preferred."
function share_marks!(search, rule::EntryRule{Preferred}, id::Int32)
    rule.alike === nothing && return
    rows, store, marked = rule.rows, search.store, copy(rule.extension.marked)
    kept = (rows.operators[k] for k in rows.first[id]:rows.first[id+1]-1)
    each_stand_in(rule.alike, kept, marked, store.words, state_offset(store, id)) do operator
        prefer!(rule, operator)
    end
end

"The row is sorted: count the preferred entries in front, and forget the marks."
function note_row!(search, rule::EntryRule{Preferred}, id::Int32)
    preferred, rows = rule.extension, rule.rows
    n, start = 0, rows.first[id]
    while n < row_length(rows, id) && preferred.is_marked[rows.operators[start+n]]
        n += 1
    end
    push!(preferred.counts, n)
    for operator in preferred.marked
        preferred.is_marked[operator] = false
    end
    empty!(preferred.marked)
    nothing
end

@inline has_preferred(rule::EntryRule{Preferred}, id::Int32) = rule.taken[id] < rule.extension.counts[id]

boost!(preferred::Preferred) = (preferred.preferred_turns -= BOOST; nothing)

function push_open!(rule::EntryRule{Preferred}, open::HeapOpen, id::Int32, f::Float64)
    push_entry!(open, id, f, open.h[id], id % UInt32)
    has_preferred(rule, id) && push_entry!(rule.extension.open, id, f, open.h[id], id % UInt32)
    nothing
end

put_back!(search::Search, rule::EntryRule{Preferred}, id::Int32) = nothing

"Drop states of which nothing in this list is left, until the first is another; whether there is one."
@inline function has_first!(is_left::F, open::HeapOpen) where {F}
    while !isempty(open)
        is_left(open.entries[1].id) && return true
        pop_open!(open)
    end
    false
end

function pop_node!(search::Search{EntryRule{Preferred}})
    rule, store = search.rule, search.store
    all, preferred = search.open::HeapOpen, rule.extension
    push_updated!(search, store.count + 1)
    has_first!(id -> has_entries(rule, id), all) || return zero(Int32)
    open = all
    if preferred.preferred_turns < preferred.turns && has_first!(id -> has_preferred(rule, id), preferred.open)
        open = preferred.open
        preferred.preferred_turns += 1
    else
        preferred.turns += 1
    end
    id = open.entries[1].id
    store.status[id] = IS_CLOSED
    id
end

bytes(preferred::Preferred) = bytes(preferred.open) + bytes(preferred.counts)
release!(preferred::Preferred) = (release!(preferred.open); release!(preferred.counts))
