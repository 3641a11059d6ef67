"Searches taken apart, and what must hold of every plan they find."
module Searching

using Test
using PlanRank
using PlanRank: nwords
using ..RandomTasks: cheapest_plan_cost, facts_of, is_goal_state, replay_cost

export evaluate_facts, facts_of_state, waiting_states, expansions, has_right_plan, check_outcome

evaluate_facts(heuristic, task, facts) = PlanRank.evaluate(heuristic, PlanRank.pack_facts(facts, nwords(task)), 0)

facts_of_state(search, id) = facts_of(search.task, PlanRank.state_words(search, id, id), 0)

waiting_states(search) = [facts_of_state(search, id) for id in search.first_waiting:search.store.count]

"The states in the order they are expanded, from the pieces `expand!` is made of; `insert_waiting!` hands in values."
function expansions(insert_waiting!, search)
    order = []
    while true
        insert_waiting!(search)
        id = PlanRank.pop_node!(search)
        (id == 0 || is_goal_state(search.task, facts_of_state(search, id))) && return order
        push!(order, facts_of_state(search, id))
        PlanRank.expand_node!(search, id)
    end
end

"""
Whether the plan found is one, and costs what the search counted. A state that was reopened has a better path since, of
which its successors do not know yet.
"""
function has_right_plan(search)
    plan = PlanRank.plan(search)
    cost = replay_cost(search.task, plan)
    cost === nothing && return false
    search.reopened > 0 || search.store.g[search.goal_id] == (search.unit_steps ? length(plan) : cost)
end

"A search that has come to its end found a plan, or proved that there is none."
function check_outcome(search)
    if cheapest_plan_cost(search.task) === nothing
        @test PlanRank.proved_unsolvable(search)
    else
        @test search.status === :solved
        @test has_right_plan(search)
    end
end

end
