"""
The order of policy-guided search. π is the probability of a path under the policy and g its cost, where the root counts
as a step of cost 1 as in the papers, so that g > 0. PHS* (Orseau and Lelis 2021) orders by (g + h) / π^(1 + h/g), with
0 for a negative h; LevinTS (Orseau and others 2018) orders by g / π, where g counts steps. Both compute in logarithms.

`path` has log π of every state; the rows of `operators` and `logs` are the policies of the evaluated states, and row i
starts at `first[i]`.
"""
struct PolicyRule
    uses_h::Bool
    root_cost::Float64
    path::GrowingVector{Float64}
    first::GrowingVector{Int}
    operators::GrowingVector{Int32}
    logs::GrowingVector{Float32}
    current::Vector{Float64}            # of the operators applicable in the node being expanded
end

PolicyRule(task::Task, uses_h::Bool) = PolicyRule(uses_h, uses_h ? Float64(task.cost_scale) : 1.0,
    GrowingVector{Float64}(), push!(GrowingVector{Int}(), 1), GrowingVector{Int32}(), GrowingVector{Float32}(),
    fill(NaN, noperators(task)))

evaluated_states(rule::PolicyRule) = length(rule.first) - 1

function path_priority(rule::PolicyRule, g::Int64, log_path::Float64, h::Float32)
    cost = g + rule.root_cost
    estimate = rule.uses_h ? max(Float64(h), 0.0) : 0.0
    log(cost + estimate) - log_path * (1 + estimate / cost)
end

priority(rule::PolicyRule, store::StateStore, id::Integer) =
    path_priority(rule, store.g[id], rule.path[id], store.h[id])

function prepare_expansion!(rule::PolicyRule, applicable::Vector{Int32}, parent::Int32)
    current = rule.current
    for operator in applicable
        current[operator] = NaN
    end
    for i in rule.first[parent]:rule.first[parent+1]-1
        current[rule.operators[i]] = rule.logs[i]
    end
    for operator in applicable
        isnan(current[operator]) &&
            throw(PlanRankError(:usage, "the policy leaves out operator $(operator - 1), which is applicable"))
    end
end

"""
The better of two paths has the lower g/π. That never falls along a path, so a better path to a state cannot lead
through the state itself. The priority of PHS* can fall along a path, so it is only a second condition.
"""
function is_better_path(rule::PolicyRule, store::StateStore, id::Int32, parent::Int32, operator::Int32, g::Int64)
    log_path = rule.path[parent] + rule.current[operator]
    path_priority(rule, g, log_path, 0.0f0) < path_priority(rule, store.g[id], rule.path[id], 0.0f0) || return false
    id > evaluated_states(rule) || path_priority(rule, g, log_path, store.h[id]) < priority(rule, store, id)
end

function set_path!(rule::PolicyRule, store::StateStore, id::Int32, parent::Int32, operator::Int32, g::Int64)
    set_node!(store, id, parent, operator, g)
    id > length(rule.path) && push!(rule.path, 0.0)
    parent == 0 || (rule.path[id] = rule.path[parent] + rule.current[operator])
    nothing
end

policy_columns(rule::PolicyRule) = (rule.path, rule.first, rule.operators, rule.logs)
bytes(rule::PolicyRule) = sum(bytes, policy_columns(rule))
release!(rule::PolicyRule) = foreach(release!, policy_columns(rule))

"""
Hand in values and policies of the waiting states, in order. The applicable operators of the i-th and the logarithms of
their probabilities are those from `offsets[i] + 1` to `offsets[i+1]`; operators count from 0.
"""
function insert_with_policy!(search::Search{PolicyRule}, values, offsets, operators, logs)
    n = waiting(search)
    length(values) == n || throw(PlanRankError(:usage, "$(length(values)) values for $n states"))
    m = length(operators)
    length(offsets) == n + 1 && issorted(offsets) && offsets[1] == 0 && offsets[end] == m == length(logs) ||
        throw(PlanRankError(:usage, "the offsets of the policies do not fit $n states and $m operators"))
    all(o -> 0 <= o < noperators(search.task), operators) ||
        throw(PlanRankError(:usage, "the policy names an operator that the task does not have"))
    any(isnan, logs) && throw(PlanRankError(:usage, "the probability of an operator is not a number"))
    rule = search.rule
    for i in 1:n
        for j in offsets[i]+1:offsets[i+1]
            push!(rule.operators, operators[j] + Int32(1))
            push!(rule.logs, min(logs[j], 0.0f0))           # rounding may leave a logarithm just above 0
        end
        push!(rule.first, length(rule.operators) + 1)
        insert_value!(search, values[i], false)
    end
end

insert_with_policy!(::Search, arguments...) = throw(PlanRankError(:usage, "this search takes no policy"))

needs_policy() = throw(PlanRankError(:usage, "phs and levints need a model with a policy"))
Base.insert!(::Search{PolicyRule}, ::AbstractVector; safe::Bool = false) = needs_policy()
run!(::Search{PolicyRule}, heuristic; options...) = needs_policy()
