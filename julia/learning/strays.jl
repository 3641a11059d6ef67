# States off a plan that a search went to: where it went astray, and what its ranking should learn to avoid.

"""
States off a plan of l steps. Number k is where an action leads from the state `parent[k]`: one of s_0 … s_{l-1}, which
are 1 to l, or an earlier one of these, the first of which is l + 2. `operator(applicable, k)` names the action, one of
those applicable there. None is a state of the plan, and no two are the same.
"""
struct Strays{F}
    parent::Vector{Int32}
    operator::F
end

const NO_STRAYS = Strays(Int32[], (applicable, k) -> Int32(0))

Strays(parent::Vector{Int32}, operators::Vector{Int32}) = Strays(parent,
    (applicable, k) -> operators[k] in applicable ? operators[k] : bad_stray(k, "its action is not applicable"))

"In words, a line each: the number of the state, counted from 0, and the action."
function Strays(task::Task, text::AbstractString)
    lines = [split(line, ' '; limit = 2) for line in split(text, '\n') if !isempty(line)]
    parents = [tryparse(Int32, first(line)) for line in lines]
    for (k, line) in enumerate(lines)
        length(line) == 2 && parents[k] !== nothing || bad_stray(k, "is `$(join(line, ' '))`, expected NUMBER (ACTION)")
    end
    function operator(applicable, k)
        at = findfirst(o -> operator_name(task, o) == lines[k][2], applicable)
        at === nothing ? bad_stray(k, "$(lines[k][2]) is not applicable") : applicable[at]
    end
    Strays(Int32[parent + 1 for parent in parents], operator)
end

Base.length(strays::Strays) = length(strays.parent)

bad_stray(k::Integer, message::AbstractString) = throw(PlanRankError(:meaning, "state $k off the plan: $message"))

"The state that stray k comes from; a plan has n states, and nothing comes from the goal."
function parent_of(strays::Strays, k::Integer, n::Integer)
    parent = strays.parent[k]
    1 <= parent < n || n < parent < n + k || bad_stray(k, "comes from state $(parent - 1), which is not before it")
    parent
end

"The step at which the plan was left on the way to each stray."
function first_steps(strays::Strays, n::Integer)
    steps = Int32[]
    for k in 1:length(strays)
        parent = parent_of(strays, k, n)
        push!(steps, parent < n ? parent : steps[parent-n])
    end
    steps
end

"Whether the search went on from this state; with entries, whether it took one that leads there, and it is no dead end."
is_expanded(search::Search, id::Integer) = search.store.status[id] == IS_CLOSED
is_expanded(search::Search{<:EntryRule}, id::Integer) =
    id < search.first_waiting && search.store.status[id] != IS_DEAD

"""
The states off a plan that the search has expanded and that actions lead to from states of the plan, then those that
actions lead to from these, and so on: parents and operators, as `Strays` has them. The nearest come first, and at most
`most`; where those of one distance are too many, they are taken evenly. The plan need not be one that the search found.
"""
function expanded_strays(search::Search, plan::Vector{Int32}, most::Integer)
    generator, near = search.generator, StateStore(nwords(search.task))
    add_state!(near, search.task.init)
    for (i, operator) in enumerate(plan)
        last(successor!(near, generator, i, operator)) || bad_plan("step $i leads back to a state of the plan")
    end
    parents, operators, met = Int32[], Int32[], Set{Int32}()
    layer = 1:length(plan)
    while !isempty(layer) && length(parents) < most
        found = Tuple{Int32,Int32}[]
        for s in layer, operator in applicable_in(near, generator, s)
            id = met_off_plan(search, near, s, operator)
            id == 0 || id in met || !is_expanded(search, id) || (push!(met, id); push!(found, (s, operator)))
        end
        room = min(most - length(parents), length(found))
        before = near.count
        for i in 1:room
            s, operator = found[(i * length(found)) ÷ room]
            successor!(near, generator, s, operator)
            push!(parents, s)
            push!(operators, operator)
        end
        layer = before+1:near.count
    end
    release!(near)
    parents, operators
end

"The search's number of the state that an action leads to, 0 if it does not know that or it is near already."
function met_off_plan(search::Search, near::StateStore, s::Integer, operator::Integer)
    store = search.store
    hash = write_successor!(near, search.generator, s, hash_words(near, state_offset(near, s)), operator)
    find(near, hash) == 0 || return zero(Int32)
    to, from = scratch_offset(store), scratch_offset(near)
    for i in 1:store.nwords
        store.words[to+i] = near.words[from+i]
    end
    find(store, hash)
end
