# Relaxed reachability: which ground atoms and actions there can be if nothing is ever deleted. Atoms are handled in
# the order they are found; each new one is joined, at every place of a rule it fits, with those handled before.

struct Trigger
    rule::Int32
    atom::Int32
    plain::Bool                     # all arguments are different variables: any row fits
end

"Triggers of atoms with a constant, by the first one: its position and the object."
const ConstantTriggers = Dict{Tuple{Int32,Int32},Vector{Trigger}}

mutable struct Grounder
    domain::Domain
    problem::Problem
    relations::Vector{Relation}     # first one for each predicate
    schemas::Vector{Schema}
    rules::Vector{Rule}             # first one for each schema
    lenient_rules::Vector{Rule}     # see lenient_rule
    objects_by_types::Dict{Vector{Int32},Vector{Int32}}     # those declared with just these types
    type_relation::Dict{Vector{Int32},Int32}
    well_typed::BitVector           # see well_typed_predicates
    column_has_type::Dict{NTuple{3,Int32},Bool}     # relation, position, relation of the type
    function_relation::Vector{Int32}
    function_values::Vector{Vector{Decimal}}    # for each row of the function's relation
    queue::Vector{Int32}            # relations of the atoms found, in order
    triggers::Vector{Vector{Trigger}}
    constant_triggers::Vector{ConstantTriggers}
    epoch::Int                      # plans are made anew whenever the number of atoms has doubled
    next_epoch::Int
    ticker::Ticker
end

const MOST_VALUES = typemax(Int32) - 10_000_000     # room in 32-bit offsets until the next check

@inline tick!(g::Grounder) = (tick!(g.ticker) && check_sizes(g); nothing)

@noinline check_sizes(g::Grounder) = any(r -> length(r.args) > MOST_VALUES, g.relations) &&
    throw(PlanRankError(:memory, "the ground task is too large"))

function Grounder(domain::Domain, problem::Problem, limits::Limits)
    ticker = Ticker(limits, "grounding")
    n = length(problem.objects)
    fluent = fluent_predicates(domain)
    # The more predicates there are, the smaller the tables: all of them together stay small.
    dense_keys = clamp((1 << 22) ÷ max(1, length(domain.predicates)), 1 << 12, 1 << 17)
    relations = [Relation(p.name, length(p.parameters), n, fluent[i], dense_keys, ticker)
                 for (i, p) in enumerate(domain.predicates)]
    schemas = all_schemas(domain, fluent, ticker)
    g = Grounder(domain, problem, relations, schemas, Rule[], Rule[], objects_by_types(problem, ticker),
                 Dict{Vector{Int32},Int32}(), well_typed_predicates(domain, ticker), Dict{NTuple{3,Int32},Bool}(),
                 Int32[], Vector{Decimal}[], Int32[], Vector{Trigger}[], ConstantTriggers[], 0, 256, ticker)
    insert_initial!(g)
    insert_values!(g)
    build_rules!(g)
    g
end

function objects_by_types(problem::Problem, ticker::Ticker)
    found = Dict{Vector{Int32},Vector{Int32}}()
    for (i, object) in enumerate(problem.objects)
        tick!(ticker)
        push!(get!(() -> Int32[], found, object.types), i)
    end
    found
end

function insert_initial!(g::Grounder)
    init = g.problem.init
    for i in 1:length(init)
        tick!(g)
        r = g.relations[init.predicate[i]]
        new = insert_args!(r, arguments(init, i))
        new && r.fluent && push!(g.queue, init.predicate[i])
    end
    foreach(r -> r.fluent || show_all_rows!(r), g.relations)
end

"The values of functions, as static relations that say where a value is defined."
function insert_values!(g::Grounder)
    first = length(g.relations)
    for (i, f) in enumerate(g.domain.functions)
        push!(g.relations, Relation(f.name, length(f.parameters), length(g.problem.objects), false, 1 << 12, g.ticker))
        push!(g.function_relation, first + i)
        push!(g.function_values, Decimal[])
    end
    values = g.problem.values
    for i in 1:length(values)
        tick!(g)
        f = values.predicate[i]
        r = g.relations[first+f]
        if insert_args!(r, arguments(values, i))
            push!(g.function_values[f], g.problem.value[i])
        elseif g.function_values[f][find_args(r, arguments(values, i))] != g.problem.value[i]
            name = shorten(atom_name(r.name, arguments(values, i), [o.name for o in g.problem.objects]))
            throw(PlanRankError(:meaning, "$name has two different initial values, expected one", g.problem.file, 0, 0))
        end
    end
    foreach(show_all_rows!, @view g.relations[first+1:end])
end

"More types than these have hash tables if there are many objects: tables of all objects would take too much memory."
const TYPES_WITH_TABLES = 64

"The objects, in order, that are of one of the types."
function objects_of_types(g::Grounder, types::Vector{Int32})
    found = Int32[]
    for (own, objects) in g.objects_by_types
        tick!(g)
        is_one_of(g.domain.types, own, types) && append!(found, objects)
    end
    sort!(found)
end

"The unary relation of the objects that are of one of the types."
function type_relation!(g::Grounder, types::Vector{Int32})
    get!(g.type_relation, types) do
        dense_keys = length(g.type_relation) < TYPES_WITH_TABLES ? typemax(Int) : 1 << 12
        r = Relation("type", 1, length(g.problem.objects), false, dense_keys, g.ticker)
        for object in objects_of_types(g, types)
            tick!(g)
            insert_args!(r, (object,))
        end
        show_all_rows!(r)
        push!(g.relations, r)
        Int32(length(g.relations))
    end
end

# Making rules from schemas.

"Names for the terms of a rule: the action's variables keep their numbers, each constant gets a number behind them."
struct RuleNames
    variables::Int
    constants::Vector{Int32}
end

function name!(names::RuleNames, t::Term)::Int32
    t > 0 && return t
    k = findfirst(==(-t), names.constants)
    k === nothing && (push!(names.constants, -t); k = length(names.constants))
    names.variables + k
end

name!(names::RuleNames, terms::Vector{Term}) = Int32[name!(names, t) for t in terms]
rule_atom(names::RuleNames, l::Literal) = RuleAtom(l.predicate, name!(names, l.terms))

"""
A rule for a conjunction. `first` are body atoms that come before those of the conjunction, `types` the type demands as
pairs of term and types.
"""
function make_rule(g::Grounder, names::RuleNames, c::Conjunction, first::Vector{RuleAtom}, types,
                   heads::Vector{Literal}, found::Integer=0, notes::Vector{Int32}=Int32[];
                   given::Vector{Int32}=Int32[])
    body = [first; RuleAtom[rule_atom(names, l) for l in c.positive]]
    add_demands!(body, g, [RuleAtom(type_relation!(g, type), Int32[name!(names, term)]) for (term, type) in types])
    absent = RuleAtom[rule_atom(names, l) for l in c.negative if !g.relations[l.predicate].fluent]
    pairs(list) = Tuple{Int32,Int32}[(name!(names, a), name!(names, b)) for (a, b) in list]
    equal, unequal = pairs(c.equal), pairs(c.unequal)
    head_atoms = RuleAtom[rule_atom(names, l) for l in heads]
    binding = [zeros(Int32, names.variables); names.constants]
    triggers = [i for (i, a) in enumerate(body) if g.relations[a.relation].fluent]
    Rule(body, triggers, absent, equal, unequal, binding, length(names.constants), given, head_atoms, found, notes,
         false, fill(NOT_PLANNED, length(body) + 1))
end

"Adds each demand that a variable be of a type, unless an atom of the body can only match objects of that type there."
function add_demands!(body::Vector{RuleAtom}, g::Grounder, demands::Vector{RuleAtom})
    columns = Dict{Int32,Vector{Tuple{Int32,Int32}}}()      # for each variable relations and positions where it stands
    function note(a::RuleAtom)
        for (position, name) in enumerate(a.names)
            tick!(g)
            push!(get!(() -> Tuple{Int32,Int32}[], columns, name), (a.relation, position))
        end
    end
    foreach(note, body)
    for demand in demands
        found = get(columns, demand.names[1], ())
        any(column -> column_has_type(g, column..., demand.relation), found) && continue
        push!(body, demand)
        note(demand)
    end
end

column_has_type(g::Grounder, relation::Int32, position::Int32, wanted::Int32) =
    get!(() -> find_column_type(g, relation, position, wanted), g.column_has_type, (relation, position, wanted))

function find_column_type(g::Grounder, relation::Int32, position::Int32, wanted::Int32)
    r, type = g.relations[relation], g.relations[wanted]
    tick!(g)
    r.fluent || return all(o -> (tick!(g); !r.seen[o, position]) || find_args(type, (o,)) != 0, 1:r.objects)
    relation <= length(g.domain.predicates) && g.well_typed[relation] || return false
    declared = g.relations[type_relation!(g, g.domain.predicates[relation].parameters[position].types)]
    all(o -> (tick!(g); find_args(type, (o,)) != 0), declared.args)
end

"""
For each predicate: do all effects that add it respect the types it was declared with? Then all its reachable
atoms do.
"""
function well_typed_predicates(domain::Domain, ticker::Ticker)
    result = trues(length(domain.predicates))
    respects(a::Action, t::Term, types) = t > 0 ? issubtype(domain.types, a.variables[t].types, types) :
        is_one_of(domain.types, domain.constants[-t].types, types)
    function visit(a::Action, e::Effect)
        tick!(ticker)
        if e.kind == :add
            wanted = domain.predicates[e.predicate].parameters
            all(respects(a, t, v.types) for (t, v) in zip(e.terms, wanted)) || (result[e.predicate] = false)
        end
        foreach(p -> visit(a, p), e.parts)
    end
    foreach(a -> visit(a, a.effect), domain.actions)
    result
end

"The variables that tell the ground instances of an action apart: its own and those of existential quantifiers."
schema_variables(s::Schema) = unique(Int32[filter(>(0), s.parameters); s.condition.variables])

"Whether the effect needs no rule of its own: its condition asks for no atom, no variable and no static negation."
function holds_relaxed(g::Grounder, e::LiftedEffect)
    c = e.condition
    isempty(c.positive) && isempty(c.variables) && isempty(c.equal) && isempty(c.unequal) &&
        all(l -> g.relations[l.predicate].fluent, c.negative)
end

function build_rules!(g::Grounder)
    effect_rules = Rule[]
    for s in g.schemas
        notes = schema_variables(s)
        direct = filter(e -> holds_relaxed(g, e), s.effects)
        joined = filter(e -> !holds_relaxed(g, e) && !isempty(e.add), s.effects)
        found = push_relation!(g, isempty(joined) ? Relation(s.name, length(notes), g.ticker) :
                                  Relation(s.name, length(notes), length(g.problem.objects), true, 1 << 12, g.ticker))
        heads = reduce(vcat, (e.add for e in direct); init=s.add)
        types = [[(v, s.types[v]) for v in notes]; s.also]
        names = RuleNames(length(s.types), Int32[])
        cost = RuleAtom[]
        if s.cost.symbol != 0
            push!(cost, RuleAtom(g.function_relation[s.cost.symbol], name!(names, s.cost.terms)))
        end
        rule = make_rule(g, names, s.condition, cost, types, heads, found, notes)
        push!(g.rules, rule)
        has_static_negation(rule) && append!(g.lenient_rules, (lenient_rule(rule, h) for h in rule.heads))
        for e in joined
            types = [(v, s.types[v]) for v in e.condition.variables]
            names = RuleNames(length(s.types), copy(names.constants))
            effect_rule = make_rule(g, names, e.condition, [RuleAtom(found, notes)], types, e.add)
            push!(effect_rules, effect_rule)
            (has_static_negation(rule) || has_static_negation(effect_rule)) &&
                append!(g.lenient_rules, (lenient_rule(effect_rule, h, rule.body) for h in effect_rule.heads))
        end
    end
    append!(g.rules, effect_rules)
    register_triggers!(g)
end

has_static_negation(rule::Rule) = !isempty(rule.absent) || !isempty(rule.unequal)

"""
The rule without its static negative literals and inequalities, for one head. Fast Downward's translator counts as
reachable what such a rule gives, though the action itself may not exist; we count the same. `body` replaces
the first body atom, the action of a conditional effect.
"""
function lenient_rule(rule::Rule, head::RuleAtom, body::Vector{RuleAtom}=RuleAtom[])
    atoms = isempty(body) ? rule.body : [body; rule.body[2:end]]
    Rule(atoms, Int[], RuleAtom[], rule.equal, Tuple{Int32,Int32}[], copy(rule.binding), rule.constants, Int32[],
         [head], 0, Int32[], true, fill(NOT_PLANNED, length(atoms) + 1))
end

push_relation!(g::Grounder, r::Relation) = (push!(g.relations, r); Int32(length(g.relations)))

function register_triggers!(g::Grounder)
    g.triggers = [Trigger[] for _ in g.relations]
    g.constant_triggers = [ConstantTriggers() for _ in g.relations]
    for (number, rule) in enumerate(g.rules)
        tick!(g)
        any(a -> !g.relations[a.relation].fluent && g.relations[a.relation].visible == 0, rule.body) && continue
        for atom in rule.triggers
            a = rule.body[atom]
            variables = length(rule.binding) - rule.constants
            constant = findfirst(>(variables), a.names)
            trigger = Trigger(number, atom, constant === nothing && allunique(a.names))
            if constant === nothing
                push!(g.triggers[a.relation], trigger)
            else
                key = (Int32(constant), rule.binding[a.names[constant]])
                push!(get!(() -> Trigger[], g.constant_triggers[a.relation], key), trigger)
            end
        end
    end
end

# Running them.

"Actions with many literals tick at every so many of them; that of others is spared."
const STEPS_OF_WIDE_ACTIONS = 16 - 1

"Called for every binding of a rule: notes it and the atoms that follow."
function derive!(g::Grounder, rule::Rule)
    relations, binding = g.relations, rule.binding
    if rule.found != 0
        r = relations[rule.found]
        if r.fluent
            insert_row!(r, binding, rule.notes, 1, r.arity) && push_within!(g.ticker, g.queue, rule.found)
        else
            append_row!(r, binding, rule.notes, 1, r.arity)
            r.count += 1
        end
    end
    @inbounds for k in eachindex(rule.heads)
        k & STEPS_OF_WIDE_ACTIONS == 0 && tick!(g)
        h = rule.heads[k]
        r = relations[h.relation]
        insert_row!(r, binding, h.names, 1, r.arity) && push_within!(g.ticker, g.queue, h.relation)
    end
end

function current_plan!(g::Grounder, rule::Rule, start::Int)
    number = start == 0 ? length(rule.plans) : start
    plan = @inbounds rule.plans[number]
    if plan === NOT_PLANNED
        plan = rule.plans[number] = make_plan!(Plan(), g, rule, start)
    elseif plan.epoch < g.epoch && length(plan.steps) > 1
        make_plan!(plan, g, rule, start)
    end
    plan
end

"Joins the whole rule with all that is visible, beginning from the variables given."
function fire!(emit::F, g::Grounder, rule::Rule) where {F}
    plan = current_plan!(g, rule, 0)
    start_join!(emit, g, rule, plan)
end

"Joins the newest visible row of a relation, at body atom `t.atom`, with the rest of the rule."
function fire!(g::Grounder, t::Trigger, row::Int)
    tick!(g)
    rule = g.rules[t.rule]
    @inbounds for k in rule.triggers
        g.relations[rule.body[k].relation].visible == 0 && return
    end
    a = rule.body[t.atom]
    r = g.relations[a.relation]
    base = (row - 1) * r.arity
    binding = rule.binding
    variables = length(binding) - rule.constants
    @inbounds for p in 1:r.arity
        object = r.args[base+p]
        if a.names[p] > variables
            binding[a.names[p]] == object || return
        else
            binding[a.names[p]] = object
        end
    end
    if !t.plain
        for p in 1:r.arity
            binding[a.names[p]] == r.args[base+p] || return
        end
    end
    plan = current_plan!(g, rule, Int(t.atom))
    start_join!(derive!, g, rule, plan)
end

function reach!(g::Grounder)
    for rule in g.rules
        isempty(rule.triggers) && fire!(derive!, g, rule)
    end
    done = handle_queue!(g, 0)
    while true
        for rule in g.lenient_rules
            fire!(derive!, g, rule)
        end
        done == length(g.queue) && break
        done = handle_queue!(g, done)
    end
end

"Handles all atoms that wait after the first `done`, and those that follow from them."
function handle_queue!(g::Grounder, done::Int)
    while done < length(g.queue)
        done += 1
        relation = Int(g.queue[done])
        row = show_next_row!(g.relations[relation])
        for t in g.triggers[relation]
            fire!(g, t, row)
        end
        isempty(g.constant_triggers[relation]) || fire_constants!(g, relation, row)
        tick!(g)
        if done >= g.next_epoch
            g.next_epoch *= 2
            g.epoch += 1
        end
    end
    done
end

function fire_constants!(g::Grounder, relation::Int, row::Int)
    r = g.relations[relation]
    for p in 1:r.arity
        list = get(g.constant_triggers[relation], (Int32(p), r.args[(row-1)*r.arity+p]), nothing)
        list === nothing && continue
        for t in list
            fire!(g, t, row)
        end
    end
end
