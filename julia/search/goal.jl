"One word of a disjunct of the goal."
struct GoalWord
    word::Int32
    must::UInt64
    must_not::UInt64
end

"The goal as masks: disjunct r has the words `offsets[r]:offsets[r+1]-1`."
struct GoalTest
    offsets::Vector{Int32}
    words::Vector{GoalWord}
end

function GoalTest(task::Task, limits::Limits = Limits())
    ticker = Ticker(limits, PREPARING)
    goal = GoalTest(Int32[1], GoalWord[])
    must, must_not = zeros(UInt64, nwords(task)), zeros(UInt64, nwords(task))
    used = Int[]
    for r in 1:length(task.goal_pos)
        for (facts, mask) in ((row(task.goal_pos, r), must), (row(task.goal_neg, r), must_not)), fact in facts
            tick!(ticker)
            must[word_of(fact)] | must_not[word_of(fact)] == 0 && push!(used, word_of(fact))
            set_fact!(mask, 0, fact)
        end
        for word in sort!(used)
            push!(goal.words, GoalWord(word, must[word], must_not[word]))
            must[word] = must_not[word] = 0
        end
        empty!(used)
        push!(goal.offsets, length(goal.words) + 1)
    end
    goal
end

@inline missing_bits(goal::GoalWord, word::UInt64) = (goal.must & ~word) | (goal.must_not & word)

function is_goal(goal::GoalTest, words, offset::Int)
    @inbounds for r in 1:length(goal.offsets)-1
        holds = true
        for i in goal.offsets[r]:goal.offsets[r+1]-1
            wanted = goal.words[i]
            holds = missing_bits(wanted, words[offset+wanted.word]) == 0
            holds || break
        end
        holds && return true
    end
    false
end
