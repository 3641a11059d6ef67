# A plan made cheaper part by part: a window of its steps is planned anew, from the state before it to what the steps
# after it need. Windows grow, and so does the search that is made for each.

"What must be true and what must be false for the rest of a plan to work, packed."
struct Needs
    must::Vector{UInt64}
    must_not::Vector{UInt64}
end

"From the needs after a step, taken by an operator without conditional effects, to those before it."
function regress!(needs::Needs, task::Task, operator::Integer)
    foreach(fact -> clear_fact!(needs.must, 0, fact), row(task.add, operator))
    foreach(fact -> clear_fact!(needs.must_not, 0, fact), row(task.del, operator))
    foreach(fact -> set_fact!(needs.must, 0, fact), row(task.pre, operator))
    foreach(fact -> set_fact!(needs.must_not, 0, fact), row(task.neg, operator))
end

"Nothing but this state will do."
function need_state!(needs::Needs, state::Vector{UInt64})
    needs.must .= state
    needs.must_not .= .~state
    nothing
end

GoalTest(needs::Needs) = (words = [GoalWord(i, needs.must[i], needs.must_not[i]) for i in 1:length(needs.must)
        if needs.must[i] | needs.must_not[i] != 0]; GoalTest(Int32[1, length(words) + 1], words))

"""
One way to go over a plan: how long its windows are, and what the search for each may take. `is_local`: only actions
that change nothing but what the window changes; that is a small task, however large the whole one is.
"""
mutable struct Sweep
    is_local::Bool
    weight::Float64
    size::Int                           # of windows, in steps
    expansions::Int
    seconds::Float64                    # that it has taken so far
end

Sweep(is_local::Bool, weight::Real) = Sweep(is_local, weight, 8, 1000, 0.0)

const WORDS_PER_EXPANSION = 1 << 12     # written, at most: in large tasks states count and not expansions
const MOST_STATE_WORDS = 1 << 23        # kept along a plan

"""
A plan and the window of it that is looked at, steps `from` to `to`. A pass goes from the end of the plan to its
beginning, so that the states before a window stay what they were: every `gap`-th of them is kept. The next pass is that
of the sweep that has had the least time.

The searches count the needs that do not hold, which is cheap for any number of operators, and found more in the same
time than hFF did. With a high weight they are nearly greedy; some windows want a lower one.
"""
mutable struct Windows
    task::Task
    generator::SuccessorGenerator
    goal::GoalTest
    limits::Limits
    by_rarest_change::Rows              # for each fact the operators of which it is the rarest change
    place::Vector{Int32}                # of each fact among those of a local task, 0 if it is none of them
    plan::Vector{Int32}
    is_short::Bool                      # the steps that it does not need have been left out
    sweeps::Vector{Sweep}
    sweep::Sweep
    states::Vector{UInt64}
    gap::Int
    needs::Needs                        # after step `to`
    from::Int                           # 0 between two passes
    to::Int
    is_better::Bool                     # than when the pass began
    search::Union{Search{LinearRule},Nothing}
    operators::Vector{Int32}            # of the task, for each of the local one; empty if the search is not local
end

function Windows(task::Task, plan::Vector{Int32}, limits::Limits = Limits();
    generator::SuccessorGenerator = SuccessorGenerator(task, limits), goal::GoalTest = GoalTest(task, limits))
    needs = Needs(zeros(UInt64, nwords(task)), zeros(UInt64, nwords(task)))
    sweeps = new_sweeps(task)
    Windows(task, generator, goal, limits, by_rarest_change(task, Ticker(limits, PREPARING)),
        zeros(Int32, nfacts(task)), plan, false, sweeps, sweeps[1], UInt64[], 1, needs, 0, 0, false, nothing, Int32[])
end

changes(task::Task, operator::Integer) = Iterators.flatten((row(task.add, operator), row(task.del, operator)))

"Who looks for operators that change nothing but some facts need not look at all that change the most common of them."
function by_rarest_change(task::Task, ticker::Ticker)
    uses = zeros(Int32, nfacts(task))
    for facts in (task.add.values, task.del.values), fact in facts
        tick!(ticker)
        uses[fact] += one(Int32)
    end
    rarest = [minimum(fact -> (uses[fact], fact), changes(task, o); init = (typemax(Int32), zero(Int32)))[2]
        for o in 1:noperators(task)]
    transposed(rows_of((fact == 0 ? () : (fact,) for fact in rarest), ticker), nfacts(task), ticker)
end

new_sweeps(task::Task) = has_conditional_effects(task) ? [Sweep(false, 10), Sweep(false, 2)] :
    [Sweep(true, 2), Sweep(false, 10), Sweep(false, 2)]

"Go on with another plan, found elsewhere."
function restart!(w::Windows, plan::Vector{Int32})
    end_search!(w)
    w.plan, w.is_short, w.from, w.is_better = plan, false, 0, false
    w.sweeps = new_sweeps(w.task)
    nothing
end

steps_cost(task::Task, steps) = sum(operator -> Int64(task.op_cost[operator]), steps; init = Int64(0))

"""
Go on for `seconds`. Returns `:cheaper` as soon as the plan has become cheaper, `:optimal` when it is proved that none
is, `:memory` when there is not enough of it to look at the whole plan at once, else `:running`.
"""
function improve!(w::Windows; seconds::Real = 0.05)
    deadline = deadline_after(seconds)
    while time_ns() < deadline
        steps_cost(w.task, w.plan) == 0 && return :optimal
        w.is_short || (leave_out!(w) && return :cheaper)
        w.from == 0 && begin_pass!(w)
        began = time_ns()
        outcome = look_at_window!(w, deadline)
        w.sweep.seconds += (time_ns() - began) / 1e9
        outcome === :running || return outcome
    end
    :running
end

function look_at_window!(w::Windows, deadline::UInt64)
    w.search === nothing && begin_search!(w)
    search = w.search
    left = (deadline - min(deadline, time_ns())) / 1e9
    most = search.expanded == 0 ? 1 : most_expansions(w, search)
    run!(search, GoalCountHeuristic(search.goal); seconds = left, max_expansions = most)
    search.status === :solved && return take_over!(w)
    search.status === :running && search.expanded < most_expansions(w, search) && return :running
    is_whole = w.from == 1 && w.to == length(w.plan)
    status = search.status
    end_search!(w)
    next_window!(w)
    is_whole || return :running
    w.sweep.is_local || return status === :exhausted ? :optimal : status === :memory ? :memory : :running
    status === :exhausted && (w.sweep.seconds = Inf)    # nothing is left for it to find
    :running
end

"By the size of states, and by how many of them an expansion has made on average so far."
function most_expansions(w::Windows, search::Search)
    words = search.store.nwords * max(1, search.generated) / max(1, search.expanded)
    max(1, floor(Int, w.sweep.expansions * min(1.0, WORDS_PER_EXPANSION / words)))
end

"Leave out steps that are not needed; whether the plan has become cheaper."
function leave_out!(w::Windows)
    before = steps_cost(w.task, w.plan)
    w.plan, w.is_short = needed_steps(w.task, w.plan, w.limits; w.generator, w.goal), true
    steps_cost(w.task, w.plan) < before
end

"Choose a sweep, keep states along the plan, and begin with the last window."
function begin_pass!(w::Windows, most_words::Integer = MOST_STATE_WORDS)
    w.sweep = w.sweeps[argmin([sweep.seconds for sweep in w.sweeps])]
    task, state = w.task, pack_facts(w.task.init, nwords(w.task))
    w.gap = max(1, cld(length(w.plan) * nwords(task), most_words))
    empty!(w.states)
    for (i, operator) in enumerate(w.plan)
        (i - 1) % w.gap == 0 && append!(w.states, state)
        advance!(state, w.generator, operator)
    end
    reached = findfirst(r -> holds(task, r, state), 1:length(task.goal_pos))
    fill!(w.needs.must, 0)
    fill!(w.needs.must_not, 0)
    foreach(fact -> set_fact!(w.needs.must, 0, fact), row(task.goal_pos, reached))
    foreach(fact -> set_fact!(w.needs.must_not, 0, fact), row(task.goal_neg, reached))
    w.to = length(w.plan)
    w.from = max(1, w.to - w.sweep.size + 1)
    nothing
end

"Whether a disjunct of the goal does."
holds(task::Task, disjunct::Integer, state::Vector{UInt64}) =
    all(fact -> has_fact(state, 0, fact), row(task.goal_pos, disjunct)) &&
    !any(fact -> has_fact(state, 0, fact), row(task.goal_neg, disjunct))

"The state before a step of the window, or before one after it."
function state_before(w::Windows, step::Integer)
    kept, n = (w.from - 1) ÷ w.gap, nwords(w.task)
    state = w.states[kept*n+1:(kept+1)*n]
    for i in kept*w.gap+1:step-1
        advance!(state, w.generator, w.plan[i])
    end
    state
end

function begin_search!(w::Windows)
    state, steps = state_before(w, w.from), w.plan[w.from:w.to]
    cost = steps_cost(w.task, steps)
    rule = LinearRule(1, max(1.0, round(w.sweep.weight * cost / max(1, length(steps)))))    # in terms of steps
    options = (reopen = true, bound = cost, memory_limit = max(0, w.limits.memory - resident_bytes()) ÷ 2)
    if w.sweep.is_local
        w.search = Search(local_task(w, state, steps), rule; options...)
    else
        # At the end any disjunct of the goal will do.
        goal = w.to == length(w.plan) ? w.goal : GoalTest(w.needs)
        start = (fact for fact in 1:nfacts(w.task) if has_fact(state, 0, fact))
        w.search = Search(w.task, rule; w.generator, goal, start, options...)
    end
    nothing
end

"The task of a window with nothing but the facts that its steps change, and the operators that change no others."
function local_task(w::Windows, state::Vector{UInt64}, steps::Vector{Int32})
    task, place = w.task, w.place
    facts = sort!(unique!(Int32[fact for operator in steps for fact in changes(task, operator)]))
    place[facts] .= 1:length(facts)
    fits(operator) = all(fact -> place[fact] != 0, changes(task, operator)) &&
        all(fact -> place[fact] != 0 || has_fact(state, 0, fact), row(task.pre, operator)) &&
        all(fact -> place[fact] != 0 || !has_fact(state, 0, fact), row(task.neg, operator))
    w.operators = sort!(Int32[o for fact in facts for o in row(w.by_rarest_change, fact) if fits(o)])
    projected(rows) = rows_of([place[f] for f in row(rows, o) if place[f] != 0] for o in w.operators)
    among(mask) = Int32[place[fact] for fact in facts if has_fact(mask, 0, fact)]
    none, n = Int32[], length(w.operators)
    part = Task(; task.domain, task.problem, objects = String[], predicates = String[], schemas = String[],
        fact_predicate = zeros(Int32, length(facts)), fact_args = Rows(), op_schema = zeros(Int32, n), op_args = Rows(),
        op_cost = task.op_cost[w.operators], task.cost_scale, task.unit_cost, pre = projected(task.pre),
        pre_slot = none, neg = projected(task.neg), neg_slot = none, add = projected(task.add), add_slot = none,
        del = projected(task.del), del_slot = none, cond_offsets = ones(Int32, n + 1), cond_pre = Rows(),
        cond_neg = Rows(), cond_add = Rows(), cond_del = Rows(), cond_slot = none, init = among(state),
        goal_pos = rows_of((among(w.needs.must),)), goal_neg = rows_of((among(w.needs.must_not),)))
    place[facts] .= 0
    part
end

function end_search!(w::Windows)
    w.search === nothing || release!(w.search)
    w.search = nothing
end

"What was found takes the place of the window, which is then looked at again."
function take_over!(w::Windows)
    found = plan(w.search)
    steps = w.sweep.is_local ? w.operators[found] : found
    end_search!(w)
    w.plan = [w.plan[1:w.from-1]; steps; w.plan[w.to+1:end]]
    w.to = w.from + length(steps) - 1
    w.is_better = true
    :cheaper
end

"Half a window towards the beginning, or else the end of the pass."
function next_window!(w::Windows)
    w.from == 1 && return end_pass!(w)
    from = max(1, w.from - w.sweep.size ÷ 2)
    to = min(w.to, from + w.sweep.size - 1)
    for i in w.to:-1:to+1
        has_conditional_effects(w.task, w.plan[i]) ? need_state!(w.needs, state_before(w, i)) :
            regress!(w.needs, w.task, w.plan[i])
    end
    w.from, w.to = from, to
    nothing
end

"After a pass that has found nothing, the sweep looks further."
function end_pass!(w::Windows)
    w.from = 0
    if w.is_better
        w.is_better = w.is_short = false
        foreach(sweep -> isinf(sweep.seconds) && (sweep.seconds = 0), w.sweeps)
    else
        sweep = w.sweep
        sweep.size = min(sweep.size + sweep.size >> 1, max(sweep.size, length(w.plan)))
        sweep.expansions = min(2 * sweep.expansions, 1 << 40)
    end
    nothing
end
