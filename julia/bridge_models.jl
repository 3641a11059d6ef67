# What Python calls of models and their training; bridge.jl says how data cross.

# Learning

"""
The columns of a ranking of a plan of l steps. It has n states; s_i is the state after i steps. `Ranking` says more.
`strays` are states off the plan in words, see `Strays`; an empty text: none.

| Column             | Type    | Entries | Meaning                                                                 |
|:-------------------|:--------|:--------|:------------------------------------------------------------------------|
| states             | UInt64  | n·words | packed: s_0 … s_l in order, then what else the search generates         |
| path_g             | Float32 | l + 1   | the cost of the path to s_i                                             |
| open_state         | Int32   | m       | the state of each entry of the open list                                |
| open_from          | Int32   | m       | the entry is there when s_i is chosen, for all i from 1 to l with …     |
| open_until         | Int32   | m       | … open_from <= i < open_until; s_i itself is no entry then              |
| open_g             | Float32 | m       | the cost of the path to the state                                       |
| open_later_on_path | UInt8   | m       | 1 if the plan comes to the state later, else 0                          |
| child_offsets      | Int32   | l + 1   | row i of the next three columns is from offset i to before offset i + 1 |
| child_state        | Int32   |         | the successors of s_i                                                   |
| child_cost         | Float32 |         | what the operators cost that lead to them                               |
| action             | Int32   |         | these operators: all that are applicable in s_i                         |
| chosen             | Int32   | l       | the place in row i of the plan's own operator                           |
"""
function ranking_columns(l::LoadedTask, plan_text::AbstractString, strays::AbstractString)
    r = ranking_of_plan(l.task, plan_text; strays = Strays(l.task, strays))
    path, scale = r.path, l.task.cost_scale
    (all_words(path.store), as_written(path.g, scale), from_zero(r.open_state), r.open_from, r.open_until,
        as_written(r.open_g, scale), UInt8[is_later_on_path(r, k) for k in 1:length(r.open_g)],
        from_zero(path.offsets), from_zero(r.child), as_written(l.task.op_cost[path.action], scale),
        from_zero(path.action), from_zero(path.chosen))
end

as_written(costs, scale::Integer) = Float32.(costs ./ scale)

all_words(store::StateStore) = UInt64[store.words[i] for i in 1:store.count*store.nwords]

"""
The same for a search over entries: the columns

| Column     | Type    | Entries | Meaning                                                                            |
|:-----------|:--------|:--------|:-----------------------------------------------------------------------------------|
| states     | UInt64  |         | packed, n of them: s_0 … s_l, then strays and detours, to which wrong actions lead |
| g          | Float32 | n       | the cost of the way to each                                                        |
| first_step | Int32   | n       | the step, from 1, from which on the actions of the state compete with the plan's   |
| offsets    | Int32   | n + 1   | row i of the next three columns is from offset i to before offset i + 1            |
| cost       | Float32 |         | what the actions of the state cost                                                 |
| action     | Int32   |         | these operators: all that are applicable, or with `merges` one of those that are   |
|            |         |         | alike; none for a goal                                                             |
| leads_to   | Int32   |         | the number of the plan's state that each leads to, -1 for any other                |
| chosen     | Int32   | l       | the place in row i of the plan's own operator                                      |
"""
function entry_ranking_columns(l::LoadedTask, plan_text::AbstractString, detours::Integer, strays::AbstractString,
    merges::Bool)
    alike = merges ? Alike(l.domain, l.problem, l.task) : nothing
    r = ranking_of_plan(l.task, plan_text; kind = EntryRanking, detours, strays = Strays(l.task, strays), alike)
    scale = l.task.cost_scale
    (all_words(r.path.store), as_written(r.g, scale), r.first_step, from_zero(r.offsets),
        as_written(l.task.op_cost[r.action], scale), from_zero(r.action), from_zero(r.leads_to),
        from_zero(r.path.chosen))
end

"The states off a plan that the search expanded, in words, a line each: see `Strays` and `expanded_strays`."
function stray_lines(search::Search, plan_text::AbstractString, most::Integer)
    plan = plan_operators(search.task, plan_text; generator = search.generator, goal = search.goal)
    parents, operators = expanded_strays(search, plan, most)
    lines(string(parent - 1, ' ', operator_name(search.task, o)) for (parent, o) in zip(parents, operators))
end

"The steps of a valid plan that are worth learning from, see `clean_plan`; after the deadline fewer are left out."
function clean_plan_lines(l::LoadedTask, plan_text::AbstractString, deadline::Real)
    generator, goal = SuccessorGenerator(l.task), GoalTest(l.task)
    plan = plan_operators(l.task, plan_text; generator, goal)
    clean = clean_plan(l.task, plan, Limits(deadline, typemax(Int)); generator, goal)
    lines(operator_name(l.task, o) for o in clean)
end

signature_text(l::LoadedTask) = signature_text(Signature(l.domain))
domain_signature(domain::Source) =
    signature_text(Signature(parse_domain(text_of(domain, Limits()), domain.name, Limits())))

"The version of what `take_new` gives."
parts_format() = PARTS_FORMAT

new_distinct_parts(l::LoadedTask, layers::Integer, residual::Bool, receivers::String) =
    DistinctParts(Signature(l.domain), layers, residual, Symbol(receivers))

"""
A task of the same domain, to find the parts of its states; `actions`: those of their actions too, `distances`: facts
differ by their distances from goals, `relaxed`: and by whether the relaxed plan of hFF makes them true. The limits hold
for finding the parts as well.
"""
function new_parts_of_state(distinct::DistinctParts, l::LoadedTask, actions::Bool, distances::Bool, relaxed::Bool,
    deadline::Real, memory_bytes::Integer)
    limits = Limits(deadline, memory_bytes)
    graph = Hypergraph(distinct.signature, l.task, limits; receivers = distinct.receivers, distances)
    PartsOfState(distinct, graph, actions ? ActionColumns(distinct.signature, l.task, limits) : nothing, limits;
        relaxed = relaxed ? FFHeuristic(l.task, limits) : nothing)
end

"Find the parts of n packed states that lie one after the other."
function find_parts(parts::PartsOfState, address::Integer, n::Integer)
    find_parts!(parts, borrowed(UInt64, address, n * length(parts.state)), n)
    nothing
end

"The same, and those of their actions: n + 1 offsets and m operators as `new_operators` gives them."
function find_parts_and_actions(parts::PartsOfState, address::Integer, n::Integer, offsets, operators, m::Integer)
    find_parts!(parts, borrowed(UInt64, address, n * length(parts.state)), n, borrowed(Int32, offsets, n + 1),
        borrowed(Int32, operators, m))
    nothing
end

"""
A network for search. `names` has a line for each array of weights: its name, rows and columns; the arrays lie one after
the other, row by row. The options are those of Python's `Architecture`, poolings as words; `widths` are what it calls
`vertex_widths`.
"""
function new_network(distinct::DistinctParts, names::String, address::Integer, n::Integer, widths::String, dim::Integer,
    mixing::Bool, shared::Bool, messages::String, value::String, pooling::String, context::String, distances::Bool,
    relaxed::Bool, scores_actions::Bool)
    symbols(words) = Symbol[Symbol(word) for word in split(words)]
    shape = Shape(map(word -> parse(Int, word), split(widths)), dim, distinct.residual, mixing, shared,
        symbols(messages), Symbol(value), symbols(pooling), symbols(context), distances, relaxed, scores_actions)
    flat, weights, at = borrowed(Float32, address, n), Dict{String,Matrix{Float32}}(), 0
    for line in split(names, '\n')
        name, rows, columns = split(line)
        inputs, outputs = parse(Int, rows), parse(Int, columns)
        weights[name] = reshape(flat[at+1:at+inputs*outputs], outputs, inputs)
        at += inputs * outputs
    end
    Network(shape, weights, distinct.signature)
end

"""
Values of n packed states, and the scores of m operators, n + 1 offsets to these before them, are written where the last
two addresses say. If more bytes than `most` are kept from former states, they are forgotten first.
"""
function score_states(parts::PartsOfState, network::Network, most::Integer, address::Integer, n::Integer, offsets,
    operators, m::Integer, values, scores)
    if bytes_kept(parts, network) > most || !isempty(parts.distinct.readout_lengths)
        forget_parts!(parts)
        forget!(network)
    end
    find_parts!(parts, borrowed(UInt64, address, n * length(parts.state)), n, borrowed(Int32, offsets, n + 1),
        borrowed(Int32, operators, m))
    evaluate_new!(borrowed(Float32, values, n), borrowed(Float32, scores, m), network, parts.distinct)
    nothing
end

"See `kept_bytes`."
bytes_kept(parts::PartsOfState, network::Network) = kept_bytes(parts.distinct) + kept_bytes(network)

"See `take_new!`."
take_new(distinct::DistinctParts) = take_new!(distinct)

"The layouts met so far; see `layout_rows`."
distinct_layouts(distinct::DistinctParts) = layout_rows(distinct.layouts)

"""
How the tails of edges stand in columns, a row for each layout, as three columns of Int32: the kind of edge of each
layout, offsets, and from offset i to before i + 1 the literal that each column of layout i belongs to.
"""
function layout_rows(layouts::Vector{EdgeLayout})
    slots = rows_of(layout.slot_of_column for layout in layouts)
    from_zero(Int32[layout.type for layout in layouts]), from_zero(slots.offsets), from_zero(slots.values)
end

"""
The hypergraph of a task. Vertices are the facts; edges are the operators, in order, and then the conditional effects.

| Array          | Type    | Entries   | Meaning                                                                       |
|:---------------|:--------|:----------|:------------------------------------------------------------------------------|
| predicate      | Int32   | vertices  | its number in the signature                                                   |
| goal flags     | Int32   | vertices  | see `take_new!`                                                               |
| kind           | Int32   | edges     | the number of the kind of edge in the signature                               |
| features       | Float32 | 3·edges   | cost, number of preconditions, number of add effects of each                  |
| tail offsets   | Int32   | edges + 1 | the tails of edge e are from offset e to before offset e + 1                  |
| tails          | Int32   |           | vertices in the columns of the layout, -1 where a literal has no further fact |
| layout kinds   | Int32   | kinds     | this and the next two are `layout_rows`; kind k has layout k                  |
| layout offsets | Int32   | kinds + 1 |                                                                               |
| layout slots   | Int32   |           |                                                                               |
| head offsets   | Int32   | edges + 1 | the heads of edge e are from offset e to before offset e + 1                  |
| heads          | Int32   |           | the vertices that the edge reaches …                                          |
| relations      | Int32   |           | … and through which relation of their predicate                               |
"""
function hypergraph_arrays(l::LoadedTask, receivers::String, distances::Bool)
    g = Hypergraph(Signature(l.domain), l.task; receivers = Symbol(receivers), distances)
    vertices = g.vertex_of_bag[g.heads.values]
    relations = g.heads.values .- g.bag_first[vertices]
    (from_zero(g.vertex_type), copy(g.goal_flags), from_zero(g.edge_type),
        Float32[x for f in g.edge_features for x in f], from_zero(g.tail_first), from_zero(g.tails),
        layout_rows(g.layouts)..., from_zero(g.heads.offsets), from_zero(vertices), Int32.(relations))
end
