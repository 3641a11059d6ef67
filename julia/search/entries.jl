# An open list of entries (s, a): an action not yet taken in a state that was evaluated. What is popped is an entry; its
# successor is made, and evaluated once if it is new. A search makes one evaluation for each state it expands, however
# many actions the states have.

"""
The order of entries: f = alpha·(g(s) + cost(a)) + beta·q(s, a), where q came with the evaluation of s.

A state keeps its entries sorted and stands in the open list for the best that is left: the first `taken` of its row are
gone. `store.h` has q of that entry. A state is open while no entry was taken, and closed from then on.

`extension` is nothing, or what a search has besides; see preferred.jl and dive.jl. With `alike` a row has one of the
operators that are alike.
"""
struct EntryRule{P}
    alpha::Float64
    beta::Float64
    task::Task
    alike::Union{Alike,Nothing}
    rows::ActionRows
    taken::GrowingVector{Int32}
    order::Vector{Tuple{Float64,Float32,UInt32,Int32}}   # of the entries of a row, while they are sorted
    operators::Vector{Int32}                            # of that row before
    extension::P
end

EntryRule(task::Task, alpha::Real, beta::Real, extension = nothing, alike = nothing) = EntryRule(Float64(alpha),
    Float64(beta), task, alike, ActionRows(), GrowingVector{Int32}(), Tuple{Float64,Float32,UInt32,Int32}[], Int32[],
    extension)

needs_heap(::EntryRule) = true

@inline best_entry(rule::EntryRule, id::Integer) = rule.rows.first[id] + rule.taken[id]

"Whether any are left; those of infinite value come last in a row, and are never taken."
@inline function has_entries(rule::EntryRule, id::Integer)
    entry = best_entry(rule, id)
    entry < rule.rows.first[id+1] && rule.rows.numbers[entry] < Inf32
end

@inline function priority(rule::EntryRule, store::StateStore, id::Integer)
    entry = best_entry(rule, id)
    cost = @inbounds rule.task.op_cost[rule.rows.operators[entry]]
    rule.alpha * (store.g[id] + cost) + rule.beta * rule.rows.numbers[entry]
end

@inline is_current(rule::EntryRule, store::StateStore, id::Int32, f::Float64) =
    has_entries(rule, id) && priority(rule, store, id) == f

function note_state!(rule::EntryRule, search, id::Int32)
    store = search.store
    add_row!(rule.rows, search.generator, store.words, state_offset(store, id), rule.alike)
    push!(rule.taken, 0)
    is_reached_goal!(search, id)
    nothing
end

@inline is_better_path(::EntryRule, store::StateStore, id::Int32, parent::Int32, operator::Int32, g::Int64) =
    g < store.g[id]

@inline set_path!(::EntryRule, store::StateStore, id::Int32, parent::Int32, operator::Int32, g::Int64) =
    set_node!(store, id, parent, operator, g)

"All entries are open again: the paths through them have become better too."
function reopen!(rule::EntryRule, store::StateStore, id::Int32)
    rule.taken[id] = 0
    has_entries(rule, id) && (store.h[id] = rule.rows.numbers[best_entry(rule, id)])
    nothing
end

"Entries are as old as the evaluation that they come from."
@inline push_open!(rule::EntryRule, open::HeapOpen, id::Int32, f::Float64) = push_open!(open, id, f, id % UInt32)

"Take the best entry of the state: the state it leads to if that is new or the path to it better, else -1."
function go_on_from!(search::Search, rule::EntryRule, id::Int32)
    operator = rule.rows.operators[best_entry(rule, id)]
    rule.taken[id] += one(Int32)
    put_back!(search, rule, id)
    hash = hash_words(search.store, state_offset(search.store, id))
    child, is_new, is_better = make_successor!(search, id, hash, operator)
    is_new || is_better ? child : Int32(-1)
end

"The state, from which an entry was taken, stands for the next one."
function put_back!(search::Search, rule::EntryRule, id::Int32)
    has_entries(rule, id) || return
    search.store.h[id] = rule.rows.numbers[best_entry(rule, id)]
    push_node!(search, id)
end

"Hand in q of every applicable operator of the waiting states, one after the other as `operators_of` gives them."
function insert_entries!(search::Search{<:EntryRule}, values)
    rows = search.rule.rows
    from, to = search.first_waiting, search.store.count
    check_fits(rows, from, to, values)
    first = rows.first[from]
    for id in from:to
        for k in rows.first[id]:rows.first[id+1]-1
            rows.numbers[k] = stored_value(values[k-first+1])
        end
        open_entries!(search, false)
    end
end

insert_entries!(::Search, values) = throw(PlanRankError(:usage, "this search ranks states: it takes a value for each"))

"A value for the state alone stands for all its entries: deferred evaluation."
function insert_value!(search::Search{<:EntryRule}, value::Real, safe::Bool)
    isnan(value) && throw(PlanRankError(:usage, "the value of a state is not a number"))
    rows, id = search.rule.rows, search.first_waiting
    for k in rows.first[id]:rows.first[id+1]-1
        rows.numbers[k] = stored_value(value)
    end
    open_entries!(search, safe)
end

"The first of the waiting states has the values of its entries. `safe`: infinite ones prove that there is no plan."
function open_entries!(search::Search{<:EntryRule}, safe::Bool)
    rule, store, rows = search.rule, search.store, search.rule.rows
    id = search.first_waiting % Int32
    search.first_waiting += 1
    search.evaluated += 1
    push_updated!(search, id)
    share_marks!(search, rule, id)
    sort_entries!(rule, id, search.open, search.ties)
    note_row!(search, rule, id)
    if row_length(rows, id) > 0 && rows.numbers[rows.first[id+1]-1] == Inf32
        search.unsafe_dead_ends += !safe
    end
    if has_entries(rule, id)
        search.expanded += 1
        store.h[id] = q = rows.numbers[best_entry(rule, id)]
        q < search.best_h && (search.best_h = q; boost!(rule.extension))
        push_node!(search, id)
    else
        store.status[id] = IS_DEAD
        search.dead_ends += 1
    end
    nothing
end

"Of equal f the lower q, then the newest or the oldest: the last operator of a row is the oldest, as among successors."
function sort_entries!(rule::EntryRule, id::Int32, open::HeapOpen, ties::Symbol)
    rows, order, operators = rule.rows, rule.order, rule.operators
    empty!(order)
    empty!(operators)
    before, n, sorted = rows.first[id] - 1, row_length(rows, id), true
    for i in 1:n
        operator, q = rows.operators[before+i], rows.numbers[before+i]
        f = q == Inf32 ? Inf : rule.alpha * rule.task.op_cost[operator] + rule.beta * q
        f = place_in_row(rule.extension, operator, f)
        entry = (f, ties_by_h(ties) ? q : 0.0f0, turn_of!(open, (n - i) % UInt32), i % Int32)
        sorted = sorted && (i == 1 || order[end] < entry)
        push!(order, entry)
        push!(operators, operator)
    end
    sorted && return
    numbers = Float32[rows.numbers[before+i] for i in 1:n]
    sort!(order)
    for i in 1:n
        place = order[i][4]
        rows.operators[before+i] = operators[place]
        rows.numbers[before+i] = numbers[place]
    end
end

bytes(rule::EntryRule) = bytes(rule.rows) + bytes(rule.taken) + bytes(rule.extension)
release!(rule::EntryRule) = (release!(rule.rows); release!(rule.taken); release!(rule.extension))

# What extensions may have methods of.

"Called before the entries of a state are sorted."
@inline share_marks!(search, rule::EntryRule, id::Int32) = nothing
"Called when they are."
@inline note_row!(search, rule::EntryRule, id::Int32) = nothing
"Called when a state has the lowest q so far."
@inline boost!(extension) = nothing
"What the entries of a state are sorted by."
@inline place_in_row(extension, operator::Int32, f::Float64) = f
bytes(::Nothing) = 0
release!(::Nothing) = nothing
