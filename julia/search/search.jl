"""
The order of expansions: f = alpha·g + beta·h. A new rule is a new type with a method of `priority`. If it keeps more
than that about states and paths, it has methods of the functions below too; see policy.jl and entries.jl.
"""
struct LinearRule
    alpha::Float64
    beta::Float64
end

@inline priority(rule::LinearRule, store::StateStore, id::Integer) = rule.alpha * store.g[id] + rule.beta * store.h[id]

"Called when a state is new, before it has a value."
@inline note_state!(::LinearRule, search, id::Int32) = nothing

"Whether this is still what the open list says of a node: since then it may have changed."
@inline is_current(rule, store::StateStore, id::Int32, f::Float64) =
    store.status[id] == IS_OPEN && priority(rule, store, id) == f

"Called before the successors of a node are made."
@inline prepare_expansion!(::LinearRule, applicable::Vector{Int32}, parent::Int32) = nothing

"Whether the path through `parent` to a known state is better than the path it has."
@inline is_better_path(::LinearRule, store::StateStore, id::Int32, parent::Int32, operator::Int32, g::Int64) =
    g < store.g[id]

"Make this the path to state `id`."
@inline set_path!(::LinearRule, store::StateStore, id::Int32, parent::Int32, operator::Int32, g::Int64) =
    set_node!(store, id, parent, operator, g)

"Called when a heuristic has evaluated a state and before the search is given the value."
@inline note_evaluation!(rule, heuristic) = nothing

bytes(::LinearRule) = 0
release!(::LinearRule) = nothing

"""
One forward search: open and closed lists, full duplicate detection, goal test when a node is popped.

New states wait, from `first_waiting` to the last of the store, until their values are handed in by `insert!`. `expand!`
and `insert!` in turn are the whole algorithm; `run!` does the same with a heuristic written in Julia.
"""
mutable struct Search{R}
    task::Task
    rule::R
    reopen::Bool
    ties::Symbol
    unit_steps::Bool                    # g counts steps, whatever actions cost
    batch::Int
    seed::Int
    memory_limit::Int                   # bytes
    bound::Int64                        # what costs as much or more is not looked for; see `may_be_cheaper`
    bounds_by_h::Bool                   # h is never more than what the rest of a plan costs
    generator::SuccessorGenerator
    goal::GoalTest
    store::StateStore
    open::Union{BucketOpen,HeapOpen}
    applicable::Vector{Int32}
    first_waiting::Int
    updated::Vector{Tuple{Int32,Int32}} # open again at a lower cost: the newest state at that time, and the node
    status::Symbol                      # :running, :solved, :exhausted or :memory
    goal_id::Int32
    expanded::Int
    evaluated::Int
    generated::Int
    reopened::Int
    dead_ends::Int
    unsafe_dead_ends::Int               # pruned because of values that prove nothing
    best_h::Float64
end

const TIES = (:h_newest, :h_oldest, :newest, :oldest, :random)

function Search(task::Task, rule; reopen::Bool = false, ties::Symbol = :h_newest, unit_steps::Bool = false,
    batch::Integer = 1, seed::Integer = 0, memory_limit::Integer = typemax(Int), bound::Integer = typemax(Int64),
    limits::Limits = Limits(), generator::SuccessorGenerator = SuccessorGenerator(task, limits),
    start = task.init, goal::GoalTest = GoalTest(task, limits))
    ties in TIES || throw(PlanRankError(:usage, "unknown tie-breaking `$ties`; known: $(join(TIES, ", "))"))
    batch >= 1 || throw(PlanRankError(:usage, "a batch holds at least one node, not $batch"))
    store = StateStore(nwords(task))
    open = needs_heap(rule) || ties === :random ? HeapOpen(store.h, ties, seed) : BucketOpen(store.h, ties)
    search = Search(task, rule, reopen, ties, unit_steps, Int(batch), Int(seed), Int(memory_limit), Int64(bound),
        false, generator, goal, store, open, Int32[], 1, Tuple{Int32,Int32}[], :running, zero(Int32), 0, 0, 0, 0, 0, 0,
        Inf)
    add_state!(store, start)
    set_path!(rule, store, one(Int32), zero(Int32), zero(Int32), zero(Int64))
    store.status[1] = IS_OPEN
    note_state!(rule, search, one(Int32))
    search
end

needs_heap(rule) = false

"""
`make_search(task, :astar)` and its kin: `:astar`, `:gbfs`, `:wastar` (with `weight`), `:ucs`, `:bfs`, and with a policy
`:phs` and `:levints`. `reopen` and `ties` are the algorithm's own unless given. With `entries` the open list of the
first three holds entries (state, action), as that of `:dive` always does. `:lazy` is `:gbfs` with entries that have the
values of their states; it may take `preferred` operators first. Entries may leave out actions that are `alike`.
"""
function make_search(task::Task, name::Symbol; weight::Real = 1, reopen::Union{Bool,Nothing} = nothing,
    ties::Union{Symbol,Nothing} = nothing, entries::Bool = false, preferred::Bool = false, seed::Integer = 0,
    alike::Union{Alike,Nothing} = nothing, options...)
    weight >= 0 || throw(PlanRankError(:usage, "the weight must not be negative, and is $weight"))
    linear(alpha, beta) = entries ? EntryRule(task, alpha, beta, nothing, alike) : LinearRule(alpha, beta)
    # Lazy search solves as many problems with the newest, and its plans are then two to three times as long.
    ties = something(ties, name === :bfs ? :oldest : name === :lazy ? :h_oldest : :h_newest)
    entries && !(name in (:astar, :gbfs, :wastar, :dive)) &&
        throw(PlanRankError(:usage, "`$name` ranks no actions; astar, gbfs, wastar and dive do"))
    name === :dive && !entries && throw(PlanRankError(:usage, "`dive` ranks actions, not states"))
    preferred && name !== :lazy && throw(PlanRankError(:usage, "`$name` prefers no operators; lazy does"))
    rule, by_itself = name === :astar ? (linear(1, 1), true) :
        name === :gbfs ? (linear(0, 1), false) :
        name === :wastar ? (linear(1, weight), true) :
        name === :lazy ? (EntryRule(task, 0, 1, preferred ? Preferred(task, ties, seed) : nothing, alike), false) :
        name === :dive ? (EntryRule(task, 0, 1, Dive(), alike), false) :
        name === :ucs ? (linear(1, 0), true) :
        name === :bfs ? (linear(1, 0), false) :
        name === :phs ? (PolicyRule(task, true), false) :
        name === :levints ? (PolicyRule(task, false), false) :
        throw(PlanRankError(:usage,
            "unknown search `$name`; known: astar, gbfs, wastar, dive, lazy, ucs, bfs, phs, levints"))
    Search(task, rule; reopen = something(reopen, by_itself), unit_steps = name === :bfs || name === :levints, ties,
        seed, options...)
end

@inline function set_node!(store::StateStore, id::Int32, parent::Int32, operator::Int32, g::Int64)
    store.parent[id] = parent
    store.operator[id] = operator
    store.g[id] = g
    nothing
end

waiting(search::Search) = search.store.count - search.first_waiting + 1

"""
Pop up to `k` nodes, expand them, and return how many new states wait for their values. The first call gives the
initial state. 0 means the search has ended, as `search.status` says, or that `seconds` are over while it still runs.
"""
function expand!(search::Search, k::Integer = search.batch; seconds::Real = Inf)
    deadline = deadline_after(seconds)
    while waiting(search) == 0 && search.status === :running
        expand_batch!(search, Int(k))
        time_ns() >= deadline && break
    end
    search.status === :running ? waiting(search) : 0
end

deadline_after(seconds::Real) = isfinite(seconds) ? time_ns() + round(UInt64, 1e9 * max(seconds, 0)) : typemax(UInt64)

function expand_batch!(search::Search, k::Int)
    for _ in 1:k
        id = expand_best!(search)
        (id == 0 || search.status !== :running) && return
    end
end

"Pop the best node and go on from it; what `go_on_from!` gives, 0 if no node is left."
function expand_best!(search::Search)
    id = pop_node!(search)
    id == 0 || return go_on_from!(search, search.rule, id)
    waiting(search) == 0 && (search.status = :exhausted)
    id
end

"Expand a node, unless it is a goal; the node."
function go_on_from!(search::Search, rule, id::Int32)
    is_reached_goal!(search, id) || expand_node!(search, id)
    id
end

"Whether the state is a goal, with which the search ends."
function is_reached_goal!(search::Search, id::Int32)
    is_goal(search.goal, search.store.words, state_offset(search.store, id)) || return false
    search.goal_id = id
    search.status = :solved
    true
end

"The best open node, now closed; 0 if there is none."
function pop_node!(search::Search)
    store = search.store
    push_updated!(search, store.count + 1)
    while !isempty(search.open)
        id, f = pop_open!(search.open)
        if is_current(search.rule, store, id, f) && may_be_cheaper(search, id)
            store.status[id] = IS_CLOSED
            return id
        end
    end
    zero(Int32)
end

"""
Whether a path through this state may cost less than the bound. One that may not stays open, outside the open list: a
better path to it puts it there again. With a bound, a search that reopens and is exhausted has proved that there is
nothing cheaper, if `proved_unsolvable`.
"""
@inline may_be_cheaper(search::Search, id::Int32) =
    search.store.g[id] + (search.bounds_by_h ? Float64(search.store.h[id]) : 0.0) < search.bound

function expand_node!(search::Search, parent::Int32)
    store, applicable = search.store, search.applicable
    empty!(applicable)
    applicable_operators!(applicable, search.generator, store.words, state_offset(store, parent))
    search.expanded += 1
    memory_spent(search) && return
    parent_hash = hash_words(store, state_offset(store, parent))
    prepare_expansion!(search.rule, applicable, parent)
    # From the back: that halves the expansions in blocks, and costs up to a tenth more in ferry.
    @inbounds for i in length(applicable):-1:1
        make_successor!(search, parent, parent_hash, applicable[i])
        search.status === :memory && return
    end
    nothing
end

"Make a successor and keep it if it is new, or the path to it if that is better; its id, whether new, whether better."
@inline function make_successor!(search::Search, parent::Int32, parent_hash::UInt64, operator::Int32)
    store = search.store
    search.generated += 1
    step = search.unit_steps ? one(Int32) : @inbounds search.task.op_cost[operator]
    g = store.g[parent] + step          # cannot wrap: both states of a path and costs are below 2^31
    g < search.bound || return zero(Int32), false, false
    hash = write_successor!(store, search.generator, parent, parent_hash, operator)
    id, is_new = find_or_add!(store, hash)
    is_new || is_better_path(search.rule, store, id, parent, operator, g) || return id, false, false
    is_new || return id, false, better_path!(search, id, parent, operator, g)
    set_path!(search.rule, store, id, parent, operator, g)
    store.status[id] = IS_OPEN
    note_state!(search.rule, search, id)
    memory_spent(search)
    id, true, false
end

"Take a better path to a known state, unless the state is closed for good; whether it was taken."
function better_path!(search::Search, id::Int32, parent::Int32, operator::Int32, g::Int64)
    store = search.store
    status = store.status[id]
    if id >= search.first_waiting
        set_path!(search.rule, store, id, parent, operator, g)
    elseif status == IS_OPEN
        old = priority(search.rule, store, id)
        set_path!(search.rule, store, id, parent, operator, g)
        priority(search.rule, store, id) == old || push!(search.updated, (store.count, id))
    elseif status == IS_CLOSED && search.reopen
        set_path!(search.rule, store, id, parent, operator, g)
        store.status[id] = IS_OPEN
        reopen!(search.rule, store, id)
        search.reopened += 1
        push!(search.updated, (store.count, id))
    else
        return false
    end
    true
end

@inline reopen!(rule, store::StateStore, id::Int32) = nothing

"""
Push the updated nodes that were met before state `id` was. They wait for the values of the states generated together
with them, so that the newest of equals is the last one generated, as in the textbook.
"""
function push_updated!(search::Search, id::Integer)
    while !isempty(search.updated) && search.updated[1][1] < id
        push_node!(search, popfirst!(search.updated)[2])
    end
end

function push_node!(search::Search, id::Int32)
    f = priority(search.rule, search.store, id)
    open = search.open
    if open isa BucketOpen && !fits(open, id, f)
        search.open = heap_from(open, search.seed)
    end
    push_open!(search.rule, search.open, id, f)
end

@inline push_open!(rule, open, id::Int32, f::Float64) = push_open!(open, id, f)

"Hand in the values of the waiting states, in order. `safe`: an infinite value proves that there is no plan from there."
function Base.insert!(search::Search, values::AbstractVector; safe::Bool = false)
    length(values) == waiting(search) ||
        throw(PlanRankError(:usage, "$(length(values)) values for $(waiting(search)) states"))
    for value in values
        insert_value!(search, value, safe)
    end
end

"Rounded down where Float32 is too coarse, so that an admissible value stays so."
@inline stored_value(value::Float32) = value
@inline stored_value(value::Real) =
    (rounded = Float32(value); rounded > value ? prevfloat(rounded) : rounded)

@inline function insert_value!(search::Search, value::Real, safe::Bool)
    isnan(value) && throw(PlanRankError(:usage, "the value of a state is not a number"))
    id = search.first_waiting % Int32
    search.first_waiting += 1
    search.evaluated += 1
    push_updated!(search, id)
    search.store.h[id] = h = stored_value(value)
    if h == Inf32
        search.store.status[id] = IS_DEAD
        search.dead_ends += 1
        search.unsafe_dead_ends += !safe
    else
        h < search.best_h && (search.best_h = h)
        push_node!(search, id)
    end
    nothing
end

"""
Search for at most `seconds` with a heuristic written in Julia; call again while the status returned is `:running`.
"""
function run!(search::Search, heuristic; seconds::Real = 0.05, max_expansions::Integer = typemax(Int))
    deadline = deadline_after(seconds)
    safe = has_safe_dead_ends(heuristic)
    search.bounds_by_h = is_admissible(heuristic)
    store = search.store
    while search.status === :running
        while waiting(search) > 0
            value = evaluate(heuristic, store.words, state_offset(store, search.first_waiting))
            note_evaluation!(search.rule, heuristic)
            insert_value!(search, value, safe)
            is_costly(heuristic) && time_ns() >= deadline && return search.status
        end
        (time_ns() >= deadline || search.expanded >= max_expansions) && break
        expand_batch!(search, search.batch)
    end
    search.status
end

memory_bytes(search::Search) = bytes(search.store) + bytes(search.open) + bytes(search.rule)

"Give the memory back at once; the search cannot be used afterwards. The garbage collector does it too, but late."
function release!(search::Search)
    release!(search.store)
    release!(search.open)
    release!(search.rule)
    search.status = :released
    nothing
end

"Whether the memory limit is met: asked now and then, and always before the table grows."
@inline function memory_spent(search::Search)
    store = search.store
    (store.count & 0xff == 0 || search.expanded & 0xff == 0 || store.count + 1 >= store.room) || return false
    memory_bytes(search) + table_growth_bytes(store) <= search.memory_limit && return false
    search.status = :memory
    true
end

"Whether the end of the search proves that there is no plan."
proved_unsolvable(search::Search) = search.status === :exhausted && search.unsafe_dead_ends == 0

"The operators from the initial state to state `id`; by default to the goal found."
function plan(search::Search, id::Integer = search.goal_id)
    id == 0 && throw(PlanRankError(:usage, "there is no plan: the search is $(search.status)"))
    steps = Int32[]
    store = search.store
    while store.parent[id] != 0
        push!(steps, store.operator[id])
        id = store.parent[id]
    end
    reverse!(steps)
end

"The states that wait for their values, packed, one after the other."
new_words(search::Search) = state_words(search, search.first_waiting, search.store.count)

"The states `first` to `last`, packed, one after the other: a copy, because the store moves when it grows."
function state_words(search::Search, first::Integer, last::Integer)
    store = search.store
    words = Vector{UInt64}(undef, (last - first + 1) * store.nwords)
    from = store.words.pointer + sizeof(UInt64) * state_offset(store, first)
    GC.@preserve words store unsafe_copyto!(pointer(words), from, length(words))
    words
end
