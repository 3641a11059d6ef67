"PDDL's meaning as plainly as possible, straight from the parsed text, to compare the grounder with."
module Lifted

using PlanRank: Domain, Problem, Formula, Effect, Variable, Task, is_one_of, row, arguments, operator_name, noperators

export State, initial_state, transitions, ground_transitions, goal_holds, ground_goal_holds, ground_state

const Atom = Tuple{Int,Vector{Int}}
const State = Set{Atom}

initial_state(p::Problem) = State((Int(p.init.predicate[i]), Int.(arguments(p.init, i))) for i in 1:length(p.init))

objects(d::Domain, p::Problem, v::Variable) =
    [o for (o, x) in enumerate(p.objects) if is_one_of(d.types, x.types, v.types)]

object(t, b) = t > 0 ? b[t] : Int(-t)
atom(x, b) = (Int(x.predicate), Int[object(t, b) for t in x.terms])

"Every way to give the numbered variables objects of their types, added to the binding `b`."
function bindings(d, p, variables, numbers, b)
    isempty(numbers) && return [b]
    [c for o in objects(d, p, variables[numbers[1]])
       for c in bindings(d, p, variables, numbers[2:end], merge(b, Dict(Int(numbers[1]) => o)))]
end

function holds(d, p, variables, f::Formula, s::State, b)
    f.kind == :atom && return atom(f, b) in s
    f.kind == :equal && return object(f.terms[1], b) == object(f.terms[2], b)
    f.kind == :not && return !holds(d, p, variables, f.parts[1], s, b)
    f.kind == :and && return all(x -> holds(d, p, variables, x, s, b), f.parts)
    f.kind == :or && return any(x -> holds(d, p, variables, x, s, b), f.parts)
    f.kind == :imply && return !holds(d, p, variables, f.parts[1], s, b) || holds(d, p, variables, f.parts[2], s, b)
    every = (holds(d, p, variables, f.parts[1], s, c) for c in bindings(d, p, variables, f.variables, b))
    f.kind == :forall ? all(every) : any(every)
end

function collect!(add, del, d, p, variables, e::Effect, s, b)
    if e.kind == :add
        push!(add, atom(e, b))
    elseif e.kind == :delete
        push!(del, atom(e, b))
    elseif e.kind == :when
        holds(d, p, variables, e.condition[1], s, b) && collect!(add, del, d, p, variables, e.parts[1], s, b)
    else
        for c in bindings(d, p, variables, e.variables, b), part in e.parts
            collect!(add, del, d, p, variables, part, s, c)
        end
    end
end

name_of(p, name, args) = string("(", join([name; [p.objects[o].name for o in args]], " "), ")")

"All pairs of an action's name and the state it leads to, from state `s`; actions that change nothing left out."
function transitions(d::Domain, p::Problem, s::State)
    found = Set{Tuple{String,State}}()
    for a in d.actions, b in bindings(d, p, a.variables, Int32.(1:a.parameters), Dict{Int,Int}())
        holds(d, p, a.variables, a.precondition, s, b) || continue
        add, del = State(), State()
        collect!(add, del, d, p, a.variables, a.effect, s, b)
        next = union(setdiff(s, del), add)
        next == s || push!(found, (name_of(p, a.name, [b[k] for k in 1:a.parameters]), next))
    end
    found
end

goal_holds(d::Domain, p::Problem, s::State) = holds(d, p, p.goal_variables, p.goal, s, Dict{Int,Int}())

# The same questions asked of the ground task; static atoms are taken over from the lifted state.

fact_atom(t::Task, f) = (Int(t.fact_predicate[f]), Int.(row(t.fact_args, f)))
ground_state(t::Task, s::State) = Set(f for f in 1:length(t.fact_predicate) if fact_atom(t, f) in s)

true_in(positive, negative, state) = all(in(state), positive) && !any(in(state), negative)

function ground_transitions(t::Task, s::State)
    state = ground_state(t, s)
    found = Set{Tuple{String,State}}()
    for o in 1:noperators(t)
        true_in(row(t.pre, o), row(t.neg, o), state) || continue
        add, del = Set(Int.(row(t.add, o))), Set(Int.(row(t.del, o)))
        for c in t.cond_offsets[o]:t.cond_offsets[o+1]-1
            true_in(row(t.cond_pre, c), row(t.cond_neg, c), state) || continue
            union!(add, row(t.cond_add, c))
            union!(del, row(t.cond_del, c))
        end
        next = union(setdiff(s, (fact_atom(t, f) for f in del)), (fact_atom(t, f) for f in add))
        next == s || push!(found, (operator_name(t, o), next))
    end
    found
end

ground_goal_holds(t::Task, s::State) =
    (state = ground_state(t, s); any(k -> true_in(row(t.goal_pos, k), row(t.goal_neg, k), state), 1:length(t.goal_pos)))

end
