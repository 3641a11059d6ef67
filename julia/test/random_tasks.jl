"Small tasks made by chance, and plain answers about them to compare with."
module RandomTasks

using Random
using PlanRank: Rows, Task, row, nfacts, noperators

export random_task, random_graph, small_task, some_states, is_applicable, successor, is_goal_state,
    cheapest_plan_cost, replay_cost, facts_of, without_goal, with_costs

function rows(lists)
    offsets, values = Int32[1], Int32[]
    for list in lists
        append!(values, list)
        push!(offsets, length(values) + 1)
    end
    Rows(offsets, values)
end

function make_task(; n, init, goal_pos, goal_neg, pre, neg, add, del, cost, conditional)
    operators = length(pre)
    effects = reduce(vcat, conditional; init = [])
    slots(lists) = ones(Int32, sum(length, lists; init = 0))
    Task(; domain = "random", problem = "random", objects = String[], predicates = ["f$i" for i in 1:n],
        schemas = ["act"], fact_predicate = collect(Int32, 1:n), fact_args = rows([[] for _ in 1:n]),
        op_schema = ones(Int32, operators), op_args = rows([[] for _ in 1:operators]), op_cost = Int32.(cost),
        cost_scale = 1, unit_cost = false, pre = rows(pre), pre_slot = slots(pre), neg = rows(neg),
        neg_slot = slots(neg), add = rows(add), add_slot = slots(add), del = rows(del), del_slot = slots(del),
        cond_offsets = Int32[1; 1 .+ cumsum(length.(conditional))], cond_pre = rows([e[1] for e in effects]),
        cond_neg = rows([e[2] for e in effects]), cond_add = rows([e[3] for e in effects]),
        cond_del = rows([e[4] for e in effects]), cond_slot = ones(Int32, length(effects)), init = sort(Int32.(init)),
        goal_pos = rows(goal_pos), goal_neg = rows(goal_neg))
end

"Operators as (preconditions, adds, deletes, cost)."
small_task(; nfacts, init, goal, operators = []) = make_task(; n = nfacts, init, goal_pos = [goal], goal_neg = [[]],
    pre = [o[1] for o in operators], neg = [[] for _ in operators], add = [o[2] for o in operators],
    del = [setdiff(o[3], o[2]) for o in operators], cost = [o[4] for o in operators],
    conditional = [[] for _ in operators])

"The same task with other costs: `change` of each."
with_costs(change, task) = Task(; (name => getfield(task, name) for name in fieldnames(Task))...,
    op_cost = Int32.(change.(task.op_cost)))

"The same task with a goal of no disjuncts, which never holds."
without_goal(task) = Task(; (name => getfield(task, name) for name in fieldnames(Task))..., goal_pos = rows([]),
    goal_neg = rows([]))

function random_task(seed; conditional = seed % 3 == 0, negative = seed % 2 == 0)
    random = MersenneTwister(seed)
    n = rand(random, [5, 8, 11, 70])    # 70: two words, most facts constant
    facts = n > 64 ? [1:4; 61:68] : 1:n
    few(most) = rand(random, facts, rand(random, 0:most))
    operators = rand(random, 6:16)
    free_actions = rand(random, Bool)
    pre, neg = [few(3) for _ in 1:operators], [negative ? few(1) : Int[] for _ in 1:operators]
    add = [unique(few(2)) for _ in 1:operators]
    del = [setdiff(few(3), a) for a in add]
    effect() = (few(2), negative ? few(1) : Int[], few(2), few(1))
    disjuncts = rand(random, 1:2)
    make_task(; n, init = unique(few(4)), goal_pos = [unique(few(4)) for _ in 1:disjuncts],
        goal_neg = [negative ? few(1) : Int[] for _ in 1:disjuncts], pre, neg, add, del,
        cost = rand(random, (free_actions ? 0 : 1):rand(random, [1, 5, 100_000]), operators),
        conditional = [[effect() for _ in 1:(conditional ? rand(random, 0:2) : 0)] for _ in 1:operators])
end

"A fact for each node and an operator for each edge: many ways lead to the same state."
function random_graph(seed)
    random = MersenneTwister(seed)
    edges = [(rand(random, 1:7), rand(random, 1:7), rand(random, 0:5)) for _ in 1:20]
    small_task(nfacts = 7, init = [1], goal = [7], operators = [([a], [b], [a], cost) for (a, b, cost) in edges])
end

holds(positive, negative, state) = all(in(state), positive) && !any(in(state), negative)
is_applicable(task, state, o) = holds(row(task.pre, o), row(task.neg, o), state)
is_goal_state(task, state) =
    any(r -> holds(row(task.goal_pos, r), row(task.goal_neg, r), state), 1:length(task.goal_pos))

function successor(task, state, o)
    fired = [c for c in task.cond_offsets[o]:task.cond_offsets[o+1]-1 if
             holds(row(task.cond_pre, c), row(task.cond_neg, c), state)]
    removed = union(row(task.del, o), Int32[], (row(task.cond_del, c) for c in fired)...)
    added = union(row(task.add, o), Int32[], (row(task.cond_add, c) for c in fired)...)
    sort(union(setdiff(state, removed), added))
end

"Dijkstra from the initial state."
function reachable_costs(task, initial = task.init)
    cost, done = Dict(sort(initial) => 0), Set()
    while length(done) < length(cost)
        state = argmin_open(cost, done)
        push!(done, state)
        for o in 1:noperators(task)
            is_applicable(task, state, o) || continue
            next = successor(task, state, o)
            cost[next] = min(get(cost, next, typemax(Int)), cost[state] + task.op_cost[o])
        end
    end
    cost
end

argmin_open(cost, done) = last(findmin(Dict(s => c for (s, c) in cost if !(s in done))))

"The cost of a cheapest plan from a state; nothing if there is none."
function cheapest_plan_cost(task, initial = task.init)
    costs = [c for (s, c) in reachable_costs(task, initial) if is_goal_state(task, s)]
    isempty(costs) ? nothing : minimum(costs)
end

function replay_cost(task, plan)
    state = task.init
    for o in plan
        is_applicable(task, state, o) || return nothing
        state = successor(task, state, o)
    end
    is_goal_state(task, state) ? sum(o -> Int(task.op_cost[o]), plan; init = 0) : nothing
end

"The initial state, some that are reached from it and some that are not."
function some_states(task, seed)
    random = MersenneTwister(seed)
    states = [task.init]
    for _ in 1:10
        usable = [o for o in 1:noperators(task) if is_applicable(task, states[end], o)]
        isempty(usable) && break
        push!(states, successor(task, states[end], rand(random, usable)))
    end
    [states; [sort(unique(rand(random, Int32(1):Int32(nfacts(task)), rand(random, 0:6)))) for _ in 1:5]]
end

facts_of(task, words, offset) =
    Int32[f for f in 1:nfacts(task) if words[offset+(f-1)÷64+1] >> ((f - 1) % 64) & 1 == 1]

end
