# Replays a plan on the lifted domain and problem. It shares the parser with the rest, but nothing of grounding,
# normalisation or search, so that their mistakes do not go unnoticed here.

"A ground atom: the predicate, then its objects."
const Atom = Vector{Int32}

struct Replay
    domain::Domain
    problem::Problem
    state::Set{Atom}
    object_number::Dict{String,Int32}
    action_number::Dict{String,Int}
    values::Dict{Atom,Decimal}      # of functions, where they have one
    ticker::Ticker
end

function Replay(domain::Domain, problem::Problem, limits::Limits)
    ticker = Ticker(limits, "validating the plan")
    ground_atoms(atoms) =
        ((tick!(ticker); Int32[atoms.predicate[i]; arguments(atoms, i)]) for i in 1:length(atoms))
    state = Set{Atom}(ground_atoms(problem.init))
    objects = Dict{String,Int32}((tick!(ticker); object.name => i) for (i, object) in enumerate(problem.objects))
    actions = Dict{String,Int}(action.name => i for (i, action) in enumerate(domain.actions))
    values = Dict{Atom,Decimal}()
    for (atom, value) in zip(ground_atoms(problem.values), problem.value)
        get!(values, atom, value)
    end
    Replay(domain, problem, state, objects, actions, values, ticker)
end

"The variables of an action or goal and the objects they stand for at the moment."
struct Scope
    variables::Vector{Variable}
    objects::Vector{Int32}
end

Scope(variables::Vector{Variable}) = Scope(variables, zeros(Int32, length(variables)))

"""
Check a plan and return its number of steps and its cost. A plan that is not one raises a PlanRankError that names the
line, the step and what does not hold.
"""
function validate_plan(domain::Domain, problem::Problem, text::String, file::String, limits::Limits=Limits())
    t = tokenise(text, file, limits; may_be_empty=true)
    replay = Replay(domain, problem, limits)
    cost = 0 // 1
    steps = 0
    i = 1
    while i <= length(t)
        steps += 1
        cost += replay_step!(replay, t, i, steps)
        i = skip_expression(t, i)
    end
    failed = unmet(replay, problem.goal, Scope(problem.goal_variables))
    failed === nothing || throw(PlanRankError(:meaning,
        "after $steps step(s) $failed does not hold, expected a plan that reaches the goal", file, 0, 0))
    steps, Float64(cost)
end

function replay_step!(replay::Replay, t::Tokens, i::Int, step::Int)
    tick!(replay.ticker)
    isopen(t, i) || fail_expected(t, i, "an action such as '(name argument …)'")
    action = find_action(replay, t, i)
    scope = bind_arguments(replay, action, t, i)
    failed = unmet(replay, action.precondition, scope)
    failed === nothing || fail(t, i, :meaning,
        "step $step: $failed does not hold, but '$(action.name)' needs it, expected an applicable action")
    added, deleted = Atom[], Atom[]
    collect_effects!(added, deleted, replay, action.effect, scope)
    setdiff!(replay.state, deleted)
    union!(replay.state, added)
    cost = step_cost(replay, action, scope)
    cost === nothing &&
        fail(t, i, :meaning, "step $step: the cost of '$(action.name)' has no value in :init, expected one")
    cost
end

function find_action(replay::Replay, t::Tokens, i::Int)
    isword(t, i + 1) || fail_expected(t, i + 1, "the name of an action")
    number = get(replay.action_number, word(t, i + 1), 0)
    number == 0 || return replay.domain.actions[number]
    fail(t, i + 1, :meaning, "unknown action $(quoted(t, i + 1)), expected one of the domain '$(replay.domain.name)'")
end

function bind_arguments(replay::Replay, action::Action, t::Tokens, i::Int)
    parts = children(t, i, 2)
    length(parts) == action.parameters || fail(t, i, :meaning,
        "'$(action.name)' has $(length(parts)) argument(s) here, expected $(action.parameters)")
    scope = Scope(action.variables)
    for (k, part) in enumerate(parts)
        isword(t, part) || fail_expected(t, part, "an object")
        number = get(replay.object_number, word(t, part), Int32(0))
        number == 0 && fail(t, part, :meaning,
            "unknown object $(quoted(t, part)), expected one of the problem '$(replay.problem.name)'")
        wanted = action.variables[k].types
        has_type(replay, number, wanted) || fail(t, part, :meaning,
            "$(quoted(t, part)) has the wrong type, expected $(type_names(replay.domain.types, wanted))")
        scope.objects[k] = number
    end
    scope
end

has_type(replay::Replay, object::Integer, wanted::Vector{Int32}) =
    issubtype(replay.domain.types, replay.problem.objects[object].types, wanted)

value_of(term::Term, scope::Scope) = term > 0 ? scope.objects[term] : -term

atom_of(predicate::Integer, terms::Vector{Term}, scope::Scope) = Int32[predicate; [value_of(t, scope) for t in terms]]

function holds(replay::Replay, f::Formula, scope::Scope)::Bool
    tick!(replay.ticker)
    f.kind === :atom && return atom_of(f.predicate, f.terms, scope) in replay.state
    f.kind === :equal && return value_of(f.terms[1], scope) == value_of(f.terms[2], scope)
    f.kind === :not && return !holds(replay, f.parts[1], scope)
    f.kind === :and && return all(part -> holds(replay, part, scope), f.parts)
    f.kind === :or && return any(part -> holds(replay, part, scope), f.parts)
    f.kind === :imply && return !holds(replay, f.parts[1], scope) || holds(replay, f.parts[2], scope)
    f.kind === :forall && return every(() -> holds(replay, f.parts[1], scope), replay, scope, f.variables)
    !every(() -> !holds(replay, f.parts[1], scope), replay, scope, f.variables)
end

"Whether `test` holds however the variables stand for objects of their types; tries all ways, one after the other."
function every(test, replay::Replay, scope::Scope, variables::Vector{Int32}, k::Int = 1)::Bool
    k > length(variables) && return test()
    v = variables[k]
    for object in 1:length(replay.problem.objects)
        tick!(replay.ticker)
        has_type(replay, object, scope.variables[v].types) || continue
        scope.objects[v] = object
        every(test, replay, scope, variables, k + 1) || return false
    end
    true
end

"The first part of a condition that does not hold, in words, or nothing."
function unmet(replay::Replay, f::Formula, scope::Scope)
    holds(replay, f, scope) && return nothing
    f.kind === :and && return unmet(replay, f.parts[findfirst(part -> !holds(replay, part, scope), f.parts)], scope)
    formula_text(replay, f, scope)
end

function formula_text(replay::Replay, f::Formula, scope::Scope)
    names = [replay.problem.objects[value_of(term, scope)].name for term in f.terms]
    f.kind === :atom && return string('(', join([replay.domain.predicates[f.predicate].name; names], ' '), ')')
    f.kind === :equal && return string("(= ", join(names, ' '), ')')
    f.kind === :not && f.parts[1].kind in (:atom, :equal) &&
        return string("(not ", formula_text(replay, f.parts[1], scope), ')')
    "a condition '$(f.kind)'"
end

function collect_effects!(added::Vector{Atom}, deleted::Vector{Atom}, replay::Replay, e::Effect, scope::Scope)
    tick!(replay.ticker)
    if e.kind === :add
        push!(added, atom_of(e.predicate, e.terms, scope))
    elseif e.kind === :delete
        push!(deleted, atom_of(e.predicate, e.terms, scope))
    elseif e.kind === :forall
        every(replay, scope, e.variables) do
            foreach(part -> collect_effects!(added, deleted, replay, part, scope), e.parts)
            true
        end
    elseif e.kind === :and || holds(replay, e.condition[1], scope)
        foreach(part -> collect_effects!(added, deleted, replay, part, scope), e.parts)
    end
    nothing
end

exact(d::Decimal) = d.digits // 10^d.decimals

"What the step costs, or nothing if its cost is a function without a value there."
function step_cost(replay::Replay, action::Action, scope::Scope)
    replay.problem.metric || return 1 // 1
    action.cost.symbol == 0 && return exact(action.cost.value)
    value = get(replay.values, atom_of(action.cost.symbol, action.cost.terms, scope), nothing)
    value === nothing ? nothing : exact(value)
end
