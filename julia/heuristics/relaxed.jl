# Heuristics answer `evaluate(heuristic, words, offset)` for the packed state at words[offset+1:…]; Inf is a dead end.

"""
The task without deletes. Propositions are the facts, then one for each fact that is somewhere required to be false, and
last the goal. Every operator, every conditional effect and every disjunct of the goal is one relaxed operator with all
its adds. What cannot help to reach the goal is left out.

Operators with the same preconditions form a group, which is what explorations count and settle: there are often ten
times fewer groups than operators.
"""
struct RelaxedTask
    nprops::Int
    goal::Int32
    pre::Rows                           # of each group
    needed_by::Rows                     # for each proposition the groups that need it
    without_pre::Int32                  # the group that needs nothing, 0 if there is none
    group_ops::Vector{Int32}            # group i has operators group_ops[i]:group_ops[i+1]-1
    add::Rows                           # of each operator
    cost::Vector{Int32}
    origin::Vector{Int32}               # operator of the task, 0 for the goal's
    positive::Vector{UInt64}            # facts that matter when true
    negative::Vector{UInt64}            # facts that matter when false
    negative_prop::Vector{Int32}        # their propositions, in the order of facts
    negative_first::Vector{Int32}       # for each word, how many of them come before it
end

ngroups(r::RelaxedTask) = length(r.pre)

"Whether one exploration takes so long that the limits are asked meanwhile; in others that would only slow it down."
is_large(r::RelaxedTask) = length(r.pre.values) + length(r.add.values) > 1 << 20

@noinline tick_row!(ticker::Ticker, rows::Rows, i::Integer) = tick!(ticker, length(row(rows, i)))

const MOST_PRECONDITIONS = 60_000

"Relaxed operators while they are collected; preconditions and adds are sorted."
struct RelaxedOperators
    opposite::Vector{Int32}             # for each fact the proposition that says it is false, 0 if nothing needs that
    pre::Rows
    add::Rows
    costs::Vector{Int32}
    origins::Vector{Int32}
end

function RelaxedTask(task::Task, limits::Limits = Limits())
    ticker = Ticker(limits, PREPARING)
    opposite = opposites(task, ticker)
    goal = Int32(nfacts(task) + count(!iszero, opposite) + 1)
    operators = relaxed_operators(task, opposite, goal, ticker)
    relevant = keep_relevant!(operators, goal, ticker)
    kept, starts = grouped(operators, ticker)
    pre = rows_of((row(operators.pre, kept[start]) for start in starts), ticker)
    without_pre = isempty(starts) || !isempty(row(pre, 1)) ? 0 : 1

    positive_facts = Int[f for f in 1:nfacts(task) if relevant[f]]
    negative_facts = Int[f for f in 1:nfacts(task) if opposite[f] != 0 && relevant[opposite[f]]]
    negative = pack_facts(negative_facts, nwords(task))
    negative_first = Int32[0]
    for word in negative
        push!(negative_first, negative_first[end] + count_ones(word))
    end
    # What fires first supports a proposition among equals: a group that needs less is the better guess.
    claim!(ticker, 8 * length(pre))
    needed_by = transposed(pre, goal, ticker, sortperm(diff(pre.offsets)))
    RelaxedTask(goal, goal, pre, needed_by, without_pre, Int32[starts; length(kept) + 1],
        rows_of((row(operators.add, o) for o in kept), ticker), operators.costs[kept], operators.origins[kept],
        pack_facts(positive_facts, nwords(task)), negative, opposite[negative_facts], negative_first)
end

"""
The operators that add something, those with the same preconditions side by side, and where each such group starts. Of
operators that differ in deletes only, the cheapest is kept.
"""
function grouped(operators::RelaxedOperators, ticker::Ticker)
    pre, add, costs = operators.pre, operators.add, operators.costs
    function by_add_and_cost(i, j)
        order = compared(add, i, j)
        order == 0 ? costs[i] < costs[j] : order < 0
    end
    kept, starts = Int32[], Int32[]
    for o in dictionary_order(pre, ticker, by_add_and_cost)
        tick!(ticker)
        isempty(row(add, o)) && continue
        same_pre = !isempty(kept) && compared(pre, kept[end], o) == 0
        same_pre && compared(add, kept[end], o) == 0 && continue
        push!(kept, o)
        same_pre || push!(starts, length(kept))
    end
    kept, starts
end

function opposites(task::Task, ticker::Ticker)
    opposite = zeros(Int32, nfacts(task))
    for negated in (task.neg, task.cond_neg, task.goal_neg), fact in negated.values
        tick!(ticker)
        opposite[fact] = 1
    end
    next = nfacts(task)
    for fact in 1:nfacts(task)
        opposite[fact] == 0 || (opposite[fact] = next += 1)
    end
    opposite
end

function relaxed_operators(task::Task, opposite::Vector{Int32}, goal::Int32, ticker::Ticker)
    operators = RelaxedOperators(opposite, Rows(), Rows(), Int32[], Int32[])
    none = view(Int32[], 1:0)
    for o in 1:noperators(task)
        pre, neg = row(task.pre, o), row(task.neg, o)
        add_relaxed!(operators, (pre, none), (neg, none), row(task.add, o), row(task.del, o), task.op_cost[o], o,
            ticker)
        for c in task.cond_offsets[o]:task.cond_offsets[o+1]-1
            add_relaxed!(operators, (pre, row(task.cond_pre, c)), (neg, row(task.cond_neg, c)), row(task.cond_add, c),
                row(task.cond_del, c), task.op_cost[o], o, ticker)
        end
    end
    reach_goal = view([goal], 1:1)
    for r in 1:length(task.goal_pos)
        add_relaxed!(operators, (row(task.goal_pos, r), none), (row(task.goal_neg, r), none), reach_goal, none,
            zero(Int32), 0, ticker)
    end
    operators
end

"`pres` and `negs` are pairs of lists."
function add_relaxed!(operators::RelaxedOperators, pres, negs, add, del, cost, origin, ticker::Ticker)
    opposite = operators.opposite
    for facts in pres, fact in facts
        push!(operators.pre.values, fact)
    end
    for facts in negs, fact in facts
        push!(operators.pre.values, opposite[fact])
    end
    close_set!(operators.pre)
    needs = row(operators.pre, length(operators.pre))
    length(needs) > MOST_PRECONDITIONS &&
        throw(PlanRankError(:unsupported, "heuristics take at most $MOST_PRECONDITIONS preconditions of an action"))
    for fact in add
        insorted(fact, needs) || push!(operators.add.values, fact)
    end
    for fact in del
        prop = opposite[fact]
        prop == 0 || insorted(prop, needs) || push!(operators.add.values, prop)
    end
    close_set!(operators.add)
    tick!(ticker, 4 + length(needs) + length(add) + length(del))
    push!(operators.costs, cost)
    push!(operators.origins, origin)
    nothing
end

"Drop adds from which no chain of operators leads to the goal; says which propositions are left."
function keep_relevant!(operators::RelaxedOperators, goal::Int32, ticker::Ticker)
    achievers = transposed(operators.add, goal, ticker)
    relevant = fill(false, goal)
    relevant[goal] = true
    waiting = Int32[goal]
    while !isempty(waiting)
        for operator in row(achievers, pop!(waiting)), prop in row(operators.pre, operator)
            tick!(ticker)
            relevant[prop] && continue
            relevant[prop] = true
            push!(waiting, prop)
        end
    end
    keep_values!(prop -> relevant[prop], operators.add, ticker)
    relevant
end

"Drop the values that are not wanted from all rows."
function keep_values!(wanted::F, rows::Rows, ticker::Ticker) where {F}
    kept, from = 0, 1
    for i in 1:length(rows)
        to = rows.offsets[i+1] - 1
        for k in from:to
            tick!(ticker)
            wanted(rows.values[k]) && (rows.values[kept+=1] = rows.values[k])
        end
        from = to + 1
        rows.offsets[i+1] = kept + 1
    end
    resize!(rows.values, kept)
    nothing
end

"Row v lists the rows of `rows` that hold the value v, in the given order of the rows."
function transposed(rows::Rows, nvalues::Integer, ticker::Ticker = Ticker(), order = 1:length(rows))
    claim!(ticker, 8 * nvalues + sizeof(rows.values))
    offsets = zeros(Int32, nvalues + 1)
    offsets[1] = 1
    for value in rows.values
        tick!(ticker)
        offsets[value+1] += 1
    end
    cumsum!(offsets, offsets)
    next = copy(offsets)
    values = similar(rows.values)
    for i in order, value in row(rows, i)
        tick!(ticker)
        values[next[value]] = i
        next[value] += 1
    end
    Rows(offsets, values)
end

"Call `visit` with every proposition that holds in the state."
@inline function each_true_prop(visit::F, relaxed::RelaxedTask, words, offset::Int) where {F}
    @inbounds for i in 1:length(relaxed.positive)
        bits = words[offset+i] & relaxed.positive[i]
        while bits != 0
            visit(((i - 1) << 6 + trailing_zeros(bits) + 1) % Int32)
            bits &= bits - one(UInt64)
        end
    end
    isempty(relaxed.negative_prop) && return
    @inbounds for i in 1:length(relaxed.negative)
        mask = relaxed.negative[i]
        bits = ~words[offset+i] & mask
        while bits != 0
            lowest = bits & -bits
            visit(relaxed.negative_prop[relaxed.negative_first[i]+count_ones(mask & (lowest - one(UInt64)))+1])
            bits ⊻= lowest
        end
    end
end

"""
The queue of a Dijkstra exploration: a list for every small cost, a binary heap for what is beyond. Entries whose
proposition has become cheaper since stay in it; the caller skips them.
"""
mutable struct CostQueue
    heads::Vector{Int32}                # of the list for cost c, at c + 1; 0 if empty
    prop::Vector{Int32}
    next::Vector{Int32}
    used::Int
    current::Int
    highest::Int
    beyond::Vector{Tuple{Int32,Int32}}  # cost, proposition
end

const SMALL_COSTS = 1 << 13

CostQueue() = CostQueue(zeros(Int32, SMALL_COSTS), zeros(Int32, 64), zeros(Int32, 64), 0, 0, -1, [])

function Base.empty!(queue::CostQueue)
    @inbounds for c in queue.current:queue.highest
        queue.heads[c+1] = 0
    end
    queue.used = 0
    queue.current = 0
    queue.highest = -1
    isempty(queue.beyond) || empty!(queue.beyond)
    nothing
end

@inline function enqueue!(queue::CostQueue, cost::Int32, prop::Int32)
    if cost >= SMALL_COSTS
        heap_push!(<, queue.beyond, (cost, prop))
        return
    end
    at = queue.used + 1
    at > length(queue.prop) && lengthen!(queue)
    queue.used = at
    @inbounds queue.prop[at] = prop
    @inbounds queue.next[at] = queue.heads[cost+1]
    @inbounds queue.heads[cost+1] = at
    cost > queue.highest && (queue.highest = cost)
    nothing
end

@noinline function lengthen!(queue::CostQueue)
    resize!(queue.prop, 2 * length(queue.prop))
    resize!(queue.next, 2 * length(queue.next))
    nothing
end

"The next cost and proposition in order of cost; proposition 0 when the queue is empty."
@inline function dequeue!(queue::CostQueue)
    @inbounds while queue.current <= queue.highest
        at = queue.heads[queue.current+1]
        if at != 0
            queue.heads[queue.current+1] = queue.next[at]
            return queue.current % Int32, queue.prop[at]
        end
        queue.current += 1
    end
    isempty(queue.beyond) && return zero(Int32), zero(Int32)
    heap_pop!(<, queue.beyond)
end

const UNREACHED = typemax(Int32)
const COST_CAP = UNREACHED - one(Int32) # sums beyond it are cut off: they neither wrap nor look unreached
@inline capped(cost::Int64) = min(cost, Int64(COST_CAP)) % Int32
