"""
The order of policy-guided search. π is the probability of a path under the policy and g its cost, where the root counts
as a step of cost 1 as in the papers, so that g > 0. PHS* (Orseau and Lelis 2021) orders by (g + h) / π^(1 + h/g), with
0 for a negative h; LevinTS (Orseau and others 2018) orders by g / π, where g counts steps. Both compute in logarithms.

`path` has log π of every state; the numbers in `rows` are the logarithms of the policies.
"""
struct PolicyRule
    uses_h::Bool
    root_cost::Float64
    path::GrowingVector{Float64}
    rows::ActionRows
    current::Vector{Float64}            # of the operators applicable in the node being expanded
    evaluated::Ref{Int}
end

PolicyRule(task::Task, uses_h::Bool) = PolicyRule(uses_h, uses_h ? Float64(task.cost_scale) : 1.0,
    GrowingVector{Float64}(), ActionRows(), fill(NaN, noperators(task)), Ref(0))

function path_priority(rule::PolicyRule, g::Int64, log_path::Float64, h::Float32)
    cost = g + rule.root_cost
    estimate = rule.uses_h ? max(Float64(h), 0.0) : 0.0
    log(cost + estimate) - log_path * (1 + estimate / cost)
end

priority(rule::PolicyRule, store::StateStore, id::Integer) =
    path_priority(rule, store.g[id], rule.path[id], store.h[id])

note_state!(rule::PolicyRule, search, id::Int32) =
    add_row!(rule.rows, search.generator, search.store.words, state_offset(search.store, id))

function prepare_expansion!(rule::PolicyRule, applicable::Vector{Int32}, parent::Int32)
    for k in rule.rows.first[parent]:rule.rows.first[parent+1]-1
        rule.current[rule.rows.operators[k]] = rule.rows.numbers[k]
    end
end

"""
The better of two paths has the lower g/π. That never falls along a path, so a better path to a state cannot lead
through the state itself. The priority of PHS* can fall along a path, so it is only a second condition.
"""
function is_better_path(rule::PolicyRule, store::StateStore, id::Int32, parent::Int32, operator::Int32, g::Int64)
    log_path = rule.path[parent] + rule.current[operator]
    path_priority(rule, g, log_path, 0.0f0) < path_priority(rule, store.g[id], rule.path[id], 0.0f0) || return false
    id > rule.evaluated[] || path_priority(rule, g, log_path, store.h[id]) < priority(rule, store, id)
end

function set_path!(rule::PolicyRule, store::StateStore, id::Int32, parent::Int32, operator::Int32, g::Int64)
    set_node!(store, id, parent, operator, g)
    id > length(rule.path) && push!(rule.path, 0.0)
    parent == 0 || (rule.path[id] = rule.path[parent] + rule.current[operator])
    nothing
end

bytes(rule::PolicyRule) = bytes(rule.path) + bytes(rule.rows)
release!(rule::PolicyRule) = (release!(rule.path); release!(rule.rows))

"""
Hand in values of the waiting states, in order, and for every applicable operator of them, one after the other as
`operators_of` gives them, the logarithm of its probability.
"""
function insert_with_policy!(search::Search{PolicyRule}, values, logs)
    n, rows = waiting(search), search.rule.rows
    length(values) == n || throw(PlanRankError(:usage, "$(length(values)) values for $n states"))
    check_fits(rows, search.first_waiting, search.store.count, logs)
    before = rows.first[search.first_waiting] - 1
    for i in 1:length(logs)
        rows.numbers[before+i] = min(logs[i], 0.0f0)        # rounding may leave a logarithm just above 0
    end
    for value in values
        insert_value!(search, value, false)
        search.rule.evaluated[] += 1
    end
end

insert_with_policy!(::Search, arguments...) = throw(PlanRankError(:usage, "this search takes no policy"))

needs_policy() = throw(PlanRankError(:usage, "phs and levints need a model with a policy"))
Base.insert!(::Search{PolicyRule}, ::AbstractVector; safe::Bool = false) = needs_policy()
run!(::Search{PolicyRule}, heuristic; options...) = needs_policy()
