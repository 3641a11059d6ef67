# What Python calls, besides `proved_unsolvable`, `new_words`, `resident_bytes`, `peak_bytes` and `workload`; for models
# and their training see bridge_models.jl.
#
# Arrays come as an address and a length, so that no copy is made and every function sees plain vectors; arrays go back
# as vectors, which Python views in place. Indices count from 0 on Python's side. Lists of names cross as one string, a
# line each. Costs and values are those the user wrote: here they are multiplied by the task's `cost_scale` on the way
# in and divided by it on the way out, because the rest of this module counts costs in whole numbers.

"A vector over memory that Python owns; valid until the call returns."
borrowed(::Type{T}, address::Integer, n::Integer) where {T} = unsafe_wrap(Vector{T}, Ptr{T}(UInt(address)), n)

from_zero(indices::Vector{Int32}) = indices .- Int32(1)

lines(names) = join(names, '\n')

# The module

const PROJECT_FILE = normpath(joinpath(@__DIR__, "..", "Project.toml"))
include_dependency(PROJECT_FILE)

# Read while the module is compiled: a system image has no Project.toml beside it.
const MODULE_VERSION = String(match(r"^version\s*=\s*\"([^\"]+)\""m, read(PROJECT_FILE, String))[1])

"Version of this module; Python refuses one that is not its own."
module_version() = MODULE_VERSION

julia_version() = string(VERSION)

"A vector of n Float32 counting from zero, and the sum of such a vector: what `planrank doctor` tries the bridge with."
ramp(n::Integer) = Float32.(0:n-1)
sum_of(address::Integer, n::Integer) = Float64(sum(borrowed(Float32, address, n)))

"The fields of a PlanRankError for Python to raise its own, or of any other error as kind \"internal\"."
error_fields(e::PlanRankError) = (String(e.kind), e.message, e.file, e.line, e.column)
error_fields(::OutOfMemoryError) = ("memory", "out of memory", "", 0, 0)
error_fields(e) = ("internal", sprint(showerror, e), "", 0, 0)

"Let long loops ask the function at this address whether the user wants to stop; see `STOP_QUESTION`."
ask_before_going_on(address::Integer) = (STOP_QUESTION[] = Ptr{Cvoid}(UInt(address)); nothing)

# Tasks

"A PDDL file to read, or a PDDL text and what errors call it; all functions that take PDDL take these."
file_source(file::AbstractString) = Source(file)
text_source(name::AbstractString, text::AbstractString) = Source(name, text)

load(domain::Source, problem::Source, deadline::Real, memory_bytes::Integer) =
    load(domain, problem, Limits(deadline, memory_bytes))

"(kind, objects) of a PDDL file, without parsing it: see `outline_of`. Only a file that cannot be read is an error."
outline(file::AbstractString) = outline_of(read_text(String(file), Limits()))

"Numbers of a task: (facts, operators, words of a packed state, goal disjuncts, cost scale, unit cost)."
dimensions(l::LoadedTask) = (nfacts(l.task), noperators(l.task), nwords(l.task), length(l.task.goal_pos),
    Int(l.task.cost_scale), l.task.unit_cost)

task_seconds(l::LoadedTask) = (l.parse_seconds, l.ground_seconds)
task_names(l::LoadedTask) = (l.task.domain, l.task.problem)

const NAME_LISTS = Dict(
    "facts" => fact_names, "operators" => operator_names, "objects" => t -> t.objects,
    "predicates" => t -> t.predicates, "schemas" => t -> t.schemas)

joined_names(l::LoadedTask, list::AbstractString) = lines(NAME_LISTS[list](l.task))

"The names of \"facts\" or \"operators\" in alphabetical order, to be asked for piece by piece."
function sorted_names(l::LoadedTask, list::AbstractString, deadline::Real, memory_bytes::Integer)
    sorted = list == "facts" ? sorted_facts : sorted_operators
    sorted(l.task, Limits(deadline, memory_bytes))
end

"How many names and how many of them make a piece; `names_piece`: the piece after the first `done` names, a line each."
names_in_pieces(names::SortedNames) = (length(names.order), NAMES_PER_PIECE)
names_piece(names::SortedNames, done::Integer) = piece_of_names(names, done)

"A column of indices by the name of its field in `Task`; `task_rows`: offsets and values of a field that is `Rows`."
task_column(l::LoadedTask, name::AbstractString) = from_zero(getfield(l.task, Symbol(name)))
task_rows(l::LoadedTask, name::AbstractString) =
    (rows = getfield(l.task, Symbol(name)); (from_zero(rows.offsets), from_zero(rows.values)))

"The atoms of the initial state that no action changes: number of the predicate, offsets of the arguments, objects."
function static_atoms(l::LoadedTask)
    atoms, fluent = l.problem.init, fluent_predicates(l.domain)
    kept = [i for i in 1:length(atoms) if !fluent[atoms.predicate[i]]]
    args = rows_of(arguments(atoms, i) for i in kept)
    from_zero(atoms.predicate[kept]), from_zero(args.offsets), from_zero(args.values)
end

"The predicates of the domain, and its actions, a line each: the name and then those of the parameters."
function declared(l::LoadedTask)
    line(name, variables) = join([name; [variable.name for variable in variables]], ' ')
    lines(line(p.name, p.parameters) for p in l.domain.predicates),
    lines(line(a.name, a.variables[1:a.parameters]) for a in l.domain.actions)
end

"What each operator costs, as Float64."
task_costs(l::LoadedTask) = l.task.op_cost ./ l.task.cost_scale

# Validation: the number of steps and the cost of a plan, or a PlanRankError that says why it is no plan

validate(l::LoadedTask, plan_text::AbstractString, plan_name::AbstractString) =
    validate_plan(l.domain, l.problem, String(plan_text), String(plan_name))

validate_sources(domain::Source, problem::Source, plan::Source, deadline::Real, memory_bytes::Integer) =
    validate(domain, problem, plan, Limits(deadline, memory_bytes))

# Heuristics

new_heuristic(l::LoadedTask, name::AbstractString, deadline::Real, memory_bytes::Integer) =
    make_heuristic(l.task, Symbol(name), Limits(deadline, memory_bytes))

"A heuristic that adds up numbers, one for each fact, in the user's costs."
new_table(l::LoadedTask, address::Integer, n::Integer) =
    TableHeuristic(borrowed(Float64, address, n) .* l.task.cost_scale)

"""
Values of n packed states that lie one after the other, as Float64; infinity for a dead end. They are in the user's
costs, even those of goalcount: a search adds it to costs in whole numbers, so a literal counts 1/cost_scale here.
"""
function heuristic_values(l::LoadedTask, heuristic, address::Integer, n::Integer)
    words = nwords(l.task)
    states = borrowed(UInt64, address, n * words)
    [Float64(evaluate(heuristic, states, (i - 1) * words)) / l.task.cost_scale for i in 1:n]
end

"""
Of n packed states, what the relaxed plan of ff makes true and which operators may begin it: offsets and facts, offsets
and operators.
"""
function relaxed_plans(l::LoadedTask, ff::FFHeuristic, address::Integer, n::Integer)
    words, facts, helpful = nwords(l.task), Rows(), Rows()
    states = borrowed(UInt64, address, n * words)
    for i in 1:n
        evaluate(ff, states, (i - 1) * words)
        for (rows, found) in ((facts, ff.needed), (helpful, ff.helpful))
            append!(rows.values, found)
            push!(rows.offsets, length(rows.values) + 1)
        end
    end
    map(from_zero, (facts.offsets, facts.values, helpful.offsets, helpful.values))
end

"What is known of each fact and the goal: see `flags` in `take_new!`, without what holds."
fact_flags(l::LoadedTask, distances::Bool, deadline::Real, memory_bytes::Integer) =
    goal_flags(l.task, distances, Ticker(Limits(deadline, memory_bytes), PREPARING))

"""
What operators change: offsets, and for each fact its place among the effects of the action, adds first, and the fact.
Effects under a condition are among them.
"""
function operator_effects(l::LoadedTask, deadline::Real, memory_bytes::Integer)
    task, signature = l.task, Signature(l.domain)
    ticker = Ticker(Limits(deadline, memory_bytes), PREPARING)
    places = [LiteralPlaces(signature, s) for s in eachindex(task.schemas)]
    offsets, effects, facts = Int32[0], Int32[], Int32[]
    for o in 1:noperators(task)
        tick!(ticker, 8)
        before = places[task.op_schema[o]].add
        each_literal(task, places[task.op_schema[o]], o) do literal, fact, _
            literal > before || return
            push!(effects, literal - before - Int32(1))
            push!(facts, fact - Int32(1))
        end
        push!(offsets, length(facts))
    end
    offsets, effects, facts
end

# Search

"""
`entries`: the open list holds entries; `preferred`: lazy search takes the helpful actions of ff first; `merges`: of
actions that are alike entries have one. `deadline` is for the preparations only, `memory_bytes` for the whole process.
"""
function new_search(l::LoadedTask, name, entries, preferred, merges, weight, reopen, ties, batch, seed, deadline::Real,
    memory_bytes::Integer)
    limits = Limits(deadline, memory_bytes)
    generator = SuccessorGenerator(l.task, limits)
    alike = merges ? Alike(l.domain, l.problem, l.task, limits) : nothing
    make_search(l.task, Symbol(name); entries, preferred, alike, weight, batch, seed, limits, generator,
        memory_limit = max(0, memory_bytes - resident_bytes()), reopen = reopen,
        ties = ties === nothing ? nothing : Symbol(ties))
end

run_slice(search::Search, heuristic, seconds::Real, max_expansions::Integer) =
    String(run!(search, heuristic; seconds, max_expansions))

expand_batch(search::Search, k::Integer, seconds::Real) = expand!(search, k; seconds = seconds)

insert_values(search::Search, address::Integer, n::Integer) =
    insert!(search, in_units(search.task, borrowed(Float32, address, n)))

"The n + 1 offsets of the n waiting states in the list of their applicable operators, and that list."
function new_operators(search::Search)
    offsets, operators = operators_of(search.rule.rows, search.first_waiting, search.store.count)
    offsets, from_zero(operators)
end

"`m` values, one for each operator that `new_operators` gives: see `insert_entries!`."
insert_entry_values(search::Search, address::Integer, m::Integer) =
    insert_entries!(search, in_units(search.task, borrowed(Float32, address, m)))

"`n` values, and for the `m` operators that `new_operators` gives the logarithms of their probabilities."
insert_values_and_policy(search::Search, values, n, logs, m) =
    insert_with_policy!(search, in_units(search.task, borrowed(Float32, values, n)), borrowed(Float32, logs, m))

"Values as the search compares them, in units of the task's costs."
stored_values(l::LoadedTask, address::Integer, n::Integer) = copy(in_units(l.task, borrowed(Float32, address, n)))

in_units(task::Task, values::Vector{Float32}) =
    task.cost_scale == 1 ? values : Float32[in_units(value, task.cost_scale) for value in values]

"""
A value in units of 1/scale. Float32 cannot hold 0.15 exactly, and 100 times what it holds instead is 15.000001. What is
a whole number of units but for that rounding becomes one, so that the values of a heuristic come back unchanged.
"""
function in_units(value::Float32, scale::Integer)
    units = Float64(value) * scale
    whole = round(units)
    Float32(abs(units - whole) <= eps(Float32(units)) ? whole : units)
end

release_search(search::Search) = release!(search)
expanded_states(search::Search) = search.expanded
search_status(search::Search) = String(search.status)

"(expanded, evaluated, generated, reopened, dead ends, best h, states, bytes)"
statistics(s::Search) = (s.expanded, s.evaluated, s.generated, s.reopened, s.dead_ends, s.best_h / s.task.cost_scale,
    s.store.count, memory_bytes(s))

plan_lines(search::Search) = step_lines(search, plan(search))

"The plan without the steps that the goal does not need; after the deadline no further step is looked at."
needed_plan_lines(search::Search, deadline::Real) = step_lines(search, needed_steps(search.task, plan(search),
    Limits(deadline, typemax(Int)); generator = search.generator, goal = search.goal))

step_lines(search::Search, operators) = lines(operator_name(search.task, o) for o in operators)

# Better plans than the first; costs are those the user wrote

"What was found by a search, to be made cheaper; the limits are for the whole process."
new_windows(search::Search, deadline::Real, memory_bytes::Integer) =
    Windows(search.task, plan(search), Limits(deadline, memory_bytes); search.generator, search.goal)

"Go on with the plan that a search has found."
restart_windows(windows::Windows, search::Search) = restart!(windows, plan(search))

improve_slice(windows::Windows, seconds::Real) = String(improve!(windows; seconds = seconds))

"Give the memory of a search back that has not ended."
stop_windows(windows::Windows) = end_search!(windows)

windows_plan_lines(windows::Windows) = lines(operator_name(windows.task, o) for o in windows.plan)

"A search of the same task for anything that costs less than the plan so far; it reopens."
function search_below(windows::Windows, name::AbstractString, weight::Real, memory_bytes::Integer)
    search = make_search(windows.task, Symbol(name); weight, reopen = true, windows.generator, windows.goal,
        memory_limit = max(0, memory_bytes - resident_bytes()))
    lower_bound(search, windows)
    search
end

"From now on only what costs less than the plan so far is looked for."
lower_bound(search::Search, windows::Windows) = (search.bound = steps_cost(windows.task, windows.plan); nothing)

"The node taken, 0 if there was none, and how many new states wait for their values."
take_best(search::Search) = (Int(take_best!(search)), waiting(search))

"The step from one node to the other in words, empty if there is none."
joining_step(search::Search, from::Integer, to::Integer) =
    (o = joining_operator(search, from, to); o == 0 ? "" : operator_name(search.task, o))
