# The types of a domain, and which of them are below which. There may be very many, so no table of all pairs is made.

"""
Types and what they are below. Each type has one place in a tree, below the first of its parents; there, those below a
type have the numbers from its `first` to its `last`. Few types have further parents: these are its `joints`, and a walk
over them finds what the tree does not say.
"""
struct TypeTree
    names::Vector{String}               # the first is `object`, which is above all
    first::Vector{Int32}
    last::Vector{Int32}
    joints::Vector{Int32}               # types with several parents
    further::Vector{Vector{Int32}}      # for each joint its parents but the first
    next_joint::Vector{Int32}           # for each type the nearest joint in the tree, itself or above; 0: none
    joint_above::Vector{Int32}          # for each joint the nearest one above it
    known::Dict{Tuple{Int32,Int32},Bool}    # what walks have found
end

"The types with these parents, each a list for a type, none of them `object`; there are no cycles."
function TypeTree(names::Vector{String}, parents::Vector{Vector{Int32}}, ticker::Ticker=Ticker())
    below = [Int32[] for _ in names]
    for type in 2:length(names)
        tick!(ticker)
        push!(below[isempty(parents[type]) ? 1 : parents[type][1]], type)
    end
    n = length(names)
    first, last, next_joint = zeros(Int32, n), zeros(Int32, n), zeros(Int32, n)
    joints, further, joint_above = Int32[], Vector{Int32}[], Int32[]
    number = Int32(0)
    waiting = Int32[1]
    while !isempty(waiting)
        tick!(ticker)
        type = pop!(waiting)
        if type < 0                     # all below it have their numbers
            last[-type] = number
            continue
        end
        first[type] = number += Int32(1)
        if length(parents[type]) > 1
            push!(joints, type)
            push!(further, parents[type][2:end])
            push!(joint_above, next_joint[type])
            next_joint[type] = length(joints)
        end
        push!(waiting, -type)
        for child in below[type]
            next_joint[child] = next_joint[type]
            push!(waiting, child)
        end
    end
    TypeTree(names, first, last, joints, further, next_joint, joint_above, Dict{Tuple{Int32,Int32},Bool}())
end

TypeTree() = TypeTree(["object"], [Int32[]])

in_subtree(tree::TypeTree, a::Integer, b::Integer) = tree.first[b] <= tree.first[a] <= tree.last[b]

"Whether everything of type `a` is also of type `b`."
function is_below(tree::TypeTree, a::Integer, b::Integer)
    in_subtree(tree, a, b) && return true
    tree.next_joint[a] == 0 && return false
    get!(() -> is_below_joints(tree, a, b), tree.known, (Int32(a), Int32(b)))
end

function is_below_joints(tree::TypeTree, a::Integer, b::Integer)
    met = BitSet()
    waiting = Int32[a]
    while !isempty(waiting)
        type = pop!(waiting)
        in_subtree(tree, type, b) && return true
        joint = tree.next_joint[type]
        while joint != 0 && !(joint in met)
            push!(met, joint)
            append!(waiting, tree.further[joint])
            joint = tree.joint_above[joint]
        end
    end
    false
end

"Whether one of the `types` is below one of `wanted`."
is_one_of(tree::TypeTree, types::Vector{Int32}, wanted::Vector{Int32}) =
    any(t -> any(w -> is_below(tree, t, w), wanted), types)

"Whether each of the `types` is below one of `wanted`."
issubtype(tree::TypeTree, types::Vector{Int32}, wanted::Vector{Int32}) =
    all(t -> any(w -> is_below(tree, t, w), wanted), types)

"Can something be of one of the types in `a` and of one of those in `b` at once?"
function overlap(tree::TypeTree, a::Vector{Int32}, b::Vector{Int32})
    any(x -> any(y -> is_below(tree, x, y) || is_below(tree, y, x), b), a) && return true
    # A type below two others, of which neither is below the other, is a joint or below one that is.
    any(joint -> is_one_of(tree, [joint], a) && is_one_of(tree, [joint], b), tree.joints)
end

type_names(tree::TypeTree, types::Vector{Int32}) = join((tree.names[t] for t in types), " or ")

# Reading them.

"A type and one of its parents; `item` is the token that declares the type."
struct ParentEdge
    child::Int32
    parent::Int32
    item::Int
end

"The types of the inside of a :types section; parents need not be declared themselves."
function read_types(t::Tokens, from::Integer, to::Integer)
    names = ["object"]
    number = Dict("object" => Int32(1))
    add(name) = get!(number, name) do
        push!(names, name)
        Int32(length(names))
    end
    edges = ParentEdge[]
    for (item, parents) in typed_items(t, from, to)
        # A second declaration adds a parent: files of the competitions declare types twice.
        child = add(type_name(t, item))
        for p in parents
            tick!(t)
            parent = add(type_name(t, p))
            (child == parent == 1) || push_within!(t.ticker, edges, ParentEdge(child, parent, item))
        end
    end
    parents = parents_of_types(t, length(names), edges)
    refuse_cycles(t, names, parents, edges)
    TypeTree(names, parents, t.ticker)
end

function type_name(t::Tokens, i::Integer)
    name = plain_name(t, i, "a type")
    name == "number" && fail(t, i, :meaning,
        "the type 'number' is PDDL's own, for the values of functions, expected another name for a type")
    name
end

"For each type its parents in the order they are given, each once, without `object`, which is above all anyway."
function parents_of_types(t::Tokens, count::Int, edges::Vector{ParentEdge})
    parents = [Int32[] for _ in 1:count]
    met = Set{Tuple{Int32,Int32}}()
    for edge in edges
        tick!(t)
        (edge.child == 1 || edge.parent == 1 || (edge.child, edge.parent) in met) && continue
        push!(met, (edge.child, edge.parent))
        push!(parents[edge.child], edge.parent)
    end
    parents
end

function refuse_cycles(t::Tokens, names::Vector{String}, parents::Vector{Vector{Int32}}, edges::Vector{ParentEdge})
    suspects = between_cycles(t, parents)
    for edge in edges
        tick!(t)
        edge.child == 1 &&
            fail(t, edge.item, :meaning, "type 'object' has a parent, expected it at the top of all types")
        suspects[edge.child] && is_above(t, parents, edge.child, edge.parent) && fail(t, edge.item, :meaning,
            string("type '", shorten(names[edge.child]), "' is above and below '", shorten(names[edge.parent]),
                "', expected types without cycles"))
    end
end

"Which types are on a cycle, or below one and above another."
function between_cycles(t::Tokens, parents::Vector{Vector{Int32}})
    children = [Int32[] for _ in parents]
    for (type, list) in enumerate(parents), parent in list
        tick!(t)
        push!(children[parent], type)
    end
    below = not_in_order(t, parents, children)
    any(below) ? below .& not_in_order(t, children, parents) : below
end

"Takes away, again and again, types that nothing comes before, and says which types are left."
function not_in_order(t::Tokens, before::Vector{Vector{Int32}}, after::Vector{Vector{Int32}})
    waits_for = map(length, before)
    ready = Int32[type for type in eachindex(before) if waits_for[type] == 0]
    while !isempty(ready)
        for next in after[pop!(ready)]
            tick!(t)
            waits_for[next] -= 1
            waits_for[next] == 0 && push!(ready, next)
        end
    end
    waits_for .> 0
end

"Whether `upper` is `lower` or, going by parents, above it."
function is_above(t::Tokens, parents::Vector{Vector{Int32}}, upper::Int32, lower::Int32)
    met = BitSet([lower])
    waiting = Int32[lower]
    while !isempty(waiting)
        tick!(t)
        type = pop!(waiting)
        type == upper && return true
        for parent in parents[type]
            parent in met || (push!(met, parent); push!(waiting, parent))
        end
    end
    false
end
