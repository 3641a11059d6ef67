"0 in goal states, elsewhere the cost of the cheapest action."
struct BlindHeuristic
    goal::GoalTest
    cheapest::Float64
end

BlindHeuristic(task::Task, limits::Limits = Limits()) =
    BlindHeuristic(GoalTest(task, limits), minimum(task.op_cost; init = typemax(Int32)))

evaluate(b::BlindHeuristic, words, offset::Int) = is_goal(b.goal, words, offset) ? 0.0 : b.cheapest

"How many literals of the goal do not hold; of a disjunction, the fewest of any disjunct."
struct GoalCountHeuristic
    goal::GoalTest
end

GoalCountHeuristic(task::Task, limits::Limits = Limits()) = GoalCountHeuristic(GoalTest(task, limits))

function evaluate(c::GoalCountHeuristic, words, offset::Int)
    goal = c.goal
    fewest = Inf
    @inbounds for r in 1:length(goal.offsets)-1
        missing_literals = 0
        for i in goal.offsets[r]:goal.offsets[r+1]-1
            wanted = goal.words[i]
            missing_literals += count_ones(missing_bits(wanted, words[offset+wanted.word]))
        end
        fewest = min(fewest, missing_literals)
    end
    fewest
end

"A number for each fact, added up over the facts of a state; given by the user, so it proves nothing of dead ends."
struct TableHeuristic
    of_fact::Vector{Float64}            # in units of the task's costs
end

function evaluate(table::TableHeuristic, words, offset::Int)
    total = 0.0
    @inbounds for i in 1:cld(length(table.of_fact), 64)
        bits = words[offset+i]
        while bits != 0
            total += table.of_fact[64*(i-1)+trailing_zeros(bits)+1]
            bits &= bits - 1
        end
    end
    total
end
