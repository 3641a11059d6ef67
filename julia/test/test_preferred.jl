using Test
using PlanRank
using PlanRank: noperators, nwords

isdefined(Main, :RandomTasks) || include("random_tasks.jl")
isdefined(Main, :Searching) || include("searching.jl")
using .RandomTasks, .Searching

all_operators(task, state) = [o for o in 1:noperators(task) if is_applicable(task, state, o)]

"What holds after any of these operators' effects, and those of their conditional effects, without deletes."
function relaxed_reach(task, state, operators)
    reached, lost = Set(state), Set{Int}()
    before = -1
    can(positive, negative) = all(in(reached), positive) && all(f -> !(f in state) || f in lost, negative)
    while before != length(reached) + length(lost)
        before = length(reached) + length(lost)
        for o in operators
            can(PlanRank.row(task.pre, o), PlanRank.row(task.neg, o)) || continue
            union!(reached, PlanRank.row(task.add, o))
            union!(lost, PlanRank.row(task.del, o))
            for c in task.cond_offsets[o]:task.cond_offsets[o+1]-1
                can(PlanRank.row(task.cond_pre, c), PlanRank.row(task.cond_neg, c)) || continue
                union!(reached, PlanRank.row(task.cond_add, c))
                union!(lost, PlanRank.row(task.cond_del, c))
            end
        end
    end
    any(r -> can(PlanRank.row(task.goal_pos, r), PlanRank.row(task.goal_neg, r)), 1:length(task.goal_pos))
end

@testset "helpful actions are applicable, and a relaxed plan starts with one" begin
    seen = 0
    for seed in 1:300
        task = random_task(seed)
        ff = PlanRank.make_heuristic(task, :ff)
        for state in some_states(task, seed)
            value = evaluate_facts(ff, task, state)
            helpful = copy(PlanRank.helpful_operators(ff))
            @test allunique(helpful)
            @test all(o -> is_applicable(task, state, o), helpful)
            @test value < Inf || isempty(helpful)
            in_plan = [o for o in 1:noperators(task) if ff.seen_operator[o] == ff.evaluation]
            if value < Inf
                @test issubset(helpful, in_plan)
                @test relaxed_reach(task, state, in_plan)
                @test isempty(helpful) == isempty(in_plan)
                @test sum(o -> Int(task.op_cost[o]), in_plan; init = 0) == value
                # Without conditional effects there is no other way to be part of the relaxed plan now.
                length(task.cond_pre) == 0 &&
                    @test sort(helpful) == [o for o in in_plan if is_applicable(task, state, o)]
                seen += length(helpful) > 1
            end
        end
    end
    @test seen > 50
end

@testset "a conditional effect makes its operator helpful if its condition holds" begin
    task = RandomTasks.make_task(n = 4, init = [1], goal_pos = [[3, 4]], goal_neg = [[]], pre = [[1], [1]],
        neg = [[], []], add = [[], []], del = [[], []], cost = [1, 1],
        conditional = [[([], [], [2], []), ([2], [], [3], [])], [([2], [], [4], [])]])
    ff = PlanRank.make_heuristic(task, :ff)
    @test evaluate_facts(ff, task, [1]) == 2
    @test PlanRank.helpful_operators(ff) == [1]
    @test evaluate_facts(ff, task, [1, 2]) == 2
    @test sort(PlanRank.helpful_operators(ff)) == [1, 2]
    @test evaluate_facts(ff, task, [2]) == Inf
    @test isempty(PlanRank.helpful_operators(ff))
    @test_throws PlanRank.PlanRankError PlanRank.helpful_operators(PlanRank.make_heuristic(task, :hadd))
end

@testset "of equally cheap actions the one that needs less is helpful" begin
    # As in blocksworld: the hand becomes empty by stacking a block on any other, or by putting it on the table.
    stack, put_down = ([1, 2], [3], [], 1), ([2], [3], [], 1)
    for operators in ([stack, put_down], [put_down, stack])
        task = small_task(nfacts = 3, init = [1, 2], goal = [3], operators = operators)
        ff = PlanRank.make_heuristic(task, :ff)
        @test evaluate_facts(ff, task, [1, 2]) == 1
        @test PlanRank.helpful_operators(ff) == [findfirst(==(put_down), operators)]
    end
end

# Any function of the state, with many equal values, and any choice of its operators.
some_value(state) = Float32(hash(state) >> 7 % 6)
some_preferred(state, operators) = filter(o -> hash((state, Int(o))) % 3 == 0, operators)

function insert_preferred!(search)
    while PlanRank.waiting(search) > 0
        state = facts_of_state(search, search.first_waiting)
        _, operators = PlanRank.operators_of(search.rule.rows, search.first_waiting, search.first_waiting)
        PlanRank.prefer!(search.rule, some_preferred(state, operators))
        PlanRank.insert_value!(search, some_value(state), true)
    end
end

"The states in the order they are evaluated."
function preferred_evaluations(search)
    order = []
    while PlanRank.expand!(search) > 0
        append!(order, waiting_states(search))
        insert_preferred!(search)
    end
    order
end

"""
Lazy greedy search with two lists of entries by its definition. The order of the entries of a state is that of the
search without preferred operators, as `row` has it.
"""
function reference_preferred(task, ties, row)
    initial = sort(task.init)
    order, number = [initial], Dict(initial => 1)
    is_goal_state(task, initial) && return []
    entries, turns, best = [], [0, 0], Inf
    function open_all!(state)
        operators = row(state)
        preferred = some_preferred(state, operators)
        h = some_value(state)
        h < best && (best = h; turns[2] -= 1000)
        age = PlanRank.newest_first(ties) ? -number[state] : number[state]
        for o in [preferred; setdiff(operators, preferred)]
            push!(entries, (h, age, length(entries), o in preferred, state, o))
        end
    end
    open_all!(initial)
    while !isempty(entries)
        lists = (entries, filter(e -> e[4], entries))
        which = turns[2] < turns[1] && !isempty(lists[2]) ? 2 : 1
        turns[which] += 1
        entry = argmin_entry(lists[which])
        deleteat!(entries, findfirst(==(entry), entries))
        child = successor(task, entry[5], entry[6])
        haskey(number, child) && continue
        is_goal_state(task, child) && return order
        push!(order, child)
        number[child] = length(order)
        open_all!(child)
    end
    order
end

argmin_entry(entries) = entries[last(findmin([(e[1], e[2], e[3]) for e in entries]))]

@testset "alternation and boost are those of the definition" begin
    compared = 0
    for seed in 1:300, ties in (:h_newest, :h_oldest, :newest, :oldest)
        task = random_task(seed; conditional = false)
        generator = PlanRank.SuccessorGenerator(task)
        function row(state)
            found = Int32[]
            PlanRank.applicable_operators!(found, generator, PlanRank.pack_facts(state, nwords(task)), 0)
            PlanRank.newest_first(ties) ? found : reverse(found)
        end
        search = PlanRank.make_search(task, :lazy; preferred = true, ties)
        expected = reference_preferred(task, ties, row)
        @test preferred_evaluations(search) == expected
        compared += length(expected) > 8
    end
    @test compared > 100
end

@testset "the boost lasts for a thousand turns, and then the lists alternate" begin
    # A chain of preferred steps that lead nowhere, and a step that is not preferred from its start to the goal.
    n = 1100
    chain = [([i], [i + 1], [i], 1) for i in 1:n-1]
    task = small_task(nfacts = n + 1, init = [1], goal = [n + 1], operators = [chain; ([1], [n + 1], [1], 1)])
    search = PlanRank.make_search(task, :lazy; preferred = true)
    while PlanRank.expand!(search) > 0
        _, operators = PlanRank.operators_of(search.rule.rows, search.first_waiting, search.first_waiting)
        PlanRank.prefer!(search.rule, filter(<(n), operators))
        PlanRank.insert_value!(search, search.first_waiting == 1 ? 1.0 : 2.0, true)
    end
    @test search.status === :solved
    @test search.evaluated == 1 + PlanRank.BOOST
end

@testset "plans with preferred operators are plans, and unsolvable tasks are proved so" begin
    for seed in 1:150, batch in (1, 4), reopen in (false, true), ties in (PlanRank.TIES..., nothing)
        task = random_task(seed)
        ff = PlanRank.make_heuristic(task, :ff)
        search = PlanRank.make_search(task, :lazy; preferred = true, ties, seed, batch, reopen)
        while PlanRank.run!(search, ff; seconds = 1.0) === :running
        end
        check_outcome(search)
    end
end

@testset "no state is lost, and each entry is taken once" begin
    for seed in 1:100, reopen in (false, true)
        task = without_goal(random_task(seed))
        search = PlanRank.make_search(task, :lazy; preferred = true, reopen)
        states = preferred_evaluations(search)
        @test allunique(states)
        @test length(states) == length(RandomTasks.reachable_costs(task))
        @test reopen || search.generated == sum(length(all_operators(task, state)) for state in states)
        @test all(id -> search.rule.taken[id] == length(all_operators(task, states[id])), eachindex(states))
    end
end

@testset "what preferred operators need" begin
    task = random_task(1)
    @test_throws PlanRank.PlanRankError PlanRank.make_search(task, :gbfs; preferred = true)
    @test_throws PlanRank.PlanRankError PlanRank.make_search(task, :gbfs; entries = true, preferred = true)
    search = PlanRank.make_search(task, :lazy; preferred = true)
    @test_throws PlanRank.PlanRankError PlanRank.run!(search, PlanRank.make_heuristic(task, :hadd))
end

@testset "memory of a search with a million open entries" begin
    # Each of 40 facts can be switched on and off: every state has 40 entries.
    n = 40
    operators = [[([], [f], [], 1) for f in 1:n]; [([f], [], [f], 1) for f in 1:n]]
    task = small_task(nfacts = n + 1, init = [], goal = [n + 1], operators = operators)
    search = PlanRank.make_search(task, :lazy; preferred = true)
    open_entries() = length(search.rule.rows.operators) - search.generated
    while open_entries() < 1_000_000 && PlanRank.expand!(search) > 0
        PlanRank.prefer!(search.rule, 1:3)
        PlanRank.insert_value!(search, 1.0, true)
    end
    @test open_entries() >= 1_000_000
    used = PlanRank.memory_bytes(search) - PlanRank.bytes(search.store)
    @test used == PlanRank.bytes(search.open) + PlanRank.bytes(search.rule)
    @test used / open_entries() < 24
    PlanRank.release!(search)
    @test PlanRank.bytes(search.rule) == 0
end
