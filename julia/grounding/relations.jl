# Sets of ground atoms of one predicate, with the indexes that joins need. Rows are numbered from 1 in the order
# they were found; `visible` of them have been handled by the grounder, the rest wait.

"Rows that agree on some argument positions, chained: `first_row` gives the newest, `next[row]` the one before."
mutable struct Index
    positions::Vector{Int32}
    dense::Bool
    heads::Vector{Int32}
    next::Vector{Int32}
    keys::Int
end

mutable struct Relation
    name::String
    arity::Int
    objects::Int
    fluent::Bool
    args::Vector{Int32}
    count::Int
    visible::Int
    dense_keys::Int                 # with at most this many possible keys, an array serves instead of a hash table
    dense::Bool
    table::Vector{Int32}            # full key to row
    indexes::Vector{Index}
    seen::BitMatrix                 # objects × positions
    distinct::Vector{Int}           # objects seen at each position
    identity::Vector{Int32}         # 1, 2, … up to the arity
    buffer::Vector{Int32}
    ticker::Ticker                  # asked before much memory is taken and while much is done
end

function Relation(name::String, arity::Int, objects::Int, fluent::Bool, dense_keys::Int, ticker::Ticker)
    dense = Float64(objects)^arity <= dense_keys
    tick!(ticker)
    table = zeros(Int32, dense ? objects^arity : 64)
    Relation(name, arity, objects, fluent, Int32[], 0, 0, dense_keys, dense, table, Index[], falses(objects, arity),
             zeros(Int, arity), collect(Int32, 1:arity), zeros(Int32, arity), ticker)
end

"A relation that only collects rows, each given once: never searched, never joined."
Relation(name::String, arity::Int, ticker::Ticker) =
    Relation(name, arity, 0, false, Int32[], 0, 0, 0, false, Int32[], Index[], falses(0, 0), Int[], Int32[], Int32[],
             ticker)

# A key is the objects at some positions. It is given either as a row's own arguments or as `values[names[k]]`,
# the binding of variables; both must give the same number.

@inline function dense_key(objects::Int, values::Vector{Int32}, names::Vector{Int32}, from::Int, to::Int)
    key = 0
    @inbounds for k in from:to
        key = key * objects + values[names[k]] - 1
    end
    key + 1
end

@inline mix(h::UInt64, x::Int32) = (h ⊻ (x % UInt64)) * 0x9e3779b97f4a7c15

@inline function hash_key(values::Vector{Int32}, names::Vector{Int32}, from::Int, to::Int)
    h = 0x51ed270b153a4d2f
    @inbounds for k in from:to
        h = mix(h, values[names[k]])
        h ⊻= h >> 32
    end
    h
end

"The row with these arguments, or 0; and, for a hash table, the slot where it is or belongs."
@inline function find_row(r::Relation, values::Vector{Int32}, names::Vector{Int32}, from::Int, to::Int)
    if r.dense
        slot = dense_key(r.objects, values, names, from, to)
        return (@inbounds r.table[slot]), slot
    end
    mask = length(r.table) - 1
    slot = Int(hash_key(values, names, from, to) & (mask % UInt64)) + 1
    @inbounds while true
        row = r.table[slot]
        row == 0 && return row, slot
        base = (row - 1) * r.arity - from + 1
        same = true
        for k in from:to
            if r.args[base+k] != values[names[k]]
                same = false
                break
            end
        end
        same && return row, slot
        slot = (slot & mask) + 1
    end
end

"Adds the row unless it is there; true if it is new."
@inline function insert_row!(r::Relation, values::Vector{Int32}, names::Vector{Int32}, from::Int, to::Int)
    row, slot = find_row(r, values, names, from, to)
    row == 0 || return false
    r.count += 1
    @inbounds r.table[slot] = r.count
    append_row!(r, values, names, from, to)
    r.dense || 2 * r.count <= length(r.table) || rehash!(r)
    true
end

@inline function append_row!(r::Relation, values::Vector{Int32}, names::Vector{Int32}, from::Int, to::Int)
    @inbounds for k in from:to
        push_within!(r.ticker, r.args, values[names[k]])
    end
end

"Adds the row given as its arguments."
function insert_args!(r::Relation, args)
    copyto!(r.buffer, args)
    insert_row!(r, r.buffer, r.identity, 1, r.arity)
end

find_args(r::Relation, args) = (copyto!(r.buffer, args); find_row(r, r.buffer, r.identity, 1, r.arity)[1])

@noinline function rehash!(r::Relation)
    table = zeros_within(r.ticker, 2 * length(r.table))
    mask = length(table) - 1
    for row in 1:r.count
        tick!(r.ticker)
        copyto!(r.buffer, 1, r.args, (row - 1) * r.arity + 1, r.arity)
        slot = Int(hash_key(r.buffer, r.identity, 1, r.arity) & (mask % UInt64)) + 1
        while table[slot] != 0
            slot = (slot & mask) + 1
        end
        table[slot] = row
    end
    r.table = table
end

"Makes the next waiting row visible: joins find it from now on."
function show_next_row!(r::Relation)
    r.visible += 1
    row = r.visible
    base = (row - 1) * r.arity
    @inbounds for p in 1:r.arity
        object = r.args[base+p]
        if !r.seen[object, p]
            r.seen[object, p] = true
            r.distinct[p] += 1
        end
    end
    for index in r.indexes
        add_to_index!(r, index, row)
    end
    row
end

function show_all_rows!(r::Relation)
    while r.visible < r.count
        tick!(r.ticker)
        show_next_row!(r)
    end
end

"The number of the index on these positions, made if need be."
function index_number!(r::Relation, positions::Vector{Int32})
    for (i, index) in enumerate(r.indexes)
        index.positions == positions && return i
    end
    dense = Float64(r.objects)^length(positions) <= r.dense_keys
    index = Index(positions, dense, zeros(Int32, dense ? r.objects^length(positions) : 64), Int32[], 0)
    push!(r.indexes, index)
    for row in 1:r.visible
        tick!(r.ticker)
        add_to_index!(r, index, row)
    end
    length(r.indexes)
end

function add_to_index!(r::Relation, index::Index, row::Int)
    base = (row - 1) * r.arity
    slot = index_slot(r, index, base)
    @inbounds before = index.heads[slot]
    push_within!(r.ticker, index.next, before)
    @inbounds index.heads[slot] = row
    before == 0 || return
    index.keys += 1
    index.dense || 2 * index.keys <= length(index.heads) || rehash!(r, index)
    return
end

"Slot of the key that the row starting after `base` has in the index."
function index_slot(r::Relation, index::Index, base::Int)
    positions = index.positions
    if index.dense
        key = 0
        @inbounds for p in positions
            key = key * r.objects + r.args[base+p] - 1
        end
        return key + 1
    end
    h = 0x51ed270b153a4d2f
    @inbounds for p in positions
        h = mix(h, r.args[base+p])
        h ⊻= h >> 32
    end
    mask = length(index.heads) - 1
    slot = Int(h & (mask % UInt64)) + 1
    @inbounds while index.heads[slot] != 0
        other = (index.heads[slot] - 1) * r.arity
        all(p -> (@inbounds r.args[base+p] == r.args[other+p]), positions) && return slot
        slot = (slot & mask) + 1
    end
    slot
end

@noinline function rehash!(r::Relation, index::Index)
    old = index.heads
    index.heads = zeros_within(r.ticker, 2 * length(old))
    for row in old
        tick!(r.ticker)
        row == 0 && continue
        index.heads[index_slot(r, index, (row - 1) * r.arity)] = row
    end
end

"Newest row whose key is bound by `names[from:to]`, or 0."
@inline function first_row(r::Relation, index::Index, values::Vector{Int32}, names::Vector{Int32}, from::Int, to::Int)
    index.dense && return @inbounds index.heads[dense_key(r.objects, values, names, from, to)]
    mask = length(index.heads) - 1
    slot = Int(hash_key(values, names, from, to) & (mask % UInt64)) + 1
    @inbounds while true
        row = index.heads[slot]
        row == 0 && return row
        base = (row - 1) * r.arity
        same = true
        for k in from:to
            if r.args[base+index.positions[k-from+1]] != values[names[k]]
                same = false
                break
            end
        end
        same && return row
        slot = (slot & mask) + 1
    end
end

"Estimate of how many rows agree with given objects at the positions."
function fanout(r::Relation, positions::Vector{Int32})
    isempty(positions) && return Float64(r.visible)
    for index in r.indexes
        index.positions == positions && index.keys > 0 && return r.visible / index.keys
    end
    keys = 1.0
    for p in positions
        keys *= max(1, r.distinct[p])
    end
    r.visible / min(keys, max(1, r.visible))
end
