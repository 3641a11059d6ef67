# Rows of numbers that a network has computed, and what it does with them: dense maps and pooling.

"Rows by number, one after the other; row 0 is zero and stands for nothing. No row has a negative entry."
struct Table
    width::Int
    values::Vector{Float32}
end

Table(width::Integer) = Table(width, zeros(Float32, 64 * width))

"Where row i begins, less one."
@inline start(table::Table, i::Integer) = Int(i) * table.width

"Room for the rows up to the n-th; new ones are zero."
reserve!(table::Table, n::Integer) = lengthen!(table.values, (n + 1) * table.width)

# Zero stays zero, and what is no number stays none.
@inline positive(x::Float32) = ifelse(x < 0, 0f0, x)
@inline larger(a::Float32, b::Float32) = ifelse((a >= b) | (a != a), a, b)

function relu!(out::Vector{Float32}, at::Int, n::Int)
    @inbounds @simd for i in at+1:at+n
        out[i] = positive(out[i])
    end
end

"Rows of weights by the number of the input; a row has a weight for each output."
struct Dense
    map::Matrix{Float32}                # [output, input]
    bias::Vector{Float32}
end

noutputs(dense::Dense) = length(dense.bias)

function start_with_bias!(out::Vector{Float32}, at::Int, dense::Dense)
    bias = dense.bias
    @inbounds @simd ivdep for o in 1:length(bias)
        out[at+o] = bias[o]
    end
end

"Add to the outputs after place `at` what n inputs after place `from` give; they belong to the rows after `before`."
function add_product!(out::Vector{Float32}, at::Int, map::Matrix{Float32}, before::Int, inputs::Vector{Float32},
    from::Int, n::Int)
    outputs = size(map, 1)
    @inbounds for i in 1:n
        x = inputs[from+i]
        x == 0 && continue
        row = (before + i - 1) * outputs
        @simd ivdep for o in 1:outputs
            out[at+o] = muladd(x, map[row+o], out[at+o])
        end
    end
end

"""
What the rows of a table give as one of several inputs that are mapped together: each row is multiplied once, when it is
first asked for, and what it gave is kept.
"""
mutable struct Projection
    map::Matrix{Float32}
    before::Int                         # its weights begin after this row of the map
    place::Vector{Int32}                # of each row of the table in `products`, 0 if it was not asked for
    products::Table
    count::Int
end

Projection(dense::Dense, before::Integer) = Projection(dense.map, before, Int32[], Table(noutputs(dense)), 0)

"Add to the outputs after place `at` what row i of the table gives; row 0 gives nothing."
@inline function add_projected!(out::Vector{Float32}, at::Int, projection::Projection, table::Table, i::Int32)
    i == 0 && return
    known = i <= length(projection.place) && @inbounds(projection.place[i]) != 0
    known || project!(projection, table, i)
    products = projection.products
    from = start(products, @inbounds projection.place[i])
    @inbounds @simd ivdep for o in 1:products.width
        out[at+o] += products.values[from+o]
    end
end

@noinline function project!(projection::Projection, table::Table, i::Int32)
    lengthen!(projection.place, i)
    projection.place[i] = projection.count += 1
    products = projection.products
    reserve!(products, projection.count)
    at = start(products, projection.count)
    add_product!(products.values, at, projection.map, projection.before, table.values, start(table, i), table.width)
end

function forget!(projection::Projection)
    projection.place, projection.products, projection.count = Int32[], Table(projection.products.width), 0
end

"What some rows of a table have in common: their sum and their largest entries."
mutable struct Pool
    sum::Vector{Float32}
    largest::Vector{Float32}
    count::Float32
end

Pool() = Pool(Float32[], Float32[], 0)

function clear!(pool::Pool, width::Integer)
    lengthen!(pool.sum, width)
    lengthen!(pool.largest, width)
    fill!(pool.sum, 0)
    fill!(pool.largest, 0)
    pool.count = 0
end

"Row i, so many times."
@inline function add!(pool::Pool, table::Table, i::Integer, times::Integer)
    sum, largest, values, from, n = pool.sum, pool.largest, table.values, start(table, i), Float32(times)
    pool.count += n
    @inbounds @simd ivdep for k in 1:table.width
        x = values[from+k]
        sum[k] = muladd(n, x, sum[k])
        largest[k] = larger(largest[k], x)
    end
end

"Write the pooled rows, for each kind in its order, after place `at`; where that ends."
function write_pooled!(out::Vector{Float32}, at::Int, pool::Pool, kinds::Vector{Symbol}, width::Int)
    for kind in kinds
        if kind === :max
            copyto!(out, at + 1, pool.largest, 1, width)
        else
            share = kind === :mean ? max(pool.count, 1f0) : 1f0
            @inbounds for k in 1:width
                out[at+k] = pool.sum[k] / share
            end
        end
        at += width
    end
    at
end
