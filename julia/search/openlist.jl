# Open lists. Both hand out the entry with the lowest f; among equals the one with the lower tie value, then the newest
# or the oldest. Neither removes entries whose node has changed since: the search skips those when they come up.

"Binary heaps in any vector; `before(a, b)` says that a comes out first."
@inline function heap_push!(before::F, heap, entry) where {F}
    push!(heap, entry)
    at = length(heap)
    @inbounds while at > 1
        above = at >> 1
        other = heap[above]
        before(entry, other) || break
        heap[at] = other
        at = above
    end
    @inbounds heap[at] = entry
    nothing
end

@inline function heap_pop!(before::F, heap) where {F}
    @inbounds top = heap[1]
    entry = pop!(heap)
    n = length(heap)
    n == 0 && return top
    at = 1
    @inbounds while true
        child = 2 * at
        child > n && break
        child < n && before(heap[child+1], heap[child]) && (child += 1)
        before(heap[child], entry) || break
        heap[at] = heap[child]
        at = child
    end
    @inbounds heap[at] = entry
    top
end

struct HeapEntry
    f::Float64
    tie::Float32                        # lower comes first among equals, …
    turn::UInt32                        # … and then this
    id::Int32
end

"A binary heap. The tie value of an entry is h of its node when it was pushed."
mutable struct HeapOpen
    entries::GrowingVector{HeapEntry}
    h::GrowingVector{Float32}
    ties::Symbol
    pushed::UInt32
    random::UInt64
end

HeapOpen(h::GrowingVector{Float32}, ties::Symbol, seed::Integer) =
    HeapOpen(GrowingVector{HeapEntry}(), h, ties, 0, seed % UInt64 ⊻ 0x9e3779b97f4a7c15)

ties_by_h(ties::Symbol) = ties === :h_newest || ties === :h_oldest
newest_first(ties::Symbol) = ties === :h_newest || ties === :newest

@inline function comes_first(a::HeapEntry, b::HeapEntry)
    a.f == b.f || return a.f < b.f
    a.tie == b.tie || return a.tie < b.tie
    a.turn < b.turn
end

"The place among equals of something so old: ages count up."
function turn_of!(open::HeapOpen, age::UInt32)
    newest_first(open.ties) && return ~age
    open.ties === :random || return age
    open.random = open.random * 0x5851f42d4c957f2d + 0x14057b7ef767814f
    (open.random >> 32) % UInt32
end

push_open!(open::HeapOpen, id::Int32, f::Float64) = push_open!(open, id, f, open.pushed += one(UInt32))

push_open!(open::HeapOpen, id::Int32, f::Float64, age::UInt32) = push_entry!(open, id, f, open.h[id], age)

push_entry!(open::HeapOpen, id::Int32, f::Float64, h::Float32, age::UInt32) = heap_push!(comes_first, open.entries,
    HeapEntry(f, ties_by_h(open.ties) ? h : 0.0f0, turn_of!(open, age), id))

"The best entry and its f; the list must not be empty."
function pop_open!(open::HeapOpen)
    entry = heap_pop!(comes_first, open.entries)
    entry.id, entry.f
end

Base.isempty(open::HeapOpen) = isempty(open.entries)
bytes(open::HeapOpen) = bytes(open.entries)
release!(open::HeapOpen) = release!(open.entries)

"Ids with the same f and tie value, in the order they came; those before `first` are gone."
mutable struct Bucket
    key::UInt64
    ids::GrowingVector{Int32}
    first::Int
end

"""
An open list for values that are whole numbers, as those of classical heuristics are: few distinct keys, so a heap of
keys and a list for each. Four bytes an entry, and a push that does not depend on the number of entries.
"""
mutable struct BucketOpen
    buckets::Vector{Bucket}
    free::Vector{Int32}
    where_is::Dict{UInt64,Int32}
    keys::Vector{UInt64}
    last_used::Int32
    entries::Int
    h::GrowingVector{Float32}
    ties::Symbol
end

BucketOpen(h::GrowingVector{Float32}, ties::Symbol) =
    BucketOpen(Bucket[], Int32[], Dict{UInt64,Int32}(), UInt64[], 0, 0, h, ties)

const BUCKET_LIMIT = 4.0e9

is_whole(value::Real) = 0 <= value < BUCKET_LIMIT && value == trunc(value)

"Whether this list can take the value, and is still the better choice: a bucket costs as much as thirty heap entries."
function fits(open::BucketOpen, id::Int32, f::Float64)
    is_whole(f) && (!ties_by_h(open.ties) || is_whole(open.h[id])) &&
        (length(open.keys) < 1000 || 30 * length(open.keys) < open.entries)
end

function push_open!(open::BucketOpen, id::Int32, f::Float64)
    tie = ties_by_h(open.ties) ? unsafe_trunc(UInt64, open.h[id]) : zero(UInt64)
    key = unsafe_trunc(UInt64, f) << 32 | tie
    at = open.last_used
    if at == 0 || @inbounds open.buckets[at].key != key
        at = get(open.where_is, key, zero(Int32))
        at == 0 && (at = add_bucket!(open, key))
        open.last_used = at
    end
    @inbounds push!(open.buckets[at].ids, id)
    open.entries += 1
    nothing
end

@noinline function add_bucket!(open::BucketOpen, key::UInt64)
    if isempty(open.free)
        push!(open.buckets, Bucket(key, GrowingVector{Int32}(), 1))
        at = length(open.buckets) % Int32
    else
        at = pop!(open.free)
        open.buckets[at].key = key
    end
    open.where_is[key] = at
    heap_push!(<, open.keys, key)
    at
end

function pop_open!(open::BucketOpen)
    key = open.keys[1]
    at = open.where_is[key]
    bucket = open.buckets[at]
    if newest_first(open.ties)
        id = pop!(bucket.ids)
    else
        id = bucket.ids[bucket.first]
        bucket.first += 1
    end
    open.entries -= 1
    bucket.first > length(bucket.ids) && drop_bucket!(open, at)
    id, Float64(key >> 32)
end

@noinline function drop_bucket!(open::BucketOpen, at::Int32)
    bucket = open.buckets[at]
    heap_pop!(<, open.keys)
    delete!(open.where_is, bucket.key)
    bucket.ids.capacity > 1024 ? release!(bucket.ids) : empty!(bucket.ids)
    bucket.key = typemax(UInt64)
    bucket.first = 1
    push!(open.free, at)
end

Base.isempty(open::BucketOpen) = open.entries == 0
bytes(open::BucketOpen) = 4 * open.entries + 200 * length(open.buckets)

release!(open::BucketOpen) = foreach(bucket -> release!(bucket.ids), open.buckets)

"The same entries, in the same order of ties, in a binary heap."
function heap_from(open::BucketOpen, seed::Integer)
    heap = HeapOpen(open.h, open.ties, seed)
    for bucket in open.buckets, i in bucket.first:length(bucket.ids)
        push_open!(heap, bucket.ids[i], Float64(bucket.key >> 32))
    end
    heap
end
