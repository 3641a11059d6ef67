# Action costs as integers: numbers with decimals are multiplied by a common power of ten.

struct Costs
    metric::Bool                    # false: every action costs one
    scale::Int32
    number::Vector{Int32}           # of each schema …
    relation::Vector{Int32}         # … unless this is not 0: then the value of a function, one for each row
    values::Vector{Vector{Int32}}
end

function Costs(g::Grounder)
    g.problem.metric || return Costs(false, 1, Int32[], Int32[], Vector{Int32}[])
    terms = [s.cost for s in g.schemas]
    used = filter(!=(0), unique(c.symbol for c in terms))
    numbers = reduce(vcat, (g.function_values[f] for f in used); init=[c.value for c in terms])
    decimals = maximum(n -> n.decimals, numbers; init=0)
    function scaled(n::Decimal)
        exact = Int128(n.digits) * Int128(10)^(decimals - n.decimals)
        exact <= typemax(Int32) || throw(PlanRankError(:unsupported, string("action cost ", n.digits / 10.0^n.decimals,
            " is not supported, expected at most ", typemax(Int32) ÷ 10^decimals), g.problem.file, 0, 0))
        Int32(exact)
    end
    Costs(true, Int32(10)^decimals, [scaled(c.value) for c in terms],
          [c.symbol == 0 ? Int32(0) : g.function_relation[c.symbol] for c in terms],
          [c.symbol == 0 ? Int32[] : scaled.(g.function_values[c.symbol]) for c in terms])
end

"Cost of an operator of the schema; `names` are the variables that are the arguments of its cost function."
function operator_cost(c::Costs, schema::Int32, g::Grounder, binding::Vector{Int32}, names::Vector{Int32})
    c.metric || return Int32(1)
    c.relation[schema] == 0 && return c.number[schema]
    row, _ = find_row(g.relations[c.relation[schema]], binding, names, 1, length(names))
    c.values[schema][row]
end
