# Objects that nothing tells apart. Of actions that differ only in such objects one is enough: where it leads, the
# others lead too, but for the names of the objects.

"""
Objects that agree in their type, in all that no action changes and in the goal may be alike in a state: those are that
agree in what holds there too. `staying` and `changing` are fingerprints: what stays of each object, 0 if it agrees with
no other, and of each fact and argument what the fact says of that object. Objects that share a fact are not alike, even
if it is as true after an exchange.
"""
struct Alike
    task::Task
    staying::Vector{UInt128}
    changing::Vector{UInt128}           # for each entry of `task.fact_args.values`
    prints::Vector{UInt128}             # of the objects in a state
    group::Vector{Int32}                # the first of the objects that are alike there; 0: no other is
    place::Vector{Int32}                # among these
    size::Vector{Int32}                 # of the group, kept at its first object
    first_with::Dict{UInt128,Int32}
    kept::Dict{UInt64,Int32}            # operators by their hashes
    hides::Bool                         # whether preconditions are about arguments and constants alone
    most_arguments::Int
    shown::Vector{UInt64}               # the facts of a state that operators to be kept may need
end

"The objects that may be alike, or nothing if there are none."
function Alike(domain::Domain, problem::Problem, task::Task, limits::Limits = Limits())
    ticker = Ticker(limits, PREPARING)
    staying = [fingerprint(0, o > length(domain.constants) ? object.types : Int32[-o]) for (o, object) in
               enumerate(problem.objects)]
    note_atoms!(staying, 1, problem.init, (!).(fluent_predicates(domain)), nothing, ticker)
    note_atoms!(staying, 2, problem.values, trues(length(domain.functions)), problem.value, ticker)
    for (kind, rows) in ((3, task.goal_pos), (4, task.goal_neg)), i in 1:length(rows), fact in row(rows, i)
        tick!(ticker, 8)
        args = row(task.fact_args, fact)
        for (place, object) in enumerate(args)
            staying[object] += fingerprint(kind, args, place, i, task.fact_predicate[fact])
        end
    end
    count = Dict{UInt128,Int}()
    for print in staying
        count[print] = get(count, print, 0) + 1
    end
    staying = [count[print] > 1 ? print : zero(UInt128) for print in staying]
    all(iszero, staying) && return nothing
    changing = zeros(UInt128, length(task.fact_args.values))
    for fact in 1:nfacts(task)
        args, before = row(task.fact_args, fact), task.fact_args.offsets[fact] - 1
        tick!(ticker, 8)
        for (place, object) in enumerate(args)
            staying[object] == 0 && continue
            changing[before+place] = fingerprint(5, args, place, task.fact_predicate[fact])
        end
    end
    Alike(task, staying, changing, copy(staying), zeros(Int32, length(staying)),
        zeros(Int32, length(staying)), zeros(Int32, length(staying)), Dict{UInt128,Int32}(), Dict{UInt64,Int32}(),
        !any(a -> has_quantifier(a.precondition), domain.actions),
        maximum(a -> a.parameters, domain.actions; init = 0), zeros(UInt64, nwords(task)))
end

has_quantifier(f::Formula) = f.kind in (:exists, :forall) || any(has_quantifier, f.parts)

function note_atoms!(staying, kind::Int, atoms::InitialAtoms, are_noted, values, ticker::Ticker)
    for i in 1:length(atoms)
        tick!(ticker, 8)
        are_noted[atoms.predicate[i]] || continue
        value = values === nothing ? 0 : values[i]
        for (place, object) in enumerate(arguments(atoms, i))
            staying[object] += fingerprint(kind, arguments(atoms, i), place, atoms.predicate[i], value)
        end
    end
end

"Of the objects without the one at `place`, and of `about`; sums of them stand for sets, and differ if these do."
function fingerprint(kind::Int, objects, place::Int = 0, about...)
    one, other = hash(about, hash(kind, UInt(1))), hash(about, hash(kind, UInt(2)))
    for (i, object) in enumerate(objects)
        word = i == place ? 0 : Int(object)
        one, other = hash(word, one), hash(word, other)
    end
    UInt128(one) << 64 | other
end

"Find the objects that are alike in this state; whether any are."
function look!(alike::Alike, words, offset::Int)
    args, prints, group = alike.task.fact_args, copyto!(alike.prints, alike.staying), fill!(alike.group, 0)
    place, size = alike.place, alike.size
    for word in 1:nwords(alike.task)
        bits = words[offset+word]
        while bits != 0
            fact = 64 * (word - 1) + trailing_zeros(bits) + 1
            bits &= bits - one(UInt64)
            @inbounds for k in args.offsets[fact]:args.offsets[fact+1]-1
                prints[args.values[k]] += alike.changing[k]
            end
        end
    end
    empty!(alike.first_with)
    found = false
    for object in eachindex(prints)
        alike.staying[object] == 0 && continue
        first = get!(alike.first_with, prints[object], Int32(object))
        if first == object
            size[first] = place[first] = 1
        else
            group[first] = group[object] = first
            size[first] += 1
            place[object] = size[first]
            found = true
        end
    end
    found
end

"""
The operators that are applicable in the state, but of those that differ only in objects that are alike there the one
that has the first of these. It is applicable if any is: what holds for one holds for all.
"""
function applicable_operators!(found::Vector{Int32}, generator::SuccessorGenerator, words, offset::Int, alike::Alike)
    look!(alike, words, offset) || return applicable_operators!(found, generator, words, offset)
    if alike.hides
        hide_later!(alike, words, offset)
        applicable_operators!(found, generator, alike.shown, 0)
    else
        applicable_operators!(found, generator, words, offset)
    end
    filter!(operator -> is_first(alike, operator), found)
end

applicable_operators!(found::Vector{Int32}, generator::SuccessorGenerator, words, offset::Int, ::Nothing) =
    applicable_operators!(found, generator, words, offset)

"Leave out facts of objects so far behind in their group that no operator that is kept has them: there may be millions."
function hide_later!(alike::Alike, words, offset::Int)
    args = alike.task.fact_args
    for word in 1:nwords(alike.task)
        alike.shown[word] = bits = words[offset+word]
        while bits != 0
            fact, lowest = 64 * (word - 1) + trailing_zeros(bits) + 1, bits & -bits
            bits ⊻= lowest
            @inbounds for k in args.offsets[fact]:args.offsets[fact+1]-1
                object = args.values[k]
                alike.group[object] != 0 && alike.place[object] > alike.most_arguments || continue
                alike.shown[word] &= ~lowest
                break
            end
        end
    end
end

"Whether of each group its first objects stand in the operator, in their order."
@inline function is_first(alike::Alike, operator::Int32)
    args, group, place = row(alike.task.op_args, operator), alike.group, alike.place
    for (i, object) in enumerate(args)
        group[object] == 0 && continue
        last = Int32(0)                 # of the places of its group that stand before it
        for j in 1:i-1
            group[args[j]] == group[object] && (last = max(last, place[args[j]]))
        end
        place[object] <= last + 1 || return false
    end
    true
end

"Call `note` with those of `kept` that stand for these operators in a state."
function each_stand_in(note::F, alike::Alike, kept, operators, words, offset::Int) where {F}
    (isempty(operators) || !look!(alike, words, offset)) && return
    empty!(alike.kept)
    for operator in kept
        key = hash_of(alike, operator)
        key === nothing || (alike.kept[key] = operator)
    end
    for operator in operators
        key = hash_of(alike, operator)
        stand_in = key === nothing ? operator : get(alike.kept, key, operator)
        stand_in != operator && are_alike(alike, stand_in, operator) && note(stand_in)
    end
end

"The same for operators that are alike; nothing where an operator has no object that is alike to another."
@inline function hash_of(alike::Alike, operator::Int32)
    args, has_group = row(alike.task.op_args, operator), false
    key = hash(alike.task.op_schema[operator])
    for (i, object) in enumerate(args)
        group = alike.group[object]
        has_group |= group != 0
        key = group == 0 ? hash(object, key) : hash((group, first_place(args, i)), key)
    end
    has_group ? key : nothing
end

"Where the object at place `i` comes first."
@inline function first_place(args, i::Int)
    j = 1
    while args[j] != args[i]
        j += 1
    end
    j
end

function are_alike(alike::Alike, a::Int32, b::Int32)
    task, group = alike.task, alike.group
    task.op_schema[a] == task.op_schema[b] || return false
    mine, others = row(task.op_args, a), row(task.op_args, b)
    all(eachindex(mine)) do i
        group[mine[i]] == group[others[i]] || return false
        group[mine[i]] == 0 ? mine[i] == others[i] : first_place(mine, i) == first_place(others, i)
    end
end
