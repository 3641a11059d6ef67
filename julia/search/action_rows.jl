"""
The applicable operators of every state, a row for each in the order of the states, and a number for each operator,
which comes when the state is evaluated. Row i is from `first[i]` to before `first[i+1]`.
"""
struct ActionRows
    first::GrowingVector{Int}
    operators::GrowingVector{Int32}
    numbers::GrowingVector{Float32}
    found::Vector{Int32}
end

ActionRows() = ActionRows(push!(GrowingVector{Int}(), 1), GrowingVector{Int32}(), GrowingVector{Float32}(), Int32[])

@inline row_length(rows::ActionRows, id::Integer) = rows.first[id+1] - rows.first[id]

"Append the row of the state found last; with `alike` one of the operators that are alike."
function add_row!(rows::ActionRows, generator::SuccessorGenerator, words, offset::Int, alike = nothing)
    empty!(rows.found)
    applicable_operators!(rows.found, generator, words, offset, alike)
    for operator in rows.found
        push!(rows.operators, operator)
        push!(rows.numbers, NaN32)
    end
    push!(rows.first, length(rows.operators) + 1)
    nothing
end

columns(rows::ActionRows) = (rows.first, rows.operators, rows.numbers)
bytes(rows::ActionRows) = sum(bytes, columns(rows))
release!(rows::ActionRows) = foreach(release!, columns(rows))

"The operators of the rows `from` to `to`, and n + 1 offsets of the rows in them that count from 0."
function operators_of(rows::ActionRows, from::Integer, to::Integer)
    start = rows.first[from]
    operators = Int32[rows.operators[k] for k in start:rows.first[to+1]-1]
    Int32[rows.first[i] - start for i in from:to+1], operators
end

"Numbers for the operators of the rows `from` to `to`, one after the other."
function check_fits(rows::ActionRows, from::Integer, to::Integer, numbers)
    expected = rows.first[to+1] - rows.first[from]
    length(numbers) == expected ||
        throw(PlanRankError(:usage, "$(length(numbers)) numbers for $expected applicable operators"))
    any(isnan, numbers) && throw(PlanRankError(:usage, "the value of an operator is not a number"))
end
