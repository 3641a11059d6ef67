"""
The one error type users may see. `kind` decides the exit code: `:syntax`, `:meaning`, `:unsupported`, `:time`,
`:memory`, `:interrupted` or `:usage`. `file` is empty and `line` is 0 if the error has no place in a text.
"""
struct PlanRankError <: Exception
    kind::Symbol
    message::String
    file::String
    line::Int
    column::Int
end

PlanRankError(kind::Symbol, message::AbstractString) = PlanRankError(kind, message, "", 0, 0)

function Base.showerror(io::IO, e::PlanRankError)
    isempty(e.file) || print(io, e.file, ':')
    e.line > 0 && print(io, e.line, ':', e.column, ':')
    (isempty(e.file) && e.line == 0) || print(io, ' ')
    print(io, e.message)
end
