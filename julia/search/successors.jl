"One word of an operator's unconditional effect: clear, then set."
struct EffectWord
    word::Int32
    clear::UInt64
    set::UInt64
end

"""
A node of the precondition trie. `tests` are facts that all operators below need; `operators` need nothing more;
`lanes` lead to children, one for each further fact.
"""
struct TrieNode
    first_test::Int32
    last_test::Int32
    first_operator::Int32
    last_operator::Int32
    first_lane::Int32
    last_lane::Int32
end

"Children for the facts of one word of the state: the r-th bit of `mask` belongs to node `first_child + r - 1`."
struct TrieLane
    mask::UInt64
    word::Int32
    first_child::Int32
end

"Finds the operators applicable in a packed state, and applies them."
struct SuccessorGenerator
    nodes::Vector{TrieNode}
    lanes::Vector{TrieLane}
    tests::Vector{Int32}
    operators::Vector{Int32}
    stack::Vector{Int32}
    has_negative::Bool
    neg::Rows
    effect_offsets::Vector{Int32}
    effects::Vector{EffectWord}
    task::Task
end

"""
Facts that are seldom true come first in the trie, so that most branches end early. How often a fact is true is
estimated on random walks from the initial state.
"""
function SuccessorGenerator(task::Task, limits::Limits = Limits())
    ticker = Ticker(limits, PREPARING)
    effect_offsets, effects = effect_words(task, ticker)
    build(rank) = SuccessorGenerator(build_trie(task, rank, ticker)..., Int32[], length(task.neg.values) > 0, task.neg,
        effect_offsets, effects, task)
    uses = uses_of_facts(task, ticker)
    frequency = truth_frequency(task, build(places(uses, ticker)), ticker)
    build(places(frequency .* (noperators(task) + 1) .+ uses, ticker))
end

"The place of each entry in ascending order."
places(values::Vector{Int}, ticker::Ticker) =
    Vector{Int32}(invperm(sorted(length(values), (i, j) -> values[i] < values[j], ticker)))

"The numbers 1 to n in the order of `before`; equals stay as they are. A quicksort may take quadratic time."
function sorted(n::Integer, before::F, ticker::Ticker) where {F}
    claim!(ticker, 6n)
    sort!(collect(Int32, 1:n); lt = (i, j) -> (tick!(ticker); before(i, j)), alg = MergeSort)
end

function uses_of_facts(task::Task, ticker::Ticker)
    uses = zeros(Int, nfacts(task))
    for fact in task.pre.values
        tick!(ticker)
        uses[fact] += 1
    end
    uses
end

const WALKS = 20
const WALK_LENGTH = 30
const MOST_FOUND = 5_000_000            # operators on all walks: where each step has millions a few steps must do

function truth_frequency(task::Task, generator::SuccessorGenerator, ticker::Ticker)
    frequency = zeros(Int, nfacts(task))
    random, found = UInt64(20240229), 0
    applicable = Int32[]
    n = nwords(task)
    for _ in 1:WALKS
        state = pack_facts(task.init, n)
        for _ in 1:WALK_LENGTH
            look!(ticker)
            empty!(applicable)
            applicable_operators!(applicable, generator, state, 0)
            found += length(applicable)
            found > MOST_FOUND && return frequency
            isempty(applicable) && break
            random = random * 0x5851f42d4c957f2d + 0x14057b7ef767814f
            operator = applicable[(random>>33)%length(applicable)+1]
            next = similar(state)
            apply!(next, 0, generator, state, 0, operator)
            state = next
            for i in 1:n
                bits = state[i]
                while bits != 0
                    frequency[64*(i-1)+trailing_zeros(bits)+1] += 1
                    bits &= bits - one(UInt64)
                end
            end
        end
    end
    frequency
end

function effect_words(task::Task, ticker::Ticker)
    most = length(task.del.values) + length(task.add.values)
    claim!(ticker, most * sizeof(EffectWord))
    offsets = sizehint!(Int32[1], noperators(task) + 1)
    effects = sizehint!(EffectWord[], most)
    for operator in 1:noperators(task)
        first_effect = length(effects) + 1
        for (facts, adds) in ((row(task.del, operator), false), (row(task.add, operator), true)), fact in facts
            tick!(ticker, 2 + length(effects) - first_effect)
            word, bit = Int32(word_of(fact)), bit_of(fact)
            at = findnext(e -> e.word == word, effects, first_effect)
            if at === nothing
                push!(effects, EffectWord(word, 0, 0))
                at = length(effects)
            end
            old = effects[at]
            effects[at] = adds ? EffectWord(word, old.clear, old.set | bit) : EffectWord(word, old.clear | bit, old.set)
        end
        push!(offsets, length(effects) + 1)
    end
    offsets, effects
end

"The ranks of each operator's preconditions, ascending and without repetition."
function ranked_preconditions(task::Task, rank::Vector{Int32}, ticker::Ticker)
    claim!(ticker, 4 * (noperators(task) + length(task.pre.values)))
    keys = Rows(sizehint!(Int32[1], noperators(task) + 1), sizehint!(Int32[], length(task.pre.values)))
    for operator in 1:noperators(task)
        for fact in row(task.pre, operator)
            tick!(ticker)
            push!(keys.values, rank[fact])
        end
        close_set!(keys)
    end
    keys
end

"""
The order of rows as words in a dictionary; of equal rows i comes before j if `tie(i, j)`. Four numbers fit into one
large one, which decides most comparisons.
"""
function dictionary_order(keys::Rows, ticker::Ticker, tie::F = (i, j) -> false) where {F}
    claim!(ticker, 16 * length(keys))
    heads = zeros(UInt128, length(keys))
    for i in 1:length(keys), (k, key) in enumerate(row(keys, i))
        tick!(ticker)
        k <= 4 && (heads[i] |= UInt128(key) << (32 * (4 - k)))
    end
    function before(i, j)
        @inbounds heads[i] == heads[j] || return heads[i] < heads[j]
        order = compared(keys, i, j)
        order == 0 ? tie(i, j) : order < 0
    end
    sorted(length(keys), before, ticker)
end

"`rank[f]` is the place of fact f in the order in which preconditions are looked at."
function build_trie(task::Task, rank::Vector{Int32}, ticker::Ticker)
    keys = ranked_preconditions(task, rank, ticker)
    order = dictionary_order(keys, ticker)
    count(place) = keys.offsets[order[place]+1] - keys.offsets[order[place]]
    key(place, k) = keys.values[keys.offsets[order[place]]+k-1]
    fact_of_rank = invperm(rank)
    nodes, lanes = [TrieNode(1, 0, 1, 0, 1, 0)], TrieLane[]
    tests, operators = Int32[], Int32[]
    waiting = [(1, 1, length(order), 0)]        # node, range of `order`, how many of their keys are dealt with
    groups = Tuple{Int,Int,Int}[]
    while !isempty(waiting)
        node, first, last, depth = pop!(waiting)
        first > last && break
        tick!(ticker, last - first + 1)
        first_test = length(tests) + 1
        shared = depth
        while shared < count(first) && shared < count(last) && key(first, shared + 1) == key(last, shared + 1)
            shared += 1
            push!(tests, fact_of_rank[key(first, shared)])
        end
        first_operator = length(operators) + 1
        while first <= last && count(first) == shared
            push!(operators, order[first])
            first += 1
        end
        next = shared + 1
        group_by_fact!(place -> fact_of_rank[key(place, next)], groups, first, last)
        first_lane = length(lanes) + 1
        for (fact, from, to) in groups
            push!(nodes, TrieNode(1, 0, 1, 0, 1, 0))
            word, bit = word_of(fact), bit_of(fact)
            if length(lanes) >= first_lane && lanes[end].word == word
                lanes[end] = TrieLane(lanes[end].mask | bit, word, lanes[end].first_child)
            else
                push!(lanes, TrieLane(bit, word, length(nodes)))
            end
            push!(waiting, (length(nodes), from, to, next))
        end
        nodes[node] = TrieNode(first_test, length(tests), first_operator, length(operators), first_lane, length(lanes))
    end
    nodes, lanes, tests, operators
end

"Write (fact, first place, last place) into `groups` for each run of places with the same fact, by ascending fact."
function group_by_fact!(fact_at::F, groups::Vector{Tuple{Int,Int,Int}}, first::Int, last::Int) where {F}
    empty!(groups)
    while first <= last
        fact, from = Int(fact_at(first)), first
        while first <= last && fact_at(first) == fact
            first += 1
        end
        push!(groups, (fact, from, first - 1))
    end
    sort!(groups)
end

"Append the operators applicable in the state at `words[offset+1:…]` to `found`."
function applicable_operators!(found::Vector{Int32}, generator::SuccessorGenerator, words, offset::Int)
    nodes, lanes, tests, operators = generator.nodes, generator.lanes, generator.tests, generator.operators
    stack = generator.stack
    before = length(found)
    isempty(stack) && push!(stack, 1)
    stack[1] = 1
    top = 1
    @inbounds while top > 0
        node = nodes[stack[top]]
        top -= 1
        fits = true
        for t in node.first_test:node.last_test
            fits &= has_fact(words, offset, tests[t])
        end
        fits || continue
        for o in node.first_operator:node.last_operator
            push!(found, operators[o])
        end
        for l in node.first_lane:node.last_lane
            lane = lanes[l]
            bits = words[offset+lane.word] & lane.mask
            while bits != 0
                lowest = bits & -bits
                top += 1
                top > length(stack) && push!(stack, 0)
                stack[top] = lane.first_child + count_ones(lane.mask & (lowest - one(UInt64)))
                bits ⊻= lowest
            end
        end
    end
    generator.has_negative && drop_forbidden!(found, before, generator.neg, words, offset)
    found
end

function drop_forbidden!(found::Vector{Int32}, before::Int, neg::Rows, words, offset::Int)
    kept = before
    for i in before+1:length(found)
        operator = found[i]
        any(fact -> has_fact(words, offset, fact), row(neg, operator)) && continue
        kept += 1
        found[kept] = operator
    end
    resize!(found, kept)
end

"Write the successor of the state at `offset` to `target[target_offset+1:…]`."
function apply!(target, target_offset::Int, generator::SuccessorGenerator, words, offset::Int, operator::Integer)
    task = generator.task
    for i in 1:nwords(task)
        @inbounds target[target_offset+i] = words[offset+i]
    end
    effects = generator.effect_offsets[operator]:generator.effect_offsets[operator+1]-1
    conditional = task.cond_offsets[operator]:task.cond_offsets[operator+1]-1
    @inbounds for e in effects
        effect = generator.effects[e]
        target[target_offset+effect.word] &= ~effect.clear
    end
    for c in conditional
        fires(task, c, words, offset) || continue
        for fact in row(task.cond_del, c)
            clear_fact!(target, target_offset, fact)
        end
    end
    @inbounds for e in effects
        effect = generator.effects[e]
        target[target_offset+effect.word] |= effect.set
    end
    for c in conditional
        fires(task, c, words, offset) || continue
        for fact in row(task.cond_add, c)
            set_fact!(target, target_offset, fact)
        end
    end
    nothing
end

"Turn the state into its successor. Without conditional effects only the words that change are looked at."
function advance!(state::Vector{UInt64}, generator::SuccessorGenerator, operator::Integer)
    has_conditional_effects(generator.task, operator) &&
        return apply!(state, 0, generator, copy(state), 0, operator)
    @inbounds for e in generator.effect_offsets[operator]:generator.effect_offsets[operator+1]-1
        effect = generator.effects[e]
        state[effect.word] = (state[effect.word] & ~effect.clear) | effect.set
    end
    nothing
end

"Whether the condition of a conditional effect holds."
fires(task::Task, c::Integer, words, offset::Int) =
    all(fact -> has_fact(words, offset, fact), row(task.cond_pre, c)) &&
    !any(fact -> has_fact(words, offset, fact), row(task.cond_neg, c))

"With the pointer in hand the loop is vectorised; through the store it would be read again for every word."
@inline function copy_words!(words::Ptr{UInt64}, to::Int, from::Int, n::Int)
    for i in 1:n
        unsafe_store!(words, unsafe_load(words, from + i), to + i)
    end
end

"""
Write the successor to the scratch row of the store and return its hash. `parent_hash` is the hash of the parent's
words: without conditional effects only the words that change are looked at.
"""
@inline function write_successor!(store::StateStore, generator::SuccessorGenerator, parent::Integer,
    parent_hash::UInt64, operator::Integer)
    offset, scratch = state_offset(store, parent), scratch_offset(store)
    task = generator.task
    words = store.words
    @inbounds if task.cond_offsets[operator] < task.cond_offsets[operator+1]
        apply!(words, scratch, generator, words, offset, operator)
        return hash_words(store, scratch)
    end
    copy_words!(words.pointer, scratch, offset, store.nwords)
    hash = parent_hash
    @inbounds for e in generator.effect_offsets[operator]:generator.effect_offsets[operator+1]-1
        effect = generator.effects[e]
        old = words[offset+effect.word]
        new = (old & ~effect.clear) | effect.set
        words[scratch+effect.word] = new
        key = store.word_keys[effect.word]
        hash += mix_word(new, key) - mix_word(old, key)
    end
    hash
end
