# The new parts as a flat vector: what crosses to Python. Bump `PARTS_FORMAT` with every change to it.

const PARTS_FORMAT = 2

"""
Everything met since the last call, as two vectors: `numbers` (Int32) and `features` (Float32). This is the one
description of the format, for its readers in Python too. The fields of `numbers` lie one after the other:

| Field  | Entries | Meaning                                                                                |
|:-------|:--------|:---------------------------------------------------------------------------------------|
| format | 1       | `PARTS_FORMAT`                                                                         |
| n      | 1       | how many parts of vertices are new before the first layer                              |
| flags  | n       | of each: 1 if the fact holds, plus 2 if the goal wants it, plus 4 if it wants it false |
|        |         | plus, if asked for, 8 times (1 + its distance from a goal), 0 where no way is known    |

then for each layer

| Field      | Entries | Meaning                                                                        |
|:-----------|:--------|:-------------------------------------------------------------------------------|
| edges      | groups  | the new parts of edges; the kind of a group is a layout                        |
| n          | 1       | how many parts of bags are new                                                 |
| total      | 1       | the sum of the lengths that follow                                             |
| lengths    | n       | how many distinct parts of edges each of these bags holds                      |
| edge parts | total   | those of the first bag, then those of the second …; ascending in each bag      |
| counts     | total   | how often the bag holds each of them                                           |
| vertices   | groups  | the new parts of vertices after this layer; the kind of a group is a predicate |

and at the end

| Field   | Entries | Meaning                                                                                  |
|:--------|:--------|:-----------------------------------------------------------------------------------------|
| readout | lists   | a list for each predicate of each state: the parts of its vertices after the last layer, |
|         |         | and how many vertices are each                                                           |

and of networks that rank actions (others have no groups, no lists and no places)

| Field   | Entries | Meaning                                                                                  |
|:--------|:--------|:-----------------------------------------------------------------------------------------|
| actions | groups  | the new parts of actions; the kind of a group is a layout                                |
| scored  | lists   | a list for each state: the different parts that its actions are, and how many are each   |
| n       | 1       | how many actions the states have together                                                |
| places  | n       | of each the place of its part among the first entries of all lists, from 0               |

*groups* is the number of groups, then for each group, by ascending kind:

| Field  | Entries | Meaning                                                                                  |
|:-------|:--------|:-----------------------------------------------------------------------------------------|
| kind   | 1       | edges, actions: a row of `distinct_layouts`; vertices: a predicate of the signature      |
| n      | 1       | how many parts the group has                                                             |
| width  | 1       | how many inputs each of them has                                                         |
| parts  | n       | their numbers, ascending                                                                 |
| own    | n       | edges, actions: the row of their features; vertices: their part in the layer before, 0   |
|        |         | without residual connections                                                             |
| inputs | n·width | a row for each part. Edges, actions: the parts of their facts, a column for each of the  |
|        |         | layout, 0 for no fact; vertices: the parts of their bags, 0 for an empty bag             |

*lists* is n, the n lengths, the sum of the lengths, then the first entries of all lists and then the second ones.

Kinds count from 0. Parts count from 1 in each layer, in the order they were met, and so do the rows of
features; 0 stands for nothing. Where parts have no numbers (before the first layer, and bags), theirs go on from the
call before. `features` has three entries for each new row: the cost of the action as the user wrote it, how many
preconditions it has, and how many add effects.
"""
function take_new!(distinct::DistinctParts)
    out = Int32[PARTS_FORMAT]
    first_parts = new_records(distinct.vertices[1], distinct.taken[1][1])
    push!(out, length(first_parts))
    append!(out, distinct.vertices[1].records[first_parts.+(RECORD_HEAD+1)])
    for layer in 1:distinct.layers
        vertices, edges, bags = distinct.vertices[layer+1], distinct.edges[layer], distinct.bags[layer]
        old_vertices, old_edges, old_bags = distinct.taken[layer+1]
        write_groups!(out, edges.records, new_records(edges, old_edges))
        write_bags!(out, bags.records, new_records(bags, old_bags))
        write_groups!(out, vertices.records, new_records(vertices, old_vertices))
    end
    write_lists!(out, distinct.readout_lengths, distinct.readout_parts, distinct.readout_counts)
    write_groups!(out, distinct.actions.records, new_records(distinct.actions, distinct.taken_actions))
    write_lists!(out, distinct.action_lengths, distinct.action_parts, distinct.action_counts)
    push!(out, length(distinct.action_places))
    append!(out, distinct.action_places .- Int32(1))
    features = Float32[x for f in @view(distinct.features[distinct.taken_features+1:end]) for x in f]
    count_as_taken!(distinct)
    out, features
end

function write_lists!(out::Vector{Int32}, lengths::Vector{Int32}, first::Vector{Int32}, second::Vector{Int32})
    push!(out, length(lengths))
    append!(out, lengths)
    push!(out, length(first))
    append!(out, first)
    append!(out, second)
end

"The records at these places, grouped by the first entry of their keys."
function write_groups!(out::Vector{Int32}, records::Vector{Int32}, places::Vector{Int})
    isempty(places) && return push!(out, 0)
    head = RECORD_HEAD
    kinds = sort!(unique(records[place+head] for place in places))
    push!(out, length(kinds))
    for kind in kinds
        members = filter(place -> records[place+head] == kind, places)
        width = records[members[1]+1] - 2
        push!(out, kind - Int32(1), length(members), width)
        append!(out, @view records[members])
        append!(out, @view records[members.+(head+1)])
        at = length(out)
        resize!(out, at + length(members) * width)
        for place in members
            copyto!(out, at + 1, records, place + head + 2, width)
            at += width
        end
    end
end

function write_bags!(out::Vector{Int32}, records::Vector{Int32}, places::Vector{Int})
    lengths = records[places.+1] .÷ Int32(2)
    total = sum(lengths; init = 0)
    push!(out, length(places), total)
    append!(out, lengths)
    at = length(out)
    resize!(out, at + 2total)
    @inbounds for (place, n) in zip(places, lengths), k in 1:n
        at += 1
        out[at] = records[place+RECORD_HEAD+2k-2]
        out[at+total] = records[place+RECORD_HEAD+2k-1]
    end
end
