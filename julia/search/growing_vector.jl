"""
A growing vector outside Julia's garbage collector. `realloc` moves large blocks by remapping pages, so growing neither
copies nor doubles the resident memory, and room that is reserved but untouched costs nothing. Indices are not checked.
"""
mutable struct GrowingVector{T}
    pointer::Ptr{T}
    length::Int
    capacity::Int
    function GrowingVector{T}() where {T}
        vector = new{T}(C_NULL, 0, 0)
        finalizer(release!, vector)
        vector
    end
end

function release!(v::GrowingVector{T}) where {T}
    Libc.free(v.pointer)
    v.pointer = C_NULL
    v.length = v.capacity = 0
    nothing
end

@noinline function grow_to!(v::GrowingVector{T}, capacity::Int) where {T}
    capacity = max(capacity, v.capacity + v.capacity >> 1, 16)
    grown = Libc.realloc(v.pointer, capacity * sizeof(T))
    grown == C_NULL && throw(OutOfMemoryError())
    v.pointer = convert(Ptr{T}, grown)
    v.capacity = capacity
    nothing
end

"Release what is held and start again with `n` zeros."
function reset_zero!(v::GrowingVector{T}, n::Int) where {T}
    release!(v)
    fresh = Libc.calloc(n, sizeof(T))
    fresh == C_NULL && throw(OutOfMemoryError())
    v.pointer = convert(Ptr{T}, fresh)
    v.length = v.capacity = n
    nothing
end

@inline reserve!(v::GrowingVector, n::Int) = n > v.capacity && grow_to!(v, n)

"Make the vector n long; new entries are unset."
@inline function lengthen_to!(v::GrowingVector, n::Int)
    reserve!(v, n)
    v.length = n
    nothing
end

@inline Base.getindex(v::GrowingVector, i::Integer) = unsafe_load(v.pointer, i)
@inline Base.setindex!(v::GrowingVector{T}, x, i::Integer) where {T} = unsafe_store!(v.pointer, convert(T, x), i)
Base.length(v::GrowingVector) = v.length
Base.isempty(v::GrowingVector) = v.length == 0
Base.empty!(v::GrowingVector) = (v.length = 0; v)
bytes(v::GrowingVector{T}) where {T} = v.length * sizeof(T)

@inline function Base.push!(v::GrowingVector, x)
    reserve!(v, v.length + 1)
    v.length += 1
    v[v.length] = x
    v
end

@inline function Base.pop!(v::GrowingVector)
    x = v[v.length]
    v.length -= 1
    x
end
