# What Python calls. Arrays come as an address and a length, so that no copy is made and every function sees plain
# vectors; arrays go back as vectors, which Python views in place.

"A vector over memory that Python owns; valid until the call returns."
borrowed(::Type{T}, address::Integer, n::Integer) where {T} = unsafe_wrap(Vector{T}, Ptr{T}(UInt(address)), n)

"Version of this module; Python refuses one that is not its own."
module_version() = "0.1.0"

"A vector of n Float32 counting from zero, and the sum of such a vector: what `planrank doctor` tries the bridge with."
ramp(n::Integer) = Float32.(0:n-1)
sum_of(address::Integer, n::Integer) = Float64(sum(borrowed(Float32, address, n)))

"The fields of a PlanRankError for Python to raise its own, or of any other error as kind \"internal\"."
error_fields(e::PlanRankError) = (String(e.kind), e.message, e.file, e.line, e.column)
error_fields(::OutOfMemoryError) = ("memory", "out of memory", "", 0, 0)
error_fields(e) = ("internal", sprint(showerror, e), "", 0, 0)

julia_version() = string(VERSION)
