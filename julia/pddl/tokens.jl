# Reading PDDL text into tokens. Positions are token numbers: line and column are worked out only for an error.

const OPEN = Int32(0)
const CLOSE = Int32(-1)
const MAX_NESTING = 1_000

"""
A PDDL text cut into tokens. `symbol[i]` is `OPEN`, `CLOSE` or the number of a lower-case word in `words`;
`partner[i]` is, for an opening parenthesis, the token that closes it.
"""
struct Tokens
    text::String
    file::String
    start::Vector{Int32}        # the byte where the token starts
    symbol::Vector{Int32}
    partner::Vector{Int32}
    words::Vector{String}
    ticker::Ticker              # parsing asks it at every step
end

Tokens(text::String, file::String, limits::Limits=Limits()) =
    Tokens(text, file, Int32[], Int32[], Int32[], String[], Ticker(limits, "parsing"))

tick!(t::Tokens) = tick!(t.ticker)

Base.length(t::Tokens) = length(t.symbol)
isopen(t::Tokens, i::Integer) = t.symbol[i] == OPEN
isword(t::Tokens, i::Integer) = t.symbol[i] > 0
word(t::Tokens, i::Integer) = t.symbol[i] > 0 ? t.words[t.symbol[i]] : ""

"The token after the whole expression that starts at token `i`."
skip_expression(t::Tokens, i::Integer) = isopen(t, i) ? Int(t.partner[i]) + 1 : Int(i) + 1

"The head word of the list that starts at token `i`, or an empty string."
head(t::Tokens, i::Integer) = isopen(t, i) ? word(t, i + 1) : ""

"First tokens of the expressions inside the list that opens at `i`, from its `first`-th on."
function children(t::Tokens, i::Integer, first::Integer=1)
    found = Int[]
    child = Int(i) + 1
    while child < t.partner[i]
        tick!(t)
        push_within!(t.ticker, found, child)
        child = skip_expression(t, child)
    end
    first == 1 ? found : found[first:end]
end

"Lines end with LF, CR or CRLF: LF after CR ends no second line."
function line_and_column(text::String, byte::Integer)
    line, column = 1, 1
    units = codeunits(text)
    for i in 1:min(byte - 1, length(units))
        if is_line_end(units[i])
            line += !(units[i] == UInt8('\n') && i > 1 && units[i-1] == UInt8('\r'))
            column = 1
        elseif units[i] & 0xc0 != 0x80      # a UTF-8 continuation byte is no column of its own
            column += 1
        end
    end
    line, column
end

function fail_at_byte(text::String, file::String, byte::Integer, kind::Symbol, message::AbstractString)
    line, column = line_and_column(text, byte)
    throw(PlanRankError(kind, message, file, line, column))
end

fail(t::Tokens, i::Integer, kind::Symbol, message::AbstractString) =
    fail_at_byte(t.text, t.file, t.start[i], kind, message)

"Error for token `i`: what was found there and what was expected instead."
fail_expected(t::Tokens, i::Integer, expected::AbstractString) =
    fail(t, i, :syntax, string("found ", quoted(t, i), ", expected ", expected))

function shorten(s::AbstractString)
    length(s) <= 60 ? String(s) : string(first(s, 40), "… (", length(s), " characters)")
end

"Token `i` as it should appear in a message."
function quoted(t::Tokens, i::Integer)
    isopen(t, i) && return isword(t, i + 1) ? string("'(", shorten(word(t, i + 1)), " …'") : "'('"
    isword(t, i) ? string("'", shorten(word(t, i)), "'") : "')'"
end

is_line_end(b::UInt8) = b == 0x0a || b == 0x0d
iswhite(b::UInt8) = b == 0x20 || b == 0x0a || b == 0x0d || b == 0x09 || b == 0x0c || b == 0x0b
lower(b::UInt8) = 0x41 <= b <= 0x5a ? b | 0x20 : b

"Words seen so far, found again by their bytes without making a string for each occurrence."
mutable struct WordTable
    words::Vector{String}
    slots::Vector{Int32}
    ticker::Ticker
end

WordTable(words::Vector{String}, ticker::Ticker) = WordTable(words, zeros(Int32, 256), ticker)

const HASH_START = 0xcbf29ce484222325
@inline mix_byte(hash::UInt64, b::UInt8) = (hash ⊻ lower(b)) * 0x00000100000001b3
@inline last_mix(hash::UInt64) = hash ⊻ (hash >> 29)

function same_word(known::String, units, first::Int, last::Int)
    ncodeunits(known) == last - first + 1 || return false
    @inbounds for k in first:last
        codeunit(known, k - first + 1) == lower(units[k]) || return false
    end
    true
end

function intern!(table::WordTable, units, first::Int, last::Int, hash::UInt64)
    mask = length(table.slots) - 1
    slot = Int(hash & (mask % UInt64)) + 1
    @inbounds while table.slots[slot] != 0
        id = table.slots[slot]
        same_word(table.words[id], units, first, last) && return id
        slot = (slot & mask) + 1
    end
    push_within!(table.ticker, table.words, lowercase(String(units[first:last])))
    id = Int32(length(table.words))
    table.slots[slot] = id
    2 * id > length(table.slots) && regrow!(table)
    id
end

"The hash of a word, as `read_tokens!` works it out byte by byte."
function word_hash(units, first::Int, last::Int)
    hash = HASH_START
    @inbounds for k in first:last
        hash = mix_byte(hash, units[k])
    end
    last_mix(hash)
end

function regrow!(table::WordTable)
    slots = zeros_within(table.ticker, 2 * length(table.slots))
    mask = length(slots) - 1
    for (id, w) in enumerate(table.words)
        tick!(table.ticker)
        slot = Int(word_hash(codeunits(w), 1, ncodeunits(w)) & (mask % UInt64)) + 1
        while slots[slot] != 0
            slot = (slot & mask) + 1
        end
        slots[slot] = id
    end
    table.slots = slots
end

function tokenise(text::String, file::String, limits::Limits=Limits(); may_be_empty::Bool=false)
    t = Tokens(text, file, limits)
    unclosed = read_tokens!(t)
    if !isempty(unclosed)
        culprit = likely_unclosed(t, Int(unclosed[end]))
        fail_at_byte(text, file, t.start[culprit], :syntax,
            "found no ')' for the parenthesis opened here, expected it before the end of the file")
    end
    length(t) == 0 && !may_be_empty &&
        throw(PlanRankError(:syntax, "found an empty file, expected '(define …)'", file, 1, 1))
    t
end

const BYTES_PER_LOOK = 1 << 16

"For loops over the bytes of a text: they are too quick to tick at each."
@inline look_sometimes!(t::Tokens, byte::Int) = (byte & (BYTES_PER_LOOK - 1) == 0 && look!(t.ticker); nothing)

"The byte after the word that starts at byte `first`, and the hash of the word."
@inline function end_of_word(t::Tokens, units, first::Int)
    i, b, hash = first, units[first], HASH_START
    @inbounds while true
        (b < 0x21 || b > 0x7e) && fail_strange_byte(t.text, t.file, i, b)
        hash = mix_byte(hash, b)
        look_sometimes!(t, i)
        i += 1
        i > length(units) && break
        b = units[i]
        # '?' begins a new word even without a space before it, as in "(?x?y - block)"
        (iswhite(b) || b == UInt8('(') || b == UInt8(')') || b == UInt8(';') || b == UInt8('?')) && break
    end
    i, last_mix(hash)
end

"Append the tokens of the text up to its end or to an error; returns the parentheses that are still open."
function read_tokens!(t::Tokens)
    text, file, start, symbol, partner = t.text, t.file, t.start, t.symbol, t.partner
    units = codeunits(text)
    size = length(units)
    size < typemax(Int32) || throw(PlanRankError(:syntax, "file of 2 GB or more, expected PDDL text", file, 0, 0))
    foreach(list -> sizehint!(list, min(size ÷ 4 + 8, LARGE_LENGTH)), (start, symbol, partner))
    ticker = t.ticker
    table = WordTable(t.words, ticker)
    unclosed = Int32[]
    i = startswith(text, '\ufeff') ? 4 : 1     # a byte order mark is no token
    @inbounds while i <= size
        b = units[i]
        tick!(ticker)
        if iswhite(b)
            i += 1
        elseif b == UInt8(';')
            while i <= size && !is_line_end(units[i])
                look_sometimes!(t, i)
                i += 1
            end
        elseif b == UInt8('(')
            push_token!(t, i, OPEN)
            push!(unclosed, length(symbol))
            length(unclosed) > MAX_NESTING && fail_at_byte(text, file, i, :syntax,
                "parentheses nested more than $MAX_NESTING deep, expected a PDDL expression")
            i += 1
        elseif b == UInt8(')')
            push_token!(t, i, CLOSE)
            isempty(unclosed) &&
                fail_at_byte(text, file, i, :syntax, "found ')' that closes nothing, expected '(' before it")
            partner[pop!(unclosed)] = length(symbol)
            i += 1
        else
            after, hash = end_of_word(t, units, i)
            push_token!(t, i, intern!(table, units, i, after - 1, hash))
            i = after
        end
    end
    unclosed
end

@inline function push_token!(t::Tokens, byte::Int, symbol::Int32)
    push_within!(t.ticker, t.start, byte)
    push_within!(t.ticker, t.symbol, symbol)
    push_within!(t.ticker, t.partner, 0)
end

const SECTION_WORDS = Set([":requirements", ":types", ":constants", ":predicates", ":functions", ":action",
                           ":durative-action", ":derived", ":domain", ":objects", ":init", ":goal", ":metric",
                           ":constraints"])
const ACTION_WORDS = Set([":parameters", ":precondition", ":effect"])

"""
The parenthesis that was probably left open. Counting alone would blame `last`. But a section inside another one, a part
of an action inside something else, or a list inside an initial atom shows where the closing one was forgotten.
"""
function likely_unclosed(t::Tokens, last::Int)
    open = Int[]
    for i in 1:length(t)
        tick!(t)
        if isopen(t, i)
            i < length(t) && word(t, i + 1) in SECTION_WORDS && length(open) > 1 && return open[end]
            length(open) >= 3 && head(t, open[2]) == ":init" && !(head(t, open[3]) in ("=", "not", "at")) &&
                return open[3]
            push!(open, i)
        elseif t.symbol[i] == CLOSE
            pop!(open)
        elseif word(t, i) in ACTION_WORDS && length(open) > 2
            return open[end]
        end
    end
    last
end

@noinline function fail_strange_byte(text::String, file::String, byte::Int, value::UInt8)
    what = value >= 0x80 ? "a character that is not ASCII" : "the control character 0x$(string(value, base=16, pad=2))"
    fail_at_byte(text, file, byte, :syntax, "found $what outside a comment, expected PDDL text")
end
