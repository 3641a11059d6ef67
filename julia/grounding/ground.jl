# From what is reachable to the ground task: facts are the rows of the fluent relations, operators the bindings the
# actions' rules found, with their literals looked up as facts.

"Rows of a growing task."
struct RowsBuilder
    offsets::Vector{Int32}
    values::Vector{Int32}
    slots::Vector{Int32}
    ticker::Ticker
end

RowsBuilder(ticker::Ticker) = RowsBuilder(Int32[1], Int32[], Int32[], ticker)
Base.length(b::RowsBuilder) = length(b.offsets) - 1

@inline function Base.push!(b::RowsBuilder, value::Integer, slot::Integer)
    push_within!(b.ticker, b.values, value)
    push_within!(b.ticker, b.slots, slot)
    return b
end

close_row!(b::RowsBuilder) = push_within!(b.ticker, b.offsets, length(b.values) + 1)
open_row(b::RowsBuilder) = @view b.values[b.offsets[end]:end]
Rows(b::RowsBuilder) = Rows(b.offsets, b.values)

"The operators made so far, and what is needed to make the next."
mutable struct Instantiation
    g::Grounder
    types::Vector{Vector{Int32}}    # of the variables of the schema (or goal) at hand
    base::Vector{Int32}             # fact = base[relation] + row
    op_schema::Vector{Int32}
    op_args::RowsBuilder
    op_cost::Vector{Int32}
    pre::RowsBuilder
    neg::RowsBuilder
    add::RowsBuilder
    del::RowsBuilder
    cond_offsets::Vector{Int32}
    cond_pre::RowsBuilder
    cond_neg::RowsBuilder
    cond_add::RowsBuilder
    cond_del::RowsBuilder
    cond_slot::Vector{Int32}
end

function Instantiation(g::Grounder)
    base = zeros(Int32, length(g.relations))
    facts = 0
    for p in eachindex(g.domain.predicates)
        base[p] = facts
        g.relations[p].fluent && (facts += g.relations[p].count)
    end
    rows(count) = (RowsBuilder(g.ticker) for _ in 1:count)
    Instantiation(g, Vector{Int32}[], base, Int32[], rows(1)..., Int32[], rows(4)..., Int32[1], rows(4)..., Int32[])
end

"The literals of a schema in the names of its rule, ready to be looked up."
struct LiteralList
    atoms::Vector{RuleAtom}
    slots::Vector{Int32}
end

LiteralList(g::Grounder, names::RuleNames, literals::Vector{Literal}) =
    (fluent = filter(l -> g.relations[l.predicate].fluent, literals);
     LiteralList(RuleAtom[rule_atom(names, l) for l in fluent], Int32[l.slot for l in fluent]))

@inline function fact_of(it::Instantiation, a::RuleAtom, binding::Vector{Int32})
    row, _ = find_row(it.g.relations[a.relation], binding, a.names, 1, length(a.names))
    row == 0 ? Int32(0) : it.base[a.relation] + row
end

function push_facts!(rows::RowsBuilder, it::Instantiation, list::LiteralList, binding::Vector{Int32})
    for k in eachindex(list.atoms)
        k & STEPS_OF_WIDE_ACTIONS == 0 && tick!(it.g)
        fact = fact_of(it, list.atoms[k], binding)
        fact == 0 || push!(rows, fact, list.slots[k])
    end
end

"As push_facts!, but deletes that are also added are left out: adding wins."
function push_deletes!(rows::RowsBuilder, it::Instantiation, list::LiteralList, binding::Vector{Int32}, added)
    for k in eachindex(list.atoms)
        k & STEPS_OF_WIDE_ACTIONS == 0 && tick!(it.g)
        fact = fact_of(it, list.atoms[k], binding)
        fact == 0 || fact in added || push!(rows, fact, list.slots[k])
    end
end

struct EffectInstructions
    rule::Rule                      # joins what the effect's own variables can be, from those of the action
    pre::LiteralList
    neg::LiteralList
    add::LiteralList
    del::LiteralList
    rest::Vector{Condition}
    number::Int32
end

struct SchemaInstructions
    number::Int32
    parameters::Vector{Int32}
    binding::Vector{Int32}
    pre::LiteralList
    neg::LiteralList
    add::LiteralList
    del::LiteralList
    rest::Vector{Condition}
    cost::Vector{Int32}             # arguments of the cost function
    effects::Vector{EffectInstructions}
end

function effect_instructions(g::Grounder, s::Schema, notes::Vector{Int32}, e::LiftedEffect, number::Int)
    names = RuleNames(length(s.types), Int32[])
    lists = map(l -> LiteralList(g, names, l), (e.condition.positive, e.condition.negative, e.add, e.del))
    types = [(v, s.types[v]) for v in e.condition.variables]
    rule = make_rule(g, names, e.condition, RuleAtom[], types, Literal[]; given=notes)
    EffectInstructions(rule, lists..., e.condition.rest, number)
end

function schema_instructions(g::Grounder, number::Int)
    s = g.schemas[number]
    names = RuleNames(length(s.types), Int32[])
    lists = map(l -> LiteralList(g, names, l), (s.condition.positive, s.condition.negative, s.add, s.del))
    parameters, cost = name!(names, s.parameters), name!(names, s.cost.terms)
    notes = schema_variables(s)
    effects = [effect_instructions(g, s, notes, e, i) for (i, e) in enumerate(s.effects)]
    binding = [zeros(Int32, names.variables); names.constants]
    SchemaInstructions(number, parameters, binding, lists..., s.condition.rest, cost, effects)
end

most_values(it::Instantiation) =
    max(length(it.pre.values), length(it.add.values), length(it.del.values), length(it.cond_pre.values))

function instantiate!(it::Instantiation, number::Int, costs::Costs)
    g = it.g
    s = schema_instructions(g, number)
    it.types = g.schemas[number].types
    rule = g.rules[number]
    notes = rule.notes
    found = g.relations[rule.found]
    binding = s.binding
    for row in 1:found.count
        tick!(g)
        most_values(it) > MOST_VALUES && throw(PlanRankError(:memory, "the ground task is too large"))
        base = (row - 1) * found.arity
        @inbounds for k in eachindex(notes)
            binding[notes[k]] = found.args[base+k]
        end
        if isempty(s.rest)
            instantiate_one!(it, s, binding, NO_LITERALS, costs)
        else
            settled = Settled()
            all(c -> settle!(it, c, binding, settled), s.rest) || continue
            for literals in alternatives(g, settled)
                instantiate_one!(it, s, binding, literals, costs)
            end
        end
    end
end

function instantiate_one!(it::Instantiation, s::SchemaInstructions, binding::Vector{Int32},
                          more::Vector{GroundLiteral}, costs::Costs)
    adds, conds = length(it.add.values), length(it.cond_slot)
    dels = length(it.del.values)
    push_facts!(it.add, it, s.add, binding)
    push_deletes!(it.del, it, s.del, binding, open_row(it.add))
    for e in s.effects
        instantiate_effect!(it, e, binding)
    end
    if length(it.add.values) == adds && length(it.del.values) == dels && length(it.cond_slot) == conds
        return                      # an action that changes nothing is left out
    end
    isempty(s.effects) || drop_added!(it.del, open_row(it.add))
    push_facts!(it.pre, it, s.pre, binding)
    push_facts!(it.neg, it, s.neg, binding)
    push_literals!(it.pre, it.neg, more)
    foreach(close_row!, (it.pre, it.neg, it.add, it.del))
    ticker = it.g.ticker
    push_within!(ticker, it.cond_offsets, length(it.cond_slot) + 1)
    push_within!(ticker, it.op_schema, s.number)
    for name in s.parameters
        push!(it.op_args, binding[name], 0)
    end
    close_row!(it.op_args)
    push_within!(ticker, it.op_cost, operator_cost(costs, s.number, it.g, binding, s.cost))
end

function push_literals!(pre::RowsBuilder, neg::RowsBuilder, literals::Vector{GroundLiteral})
    for l in literals
        l.fact > 0 ? push!(pre, l.fact, l.slot) : push!(neg, -l.fact, l.slot)
    end
end

"Removes from the open row of deletes what is in `added`."
function drop_added!(del::RowsBuilder, added)
    from = del.offsets[end]
    kept = [k for k in from:length(del.values) if !(del.values[k] in added)]
    length(kept) == length(del.values) - from + 1 && return
    del.values[from:from+length(kept)-1] = del.values[kept]
    del.slots[from:from+length(kept)-1] = del.slots[kept]
    resize!(del.values, from + length(kept) - 1)
    resize!(del.slots, from + length(kept) - 1)
end

"Adds every instance of a conditional effect; instances whose condition is always true become plain effects."
function instantiate_effect!(it::Instantiation, e::EffectInstructions, binding::Vector{Int32})
    rule = e.rule
    variables = length(rule.binding) - rule.constants
    copyto!(rule.binding, 1, binding, 1, variables)
    fire!((g, rule) -> push_effect!(it, e, rule.binding), it.g, rule)
end

function push_effect!(it::Instantiation, e::EffectInstructions, binding::Vector{Int32})
    if isempty(e.rest)
        push_effect!(it, e, binding, NO_LITERALS)
    else
        settled = Settled()
        all(c -> settle!(it, c, binding, settled), e.rest) || return
        for literals in alternatives(it.g, settled)
            push_effect!(it, e, binding, literals)
        end
    end
end

function push_effect!(it::Instantiation, e::EffectInstructions, binding::Vector{Int32}, more::Vector{GroundLiteral})
    push_facts!(it.cond_pre, it, e.pre, binding)
    push_facts!(it.cond_neg, it, e.neg, binding)
    push_literals!(it.cond_pre, it.cond_neg, more)
    if isempty(open_row(it.cond_pre)) && isempty(open_row(it.cond_neg))
        push_facts!(it.add, it, e.add, binding)
        push_deletes!(it.del, it, e.del, binding, open_row(it.add))
        return
    end
    push_facts!(it.cond_add, it, e.add, binding)
    push_deletes!(it.cond_del, it, e.del, binding, open_row(it.cond_add))
    rows = (it.cond_pre, it.cond_neg, it.cond_add, it.cond_del)
    if isempty(open_row(it.cond_add)) && isempty(open_row(it.cond_del))
        foreach(reopen_row!, rows)
    else
        foreach(close_row!, rows)
        push_within!(it.g.ticker, it.cond_slot, e.number)
    end
end

function reopen_row!(b::RowsBuilder)
    resize!(b.values, b.offsets[end] - 1)
    resize!(b.slots, b.offsets[end] - 1)
end

"The ground task of a parsed domain and problem."
function ground(domain::Domain, problem::Problem, limits::Limits=Limits())::Task
    check(limits, "grounding")
    g = Grounder(domain, problem, limits)
    initial = [r.count for r in g.relations]
    reach!(g)
    foreach(show_all_rows!, @view g.relations[1:length(domain.predicates)])
    it = Instantiation(g)
    costs = Costs(g)
    for number in eachindex(g.schemas)
        instantiate!(it, number, costs)
        g.relations[g.rules[number].found].args = Int32[]       # large, and no longer needed
    end
    goal_pos, goal_neg = ground_goal(it)
    fact_predicate, fact_args, init = Int32[], RowsBuilder(g.ticker), Int32[]
    for (p, r) in enumerate(g.relations[1:length(domain.predicates)])
        r.fluent || continue
        for row in 1:r.count
            tick!(g)
            push_within!(g.ticker, fact_predicate, p)
            for k in (row-1)*r.arity+1:row*r.arity
                push_within!(g.ticker, fact_args.values, r.args[k])
            end
            close_row!(fact_args)
            row <= initial[p] && push_within!(g.ticker, init, length(fact_predicate))
        end
    end
    Task(domain=domain.name, problem=problem.name, objects=[o.name for o in problem.objects],
         predicates=[p.name for p in domain.predicates], schemas=[s.name for s in g.schemas],
         fact_predicate=fact_predicate, fact_args=Rows(fact_args), op_schema=it.op_schema, op_args=Rows(it.op_args),
         op_cost=it.op_cost, cost_scale=costs.scale, unit_cost=!problem.metric,
         pre=Rows(it.pre), pre_slot=it.pre.slots, neg=Rows(it.neg), neg_slot=it.neg.slots,
         add=Rows(it.add), add_slot=it.add.slots, del=Rows(it.del), del_slot=it.del.slots,
         cond_offsets=it.cond_offsets, cond_pre=Rows(it.cond_pre), cond_neg=Rows(it.cond_neg),
         cond_add=Rows(it.cond_add), cond_del=Rows(it.cond_del), cond_slot=it.cond_slot,
         cond_pre_slot=it.cond_pre.slots, cond_neg_slot=it.cond_neg.slots, cond_add_slot=it.cond_add.slots,
         cond_del_slot=it.cond_del.slots,
         init=init, goal_pos=goal_pos, goal_neg=goal_neg)
end

function ground_goal(it::Instantiation)
    positive, negative = RowsBuilder(it.g.ticker), RowsBuilder(it.g.ticker)
    settled = Settled()
    it.types = [v.types for v in it.g.problem.goal_variables]
    binding = zeros(Int32, length(it.g.problem.goal_variables))
    if settle!(it, nnf(it.g.problem.goal, it.g.ticker), binding, settled)
        for literals in alternatives(it.g, settled)
            push_literals!(positive, negative, literals)
            close_row!(positive)
            close_row!(negative)
        end
    end
    Rows(positive), Rows(negative)
end
