# hmax, hadd and hFF: one Dijkstra exploration of the relaxed task, in which a group of operators fires once all that
# it needs is settled. An operator then costs its own plus the largest (hmax) or the sum (hadd) of what its needs cost.

struct Largest end
struct Sum end

"What a group gives: a proposition, and the cost of the cheapest operator that adds it."
struct GroupEffect
    prop::Int32
    cost::Int32
end

"""
`progress[i]` holds in its low 48 bits the cost of what group i needs, as far as it is settled, and above them how many
preconditions it still waits for: settling one is a single addition. There is room for `MOST_PRECONDITIONS` costs up to
`COST_CAP`.
"""
struct Exploration{A}
    relaxed::RelaxedTask
    aggregate::A
    effect_offsets::Vector{Int32}
    effects::Vector{GroupEffect}
    effect_group::Vector{Int32}
    effect_operator::Vector{Int32}      # of the task, 0 for the goal's
    uncapped::Int64                     # what a group needs may cost so much, and what it gives is below the cap
    progress::Vector{UInt64}
    progress_at_start::Vector{UInt64}
    cost::Vector{Int32}
    supporter::Vector{Int32}            # the effect that reached a proposition; 0 if it holds in the state
    queue::CostQueue
    one_goal::Bool                      # a single group reaches the goal: what it costs is known as soon as it fires
    is_large::Bool
    ticker::Ticker
end

const ONE_LEFT = UInt64(1) << 48

function Exploration(task::Task, aggregate, limits::Limits)
    relaxed = RelaxedTask(task, limits)
    preparing = Ticker(limits, PREPARING)
    start = [ONE_LEFT * length(row(relaxed.pre, i)) for i in 1:ngroups(relaxed)]
    uncapped = Int64(COST_CAP) - maximum(relaxed.cost; init = zero(Int32))
    effects = group_effects(relaxed, preparing)
    Exploration(relaxed, aggregate, effects..., uncapped, similar(start), start, zeros(Int32, relaxed.nprops),
        zeros(Int32, relaxed.nprops), CostQueue(), count(e -> e.prop == relaxed.goal, effects[2]) == 1,
        is_large(relaxed), Ticker(limits, EVALUATING))
end

function group_effects(relaxed::RelaxedTask, ticker::Ticker)
    offsets, effects, groups, origins = Int32[1], GroupEffect[], Int32[], Int32[]
    place = zeros(Int, relaxed.nprops)  # of the effect on a proposition
    for group in 1:ngroups(relaxed)
        for o in relaxed.group_ops[group]:relaxed.group_ops[group+1]-1, prop in row(relaxed.add, o)
            tick!(ticker)
            cost = relaxed.cost[o]
            if place[prop] < offsets[group]
                push!(effects, GroupEffect(prop, cost))
                push!(groups, group)
                push!(origins, relaxed.origin[o])
                place[prop] = length(effects)
            elseif cost < effects[place[prop]].cost
                effects[place[prop]] = GroupEffect(prop, cost)
                origins[place[prop]] = relaxed.origin[o]
            end
        end
        push!(offsets, length(effects) + 1)
    end
    offsets, effects, groups, origins
end

"Costs of all propositions up to the goal's, which is returned; UNREACHED for a dead end."
function explore!(exploration::Exploration, words, offset::Int)
    relaxed, cost, queue = exploration.relaxed, exploration.cost, exploration.queue
    copyto!(exploration.progress, exploration.progress_at_start)
    fill!(cost, UNREACHED)
    empty!(queue)
    each_true_prop(relaxed, words, offset) do prop
        @inbounds cost[prop] = 0
        @inbounds exploration.supporter[prop] = 0
    end
    each_true_prop(relaxed, words, offset) do prop
        settle!(exploration, prop, zero(Int32))
    end
    relaxed.without_pre == 0 || fire!(exploration, relaxed.without_pre, 0)
    goal = relaxed.goal
    while true
        found_cost, prop = dequeue!(queue)
        prop == 0 && return UNREACHED
        @inbounds cost[prop] < found_cost && continue
        prop == goal && return found_cost
        settle!(exploration, prop, found_cost)
        exploration.one_goal && cost[goal] != UNREACHED && return cost[goal]
    end
end

@inline settled_by(::Sum, progress::UInt64, cost::Int32) = progress - ONE_LEFT + cost % UInt64
@inline settled_by(::Largest, progress::UInt64, cost::Int32) = progress - ONE_LEFT

"What all that a group needs costs: under hmax the precondition that was settled last is the dearest."
@inline cost_of_needs(::Sum, progress::UInt64, cost::Int32) = progress % Int64
@inline cost_of_needs(::Largest, progress::UInt64, cost::Int32) = Int64(cost)

@inline function settle!(exploration::Exploration, prop::Int32, cost::Int32)
    needed_by, progress = exploration.relaxed.needed_by, exploration.progress
    aggregate = exploration.aggregate
    @inbounds for i in needed_by.offsets[prop]:needed_by.offsets[prop+1]-1
        group = needed_by.values[i]
        left = settled_by(aggregate, progress[group], cost)
        progress[group] = left
        left < ONE_LEFT && fire!(exploration, group, cost_of_needs(aggregate, left, cost))
    end
    exploration.is_large && tick_row!(exploration.ticker, needed_by, prop)
    nothing
end

@inline function fire!(exploration::Exploration, group::Int32, cost_before::Int64)
    cost_before > exploration.uncapped && return fire_capped!(exploration, group, cost_before)
    offsets, effects = exploration.effect_offsets, exploration.effects
    before = cost_before % Int32
    @inbounds for i in offsets[group]:offsets[group+1]-one(Int32)
        reach!(exploration, i, effects[i].prop, before + effects[i].cost)
    end
    nothing
end

@noinline function fire_capped!(exploration::Exploration, group::Int32, cost_before::Int64)
    offsets, effects = exploration.effect_offsets, exploration.effects
    for i in offsets[group]:offsets[group+1]-one(Int32)
        reach!(exploration, i, effects[i].prop, capped(cost_before + effects[i].cost))
    end
    nothing
end

@inline function reach!(exploration::Exploration, effect::Int32, prop::Int32, new_cost::Int32)
    @inbounds if new_cost < exploration.cost[prop]
        exploration.cost[prop] = new_cost
        exploration.supporter[prop] = effect
        enqueue!(exploration.queue, new_cost, prop)
    end
    nothing
end

struct MaxHeuristic
    exploration::Exploration{Largest}
end

struct AddHeuristic
    exploration::Exploration{Sum}
end

MaxHeuristic(task::Task, limits::Limits = Limits()) = MaxHeuristic(Exploration(task, Largest(), limits))
AddHeuristic(task::Task, limits::Limits = Limits()) = AddHeuristic(Exploration(task, Sum(), limits))

function evaluate(heuristic::Union{MaxHeuristic,AddHeuristic}, words, offset::Int)
    cost = explore!(heuristic.exploration, words, offset)
    cost == UNREACHED ? Inf : Float64(cost)
end

"""
The cost of the relaxed plan that the cheapest supporters under hadd make up. An operator counts once, whichever of its
conditional effects are used. It is helpful if all that one of the effects used needs holds in the state.
"""
mutable struct FFHeuristic
    exploration::Exploration{Sum}
    op_cost::Vector{Int32}
    nfacts::Int
    seen_prop::Vector{Int64}            # the evaluation in which it was last part of the relaxed plan
    seen_operator::Vector{Int64}
    seen_helpful::Vector{Int64}
    helpful::Vector{Int32}              # operators, of the state evaluated last
    needed::Vector{Int32}               # facts that the relaxed plan makes true, of the same state
    evaluation::Int64
    waiting::Vector{Int32}
end

FFHeuristic(task::Task, limits::Limits = Limits()) = (exploration = Exploration(task, Sum(), limits);
    FFHeuristic(exploration, task.op_cost, nfacts(task), zeros(Int, exploration.relaxed.nprops),
        zeros(Int, noperators(task)), zeros(Int, noperators(task)), Int32[], Int32[], 0, Int32[]))

function evaluate(ff::FFHeuristic, words, offset::Int)
    empty!(ff.helpful)
    empty!(ff.needed)
    explore!(ff.exploration, words, offset) == UNREACHED && return Inf
    ff.evaluation += one(Int64)
    relaxed, supporter = ff.exploration.relaxed, ff.exploration.supporter
    waiting, evaluation = ff.waiting, ff.evaluation
    total = 0
    push!(waiting, relaxed.goal)
    @inbounds while !isempty(waiting)
        effect = supporter[pop!(waiting)]
        operator, group = ff.exploration.effect_operator[effect], ff.exploration.effect_group[effect]
        if operator != 0 && ff.seen_operator[operator] != evaluation
            ff.seen_operator[operator] = evaluation
            total += ff.op_cost[operator]
        end
        holds_now = true
        for i in relaxed.pre.offsets[group]:relaxed.pre.offsets[group+1]-1
            prop = relaxed.pre.values[i]
            supporter[prop] == 0 && continue
            holds_now = false
            if ff.seen_prop[prop] != evaluation
                ff.seen_prop[prop] = evaluation
                push!(waiting, prop)
                prop <= ff.nfacts && push!(ff.needed, prop)
            end
        end
        if holds_now && operator != 0 && ff.seen_helpful[operator] != evaluation
            ff.seen_helpful[operator] = evaluation
            push!(ff.helpful, operator)
        end
    end
    Float64(total)
end

"The operators of the relaxed plan that can be the first step, for the state evaluated last."
helpful_operators(ff::FFHeuristic) = ff.helpful
helpful_operators(heuristic) =
    throw(PlanRankError(:usage, "preferred operators come from the relaxed plan of ff, and from no other heuristic"))
