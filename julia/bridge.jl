# What Python calls. Arrays come as an address and a length, so that no copy is made and every function sees plain
# vectors; arrays go back as vectors, which Python views in place, with indices from 0. Names cross as one string.

"A vector over memory that Python owns; valid until the call returns."
borrowed(::Type{T}, address::Integer, n::Integer) where {T} = unsafe_wrap(Vector{T}, Ptr{T}(UInt(address)), n)

"Version of this module; Python refuses one that is not its own."
module_version() = "0.1.0"

julia_version() = string(VERSION)

"A vector of n Float32 counting from zero, and the sum of such a vector: what `planrank doctor` tries the bridge with."
ramp(n::Integer) = Float32.(0:n-1)
sum_of(address::Integer, n::Integer) = Float64(sum(borrowed(Float32, address, n)))

"The fields of a PlanRankError for Python to raise its own, or of any other error as kind \"internal\"."
error_fields(e::PlanRankError) = (String(e.kind), e.message, e.file, e.line, e.column)
error_fields(::OutOfMemoryError) = ("memory", "out of memory", "", 0, 0)
error_fields(e) = ("internal", sprint(showerror, e), "", 0, 0)

ask_before_going_on(address::Integer) = (STOP_QUESTION[] = Ptr{Cvoid}(UInt(address)); nothing)

# Tasks

"A ground task with what it was made from and how long that took."
struct LoadedTask
    domain::Domain
    problem::Problem
    task::Task
    parse_seconds::Float64
    ground_seconds::Float64
end

function load(domain_file::AbstractString, problem_file::AbstractString, deadline::Real, memory_bytes::Integer)
    started = time()
    domain, problem = parse_files(domain_file, problem_file)
    parsed = time()
    task = ground(domain, problem, Limits(deadline, memory_bytes))
    LoadedTask(domain, problem, task, parsed - started, time() - parsed)
end

"Numbers of a task for Python: (facts, operators, words of a packed state, goal disjuncts, cost scale, unit cost)."
dimensions(l::LoadedTask) = (nfacts(l.task), noperators(l.task), nwords(l.task), length(l.task.goal_pos),
                             Int(l.task.cost_scale), l.task.unit_cost)

task_seconds(l::LoadedTask) = (l.parse_seconds, l.ground_seconds)
task_names(l::LoadedTask) = (l.task.domain, l.task.problem)

const NAME_LISTS = Dict(
    "facts" => fact_names, "operators" => operator_names, "objects" => t -> t.objects,
    "predicates" => t -> t.predicates, "schemas" => t -> t.schemas)

joined_names(l::LoadedTask, list::AbstractString) = join(NAME_LISTS[list](l.task), '\n')

"A column of the task by the name of its field, indices from 0: costs stay what they are."
task_column(l::LoadedTask, name::AbstractString) = from_zero(getfield(l.task, Symbol(name)))
task_rows(l::LoadedTask, name::AbstractString) =
    (rows = getfield(l.task, Symbol(name)); (from_zero(rows.offsets), from_zero(rows.values)))
task_costs(l::LoadedTask) = l.task.op_cost

from_zero(indices::Vector{Int32}) = indices .- Int32(1)

validate(l::LoadedTask, text::AbstractString, file::AbstractString) = validate_plan(l.domain, l.problem, String(text), String(file))

validate_files(domain_file::AbstractString, problem_file::AbstractString, plan_file::AbstractString) =
    validate_plan(parse_files(domain_file, problem_file)..., read_text(String(plan_file)), String(plan_file))

# Search

"`deadline` is for the preparations only, `memory_bytes` for the whole process."
function new_search(l::LoadedTask, name, weight, reopen, ties, batch, seed, deadline::Real, memory_bytes::Integer)
    generator = SuccessorGenerator(l.task, Limits(deadline, memory_bytes))
    make_search(l.task, Symbol(name); weight = weight, batch = batch, seed = seed, generator = generator,
                memory_limit = max(0, memory_bytes - resident_bytes()), reopen = reopen,
                ties = ties === nothing ? nothing : Symbol(ties))
end

new_heuristic(l::LoadedTask, name::AbstractString, deadline::Real, memory_bytes::Integer) =
    make_heuristic(l.task, Symbol(name), Limits(deadline, memory_bytes))

"Values of n packed states that lie one after the other."
function heuristic_values(heuristic, address::Integer, n::Integer, words::Integer)
    states = borrowed(UInt64, address, n * words)
    [Float64(evaluate(heuristic, states, (i - 1) * words)) for i in 1:n]
end

run_slice(search::Search, heuristic, seconds::Real) = String(run!(search, heuristic; seconds = seconds))

expand_batch(search::Search, k::Integer, seconds::Real) = expand!(search, k; seconds = seconds)
insert_values(search::Search, address::Integer, n::Integer) = Base.insert!(search, borrowed(Float32, address, n))
function insert_values_and_policy(search::Search, values, n, offsets, operators, logs, m)
    insert_with_policy!(search, borrowed(Float32, values, n), borrowed(Int32, offsets, n + 1),
                        borrowed(Int32, operators, m), borrowed(Float32, logs, m))
end
release_search(search::Search) = release!(search)
expanded_states(search::Search) = search.expanded
search_status(search::Search) = String(search.status)

"(expanded, evaluated, generated, reopened, dead ends, best h, states, bytes)"
statistics(s::Search) = (s.expanded, s.evaluated, s.generated, s.reopened, s.dead_ends, s.best_h, s.store.count, memory_bytes(s))

plan_operators(search::Search) = from_zero(plan(search))
plan_lines(l::LoadedTask, search::Search) = join((operator_name(l.task, o) for o in plan(search)), '\n')

function needed_plan_lines(l::LoadedTask, search::Search, deadline::Real)
    limits = Limits(deadline, typemax(Int))
    needed = needed_steps(l.task, plan(search), limits; generator = search.generator, goal = search.goal)
    join((operator_name(l.task, o) for o in needed), '\n')
end

# Examples

"""
The columns of a ranking, as `planrank.ranking.Ranking` has them: states, path_g, open_state, open_from, open_until,
open_g, open_later_on_path, child_offsets, child_state, child_cost, action, chosen. Costs are what the user wrote.
"""
function ranking_columns(l::LoadedTask, plan_text::AbstractString)
    r = ranking_of_plan(l.task, plan_text)
    as_written(costs) = Float32.(costs ./ l.task.cost_scale)
    words = UInt64[r.store.words[i] for i in 1:r.store.count*r.store.nwords]
    (words, as_written(r.path_g), from_zero(r.open_state), r.open_from, r.open_until, as_written(r.open_g),
        UInt8[is_later_on_path(r, k) for k in 1:length(r.open_g)], from_zero(r.action_offsets), from_zero(r.child),
        as_written(l.task.op_cost[r.action]), from_zero(r.action), from_zero(r.chosen))
end

"The node taken, 0 if there was none, and how many new states wait for their values."
take_best(search::Search) = (Int(take_best!(search)), waiting(search))

"The step from one node to the other in words, empty if there is none."
joining_step(l::LoadedTask, search::Search, from::Integer, to::Integer) =
    (o = joining_operator(search, from, to); o == 0 ? "" : operator_name(l.task, o))
