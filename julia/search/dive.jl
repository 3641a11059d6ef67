# Diving: greedy search that every second time goes on from where it is, with the best action there, instead of with the
# best of all that is open. A model may know which action is best in a state where its values of states far apart cannot
# be compared, or the other way round.

"""
`path` are the states of the dive, each a successor of the one before it; a state of which no entry is left is gone.
A state with the lowest q so far begins a new dive.
"""
mutable struct Dive
    path::Vector{Int32}
    is_next::Bool                       # rather than the open list
    lowest::Float32
end

Dive() = Dive(Int32[], false, Inf32)

function note_row!(search, rule::EntryRule{Dive}, id::Int32)
    has_entries(rule, id) || return
    dive, q = rule.extension, rule.rows.numbers[best_entry(rule, id)]
    goes_on = !isempty(dive.path) && search.store.parent[id] == dive.path[end]
    if q < dive.lowest
        goes_on || empty!(dive.path)
        dive.lowest = q
        goes_on = true
    end
    goes_on && push!(dive.path, id)
    nothing
end

function pop_node!(search::Search{EntryRule{Dive}})
    rule, dive = search.rule, search.rule.extension
    dive.is_next = !dive.is_next
    if dive.is_next
        while !isempty(dive.path)
            id = dive.path[end]
            if has_entries(rule, id)
                search.store.status[id] = IS_CLOSED
                return id
            end
            pop!(dive.path)
        end
    end
    invoke(pop_node!, Tuple{Search}, search)
end

bytes(dive::Dive) = sizeof(dive.path)
release!(dive::Dive) = nothing
