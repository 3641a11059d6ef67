# Tasks from files, and what is made of a task on demand: names and packed rows.

function read_text(file::String)
    isdir(file) && throw(PlanRankError(:usage, "this is a folder, expected a PDDL file", file, 0, 0))
    ispath(file) || throw(PlanRankError(:usage, "there is no such file, expected a PDDL file", file, 0, 0))
    try
        read(file, String)
    catch e
        e isa Union{SystemError,Base.IOError} || rethrow()
        throw(PlanRankError(:usage, "this file cannot be read, expected a readable PDDL file", file, 0, 0))
    end
end

"Domain and problem, read, parsed and checked."
function parse_files(domain_file::AbstractString, problem_file::AbstractString)
    domain = parse_domain(read_text(String(domain_file)), String(domain_file))
    domain, parse_problem(read_text(String(problem_file)), String(problem_file), domain)
end

load_task(domain_file::AbstractString, problem_file::AbstractString, limits::Limits=Limits()) =
    ground(parse_files(domain_file, problem_file)..., limits)

function load_task_from_text(domain_text::AbstractString, problem_text::AbstractString, limits::Limits=Limits();
                             domain_file::String="domain", problem_file::String="problem")
    domain = parse_domain(String(domain_text), domain_file)
    ground(domain, parse_problem(String(problem_text), problem_file, domain), limits)
end

fact_names(t::Task) = String[fact_name(t, f) for f in 1:nfacts(t)]
operator_names(t::Task) = String[operator_name(t, o) for o in 1:noperators(t)]

"""
Preconditions, negative preconditions, adds and deletes of all operators as packed bits: operator o has the words
`(o-1)*nwords(t)+1 : o*nwords(t)` of each.
"""
packed_rows(t::Task) = (pre=pack(t, t.pre), neg=pack(t, t.neg), add=pack(t, t.add), del=pack(t, t.del))

function pack(t::Task, rows::Rows)
    words = nwords(t)
    packed = zeros(UInt64, words * length(rows))
    for o in 1:length(rows), f in row(rows, o)
        packed[(o-1)*words+(f-1)÷64+1] |= UInt64(1) << ((f - 1) % 64)
    end
    packed
end
