"""
The time and the resident memory (bytes) that the process may use. Long loops call `check` now and then.
"""
struct Limits
    deadline::Float64                   # compared with time()
    memory::Int
end

Limits() = Limits(Inf, typemax(Int))

const PREPARING = "preparing the search"
const EVALUATING = "computing the heuristic"
const SCORING = "scoring states"

"A function of the host program, without arguments, that answers with 1 if the user wants to stop."
const STOP_QUESTION = Ref{Ptr{Cvoid}}(C_NULL)

stop_asked() = STOP_QUESTION[] != C_NULL && ccall(STOP_QUESTION[], Cint, ()) != 0

"""
Throws if the user wants to stop, the time is over, or the memory is: that in use, with `bytes` that are about to be
taken at once.
"""
function check(limits::Limits, doing::String, bytes::Integer = 0)
    stop_asked() && throw(PlanRankError(:interrupted, "interrupted while $doing"))
    time() >= limits.deadline && throw(PlanRankError(:time, "out of time while $doing"))
    limits.memory < typemax(Int) && resident_bytes() + bytes > limits.memory &&
        check_without_garbage(limits, doing, bytes)
    nothing
end

"Garbage counts as memory in use, so it goes first."
@noinline function check_without_garbage(limits::Limits, doing::String, bytes::Integer)
    GC.gc()
    resident_bytes() + bytes > limits.memory && throw(PlanRankError(:memory, "out of memory while $doing"))
    nothing
end

"""
Asks the limits now and then while something is done step by step. `tick!` takes about a nanosecond, so that even inner
loops may call it; it looks at the clock every so many steps and checks the limits if some time has passed.
"""
mutable struct Ticker
    limits::Limits
    doing::String
    steps::Int
    next_check::Float64
end

Ticker(limits::Limits = Limits(), doing::String = "working") = Ticker(limits, doing, 0, 0.0)

const STEPS_PER_LOOK = 256
const SECONDS_PER_CHECK = Ref(0.01)     # tests ask more often

"True if the limits have been checked."
@inline function tick!(ticker::Ticker)
    ticker.steps += 1
    ticker.steps & (STEPS_PER_LOOK - 1) == 0 && look!(ticker)
end

"The same for `steps` at once."
@inline function tick!(ticker::Ticker, steps::Integer)
    before = ticker.steps
    ticker.steps = before + steps
    before ⊻ ticker.steps >= STEPS_PER_LOOK && look!(ticker)
end

@noinline function look!(ticker::Ticker)
    time() < ticker.next_check && return false
    check(ticker.limits, ticker.doing)
    ticker.next_check = time() + SECONDS_PER_CHECK[]
    true
end

"Ask for this many bytes before taking them at once."
@noinline claim!(ticker::Ticker, bytes::Integer) = check(ticker.limits, ticker.doing, bytes)

const LARGE_LENGTH = 1 << 22
const ROOM_FACTOR = 16

"`push!` that asks before it makes room in a large vector."
@inline function push_within!(ticker::Ticker, vector::Vector, item)
    n = length(vector)
    n >= LARGE_LENGTH && ispow2(n) && make_room!(ticker, vector)
    push!(vector, item)
end

"""
Room for `ROOM_FACTOR` times what the vector has. That takes a copy, so it must be rare and come before the vector is
very large; room that is not used yet takes no memory.
"""
@noinline function make_room!(ticker::Ticker, vector::Vector)
    n = length(vector)
    (trailing_zeros(n) - trailing_zeros(LARGE_LENGTH)) % trailing_zeros(ROOM_FACTOR) == 0 || return
    claim!(ticker, sizeof(vector))
    try
        sizehint!(vector, ROOM_FACTOR * n)
    catch e
        e isa OutOfMemoryError || rethrow()     # the system does not give that much, used or not
    end
    nothing
end

"A vector of zeros. Large ones take long to write, so the limits are asked meanwhile."
function zeros_within(ticker::Ticker, n::Int)
    n < LARGE_LENGTH && return zeros(Int32, n)
    claim!(ticker, n * sizeof(Int32))
    vector = Vector{Int32}(undef, n)
    for from in 1:LARGE_LENGTH:n
        look!(ticker)
        fill!(view(vector, from:min(n, from + LARGE_LENGTH - 1)), 0)
    end
    vector
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
