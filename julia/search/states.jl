const IS_OPEN = 0x00
const IS_CLOSED = 0x01
const IS_DEAD = 0x02

"""
Every state the search has seen, as rows of packed words, with what the search knows about each beside it.
The row after the last is scratch space: a candidate is written there and kept if it turns out to be new.

The duplicate table holds one UInt32 for each slot: the id in its low bits, and as many bits of the hash above it
as there is room for, so that almost no probe reads a state that is not the one looked for.
"""
mutable struct StateStore
    nwords::Int
    count::Int
    words::GrowingVector{UInt64}
    parent::GrowingVector{Int32}
    operator::GrowingVector{Int32}
    g::GrowingVector{Int64}             # a path may cost more than any action
    h::GrowingVector{Float32}
    status::GrowingVector{UInt8}
    table::GrowingVector{UInt32}
    id_bits::Int
    room::Int                           # ids the table may hold before it is rebuilt
    word_keys::Vector{UInt64}
end

const SMALL_TABLE = 1 << 12
const MAX_STATES = Int(typemax(Int32)) - 1

function StateStore(nwords::Integer)
    word_keys = Vector{UInt64}(undef, nwords)
    key = 0x9e3779b97f4a7c15
    for i in 1:nwords
        key = mix_word(key, 0xd1342543de82ef95) + 0x9e3779b97f4a7c15 * UInt64(i)
        word_keys[i] = key
    end
    store = StateStore(nwords, 0, GrowingVector{UInt64}(), GrowingVector{Int32}(), GrowingVector{Int32}(),
        GrowingVector{Int64}(), GrowingVector{Float32}(), GrowingVector{UInt8}(), GrowingVector{UInt32}(), 0, 0,
        word_keys)
    rebuild_table!(store, SMALL_TABLE)
    reserve!(store.words, nwords)
    store
end

state_offset(store::StateStore, id::Integer) = (Int(id) - 1) * store.nwords
scratch_offset(store::StateStore) = store.count * store.nwords

@inline function mix_word(word::UInt64, key::UInt64)
    product = widemul(word ⊻ key, 0xa0761d6478bd642f)
    (product >> 64) % UInt64 ⊻ product % UInt64
end

"A sum over the words, so that the hash of a successor follows from its parent's and the words that changed."
@inline function hash_words(store::StateStore, offset::Int)
    sum = zero(UInt64)
    for i in 1:store.nwords
        sum += mix_word(store.words[offset+i], @inbounds store.word_keys[i])
    end
    sum
end

@inline function table_slot(store::StateStore, hash::UInt64)
    spread = hash * 0x9e3779b97f4a7c15
    (widemul(spread, store.table.length % UInt64) >> 64) % Int + 1
end

@inline fingerprint(store::StateStore, hash::UInt64) = (hash % UInt32) << store.id_bits

@inline function same_words(store::StateStore, a::Int, b::Int)
    words = store.words
    for i in 1:store.nwords
        words[a+i] == words[b+i] || return false
    end
    true
end

"The id of the state in the scratch row, 0 if it is not known, and the slot of the table where it is or would be."
@inline function find_slot(store::StateStore, hash::UInt64)
    table = store.table
    mark = fingerprint(store, hash)
    id_mask = (one(UInt32) << store.id_bits) - one(UInt32)
    slot = table_slot(store, hash)
    scratch = scratch_offset(store)
    while true
        entry = table[slot]
        entry == 0 && return zero(Int32), slot
        if entry & ~id_mask == mark
            id = (entry & id_mask) % Int32
            same_words(store, state_offset(store, id), scratch) && return id, slot
        end
        slot = slot == table.length ? 1 : slot + 1
    end
end

find(store::StateStore, hash::UInt64) = first(find_slot(store, hash))

"The id of the state in the scratch row, and whether it is new; a new one is kept, its other columns still unset."
function find_or_add!(store::StateStore, hash::UInt64)
    id, slot = find_slot(store, hash)
    id == 0 || return id, false
    add_scratch!(store)
    store.table[slot] = fingerprint(store, hash) | store.count % UInt32
    store.count == store.room && rebuild_table!(store, larger_table(store))
    store.count % Int32, true
end

function add_scratch!(store::StateStore)
    store.count += 1
    n = store.count
    lengthen_to!(store.parent, n)
    lengthen_to!(store.operator, n)
    lengthen_to!(store.g, n)
    lengthen_to!(store.h, n)
    lengthen_to!(store.status, n)
    store.words.length = n * store.nwords
    reserve!(store.words, (n + 1) * store.nwords)
    nothing
end

"Large tables grow by half only: doubling would waste more memory than the rest of a node takes."
larger_table(store::StateStore) =
    (slots = store.table.length; slots < 1 << 20 ? 2 * slots : slots + slots >> 1)

"The table is made again from the stored states, so the old one can be released before the new one is asked for."
@noinline function rebuild_table!(store::StateStore, slots::Int)
    room = min((slots ÷ 4) * 3, MAX_STATES)
    store.count >= room && throw(OutOfMemoryError())
    store.room = room
    store.id_bits = 64 - leading_zeros(room)
    table = store.table
    reset_zero!(table, slots)
    for id in 1:store.count
        hash = hash_words(store, state_offset(store, id))
        slot = table_slot(store, hash)
        while table[slot] != 0
            slot = slot == slots ? 1 : slot + 1
        end
        table[slot] = fingerprint(store, hash) | id % UInt32
    end
    nothing
end

"Resident bytes, approximately: columns as far as they are written, and the whole table."
bytes(store::StateStore) =
    bytes(store.words) + bytes(store.parent) + bytes(store.operator) + bytes(store.g) + bytes(store.h) +
    bytes(store.status) + bytes(store.table)

function release!(store::StateStore)
    for column in (store.words, store.parent, store.operator, store.g, store.h, store.status, store.table)
        release!(column)
    end
end

"What the table will take beyond today's size once one more state makes it grow; 0 if it need not."
table_growth_bytes(store::StateStore) =
    store.count + 1 < store.room ? 0 : (larger_table(store) - store.table.length) * sizeof(UInt32)

"Append the state that has exactly these facts; for the initial state and for tests."
function add_state!(store::StateStore, facts)
    scratch = scratch_offset(store)
    for i in 1:store.nwords
        store.words[scratch+i] = zero(UInt64)
    end
    for fact in facts
        set_fact!(store.words, scratch, fact)
    end
    find_or_add!(store, hash_words(store, scratch))
end

@inline word_of(fact::Integer) = (Int(fact) - 1) >> 6 + 1
@inline bit_of(fact::Integer) = one(UInt64) << ((Int(fact) - 1) & 63)
@inline has_fact(words, offset::Int, fact::Integer) = @inbounds words[offset+word_of(fact)] & bit_of(fact) != 0
@inline set_fact!(words, offset::Int, fact::Integer) = @inbounds words[offset+word_of(fact)] |= bit_of(fact)
@inline clear_fact!(words, offset::Int, fact::Integer) = @inbounds words[offset+word_of(fact)] &= ~bit_of(fact)

function pack_facts(facts, nwords::Integer)
    words = zeros(UInt64, nwords)
    for fact in facts
        set_fact!(words, 0, fact)
    end
    words
end
