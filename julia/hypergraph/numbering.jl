# Numbers for sequences of Int32: equal sequences get equal numbers. They are compared entry by entry, never by their
# hash alone.

"""
The sequences met so far, numbered from 1 in the order they were met. A record is the number, the length and the
sequence itself; a slot of the table holds half a hash and the place of a record, so that a probe reads little memory.
"""
mutable struct Interner
    records::Vector{Int32}
    table::Vector{UInt64}
    count::Int
end

Interner() = Interner(Int32[], zeros(UInt64, 64), 0)
Base.length(in::Interner) = in.count

const RECORD_HEAD = 2

@inline hash_in(entry::UInt64) = entry & 0xffffffff00000000
@inline place_in(entry::UInt64) = entry % UInt32 % Int
@inline first_slot(hash::UInt64, slots::Int) = (hash >> 32) % Int & (slots - 1) + 1

"The hash of the n entries after place `from`, in the upper half."
@inline function hash_key(entries::Vector{Int32}, from::Int, n::Int)
    h = 0x9e3779b97f4a7c15 ⊻ UInt64(n)
    @inbounds for i in from+1:from+n
        h = (h ⊻ (entries[i] % UInt32)) * 0xd6e8feb86659fd93
        h ⊻= h >> 32
    end
    hash_in(h ⊻ (h << 32))
end

"""
Keys that are numbered together: the n-th is `entries[ends[n]+1:ends[n+1]]`. The memory they need is asked for before
any of them is looked up, so that the waits overlap.
"""
mutable struct KeyBatch
    entries::Vector{Int32}
    ends::Vector{Int}
    hashes::Vector{UInt64}
    numbers::Vector{Int32}              # the answers
    count::Int
    asked::UInt64                       # only there so that asking is not optimised away
end

KeyBatch() = KeyBatch(zeros(Int32, 64), zeros(Int, 64), zeros(UInt64, 64), zeros(Int32, 64), 0, 0)

function clear!(batch::KeyBatch)
    batch.count = 0
    nothing
end

"Room for one more key of at most n entries; the place after which it is to be written."
@inline function open_key!(batch::KeyBatch, n::Integer)
    at = @inbounds batch.ends[batch.count+1]
    at + n > length(batch.entries) && resize!(batch.entries, 2 * (at + n))
    at
end

"The key that was opened last has n entries."
@inline function close_key!(batch::KeyBatch, n::Integer)
    count = batch.count + 1
    if count >= length(batch.hashes)
        foreach(list -> resize!(list, 2count), (batch.hashes, batch.numbers))
        resize!(batch.ends, 2count + 1)
    end
    @inbounds batch.ends[count+1] = batch.ends[count] + n
    batch.count = count
    nothing
end

const PORTION = 1 << 12

"Fill `batch.numbers`."
function number_all!(in::Interner, batch::KeyBatch, ticker::Ticker = Ticker())
    for first in 1:PORTION:batch.count
        last = min(first + PORTION - 1, batch.count)
        number_some!(in, batch, first:last)
        tick!(ticker, last - first + 1)
    end
end

function number_some!(in::Interner, batch::KeyBatch, some::UnitRange{Int})
    entries, ends, hashes, numbers = batch.entries, batch.ends, batch.hashes, batch.numbers
    table, records, slots = in.table, in.records, length(in.table)
    asked = zero(UInt64)
    @inbounds for i in some
        hashes[i] = hash = hash_key(entries, ends[i], ends[i+1] - ends[i])
        asked ⊻= table[first_slot(hash, slots)]
    end
    @inbounds for i in some
        place = place_in(table[first_slot(hashes[i], slots)])
        place == 0 || (asked ⊻= records[place] % UInt64)
    end
    batch.asked = asked
    @inbounds for i in some
        numbers[i] = intern!(in, entries, ends[i], ends[i+1] - ends[i], hashes[i])
    end
end

"The number of the n entries after place `from`."
@inline function intern!(in::Interner, entries::Vector{Int32}, from::Int, n::Int, hash::UInt64)
    table, records = in.table, in.records
    slot = first_slot(hash, length(table))
    @inbounds while true
        entry = table[slot]
        entry == 0 && break
        place = place_in(entry)
        hash_in(entry) == hash && same_key(records, place, entries, from, n) && return records[place]
        slot = slot & (length(table) - 1) + 1
    end
    add_record!(in, entries, from, n, hash, slot)
end

@inline function same_key(records::Vector{Int32}, place::Int, entries::Vector{Int32}, from::Int, n::Int)
    @inbounds begin
        records[place+1] == n || return false
        for i in 1:n
            records[place+1+i] == entries[from+i] || return false
        end
    end
    true
end

@noinline function add_record!(in::Interner, entries::Vector{Int32}, from::Int, n::Int, hash::UInt64, slot::Int)
    place = length(in.records) + 1
    place <= typemax(UInt32) || throw(PlanRankError(:memory, "out of memory while scoring: too many different parts"))
    in.count += 1
    resize!(in.records, place + 1 + n)
    in.records[place] = in.count
    in.records[place+1] = n
    copyto!(in.records, place + RECORD_HEAD, entries, from + 1, n)
    in.table[slot] = hash | place % UInt64
    2 * in.count >= length(in.table) && rebuild!(in)
    in.count % Int32
end

function rebuild!(in::Interner)
    entries = filter(!=(0), in.table)
    in.table = table = zeros(UInt64, 4 * length(in.table))
    for entry in entries
        slot = first_slot(hash_in(entry), length(table))
        while table[slot] != 0
            slot = slot & (length(table) - 1) + 1
        end
        table[slot] = entry
    end
end

"Where the records begin that come after the first `taken` entries of `records`."
function new_records(in::Interner, taken::Int)
    places, place = Int[], taken + 1
    while place <= length(in.records)
        push!(places, place)
        place += RECORD_HEAD + in.records[place+1]
    end
    places
end

# Multisets

"The hash of a pair in a multiset; that of a multiset is their sum, in whatever order they come."
@inline function hash_pair(pair::UInt64)
    pair = (pair ⊻ (pair >> 31)) * 0x9e3779b97f4a7c15
    pair = (pair ⊻ (pair >> 29)) * 0xbf58476d1ce4e5b9
    pair ⊻ (pair >> 32)
end

"""
The number of a multiset given as n pairs in any order, item in the upper half and how often it occurs in the lower; no
item comes twice. Its record has items and counts in turn, ascending. `tally` is zero for all items, and so it is left.
An interner that numbers multisets numbers nothing else.
"""
function intern_multiset!(in::Interner, pairs::Vector{UInt64}, n::Int, tally::Vector{Int32}, key::Vector{Int32})
    sum = zero(UInt64)
    @inbounds for i in 1:n
        pair = pairs[i]
        sum += hash_pair(pair)
        tally[pair>>32] = pair % Int32
    end
    hash = hash_in(sum ⊻ (sum << 32))
    table, records = in.table, in.records
    slot, found = first_slot(hash, length(table)), 0
    @inbounds while table[slot] != 0
        place = place_in(table[slot])
        if hash_in(table[slot]) == hash && same_multiset(records, place, tally, n)
            found = place
            break
        end
        slot = slot & (length(table) - 1) + 1
    end
    @inbounds for i in 1:n
        tally[pairs[i]>>32] = 0
    end
    found == 0 || return @inbounds records[found]
    sort_between!(pairs, 1, n)
    length(key) < 2n && resize!(key, 4n)
    @inbounds for i in 1:n
        key[2i-1], key[2i] = (pairs[i] >> 32) % Int32, pairs[i] % Int32
    end
    add_record!(in, key, 0, 2n, hash, slot)
end

"Both have n different items, so it is enough that those of the record are in the tally."
@inline function same_multiset(records::Vector{Int32}, place::Int, tally::Vector{Int32}, n::Int)
    @inbounds begin
        records[place+1] == 2n || return false
        for i in place+RECORD_HEAD:2:place+RECORD_HEAD+2n-1
            tally[records[i]] == records[i+1] || return false
        end
    end
    true
end
