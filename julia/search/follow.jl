# Following a search, to see which states it takes and whether they lie on one path.

"""
What `expand!` does for one node, for those who want to know which it was; 0 if none is left. With entries, the state
that the best one leads to; entries that lead to nothing better than what is known are passed by.
"""
function take_best!(search::Search)
    waiting(search) == 0 || throw(PlanRankError(:usage, "$(waiting(search)) states wait for their values"))
    id = Int32(-1)
    while id == -1
        id = expand_best!(search)
    end
    id
end

"The cheapest operator that leads from one node to the other, 0 if there is none."
function joining_operator(search::Search, from::Integer, to::Integer)
    cost = search.task.op_cost
    wanted = state_words(search, to, to)
    parent, child = state_words(search, from, from), similar(wanted)
    best = Int32(0)
    for operator in applicable_operators!(Int32[], search.generator, parent, 0)
        apply!(child, 0, search.generator, parent, 0, operator)
        child == wanted || continue
        (best == 0 || cost[operator] < cost[best]) && (best = operator)
    end
    best
end
