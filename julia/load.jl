# Tasks from PDDL, given as files or as texts.

"A PDDL text: the content of the file `name`, or with `text` that text, which errors then call `name`."
struct Source
    name::String
    text::Union{String,Nothing}
end

Source(file::AbstractString) = Source(String(file), nothing)
Source(name::AbstractString, text::AbstractString) = Source(String(name), String(text))

text_of(source::Source, limits::Limits) = source.text === nothing ? read_text(source.name, limits) : source.text

const BYTES_PER_READ = 1 << 24

function read_text(file::String, limits::Limits)
    isdir(file) && throw(PlanRankError(:usage, "this is a folder, expected a PDDL file", file, 0, 0))
    ispath(file) || throw(PlanRankError(:usage, "there is no such file, expected a PDDL file", file, 0, 0))
    try
        open(io -> read_within(io, limits), file)
    catch e
        e isa Union{SystemError,Base.IOError} || rethrow()
        throw(PlanRankError(:usage, "this file cannot be read, expected a readable PDDL file", file, 0, 0))
    end
end

"All that can be read, piece by piece: a file may be very large, or have no end."
function read_within(io::IO, limits::Limits)
    bytes = UInt8[]
    while !eof(io)
        check(limits, "reading files", 2 * length(bytes))
        append!(bytes, read(io, BYTES_PER_READ))
    end
    check(limits, "reading files", length(bytes))
    String(bytes)
end

"Domain and problem, read, parsed and checked."
function parse_sources(domain_source::Source, problem_source::Source, limits::Limits)
    domain = parse_domain(text_of(domain_source, limits), domain_source.name, limits)
    domain, parse_problem(text_of(problem_source, limits), problem_source.name, domain, limits)
end

"A ground task with what it was made from and how long that took."
struct LoadedTask
    domain::Domain
    problem::Problem
    task::Task
    parse_seconds::Float64
    ground_seconds::Float64
end

function load(domain_source::Source, problem_source::Source, limits::Limits = Limits())
    started = time()
    domain, problem = parse_sources(domain_source, problem_source, limits)
    parsed = time()
    task = ground(domain, problem, limits)
    LoadedTask(domain, problem, task, parsed - started, time() - parsed)
end

"Whether the plan is one: its number of steps and its cost, else a PlanRankError."
function validate(domain_source::Source, problem_source::Source, plan_source::Source, limits::Limits = Limits())
    domain, problem = parse_sources(domain_source, problem_source, limits)
    validate_plan(domain, problem, text_of(plan_source, limits), plan_source.name, limits)
end
