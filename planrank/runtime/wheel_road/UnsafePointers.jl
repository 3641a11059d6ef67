"Stand-in for the registered package of this name: what PythonCall 0.9.24 uses of it."
module UnsafePointers

export UnsafePtr

struct UnsafePtr{T}
    address::Ptr{T}
    UnsafePtr{T}(p::Ptr) where {T} = new{T}(Ptr{T}(p))
end
UnsafePtr(p::Ptr{T}) where {T} = UnsafePtr{T}(p)

Base.pointer(p::UnsafePtr) = getfield(p, :address)
Base.convert(::Type{Ptr{T}}, p::UnsafePtr) where {T} = Ptr{T}(pointer(p))
Base.unsafe_convert(::Type{Ptr{T}}, p::UnsafePtr) where {T} = Ptr{T}(pointer(p))
Base.Ptr{T}(p::UnsafePtr) where {T} = Ptr{T}(pointer(p))
Base.UInt(p::UnsafePtr) = UInt(pointer(p))
Base.:(==)(p::UnsafePtr, q::Ptr) = pointer(p) == q
Base.:(==)(p::Ptr, q::UnsafePtr) = p == pointer(q)

wrapped(x) = x
wrapped(x::Ptr) = UnsafePtr(x)

# `p.name` points to the field, `p[]` loads and wraps what is itself a pointer, `p[!]` loads it raw.
@generated function field(p::UnsafePtr{T}, ::Val{name}) where {T,name}
    i = findfirst(==(name), fieldnames(T))
    i === nothing && return :(error("no such field"))
    :(UnsafePtr{$(fieldtype(T, i))}(pointer(p) + $(fieldoffset(T, i))))
end
Base.getproperty(p::UnsafePtr, name::Symbol) = field(p, Val(name))
Base.getindex(p::UnsafePtr) = wrapped(unsafe_load(pointer(p)))
Base.getindex(p::UnsafePtr, i::Integer) = wrapped(unsafe_load(pointer(p), i))
Base.getindex(p::UnsafePtr, ::typeof(!)) = unsafe_load(pointer(p))
Base.getindex(p::UnsafePtr, ::typeof(!), i::Integer) = unsafe_load(pointer(p), i)
Base.setindex!(p::UnsafePtr{T}, x) where {T} = unsafe_store!(pointer(p), convert(T, x))
Base.String(p::UnsafePtr{<:Union{Cchar,UInt8}}) = unsafe_string(pointer(p))

end
