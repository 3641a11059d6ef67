# What a parsed and checked domain and problem look like. Everything is resolved to numbers: types, objects,
# predicates and functions are positions in the lists of the domain or problem.

"A term of a lifted formula: a variable of the action or goal if positive, an object if negative."
const Term = Int32

struct Variable
    name::String
    types::Vector{Int32}        # one, or several for `either`
end

struct Predicate
    name::String
    parameters::Vector{Variable}
end

"""
`kind` is one of :atom, :equal, :not, :and, :or, :imply, :forall, :exists. `variables` of a quantifier are numbers
into the action's (or goal's) list of variables; `predicate` and `terms` belong to atoms, `terms` to equalities too.
"""
struct Formula
    kind::Symbol
    parts::Vector{Formula}
    variables::Vector{Int32}
    predicate::Int32
    terms::Vector{Term}
end

Formula(kind::Symbol, parts::Vector{Formula}) = Formula(kind, parts, Int32[], 0, Term[])
Formula(kind::Symbol, predicate::Integer, terms::Vector{Term}) = Formula(kind, Formula[], Int32[], predicate, terms)

"""
`kind` is one of :add, :delete, :and, :forall, :when. `condition` belongs to :when, `variables` to :forall,
`predicate` and `terms` to :add and :delete.
"""
struct Effect
    kind::Symbol
    parts::Vector{Effect}
    variables::Vector{Int32}
    condition::Vector{Formula}  # empty, or the one condition of a :when
    predicate::Int32
    terms::Vector{Term}
end

Effect(kind::Symbol, parts::Vector{Effect}) = Effect(kind, parts, Int32[], Formula[], 0, Term[])

"A number as written: `digits / 10^decimals`."
struct Decimal
    digits::Int64
    decimals::Int
end

"What an action adds to total-cost: the number `value`, or if `symbol` is not 0 the value of that function."
struct CostTerm
    value::Decimal
    symbol::Int32
    terms::Vector{Term}
end

const NO_COST = CostTerm(Decimal(0, 0), 0, Term[])

struct Action
    name::String
    parameters::Int             # how many of the variables, from the first, are the action's own
    variables::Vector{Variable} # parameters, then those of quantifiers in the order they appear
    precondition::Formula
    effect::Effect
    cost::CostTerm
end

struct Domain
    name::String
    file::String
    types::TypeTree
    constants::Vector{Variable} # objects 1, 2, … of every problem
    predicates::Vector{Predicate}
    functions::Vector{Predicate}
    actions::Vector{Action}
end

"Initial atoms, or the function terms that have an initial value."
struct InitialAtoms
    offsets::Vector{Int32}      # atom i has arguments args[offsets[i]:offsets[i+1]-1]
    predicate::Vector{Int32}
    args::Vector{Int32}
end

InitialAtoms() = InitialAtoms(Int32[1], Int32[], Int32[])
Base.length(atoms::InitialAtoms) = length(atoms.predicate)
arguments(atoms::InitialAtoms, i::Integer) = @view atoms.args[atoms.offsets[i]:atoms.offsets[i+1]-1]

struct Problem
    name::String
    file::String
    domain::String
    objects::Vector{Variable}   # the domain's constants first
    init::InitialAtoms
    values::InitialAtoms        # which function has a value where …
    value::Vector{Decimal}      # … and which
    goal::Formula
    goal_variables::Vector{Variable}
    metric::Bool                # minimise total-cost
end
