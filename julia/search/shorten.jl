# Steps of a plan that its goal does not need.

"""
The plan without steps that it does not need (Action Elimination; Nakhost and Müller 2010): each step in turn is left
out, together with the later ones that cannot be applied without it, and stays out if the goal is still reached. Costs
are not negative, so the plan does not become dearer. When time is up, what has been found by then is returned.
"""
function needed_steps(task::Task, plan::Vector{Int32}, limits::Limits = Limits();
    generator::SuccessorGenerator = SuccessorGenerator(task), goal::GoalTest = GoalTest(task))
    before, i = pack_facts(task.init, nwords(task)), 1
    scratch, settled = (copy(before), copy(before)), settled_goals(task, plan)
    while i <= length(plan) && time() < limits.deadline && !stop_asked()
        rest = rest_without(i, task, plan, before, generator, goal, settled, scratch)
        if rest === nothing
            advance!(before, generator, plan[i])
            i += 1
        else
            plan = [plan[1:i-1]; rest]
            settled = settled_goals(task, plan)
        end
    end
    plan
end

"""
For each step the facts of the goal that no later step changes, positive where they must be true. Steps that are left
out are mostly found to be needed there, long before the end of the plan. There are none if the goal is a disjunction.
"""
function settled_goals(task::Task, plan::Vector{Int32})
    length(task.goal_pos) == 1 || return rows_of(() for _ in plan)
    open = Dict{Int32,Int32}(fact => fact for fact in row(task.goal_pos, 1))
    merge!(open, Dict{Int32,Int32}(fact => -fact for fact in row(task.goal_neg, 1)))
    settled = [Int32[] for _ in plan]
    for i in length(plan):-1:1, fact in all_changes(task, plan[i])
        goal = pop!(open, fact, zero(Int32))
        goal == 0 || push!(settled[i], goal)
    end
    rows_of(settled)
end

"What an operator changes, under whatever conditions."
function all_changes(task::Task, operator::Integer)
    conditional = task.cond_offsets[operator]:task.cond_offsets[operator+1]-1
    Iterators.flatten((row(task.add, operator), row(task.del, operator),
        Iterators.flatten(row(effects, c) for c in conditional for effects in (task.cond_add, task.cond_del))))
end

"""
Those of the steps after step `i` that can be applied one after the other in the state before it; nothing if they do not
lead to the goal. The state with step `i` is followed beside the one without it: where they meet, the rest can stay.
"""
function rest_without(i::Integer, task::Task, plan::Vector{Int32}, before::Vector{UInt64},
    generator::SuccessorGenerator, goal::GoalTest, settled::Rows, scratch)
    with, without = copyto!(scratch[1], before), copyto!(scratch[2], before)
    is_lost(literal) = has_fact(without, 0, abs(literal)) != (literal > 0)
    any(is_lost, row(settled, i)) && return nothing
    advance!(with, generator, plan[i])
    differing, kept = count_differing(with, without), Int32[]
    for k in i+1:length(plan)
        differing == 0 && return append!(kept, @view plan[k:end])
        applied = is_applicable(task, without, plan[k])
        applied && push!(kept, plan[k])
        differing += advance_both!(with, without, applied, generator, plan[k])
        any(is_lost, row(settled, k)) && return nothing
    end
    is_goal(goal, without, 0) ? kept : nothing
end

count_differing(a::Vector{UInt64}, b::Vector{UInt64}) = count(i -> a[i] != b[i], 1:length(a))

"Advance the first state, and the second if asked to; by how many the number of words in which they differ grows."
function advance_both!(first::Vector{UInt64}, second::Vector{UInt64}, both::Bool, generator::SuccessorGenerator,
    operator::Int32)
    growth = 0
    if has_conditional_effects(generator.task, operator)
        growth -= count_differing(first, second)
        advance!(first, generator, operator)
        both && advance!(second, generator, operator)
        return growth + count_differing(first, second)
    end
    @inbounds for e in generator.effect_offsets[operator]:generator.effect_offsets[operator+1]-1
        effect = generator.effects[e]
        a, b = first[effect.word], second[effect.word]
        growth -= a != b
        first[effect.word] = a = (a & ~effect.clear) | effect.set
        both && (second[effect.word] = b = (b & ~effect.clear) | effect.set)
        growth += a != b
    end
    growth
end

is_applicable(task::Task, state::Vector{UInt64}, operator::Integer) =
    all(fact -> has_fact(state, 0, fact), row(task.pre, operator)) &&
    !any(fact -> has_fact(state, 0, fact), row(task.neg, operator))
