# Steps of a plan that its goal does not need.

"""
The plan without steps that it does not need (Action Elimination; Nakhost and Müller 2010): each step in turn is left
out, together with the later ones that cannot be applied without it, and stays out if the goal is still reached. Costs
are not negative, so the plan does not become dearer. When time is up, what has been found by then is returned.
"""
function needed_steps(task::Task, plan::Vector{Int32}, limits::Limits = Limits();
    generator::SuccessorGenerator = SuccessorGenerator(task), goal::GoalTest = GoalTest(task))
    before, i = pack_facts(task.init, nwords(task)), 1
    while i <= length(plan) && time() < limits.deadline && !stop_asked()
        rest = applicable_rest(task, generator, copy(before), @view plan[i+1:end])
        if is_goal(goal, rest.state, 0)
            plan = [plan[1:i-1]; rest.steps]
        else
            apply!(before, 0, generator, copy(before), 0, plan[i])
            i += 1
        end
    end
    plan
end

"Those of the steps that can be applied one after the other, and the state they lead to."
function applicable_rest(task::Task, generator::SuccessorGenerator, state::Vector{UInt64}, steps::AbstractVector{Int32})
    kept, next = Int32[], similar(state)
    for step in steps
        is_applicable(task, state, step) || continue
        apply!(next, 0, generator, state, 0, step)
        state, next = next, state
        push!(kept, step)
    end
    (steps = kept, state = state)
end

is_applicable(task::Task, state::Vector{UInt64}, operator::Integer) =
    all(fact -> has_fact(state, 0, fact), row(task.pre, operator)) &&
    !any(fact -> has_fact(state, 0, fact), row(task.neg, operator))
