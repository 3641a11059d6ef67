# Conditions and effects.

const NUMERIC_TESTS = ("<", ">", "<=", ">=")
const NUMERIC_CHANGES = ("increase", "decrease", "assign", "scale-up", "scale-down")
const TRAJECTORY = ("always", "sometime", "within", "at-most-once", "sometime-after", "sometime-before",
                    "always-within", "hold-during", "hold-after", "at", "over")

"Declares the variables of a quantifier whose list opens at `i`; the caller takes them out of scope again."
function open_scope!(r::Reader, i::Int)
    isopen(r.tokens, i) || fail_expected(r.tokens, i, "a list of variables such as '(?x - type)'")
    variables, tokens = variable_list(r, i + 1, r.tokens.partner[i] - 1)
    numbers = Int32[]
    for (variable, token) in zip(variables, tokens)
        push!(r.variables, variable)
        push!(numbers, length(r.variables))
        symbol = r.tokens.symbol[token]
        push!(r.scope, (symbol, r.variable_of[symbol]))
        r.variable_of[symbol] = length(r.variables)
    end
    numbers
end

function close_scope!(r::Reader, numbers)
    for _ in numbers
        symbol, before = pop!(r.scope)
        r.variable_of[symbol] = before
    end
end

function expect_parts(t::Tokens, i::Int, parts::Vector{Int}, count::Int)
    length(parts) == count || fail(t, i, :syntax,
        "'$(head(t, i))' has $(length(parts)) parts here, expected $count")
end

function parse_formula(r::Reader, i::Int)::Formula
    t = r.tokens
    isopen(t, i) || fail_expected(t, i, "a condition in parentheses")
    i + 1 == t.partner[i] && return Formula(:and, Formula[])
    isword(t, i + 1) || fail_expected(t, i + 1, "a predicate, 'and', 'or', 'not', 'imply', 'forall', 'exists' or '='")
    name = word(t, i + 1)
    parts = children(t, i, 2)
    if name == "and" || name == "or"
        return Formula(Symbol(name), Formula[parse_formula(r, p) for p in parts])
    elseif name == "not"
        expect_parts(t, i, parts, 1)
        return Formula(:not, [parse_formula(r, parts[1])])
    elseif name == "imply"
        expect_parts(t, i, parts, 2)
        return Formula(:imply, [parse_formula(r, parts[1]), parse_formula(r, parts[2])])
    elseif name == "forall" || name == "exists"
        expect_parts(t, i, parts, 2)
        numbers = open_scope!(r, parts[1])
        body = parse_formula(r, parts[2])
        close_scope!(r, numbers)
        return Formula(Symbol(name), [body], numbers, 0, Term[])
    elseif name == "="
        expect_parts(t, i, parts, 2)
        any(p -> isopen(t, p) || isnumber(word(t, p)), parts) && refuse_numeric(t, i)
        return Formula(:equal, 0, Term[resolve_term(r, p) for p in parts])
    end
    predicate = get(r.predicate_number, name, Int32(0))
    predicate == 0 && refuse_head(r, i)
    Formula(:atom, predicate, resolve_arguments(r, i, r.predicates[predicate]))
end

refuse_numeric(t::Tokens, i::Int) = fail(t, i, :unsupported, string("numeric expression ", quoted(t, i),
    " is not supported: the only numbers are action costs, '(increase (total-cost) …)'"))

function refuse_head(r::Reader, i::Int)
    t = r.tokens
    name = word(t, i + 1)
    (name in NUMERIC_TESTS || name in NUMERIC_CHANGES) && refuse_numeric(t, i)
    name == "preference" && fail(t, i, :unsupported, "preferences are not supported, expected a plain condition")
    name == "when" && fail(t, i, :syntax, "found 'when' in a condition, expected it only in effects")
    name in TRAJECTORY &&
        fail(t, i, :unsupported, "'$name' (trajectory constraints, durative conditions) is not supported")
    fail(t, i + 1, :meaning, "unknown predicate $(quoted(t, i + 1)), expected one declared in :predicates")
end

"""
The effect that opens at `i`. What it adds to total-cost goes into `costs`, which only unconditional
effects may do: elsewhere `costs` is nothing.
"""
function parse_effect(r::Reader, i::Int, costs::Union{Nothing,Vector{CostTerm}})::Effect
    t = r.tokens
    isopen(t, i) || fail_expected(t, i, "an effect in parentheses")
    i + 1 == t.partner[i] && return Effect(:and, Effect[])
    isword(t, i + 1) || fail_expected(t, i + 1, "a predicate, 'and', 'not', 'forall' or 'when'")
    name = word(t, i + 1)
    parts = children(t, i, 2)
    if name == "and"
        return Effect(:and, Effect[parse_effect(r, p, costs) for p in parts])
    elseif name == "forall"
        expect_parts(t, i, parts, 2)
        numbers = open_scope!(r, parts[1])
        body = parse_effect(r, parts[2], nothing)
        close_scope!(r, numbers)
        return Effect(:forall, [body], numbers, Formula[], 0, Term[])
    elseif name == "when"
        expect_parts(t, i, parts, 2)
        condition = parse_formula(r, parts[1])
        return Effect(:when, [parse_effect(r, parts[2], nothing)], Int32[], [condition], 0, Term[])
    elseif name == "not"
        expect_parts(t, i, parts, 1)
        isopen(t, parts[1]) || fail_expected(t, parts[1], "an atom in parentheses")
        return literal_effect(r, parts[1], :delete)
    elseif name == "increase"
        push_cost!(r, i, parts, costs)
        return Effect(:and, Effect[])
    end
    literal_effect(r, i, :add)
end

function literal_effect(r::Reader, i::Int, kind::Symbol)
    t = r.tokens
    isword(t, i + 1) || fail_expected(t, i + 1, "a predicate")
    name = word(t, i + 1)
    name == "=" && fail(t, i, :meaning, "found '=' as an effect, expected a predicate that actions may change")
    name in RESERVED && !(name in NUMERIC_CHANGES) && fail_expected(t, i, "an atom")
    predicate = get(r.predicate_number, name, Int32(0))
    predicate == 0 && refuse_head(r, i)
    Effect(kind, Effect[], Int32[], Formula[], predicate, resolve_arguments(r, i, r.predicates[predicate]))
end

"With or without parentheses: files write both."
is_total_cost(t::Tokens, i::Int) = isopen(t, i) ? head(t, i) == "total-cost" && t.partner[i] == i + 2 :
                                   word(t, i) == "total-cost"

function push_cost!(r::Reader, i::Int, parts::Vector{Int}, costs::Union{Nothing,Vector{CostTerm}})
    t = r.tokens
    expect_parts(t, i, parts, 2)
    is_total_cost(t, parts[1]) || refuse_numeric(t, i)
    costs === nothing && fail(t, i, :unsupported, string("action costs under 'when' or 'forall' are not supported, ",
        "expected '(increase (total-cost) …)' as a plain effect"))
    isempty(costs) ||
        fail(t, i, :meaning, "found a second cost of one action, expected one '(increase (total-cost) …)'")
    push!(costs, cost_term(r, parts[2]))
end

function cost_term(r::Reader, i::Int)
    t = r.tokens
    if isword(t, i)
        isnumber(word(t, i)) && return CostTerm(parse_number(t, i), 0, Term[])
        symbol = get(r.function_number, word(t, i), Int32(0))
        symbol == 0 && fail_expected(t, i, "a number or a function term")
        isempty(r.functions[symbol].parameters) || fail_expected(t, i, "a number or a function term in parentheses")
        return CostTerm(Decimal(0, 0), symbol, Term[])
    end
    name = head(t, i)
    name in ("+", "-", "*", "/") && refuse_numeric(t, i)
    symbol = get(r.function_number, name, Int32(0))
    symbol == 0 && fail(t, i, :meaning, "unknown function $(quoted(t, i)), expected one declared in :functions")
    name == "total-cost" && refuse_numeric(t, i)
    CostTerm(Decimal(0, 0), symbol, resolve_arguments(r, i, r.functions[symbol]))
end

function isnumber(s::String)
    digits = points = 0
    for (k, c) in enumerate(codeunits(s))
        if 0x30 <= c <= 0x39
            digits += 1
        elseif c == UInt8('.')
            points += 1
        elseif !(k == 1 && (c == UInt8('-') || c == UInt8('+')))
            return false
        end
    end
    digits > 0 && points <= 1
end

"The number at token `i`, which must not be negative: it is a cost."
function parse_number(t::Tokens, i::Int)
    s = word(t, i)
    isnumber(s) || fail_expected(t, i, "a number")
    s[1] == '-' && any(c -> c in '1':'9', s) && fail(t, i, :unsupported,
        "negative cost $(quoted(t, i)) is not supported, expected a number of at least 0")
    s = lstrip(c -> c == '-' || c == '+', s)
    whole, point, rest = occursin('.', s) ? (split(s, '.')[1], ".", rstrip(split(s, '.')[2], '0')) : (s, "", "")
    digits = tryparse(Int64, string("0", whole, rest))
    (digits === nothing || length(rest) > 9) && fail(t, i, :unsupported,
        "the number $(quoted(t, i)) has too many digits, expected at most 9 after the point and 18 in all")
    Decimal(digits, length(rest))
end
