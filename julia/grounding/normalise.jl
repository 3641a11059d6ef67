# From the domain as written to schemas: conjunctions of literals the grounder can join, one schema for each
# disjunct of a precondition. What cannot be split cheaply (forall, large disjunctions) stays a `rest`, settled for
# each ground action when its static parts are known.

const MAX_BRANCHES = 64

"""
A condition in negation normal form: :literal (predicate 0 is equality), :and, :or, :exists, :forall, or :type, which
demands that its term be of one of the types listed in `variables`.
"""
struct Condition
    kind::Symbol
    positive::Bool
    predicate::Int32
    terms::Vector{Term}
    slot::Int32                     # which literal of the schema, counted apart for positive and negative fluent ones
    variables::Vector{Int32}
    parts::Vector{Condition}
end

Condition(kind::Symbol, variables::Vector{Int32}, parts::Vector{Condition}) =
    Condition(kind, true, 0, Term[], 0, variables, parts)

struct Literal
    predicate::Int32
    terms::Vector{Term}
    slot::Int32
end

"A conjunction: literals, (in)equalities, and what is left for each ground action."
struct Conjunction
    variables::Vector{Int32}        # existential ones, besides those of the surrounding action
    positive::Vector{Literal}
    negative::Vector{Literal}
    equal::Vector{Tuple{Term,Term}}
    unequal::Vector{Tuple{Term,Term}}
    rest::Vector{Condition}
end

"Adds and deletes under a condition, for every binding of the condition's variables."
struct LiftedEffect
    condition::Conjunction
    add::Vector{Literal}
    del::Vector{Literal}
end

struct Schema
    name::String
    parameters::Vector{Term}        # the action's own; a constant or another's variable where '=' says so
    types::Vector{Vector{Int32}}    # of each variable of the action, quantified ones included
    also::Vector{Tuple{Int32,Vector{Int32}}}    # further types a variable must have, because '=' merged two
    condition::Conjunction
    add::Vector{Literal}
    del::Vector{Literal}
    effects::Vector{LiftedEffect}
    cost::CostTerm
end

"Predicates that some effect of the domain changes."
function fluent_predicates(domain::Domain)
    fluent = falses(length(domain.predicates))
    function visit(e::Effect)
        e.predicate > 0 && (fluent[e.predicate] = true)
        foreach(visit, e.parts)
    end
    foreach(a -> visit(a.effect), domain.actions)
    fluent
end

function nnf(f::Formula, ticker::Ticker, positive::Bool=true)::Condition
    tick!(ticker)
    if f.kind == :atom || f.kind == :equal
        return Condition(:literal, positive, f.predicate, f.terms, 0, Int32[], Condition[])
    elseif f.kind == :not
        return nnf(f.parts[1], ticker, !positive)
    elseif f.kind == :imply
        parts = [nnf(f.parts[1], ticker, !positive), nnf(f.parts[2], ticker, positive)]
        return Condition(positive ? :or : :and, Int32[], parts)
    elseif f.kind == :and || f.kind == :or
        kind = (f.kind == :and) == positive ? :and : :or
        parts = Condition[nnf(p, ticker, positive) for p in f.parts]
        return length(parts) == 1 ? parts[1] : Condition(kind, Int32[], parts)
    end
    kind = (f.kind == :forall) == positive ? :forall : :exists
    Condition(kind, f.variables, [nnf(f.parts[1], ticker, positive)])
end

"One disjunct: its literals and unsplit conditions, and the existential variables it brings."
struct Branch
    leaves::Vector{Condition}
    variables::Vector{Int32}
end

function branches(c::Condition, ticker::Ticker)::Vector{Branch}
    if c.kind == :and
        result = [Branch(Condition[], Int32[])]
        for part in c.parts
            look!(ticker)           # a part may be copied to all leaves so far
            if part.kind == :literal || part.kind == :forall        # most are these: nothing to multiply
                foreach(b -> push!(b.leaves, part), result)
                continue
            end
            options = branches(part, ticker)
            if length(options) * length(result) > MAX_BRANCHES && length(options) > 1
                options = [Branch([part], Int32[])]
            end
            result = [Branch([a.leaves; b.leaves], [a.variables; b.variables]) for a in result for b in options]
        end
        return result
    elseif c.kind == :or
        result = Branch[]
        for part in c.parts
            append!(result, branches(part, ticker))
        end
        return length(result) > MAX_BRANCHES ? [Branch([c], Int32[])] : result
    elseif c.kind == :exists
        return [Branch(b.leaves, [c.variables; b.variables]) for b in branches(c.parts[1], ticker)]
    end
    [Branch([c], Int32[])]
end

"Numbers fluent literals in the order they are met, positive and negative ones apart; static ones get 0."
mutable struct SlotCounter
    fluent::BitVector
    positive::Int32
    negative::Int32
end

SlotCounter(fluent::BitVector) = SlotCounter(fluent, 0, 0)

function next_slot!(s::SlotCounter, predicate::Integer, positive::Bool)
    (predicate == 0 || !s.fluent[predicate]) && return Int32(0)
    positive ? (s.positive += Int32(1)) : (s.negative += Int32(1))
end

"Variables replaced by other terms, because an equality says they are the same."
struct Substitution
    image::Vector{Term}
end

(s::Substitution)(t::Term) = t > 0 ? s.image[t] : t
(s::Substitution)(terms::Vector{Term}) = Term[s(t) for t in terms]
(s::Substitution)(pair::Tuple{Term,Term}) = (s(pair[1]), s(pair[2]))

function merge_terms!(s::Substitution, from::Term, to::Term)
    for v in eachindex(s.image)
        s.image[v] == from && (s.image[v] = to)
    end
end

function number_slots(c::Condition, s::Substitution, slots::SlotCounter)::Condition
    slot = c.kind == :literal ? next_slot!(slots, c.predicate, c.positive) : Int32(0)
    parts = Condition[number_slots(p, s, slots) for p in c.parts]
    Condition(c.kind, c.positive, c.predicate, s(c.terms), slot, c.variables, parts)
end

function conjunction(b::Branch, s::Substitution, slots::SlotCounter, ticker::Ticker)
    variables = filter(v -> s.image[v] == v, b.variables)
    result = Conjunction(variables, Literal[], Literal[], Tuple{Term,Term}[], Tuple{Term,Term}[], Condition[])
    met = Set{Tuple{Bool,Int32,Vector{Term}}}()
    for leaf in b.leaves
        tick!(ticker)
        if leaf.kind != :literal
            push!(result.rest, number_slots(leaf, s, slots))
        elseif leaf.predicate == 0
            push!(leaf.positive ? result.equal : result.unequal, (s(leaf.terms[1]), s(leaf.terms[2])))
        else
            list = leaf.positive ? result.positive : result.negative
            terms = s(leaf.terms)
            (leaf.positive, leaf.predicate, terms) in met && continue
            push!(met, (leaf.positive, leaf.predicate, terms))
            push!(list, Literal(leaf.predicate, terms, next_slot!(slots, leaf.predicate, leaf.positive)))
        end
    end
    result
end

"""
Merge in `s` the variables that positive equalities of `b` make equal. Variables in `fixed` are bound outside and are
not merged with one another. Returns the equalities that remain to be tested, or nothing if two different objects would
have to be equal.
"""
function merge_equal!(s::Substitution, b::Branch, fixed, ticker::Ticker)
    remaining = Tuple{Term,Term}[]
    for leaf in b.leaves
        look!(ticker)               # merging goes through all variables
        is_equality(leaf) || continue
        x, y = s(leaf.terms[1]), s(leaf.terms[2])
        x == y && continue
        x < 0 && y < 0 && return nothing
        free_x, free_y = x > 0 && !(x in fixed), y > 0 && !(y in fixed)
        if free_x && (!free_y || y < x)
            merge_terms!(s, x, y)
        elseif free_y
            merge_terms!(s, y, x)
        else
            push!(remaining, (x, y))
        end
    end
    remaining
end

without_equal(b::Branch) = Branch(filter(!is_equality, b.leaves), b.variables)
is_equality(leaf::Condition) = leaf.kind == :literal && leaf.predicate == 0 && leaf.positive

"Effects as written, flattened: literals with the conditions and quantified variables around them."
struct FlatEffect
    variables::Vector{Int32}
    conditions::Vector{Condition}
    add::Vector{Effect}
    del::Vector{Effect}
end

function flatten!(list::Vector{FlatEffect}, e::Effect, here::FlatEffect, ticker::Ticker)
    tick!(ticker)
    if e.kind == :add
        push!(here.add, e)
    elseif e.kind == :delete
        push!(here.del, e)
    elseif e.kind == :and
        foreach(p -> flatten!(list, p, here, ticker), e.parts)
    else
        conditions = [here.conditions; Condition[nnf(c, ticker) for c in e.condition]]
        inner = FlatEffect([here.variables; e.variables], conditions, Effect[], Effect[])
        push!(list, inner)
        flatten!(list, e.parts[1], inner, ticker)
    end
    list
end

"Literals with slots, each lifted literal once; deletes that are also adds are dropped: adding wins."
function effect_literals(effects::Vector{Effect}, s::Substitution, slots::SlotCounter, positive::Bool, ticker::Ticker,
                         wins::Vector{Literal}=Literal[])
    literals = Literal[]
    met = Set{Tuple{Int32,Vector{Term}}}((l.predicate, l.terms) for l in wins)
    for e in effects
        tick!(ticker)
        terms = s(e.terms)
        (e.predicate, terms) in met && continue
        push!(met, (e.predicate, terms))
        push!(literals, Literal(e.predicate, terms, next_slot!(slots, e.predicate, positive)))
    end
    literals
end

function schemas_of(action::Action, fluent::BitVector, ticker::Ticker=Ticker())
    types = [v.types for v in action.variables]
    top = FlatEffect(Int32[], Condition[], Effect[], Effect[])
    flat = flatten!(FlatEffect[], action.effect, top, ticker)
    schemas = Schema[]
    for branch in branches(nnf(action.precondition, ticker), ticker)
        s = Substitution(collect(Term, 1:length(types)))
        merge_equal!(s, branch, (), ticker) === nothing && continue
        condition = conjunction(without_equal(branch), s, SlotCounter(fluent), ticker)
        also = Tuple{Int32,Vector{Int32}}[(s.image[v], types[v]) for v in eachindex(types) if s.image[v] != v]
        slots = SlotCounter(fluent)
        add = effect_literals(top.add, s, slots, true, ticker)
        del = effect_literals(top.del, s, slots, false, ticker, add)
        effects = LiftedEffect[]
        bound = [s.image[1:action.parameters]; s(Term[branch.variables;])]
        for e in flat
            isempty(e.add) && isempty(e.del) && continue
            lift_effect!(effects, e, s, bound, types, slots, fluent, ticker)
        end
        cost = CostTerm(action.cost.value, action.cost.symbol, s(action.cost.terms))
        parameters = s.image[1:action.parameters]
        push!(schemas, Schema(action.name, parameters, types, also, condition, add, del, effects, cost))
    end
    schemas
end

function all_schemas(domain::Domain, fluent::BitVector, ticker::Ticker=Ticker())
    schemas = Schema[]
    foreach(action -> append!(schemas, schemas_of(action, fluent, ticker)), domain.actions)
    schemas
end

"Adds the effect as one or, if its condition is a disjunction, several; `bound` are the variables of the action."
function lift_effect!(effects::Vector{LiftedEffect}, e::FlatEffect, outer::Substitution, bound::Vector{Term}, types,
                      slots::SlotCounter, fluent::BitVector, ticker::Ticker)
    whole = length(e.conditions) == 1 ? e.conditions[1] : Condition(:and, Int32[], e.conditions)
    for branch in branches(whole, ticker)
        look!(ticker)
        s = Substitution(copy(outer.image))
        remaining = merge_equal!(s, branch, bound, ticker)
        remaining === nothing && continue
        variables = [e.variables; branch.variables]
        condition = conjunction(Branch(without_equal(branch).leaves, variables), s, SlotCounter(fluent), ticker)
        append!(condition.equal, (s(pair) for pair in remaining))
        add = effect_literals(e.add, s, slots, true, ticker)
        del = effect_literals(e.del, s, slots, false, ticker, add)
        # What a variable was merged with must be of the variable's type too.
        for v in variables
            s.image[v] == v && continue
            push!(condition.rest, Condition(:type, true, 0, Term[s.image[v]], 0, types[v], Condition[]))
        end
        push!(effects, LiftedEffect(condition, add, del))
    end
end
