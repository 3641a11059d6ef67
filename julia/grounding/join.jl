# Rules of the relaxed reachability and how they are joined: a rule's body atoms are matched one after the other,
# those first that are expected to leave the fewest candidates.

"An atom of a rule; `names` are the rule's variables at each argument (constants are variables that never change)."
struct RuleAtom
    relation::Int32
    names::Vector{Int32}
end

"A test made as soon as its variables are bound."
struct Check
    kind::UInt8                     # one of the constants below
    relation::Int32
    older::Int32                    # 1: the newest visible row does not count
    from::Int32                     # variables are check_names[from:to]
    to::Int32
end

const PRESENT = 0x01
const ABSENT = 0x02
const EQUAL = 0x03
const UNEQUAL = 0x04

"One nested loop of a join: over the rows of a relation that agree with what is bound."
struct Step
    relation::Int32
    index::Int32                    # 0: all rows
    older::Int32
    key_from::Int32
    key_to::Int32
    bind_from::Int32
    bind_to::Int32
    check_from::Int32
    check_to::Int32
    heads_bound::Bool               # from here on the heads of the rule are known
end

"""
The loops of a join, outermost first. A binding pairs an argument position with the variable it sets or, if `repeats`,
with a variable the same atom has just set and must equal.
"""
mutable struct Plan
    steps::Vector{Step}
    key_names::Vector{Int32}
    bind_positions::Vector{Int32}
    bind_names::Vector{Int32}
    repeats::Vector{Bool}
    checks::Vector{Check}
    check_names::Vector{Int32}
    first_checks::Int               # checks[1:first_checks] come before all loops
    heads_bound::Bool               # before all loops
    epoch::Int                      # when it was made: estimates change as relations grow
end

Plan() = Plan(Step[], Int32[], Int32[], Int32[], Bool[], Check[], Int32[], 0, false, -1)

const NOT_PLANNED = Plan()

"""
`body` must hold, and the checks; then each of `heads` does. `binding` holds a value for each variable, constants
from the start. A rule of an action notes every binding it finds as a row of its own relation `found`.
"""
struct Rule
    body::Vector{RuleAtom}
    triggers::Vector{Int}           # body atoms whose relations grow
    absent::Vector{RuleAtom}
    equal::Vector{Tuple{Int32,Int32}}
    unequal::Vector{Tuple{Int32,Int32}}
    binding::Vector{Int32}
    constants::Int                  # how many of the last variables are constants
    given::Vector{Int32}            # variables bound from outside before the join begins
    heads::Vector{RuleAtom}
    found::Int32                    # 0, or the relation that collects the bindings of `notes`
    notes::Vector{Int32}
    projecting::Bool                # only new heads matter: a branch whose heads are known is cut
    plans::Vector{Plan}             # for each body atom as the new one, and last for none
end

newest_is_excluded(rule::Rule, atom::Int, start::Int) =
    Int32(start > 0 && atom < start && rule.body[atom].relation == rule.body[start].relation)

"The plan for a new row at body atom `start`, or with `start` 0 for the whole rule."
function make_plan!(plan::Plan, g, rule::Rule, start::Int)
    relations = g.relations
    foreach(empty!, (plan.steps, plan.key_names, plan.bind_positions, plan.bind_names, plan.repeats))
    foreach(empty!, (plan.checks, plan.check_names))
    plan.epoch = g.epoch
    bound = falses(length(rule.binding))
    bound[end-rule.constants+1:end] .= true
    bound[rule.given] .= true
    waiting = Set(1:length(rule.body))
    if start > 0
        delete!(waiting, start)
        bound[rule.body[start].names] .= true
    end
    pending = Pending(rule)
    add_checks!(plan, relations, rule, start, bound, waiting, pending)
    plan.first_checks = length(plan.checks)
    plan.heads_bound = all(h -> isbound(h, bound), rule.heads)
    while !isempty(waiting)
        look!(g.ticker)             # a step looks at all that wait
        atom = argmin_fanout(relations, rule, waiting, bound)
        delete!(waiting, atom)
        add_step!(plan, relations, rule, atom, start, bound, waiting, pending)
    end
    plan
end

"Checks of a rule that wait for their variables, as atoms; relation 0 compares two variables."
struct Pending
    equal::Vector{RuleAtom}
    unequal::Vector{RuleAtom}
    absent::Vector{RuleAtom}
end

Pending(rule::Rule) = Pending([RuleAtom(0, Int32[a, b]) for (a, b) in rule.equal],
                              [RuleAtom(0, Int32[a, b]) for (a, b) in rule.unequal], copy(rule.absent))

isbound(a::RuleAtom, bound::BitVector) = all(n -> bound[n], a.names)

function argmin_fanout(relations::Vector{Relation}, rule::Rule, waiting::Set{Int}, bound::BitVector)
    best, best_cost = 0, Inf
    for atom in sort!(collect(waiting))
        a = rule.body[atom]
        positions = Int32[p for p in eachindex(a.names) if bound[a.names[p]]]
        relation = relations[a.relation]
        cost = fanout(relation, positions) + (relation.fluent ? 1e-3 : 0.0)
        rule.projecting && any(h -> any(n -> !bound[n] && n in a.names, h.names), rule.heads) && (cost *= 0.25)
        if cost < best_cost
            best, best_cost = atom, cost
        end
    end
    best
end

function add_step!(plan::Plan, relations::Vector{Relation}, rule::Rule, atom::Int, start::Int, bound::BitVector,
                   waiting::Set{Int}, pending::Pending)
    a = rule.body[atom]
    positions = Int32[p for p in eachindex(a.names) if bound[a.names[p]]]
    index = isempty(positions) ? 0 : index_number!(relations[a.relation], positions)
    key_from = length(plan.key_names) + 1
    append!(plan.key_names, a.names[positions])
    bind_from = length(plan.bind_positions) + 1
    for (p, name) in enumerate(a.names)
        p in positions && continue
        push!(plan.bind_positions, p)
        push!(plan.bind_names, name)
        push!(plan.repeats, bound[name])
        bound[name] = true
    end
    check_from = length(plan.checks) + 1
    add_checks!(plan, relations, rule, start, bound, waiting, pending)
    push!(plan.steps, Step(a.relation, index, newest_is_excluded(rule, atom, start), key_from, length(plan.key_names),
                           bind_from, length(plan.bind_positions), check_from, length(plan.checks),
                           all(h -> isbound(h, bound), rule.heads)))
end

"Appends every check whose variables are all bound; body atoms without free variables are such checks too."
function add_checks!(plan::Plan, relations::Vector{Relation}, rule::Rule, start::Int, bound::BitVector,
                     waiting::Set{Int}, pending::Pending)
    add_ready!(plan, EQUAL, pending.equal, bound)
    add_ready!(plan, UNEQUAL, pending.unequal, bound)
    ready = filter(atom -> isbound(rule.body[atom], bound), waiting)
    for atom in sort!(collect(ready); by=atom -> (relations[rule.body[atom].relation].fluent, atom))
        delete!(waiting, atom)
        add_check!(plan, PRESENT, rule.body[atom], newest_is_excluded(rule, atom, start))
    end
    add_ready!(plan, ABSENT, pending.absent, bound)
end

function add_ready!(plan::Plan, kind::UInt8, waiting::Vector{RuleAtom}, bound::BitVector)
    for a in waiting
        isbound(a, bound) && add_check!(plan, kind, a, Int32(0))
    end
    filter!(a -> !isbound(a, bound), waiting)
end

function add_check!(plan::Plan, kind::UInt8, a::RuleAtom, older::Int32)
    from = length(plan.check_names) + 1
    append!(plan.check_names, a.names)
    push!(plan.checks, Check(kind, a.relation, older, from, length(plan.check_names)))
end

@inline function checks_hold(relations::Vector{Relation}, binding::Vector{Int32}, plan::Plan, from::Int, to::Int)
    names = plan.check_names
    @inbounds for k in from:to
        c = plan.checks[k]
        if c.kind == PRESENT
            r = relations[c.relation]
            row, _ = find_row(r, binding, names, Int(c.from), Int(c.to))
            (row == 0 || row > r.visible - c.older) && return false
        elseif c.kind == UNEQUAL
            binding[names[c.from]] == binding[names[c.to]] && return false
        elseif c.kind == ABSENT
            row, _ = find_row(relations[c.relation], binding, names, Int(c.from), Int(c.to))
            row == 0 || return false
        else
            binding[names[c.from]] == binding[names[c.to]] || return false
        end
    end
    true
end

function heads_known(relations::Vector{Relation}, rule::Rule)
    for h in rule.heads
        find_row(relations[h.relation], rule.binding, h.names, 1, length(h.names))[1] == 0 && return false
    end
    true
end

"Binds the variables of step `s` to the row; false if a repeated variable disagrees."
@inline function bind_row!(binding::Vector{Int32}, plan::Plan, s::Step, args::Vector{Int32}, base::Int)
    @inbounds for k in s.bind_from:s.bind_to
        object = args[base+plan.bind_positions[k]]
        if plan.repeats[k]
            binding[plan.bind_names[k]] == object || return false
        else
            binding[plan.bind_names[k]] = object
        end
    end
    true
end

"Runs the loops from `depth` on and calls `emit(state, rule)` for every binding that satisfies the rule."
function join!(emit::F, state, rule::Rule, plan::Plan, depth::Int) where {F}
    if depth > length(plan.steps)
        emit(state, rule)
        return
    end
    relations = state.relations
    s = @inbounds plan.steps[depth]
    r = @inbounds relations[s.relation]
    binding = rule.binding
    limit = r.visible - s.older
    # Once the heads are bound, one binding of the other variables is as good as another.
    one_is_enough = rule.projecting && (depth == 1 ? plan.heads_bound : @inbounds plan.steps[depth-1].heads_bound)
    index = s.index
    row = index == 0 ? limit :
          Int(first_row(r, r.indexes[index], binding, plan.key_names, Int(s.key_from), Int(s.key_to)))
    while row != 0
        tick!(state)
        if row <= limit && bind_row!(binding, plan, s, r.args, (row - 1) * r.arity) &&
           checks_hold(relations, binding, plan, Int(s.check_from), Int(s.check_to)) &&
           !(rule.projecting && s.heads_bound && !one_is_enough && heads_known(relations, rule))
            join!(emit, state, rule, plan, depth + 1)
            one_is_enough && heads_known(relations, rule) && return
        end
        row = index == 0 ? row - 1 : Int(@inbounds r.indexes[index].next[row])
    end
end

"Makes the checks that come before all loops, then runs the loops."
function start_join!(emit::F, state, rule::Rule, plan::Plan) where {F}
    checks_hold(state.relations, rule.binding, plan, 1, plan.first_checks) || return
    rule.projecting && plan.heads_bound && heads_known(state.relations, rule) && return
    join!(emit, state, rule, plan, 1)
end
