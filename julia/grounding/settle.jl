# Conditions that are settled one ground action at a time: quantifiers are expanded over the objects, static and
# unreachable atoms give way to true or false, and what disjunction is left becomes alternatives.

const MAX_ALTERNATIVES = 100_000
const MAX_COMPARED = 5_000           # with more, looking for superfluous alternatives takes too long
const MAX_EXPANSION = 100_000_000.0

"A literal of a ground condition: a fact, negative if it must be false, and its slot in the schema."
struct GroundLiteral
    fact::Int32
    slot::Int32
end

const NO_LITERALS = GroundLiteral[]

"A ground conjunction of literals and of choices between such conjunctions."
struct Settled
    literals::Vector{GroundLiteral}
    choices::Vector{Vector{Settled}}
end

Settled() = Settled(GroundLiteral[], Vector{Settled}[])
Base.isempty(s::Settled) = isempty(s.literals) && isempty(s.choices)

value(t::Term, binding::Vector{Int32}) = t > 0 ? binding[t] : -t

const ALWAYS = typemax(Int32)
const NEVER = typemin(Int32)

"The fact a literal asks for (negative: to be false), or ALWAYS or NEVER."
function settle_literal(it, c::Condition, binding::Vector{Int32})::Int32
    g = it.g
    if c.kind == :type
        r = g.relations[type_relation!(g, c.variables)]
        return find_args(r, (value(c.terms[1], binding),)) != 0 ? ALWAYS : NEVER
    elseif c.predicate == 0
        return (value(c.terms[1], binding) == value(c.terms[2], binding)) == c.positive ? ALWAYS : NEVER
    end
    r = g.relations[c.predicate]
    for k in 1:r.arity
        r.buffer[k] = value(c.terms[k], binding)
    end
    row, _ = find_row(r, r.buffer, r.identity, 1, r.arity)
    (r.fluent && row != 0) || return (row != 0) == c.positive ? ALWAYS : NEVER
    fact = it.base[c.predicate] + row
    c.positive ? fact : -fact
end

"Adds condition `c` to the conjunction `out`; false if it can never hold."
function settle!(it, c::Condition, binding::Vector{Int32}, out::Settled)::Bool
    tick!(it.g)
    if c.kind == :literal || c.kind == :type
        fact = settle_literal(it, c, binding)
        fact == NEVER && return false
        fact == ALWAYS || push!(out.literals, GroundLiteral(fact, c.slot))
        return true
    elseif c.kind == :and
        return all(p -> settle!(it, p, binding, out), c.parts)
    end
    isempty(c.variables) || check_expansion(it, c)
    if c.kind == :forall
        return settle_all!(it, c, 1, binding, out)
    end
    options = Settled[]
    holds = c.kind == :or ? any(p -> add_option!(it, p, binding, options), c.parts) :
            settle_any!(it, c, 1, binding, options)
    holds && return true
    isempty(options) && return false
    if length(options) == 1
        append!(out.literals, options[1].literals)
        append!(out.choices, options[1].choices)
    else
        push!(out.choices, options)
    end
    true
end

quantified_objects(it, variable::Int32) = it.g.relations[type_relation!(it.g, it.types[variable])].args

function check_expansion(it, c::Condition)
    combinations = prod(v -> Float64(length(quantified_objects(it, v))), c.variables)
    combinations <= MAX_EXPANSION || throw(PlanRankError(:unsupported, string("a quantifier over ",
        round(Int128, combinations), " combinations of objects is not supported, expected at most ",
        round(Int, MAX_EXPANSION)), it.g.domain.file, 0, 0))
end

function settle_all!(it, c::Condition, k::Int, binding::Vector{Int32}, out::Settled)::Bool
    k > length(c.variables) && return settle!(it, c.parts[1], binding, out)
    for object in quantified_objects(it, c.variables[k])
        binding[c.variables[k]] = object
        settle_all!(it, c, k + 1, binding, out) || return false
    end
    true
end

"Collects the ways an existential condition can hold; true if it always does."
function settle_any!(it, c::Condition, k::Int, binding::Vector{Int32}, options::Vector{Settled})::Bool
    k > length(c.variables) && return add_option!(it, c.parts[1], binding, options)
    for object in quantified_objects(it, c.variables[k])
        binding[c.variables[k]] = object
        settle_any!(it, c, k + 1, binding, options) && return true
    end
    false
end

"Adds the part as one way to hold; true if it always holds."
function add_option!(it, part::Condition, binding::Vector{Int32}, options::Vector{Settled})::Bool
    if part.kind == :literal || part.kind == :type
        tick!(it.g)
        fact = settle_literal(it, part, binding)
        fact == ALWAYS && return true
        fact == NEVER || push!(options, Settled([GroundLiteral(fact, part.slot)], Vector{Settled}[]))
        return false
    end
    option = Settled()
    settle!(it, part, binding, option) || return false
    isempty(option) && return true
    push!(options, option)
    false
end

# Conjunctions with choices become alternatives, each a conjunction sorted by fact, no fact twice.

sorted_conjunction(literals::Vector{GroundLiteral}) = unique!(l -> l.fact, sort(literals; by=l -> l.fact))

contradicts_itself(c::Vector{GroundLiteral}) = any(l -> l.fact < 0 && insorted_fact(-l.fact, c), c)
insorted_fact(fact::Int32, c::Vector{GroundLiteral}) = !isempty(searchsorted(c, GroundLiteral(fact, 0); by=l -> l.fact))
implies(a::Vector{GroundLiteral}, b::Vector{GroundLiteral}) =
    length(b) <= length(a) && all(l -> insorted_fact(l.fact, a), b)

"Without those that imply another: the other is enough."
function weakest(g::Grounder, list::Vector{Vector{GroundLiteral}})
    length(list) > MAX_COMPARED && return list
    kept = Vector{GroundLiteral}[]
    for c in sort(list; by=length)
        any(k -> (tick!(g); implies(c, k)), kept) || push!(kept, c)
    end
    kept
end

"The conjunctions of literals of which one must hold, in place of a conjunction with choices."
function alternatives(g::Grounder, s::Settled)::Vector{Vector{GroundLiteral}}
    first = sorted_conjunction(s.literals)
    contradicts_itself(first) && return Vector{GroundLiteral}[]
    result = [first]
    choices = map(s.choices) do choice
        found = Vector{GroundLiteral}[]
        foreach(option -> append!(found, alternatives(g, option)), choice)
        weakest(g, found)
    end
    for choice in sort(choices; by=length)
        next = Vector{GroundLiteral}[]
        for a in result
            if any(b -> (tick!(g); implies(a, b)), choice)
                push!(next, a)
                continue
            end
            for b in choice
                tick!(g)
                both = sorted_conjunction([a; b])
                contradicts_itself(both) || push!(next, both)
            end
            length(next) <= MAX_ALTERNATIVES || throw(PlanRankError(:unsupported, string("a condition with more than ",
                MAX_ALTERNATIVES, " alternatives, once its disjunctions are multiplied out, is not supported"),
                g.domain.file, 0, 0))
        end
        result = weakest(g, next)
    end
    result
end
