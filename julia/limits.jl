"""
The time and the resident memory (bytes) that the process may use. Long loops call `check` now and then.
"""
struct Limits
    deadline::Float64                   # compared with time()
    memory::Int
end

Limits() = Limits(Inf, typemax(Int))

const PREPARING = "preparing the search"

"A function of the host program, without arguments, that answers with 1 if the user wants to stop."
const STOP_QUESTION = Ref{Ptr{Cvoid}}(C_NULL)

stop_asked() = STOP_QUESTION[] != C_NULL && ccall(STOP_QUESTION[], Cint, ()) != 0

function check(limits::Limits, doing::String)
    stop_asked() && throw(PlanRankError(:interrupted, "interrupted while $doing"))
    time() >= limits.deadline && throw(PlanRankError(:time, "out of time while $doing"))
    limits.memory < typemax(Int) && resident_bytes() > limits.memory &&
        throw(PlanRankError(:memory, "out of memory while $doing"))
    nothing
end

"The most memory this process has used. On Linux `Sys.maxrss` starts from what the parent process used."
function peak_bytes()
    Sys.islinux() || return Int(Sys.maxrss())
    kilobytes = match(r"VmHWM:\s*(\d+) kB", read("/proc/self/status", String))
    kilobytes === nothing ? Int(Sys.maxrss()) : 1024 * parse(Int, kilobytes[1])
end

"The memory this process uses now; where the system does not tell, the most it has used."
function resident_bytes()
    Sys.islinux() || return peak_bytes()
    pages = split(read("/proc/self/statm", String))[2]
    parse(Int, pages) * Int(ccall(:getpagesize, Cint, ()))
end
