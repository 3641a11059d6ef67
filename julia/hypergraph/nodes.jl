# Things of one task that are alike in every state that gives them the same key, and who is made of whom.

"""
Nodes: the keys that things of one task (edges, bags, or vertices with all that they hear) have had. A key is made of
what identifies other nodes or blocks, so it says that things are alike without saying what they are; that is their
part. Things with equal keys are the same node.

Nodes with members are linked: each entry of a key is a cell on the list of those that use the same thing, so that they
are found when its part changes.
"""
mutable struct Nodes
    keys::Interner
    place::Vector{Int}                  # where the record of each node begins
    members::Vector{Int32}              # how many things it is now
    part::Vector{Int32}                 # of a node without members what it was last
    linked::Vector{Bool}
    guess::Vector{Int32}                # where the last thing went that left this node: others will follow
    touched::Vector{Int32}              # nodes that may have got their first or lost their last member
    touched_at::Vector{Int32}
    asked::Vector{Int32}                # nodes whose part must be found
    asked_at::Vector{Int32}
    changed::Vector{Int32}              # nodes whose part is another one now
    next::Vector{Int32}                 # of each cell; a cell is a place in `keys.records`
    previous::Vector{Int32}             # the first cell of a list has minus the thing that is used
    user::Vector{Int32}                 # the node of the cell
end

Nodes() = Nodes(Interner(), zeros(Int, 16), (zeros(Int32, 16) for _ in 1:2)..., zeros(Bool, 16), zeros(Int32, 16),
    Int32[], zeros(Int32, 16), Int32[], zeros(Int32, 16), Int32[], (zeros(Int32, 64) for _ in 1:3)...)

Base.length(nodes::Nodes) = length(nodes.keys)

"The node of the n entries after place `from`."
@inline function node_of!(nodes::Nodes, entries::Vector{Int32}, from::Int, n::Int)
    known, place = length(nodes), length(nodes.keys.records) + 1
    node = intern!(nodes.keys, entries, from, n, hash_key(entries, from, n))
    node > known && note_place!(nodes, node, place)
    node
end

"The same for a thing that was node `old`."
@inline function node_of!(nodes::Nodes, entries::Vector{Int32}, from::Int, n::Int, old::Int32)
    @inbounds begin
        guess = nodes.guess[old]
        guess != 0 && same_key(nodes.keys.records, nodes.place[guess], entries, from, n) && return guess
        node = node_of!(nodes, entries, from, n)
        nodes.guess[old] = node
    end
    node
end

@noinline function note_place!(nodes::Nodes, node::Integer, place::Int)
    if node > length(nodes.place)
        lengthen!(nodes.place, node)
        lengthen!(nodes.linked, node)
        for list in (nodes.members, nodes.part, nodes.guess, nodes.touched_at, nodes.asked_at)
            lengthen!(list, node)
        end
    end
    nodes.place[node] = place
    records = length(nodes.keys.records)
    records > length(nodes.next) && foreach(cells -> resize!(cells, 2records), (nodes.next, nodes.previous, nodes.user))
    nothing
end

"Keys were numbered behind the back of the nodes."
function note_places!(nodes::Nodes)
    for (node, place) in enumerate(new_records(nodes.keys, 0))
        note_place!(nodes, node, place)
    end
end

@inline function move!(nodes::Nodes, old::Int32, new::Int32, stamp::Int32, count::Int32 = Int32(1))
    @inbounds nodes.members[old] -= count
    @inbounds nodes.members[new] += count
    touch!(nodes, old, stamp)
    touch!(nodes, new, stamp)
end

@inline function touch!(nodes::Nodes, node::Int32, stamp::Int32)
    @inbounds nodes.touched_at[node] == stamp && return
    @inbounds nodes.touched_at[node] = stamp
    push!(nodes.touched, node)
    nothing
end

@inline function ask!(nodes::Nodes, node::Int32, stamp::Int32)
    @inbounds nodes.asked_at[node] == stamp && return
    @inbounds nodes.asked_at[node] = stamp
    push!(nodes.asked, node)
    nothing
end

"The places of a node's key in the records."
@inline function key_range(nodes::Nodes, node::Integer)
    @inbounds place = nodes.place[node]
    @inbounds place+RECORD_HEAD:place+RECORD_HEAD+nodes.keys.records[place+1]-1
end

"Put these cells of a node on the lists of what they use; `firsts` has the first cell of each list."
@inline function link!(nodes::Nodes, firsts::Vector{Int32}, node::Int32, cells)
    @inbounds for cell in cells
        used = nodes.keys.records[cell]
        used == 0 && continue
        used > length(firsts) && lengthen!(firsts, used)
        after = firsts[used]
        nodes.next[cell], nodes.previous[cell], nodes.user[cell] = after, -used, node
        after == 0 || (nodes.previous[after] = cell)
        firsts[used] = cell
    end
end

@inline function unlink!(nodes::Nodes, firsts::Vector{Int32}, cells)
    @inbounds for cell in cells
        nodes.keys.records[cell] == 0 && continue
        before, after = nodes.previous[cell], nodes.next[cell]
        before < 0 ? (firsts[-before] = after) : (nodes.next[before] = after)
        after == 0 || (nodes.previous[after] = before)
    end
end

"Zeros at the end, so that there are at least n entries."
@noinline function lengthen!(list::Vector, n::Integer)
    known = length(list)
    n > known || return
    resize!(list, max(n, 2known))
    fill!(@view(list[known+1:end]), 0)
    nothing
end

"Ask for the parts of all that use one of these."
function ask_users!(nodes::Nodes, firsts::Vector{Int32}, used::Vector{Int32}, stamp::Int32)
    @inbounds for id in used
        id > length(firsts) && continue
        cell = firsts[id]
        while cell != 0
            ask!(nodes, nodes.user[cell], stamp)
            cell = nodes.next[cell]
        end
    end
end

"The nodes that were asked for have got their numbers in `keys`, in their order."
function take_parts!(nodes::Nodes, keys::KeyBatch)
    empty!(nodes.changed)
    @inbounds for (i, node) in enumerate(nodes.asked)
        nodes.part[node] == keys.numbers[i] && continue
        nodes.part[node] = keys.numbers[i]
        push!(nodes.changed, node)
    end
    empty!(nodes.asked)
    nothing
end

"""
Only the nodes that are linked, in their order, with the numbers in their keys from `entry` on, every `step`-th, as
`renamed` has them; and the new number of each old one. Nothing is linked then.
"""
function compacted(nodes::Nodes, renamed::Vector{Int32} = Int32[], entry::Int = 1, step::Int = 1)
    fresh, number, key = Nodes(), zeros(Int32, length(nodes)), Int32[]
    fresh.next, fresh.previous, fresh.user = nodes.next, nodes.previous, nodes.user     # they are written anew
    for node in 1:length(nodes)
        nodes.linked[node] || continue
        resize!(key, length(key_range(nodes, node)))
        copyto!(key, 1, nodes.keys.records, first(key_range(nodes, node)), length(key))
        if !isempty(renamed)
            for i in entry:step:length(key)
                key[i] == 0 || (key[i] = renamed[key[i]])
            end
        end
        number[node] = node_of!(fresh, key, 0, length(key))
    end
    for node in eachindex(number)
        number[node] == 0 && continue
        fresh.members[number[node]] = nodes.members[node]
        fresh.part[number[node]] = nodes.part[node]
        fresh.touched_at[number[node]] = nodes.touched_at[node]
        fresh.asked_at[number[node]] = nodes.asked_at[node]
    end
    fresh, number
end
