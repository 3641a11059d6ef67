"""
How many steps a fact is from a goal at least, 0 for a goal, -1 where no way is known. In a step an operator makes a
fact that it needs, and deletes, into one that differs from it in one argument: a tile, a box or a vehicle goes to a
neighbouring place, say. What else a step needs is left out of account. Depends on the task alone, not on a state.
"""
function goal_distances(task::Task, ticker::Ticker = Ticker())
    before = moves_into(task, ticker)
    distance = fill(Int32(-1), nfacts(task))
    reached = unique(task.goal_pos.values)
    distance[reached] .= 0
    for fact in reached                                     # grows on the way
        tick!(ticker)
        for other in row(before, fact)
            distance[other] == -1 || continue
            distance[other] = distance[fact] + Int32(1)
            push!(reached, other)
        end
    end
    distance
end

"Of each fact, those that can be made into it in one step."
function moves_into(task::Task, ticker::Ticker)
    pairs = Tuple{Int32,Int32}[]
    for o in 1:noperators(task)
        add_moves!(pairs, task, row(task.pre, o), row(task.del, o), row(task.add, o), ticker)
        for c in task.cond_offsets[o]:task.cond_offsets[o+1]-1
            needed = [row(task.pre, o); row(task.cond_pre, c)]
            add_moves!(pairs, task, needed, row(task.cond_del, c), row(task.cond_add, c), ticker)
        end
    end
    sort!(pairs)
    unique!(pairs)
    first_of(fact) = searchsortedfirst(pairs, (Int32(fact), Int32(0)))
    Rows([first_of(fact) for fact in 1:nfacts(task)+1], last.(pairs))
end

function add_moves!(pairs, task::Task, needed, deleted, added, ticker::Ticker)
    tick!(ticker, 1 + length(deleted) * length(added))
    for old in deleted, new in added
        is_move(task, old, new) && old in needed && push!(pairs, (new, old))
    end
end

function is_move(task::Task, old::Integer, new::Integer)
    task.fact_predicate[old] == task.fact_predicate[new] || return false
    a, b = row(task.fact_args, old), row(task.fact_args, new)
    count(i -> a[i] != b[i], eachindex(a)) == 1
end
