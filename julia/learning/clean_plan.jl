# A plan as somebody brought it, made fit to learn from: it may go in circles, on after the goal, and out of its way.

"""
The plan, a vector of operators, without loops, without steps after the first goal and without steps that it does not
need. What is left is a plan, is no dearer, and visits no state twice. When time is up only the needless steps that were
found by then are left out: looking for them takes time quadratic in the length of the plan.
"""
function clean_plan(task::Task, plan::Vector{Int32}, limits::Limits = Limits();
    generator::SuccessorGenerator = SuccessorGenerator(task), goal::GoalTest = GoalTest(task))
    while true
        plan = direct_steps(task, plan, generator, goal)
        needed = needed_steps(task, plan, limits; generator, goal)
        length(needed) == length(plan) && return plan
        plan = needed                                       # which may come back to a state that it did not before
    end
end

"The steps up to the first goal, without those between a state and the last return to it."
function direct_steps(task::Task, plan::Vector{Int32}, generator::SuccessorGenerator, goal::GoalTest)
    store = StateStore(nwords(task))
    visits = [first(add_state!(store, task.init))]          # visits[i]: the state before step i
    for operator in plan
        is_goal(goal, store.words, state_offset(store, visits[end])) && break
        push!(visits, first(successor!(store, generator, visits[end], operator)))
    end
    last_visit = Dict(state => i for (i, state) in enumerate(visits))
    steps, i = Int32[], last_visit[visits[1]]
    while i < length(visits)
        push!(steps, plan[i])
        i = last_visit[visits[i+1]]
    end
    release!(store)
    steps
end

"""
The operators of a plan in words that has been validated. An action that changes nothing is no operator of the task, so
a step that is none is passed over. Of operators that share a name any that is applicable will do.
"""
function plan_operators(task::Task, text::AbstractString; generator::SuccessorGenerator, goal::GoalTest)
    lines = plan_steps(text)
    named = Dict(line => Int32[] for line in lines)
    for operator in 1:noperators(task)
        known = get(named, operator_name(task, operator), nothing)
        known === nothing || push!(known, operator)
    end
    state, plan = pack_facts(task.init, nwords(task)), Int32[]
    for (i, line) in enumerate(lines)
        isempty(named[line]) && continue
        at = findfirst(operator -> is_applicable(task, state, operator), named[line])
        at === nothing && bad_plan("step $i: $line is not applicable")
        push!(plan, named[line][at])
        apply!(state, 0, generator, copy(state), 0, plan[end])
    end
    is_goal(goal, state, 0) || bad_plan("after $(length(lines)) step(s) the goal does not hold")
    plan
end
