# The names of facts or operators in alphabetical order, for their hashes. There may be very many, so they are sorted
# without being written out, and written out piece by piece.

struct SortedNames
    heads::Vector{String}           # of predicates or schemas …
    head::Vector{Int32}             # … and which each name begins with
    args::Rows
    objects::Vector{String}
    order::Vector{Int32}
    ticker::Ticker
end

"""
Where each word stands among all in alphabetical order, once with a space behind it and once, last in its name, with a
bracket. Names can be compared by these numbers because no word contains a space or a bracket.
"""
function word_ranks(words::Vector{String}, ticker::Ticker)
    n = length(words)
    written = [[string(w, ' ') for w in words]; [string(w, ')') for w in words]]
    before(a, b) = (tick!(ticker); isless(written[a], written[b]))
    ranks = zeros(Int32, 2 * n)
    rank = 0
    order = sort!(collect(1:2*n); lt=before)
    for (i, k) in enumerate(order)
        rank += i == 1 || written[k] != written[order[i-1]]     # schemas may share a name
        ranks[k] = rank
    end
    reshape(ranks, n, 2)
end

function SortedNames(heads::Vector{String}, head::Vector{Int32}, args::Rows, objects::Vector{String}, limits::Limits)
    ticker = Ticker(limits, "sorting names")
    head_ranks, object_ranks = word_ranks(heads, ticker), word_ranks(objects, ticker)
    function before(a, b)
        tick!(ticker)
        @inbounds from_a, from_b = args.offsets[a], args.offsets[b]
        @inbounds count_a, count_b = args.offsets[a+1] - from_a, args.offsets[b+1] - from_b
        rank_a, rank_b = head_ranks[head[a], 1+(count_a==0)], head_ranks[head[b], 1+(count_b==0)]
        rank_a == rank_b || return rank_a < rank_b
        @inbounds for k in 1:min(count_a, count_b)
            rank_a = object_ranks[args.values[from_a+k-1], 1+(k==count_a)]
            rank_b = object_ranks[args.values[from_b+k-1], 1+(k==count_b)]
            rank_a == rank_b || return rank_a < rank_b
        end
        false
    end
    claim!(ticker, 3 * sizeof(head))
    order = collect(Int32, 1:length(head))
    sort!(order; alg=MergeSort, lt=before)
    SortedNames(heads, head, args, objects, order, ticker)
end

sorted_facts(t::Task, limits::Limits) =
    SortedNames(t.predicates, t.fact_predicate, t.fact_args, t.objects, limits)
sorted_operators(t::Task, limits::Limits) = SortedNames(t.schemas, t.op_schema, t.op_args, t.objects, limits)

const NAMES_PER_PIECE = 10_000

"The piece of so many names that begins after the first `done` of them, a line each; empty at the end."
function piece_of_names(names::SortedNames, done::Integer)
    look!(names.ticker)
    chosen = @view names.order[done+1:min(end, done + NAMES_PER_PIECE)]
    join((atom_name(names.heads[names.head[i]], row(names.args, i), names.objects) for i in chosen), '\n')
end
