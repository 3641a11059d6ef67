"""
LM-cut (Helmert and Domshlak 2009): while hmax of the goal is not 0, cut the goal off by a set of operators of which
every plan needs one, count the cheapest of them, and lower the costs of all by that much. hmax is repaired after each
cut, not computed again.
"""
struct LMCutHeuristic
    relaxed::RelaxedTask
    added_by::Rows                      # for each proposition the operators that add it
    group_of::Vector{Int32}             # of operators
    cost::Vector{Int32}                 # of operators, what the cuts have left of it
    npre::Vector{Int32}
    unsettled::Vector{Int32}            # preconditions a group still waits for
    supporter::Vector{Int32}            # the dearest precondition of a group under hmax; 0 if unreached
    supporter_cost::Vector{Int32}
    hmax::Vector{Int32}
    achiever::Vector{Int32}             # the operator a proposition has its hmax from; 0 if it holds in the state
    zone::Vector{UInt8}
    queue::CostQueue
    waiting::Vector{Int32}              # a stack with room for every proposition
    cut::Vector{Int32}
    in_cut::Vector{Bool}
    ticks_of_a_cut::Int                 # as many as let a large task look at the clock each time, a small one seldom
    ticker::Ticker
end

const NO_ZONE = 0x00
const GOAL_ZONE = 0x01                  # from here the goal costs nothing more
const BEFORE_GOAL_ZONE = 0x02           # reached without passing through the goal zone
const ON_CHAIN = 0x03

function LMCutHeuristic(task::Task, limits::Limits = Limits())
    has_conditional_effects(task) &&
        throw(PlanRankError(:unsupported, "the heuristic lmcut is not defined for tasks with conditional effects"))
    preparing = Ticker(limits, PREPARING)
    relaxed = with_always_true(RelaxedTask(task, limits), preparing)
    nprops, groups, nops = relaxed.nprops, ngroups(relaxed), length(relaxed.cost)
    ints(n) = zeros(Int32, n)
    group_of = ints(nops)
    for group in 1:groups, operator in relaxed.group_ops[group]:relaxed.group_ops[group+1]-1
        group_of[operator] = group
    end
    LMCutHeuristic(relaxed, transposed(relaxed.add, nprops, preparing), group_of, ints(nops),
        Int32.(diff(relaxed.pre.offsets)), ints(groups), ints(groups), ints(groups), ints(nprops), ints(nprops),
        zeros(UInt8, nprops), CostQueue(), ints(nprops), Int32[], fill(false, nops),
        1 + (length(relaxed.pre.values) + length(relaxed.add.values)) >> 12, Ticker(limits, EVALUATING))
end

"LM-cut wants every operator to have a precondition: one more proposition, true in every state, for those that lack it."
function with_always_true(r::RelaxedTask, ticker::Ticker)
    r.without_pre == 0 && return r
    always = r.nprops + 1
    pre = rows_of((isempty(row(r.pre, i)) ? Int32[always] : row(r.pre, i) for i in 1:ngroups(r)), ticker)
    RelaxedTask(always, r.goal, pre, transposed(pre, always, ticker), r.without_pre, r.group_ops, r.add, r.cost,
        r.origin, r.positive, r.negative, r.negative_prop, r.negative_first)
end

@inline function each_start_prop(visit::F, relaxed::RelaxedTask, words, offset::Int) where {F}
    each_true_prop(visit, relaxed, words, offset)
    relaxed.without_pre == 0 || visit(relaxed.nprops % Int32)
    nothing
end

function evaluate(lmcut::LMCutHeuristic, words, offset::Int)
    goal, hmax, cost = lmcut.relaxed.goal, lmcut.hmax, lmcut.cost
    copyto!(cost, lmcut.relaxed.cost)
    @inbounds for operator in lmcut.cut     # marks of an evaluation that was stopped
        lmcut.in_cut[operator] = false
    end
    first_exploration!(lmcut, words, offset)
    hmax[goal] == UNREACHED && return Inf
    total = 0
    @inbounds while hmax[goal] != 0
        find_cut!(lmcut, words, offset)
        tick!(lmcut.ticker, lmcut.ticks_of_a_cut)
        cheapest = typemax(Int32)
        for operator in lmcut.cut
            cheapest = min(cheapest, cost[operator])
        end
        for operator in lmcut.cut
            cost[operator] -= cheapest
        end
        total += cheapest
        repair_hmax!(lmcut)
        tick!(lmcut.ticker, lmcut.ticks_of_a_cut)
    end
    Float64(total)
end

@inline function lower_adds!(lmcut::LMCutHeuristic, operator::Int32, supporter_cost::Int32)
    add, hmax = lmcut.relaxed.add, lmcut.hmax
    @inbounds cost = capped(Int64(supporter_cost) + lmcut.cost[operator])
    @inbounds for i in add.offsets[operator]:add.offsets[operator+1]-1
        prop = add.values[i]
        if cost < hmax[prop]
            hmax[prop] = cost
            lmcut.achiever[prop] = operator
            enqueue!(lmcut.queue, cost, prop)
        end
    end
    nothing
end

@inline function lower_adds_of_group!(lmcut::LMCutHeuristic, group::Int32, supporter_cost::Int32)
    group_ops = lmcut.relaxed.group_ops
    @inbounds for operator in group_ops[group]:group_ops[group+1]-one(Int32)
        lower_adds!(lmcut, operator, supporter_cost)
    end
    nothing
end

function first_exploration!(lmcut::LMCutHeuristic, words, offset::Int)
    relaxed, queue, unsettled, hmax = lmcut.relaxed, lmcut.queue, lmcut.unsettled, lmcut.hmax
    needed_by = relaxed.needed_by
    copyto!(unsettled, lmcut.npre)
    fill!(lmcut.supporter, 0)
    fill!(hmax, UNREACHED)
    empty!(queue)
    each_start_prop(relaxed, words, offset) do prop
        @inbounds hmax[prop] = 0
        @inbounds lmcut.achiever[prop] = 0
        enqueue!(queue, zero(Int32), prop)
    end
    taken = 0
    @inbounds while true
        cost, prop = dequeue!(queue)
        prop == 0 && return
        hmax[prop] < cost && continue
        (taken += 1) & 0x3ff == 0 && look!(lmcut.ticker)
        for i in needed_by.offsets[prop]:needed_by.offsets[prop+1]-1
            group = needed_by.values[i]
            unsettled[group] -= one(Int32)
            if unsettled[group] == 0
                lmcut.supporter[group] = prop
                lmcut.supporter_cost[group] = cost
                lower_adds_of_group!(lmcut, group, cost)
            end
        end
    end
end

"""
The operators that lead into the goal zone from what is reached without passing through it. The usual way looks forward
from the state at all that is reached; here the few operators that lead into the zone are checked backward, each along
the chain its supporter has its hmax from, and only if a chain runs through the zone is the forward look needed.
"""
function find_cut!(lmcut::LMCutHeuristic, words, offset::Int)
    zone, cut, supporter = lmcut.zone, lmcut.cut, lmcut.supporter
    fill!(zone, NO_ZONE)
    collect_entries!(lmcut)
    kept = 0
    looked_forward = false
    @inbounds for i in 1:length(cut)
        operator = cut[i]
        lmcut.in_cut[operator] = false
        from = supporter[lmcut.group_of[operator]]
        zone[from] == GOAL_ZONE && continue
        if !looked_forward && !chain_avoids_zone!(lmcut, from)
            mark_before_goal_zone!(lmcut, words, offset)
            looked_forward = true
        end
        if zone[from] == BEFORE_GOAL_ZONE
            kept += 1
            cut[kept] = operator
        end
    end
    resize!(cut, kept)
    nothing
end

"Mark the goal zone, and put the operators that add something of it at a cost in `cut`."
function collect_entries!(lmcut::LMCutHeuristic)
    zone, waiting, added_by, cut, in_cut = lmcut.zone, lmcut.waiting, lmcut.added_by, lmcut.cut, lmcut.in_cut
    empty!(cut)
    zone[lmcut.relaxed.goal] = GOAL_ZONE
    waiting[1] = lmcut.relaxed.goal
    top = 1
    @inbounds while top > 0
        prop = waiting[top]
        top -= 1
        for i in added_by.offsets[prop]:added_by.offsets[prop+1]-1
            operator = added_by.values[i]
            supporter = lmcut.supporter[lmcut.group_of[operator]]
            supporter == 0 && continue
            if lmcut.cost[operator] != 0
                in_cut[operator] && continue
                in_cut[operator] = true
                push!(cut, operator)
            elseif zone[supporter] != GOAL_ZONE
                zone[supporter] = GOAL_ZONE
                top += 1
                waiting[top] = supporter
            end
        end
    end
end

"Whether the chain of achievers and supporters from `prop` back to the state avoids the goal zone; marks it if so."
function chain_avoids_zone!(lmcut::LMCutHeuristic, prop::Int32)
    zone, chain, add = lmcut.zone, lmcut.waiting, lmcut.relaxed.add
    on_chain = 0
    @inbounds while zone[prop] == NO_ZONE
        on_chain += 1
        chain[on_chain] = prop
        zone[prop] = ON_CHAIN
        operator = lmcut.achiever[prop]
        if operator == 0
            zone[prop] = BEFORE_GOAL_ZONE
            break
        end
        prop = adds_to_goal_zone(lmcut, operator) ? lmcut.relaxed.goal : lmcut.supporter[lmcut.group_of[operator]]
    end
    @inbounds avoids = zone[prop] == BEFORE_GOAL_ZONE
    @inbounds for i in 1:on_chain
        zone[chain[i]] = avoids ? BEFORE_GOAL_ZONE : NO_ZONE
    end
    avoids
end

@inline function adds_to_goal_zone(lmcut::LMCutHeuristic, operator::Int32)
    add = lmcut.relaxed.add
    @inbounds for i in add.offsets[operator]:add.offsets[operator+1]-1
        lmcut.zone[add.values[i]] == GOAL_ZONE && return true
    end
    false
end

"Everything that is reached along supporters without passing through the goal zone."
function mark_before_goal_zone!(lmcut::LMCutHeuristic, words, offset::Int)
    relaxed, zone, waiting = lmcut.relaxed, lmcut.zone, lmcut.waiting
    needed_by, add, group_ops = relaxed.needed_by, relaxed.add, relaxed.group_ops
    @inbounds for prop in 1:length(zone)
        zone[prop] == BEFORE_GOAL_ZONE && (zone[prop] = NO_ZONE)
    end
    top = Ref(0)
    each_start_prop(relaxed, words, offset) do prop
        @inbounds zone[prop] = BEFORE_GOAL_ZONE
        @inbounds waiting[top[]+=1] = prop
    end
    @inbounds while top[] > 0
        prop = waiting[top[]]
        top[] -= 1
        for i in needed_by.offsets[prop]:needed_by.offsets[prop+1]-1
            group = needed_by.values[i]
            lmcut.supporter[group] == prop || continue
            for operator in group_ops[group]:group_ops[group+1]-one(Int32)
                adds_to_goal_zone(lmcut, operator) && continue
                for j in add.offsets[operator]:add.offsets[operator+1]-1
                    reached = add.values[j]
                    zone[reached] == NO_ZONE || continue
                    zone[reached] = BEFORE_GOAL_ZONE
                    waiting[top[]+=1] = reached
                end
            end
        end
    end
end

"Costs only fall, so what follows from the operators of the cut is all that can change."
function repair_hmax!(lmcut::LMCutHeuristic)
    queue, needed_by, hmax = lmcut.queue, lmcut.relaxed.needed_by, lmcut.hmax
    supporter, supporter_cost = lmcut.supporter, lmcut.supporter_cost
    empty!(queue)
    @inbounds for operator in lmcut.cut
        lower_adds!(lmcut, operator, supporter_cost[lmcut.group_of[operator]])
    end
    @inbounds while true
        cost, prop = dequeue!(queue)
        prop == 0 && return
        hmax[prop] < cost && continue
        for i in needed_by.offsets[prop]:needed_by.offsets[prop+1]-1
            group = needed_by.values[i]
            if supporter[group] == prop && supporter_cost[group] > cost
                old = supporter_cost[group]
                find_supporter!(lmcut, group)
                supporter_cost[group] < old && lower_adds_of_group!(lmcut, group, supporter_cost[group])
            end
        end
    end
end

"""
The dearest precondition, and among equals the one that was it before. But of equal goals one whose achiever still costs
something is better: its cut is at that operator, where otherwise the goal zone would grow past it and the cut be wider.
"""
@inline function find_supporter!(lmcut::LMCutHeuristic, group::Int32)
    relaxed, hmax = lmcut.relaxed, lmcut.hmax
    pre = relaxed.pre
    @inbounds dearest = lmcut.supporter[group]
    @inbounds dearest_cost = hmax[dearest]
    @inbounds is_goal_group = relaxed.origin[relaxed.group_ops[group]] == 0
    narrower_wanted = is_goal_group && !has_costly_achiever(lmcut, dearest)
    @inbounds for i in pre.offsets[group]:pre.offsets[group+1]-1
        prop = pre.values[i]
        cost = hmax[prop]
        if cost > dearest_cost || (narrower_wanted && cost == dearest_cost && has_costly_achiever(lmcut, prop))
            dearest, dearest_cost = prop, cost
            narrower_wanted = is_goal_group && !has_costly_achiever(lmcut, prop)
        end
    end
    @inbounds lmcut.supporter[group] = dearest
    @inbounds lmcut.supporter_cost[group] = dearest_cost
    nothing
end

@inline function has_costly_achiever(lmcut::LMCutHeuristic, prop::Int32)
    @inbounds achiever = lmcut.achiever[prop]
    achiever != 0 && @inbounds lmcut.cost[achiever] != 0
end
