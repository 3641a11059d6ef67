# What Python calls to train and score models; see bridge.jl for how arrays cross.

signature_text(l::LoadedTask) = signature_text(Signature(l.domain))

"Numbers from 0, in two flat rows: for each kind of edge its type, and the literal each column of tails belongs to."
function layout_rows(layouts::Vector{EdgeLayout})
    slots = Rows()
    for layout in layouts
        append!(slots.values, layout.slot_of_column)
        push!(slots.offsets, length(slots.values) + 1)
    end
    from_zero(Int32[l.type for l in layouts]), from_zero(slots.offsets), from_zero(slots.values)
end

new_classifier(l::LoadedTask, layers::Integer, residual::Bool, deletes::Bool) =
    Classifier(Signature(l.domain), layers, residual, deletes)

"A task of the classifier's domain, to classify states of; `actions`: note the applicable operators too."
function new_cursor(classifier::Classifier, l::LoadedTask, actions::Bool)
    graph = Hypergraph(Signature(l.domain), l.task; deletes = classifier.deletes)
    Cursor(classifier, graph, actions ? SuccessorGenerator(l.task) : nothing)
end

classifier_layouts(classifier::Classifier) = layout_rows(classifier.layouts)

function classify_states(cursor::Cursor, address::Integer, n::Integer)
    classify!(cursor, borrowed(UInt64, address, n * length(cursor.state)), n)
    nothing
end

take_new(classifier::Classifier) = take_new!(classifier)

"""
The hypergraph as flat arrays, numbers from 0: predicate and goal flags of each vertex; kind, features (three for each
edge) and tails (offsets, then vertices with -1 for none) of each edge; layouts; and for each edge the vertices it
reaches and through which relation of their predicate (offsets, vertices, relations).
"""
function hypergraph_arrays(l::LoadedTask, deletes::Bool)
    g = Hypergraph(Signature(l.domain), l.task; deletes = deletes)
    vertices = g.vertex_of_bag[g.heads.values]
    relations = g.heads.values .- g.bag_first[vertices]
    (from_zero(g.vertex_type), Int32.(g.goal_flags), from_zero(g.edge_type), Float32[x for f in g.edge_features for x in f],
     from_zero(g.tail_first), from_zero(g.tails), layout_rows(g.layouts)...,
     from_zero(g.heads.offsets), from_zero(vertices), Int32.(relations))
end
