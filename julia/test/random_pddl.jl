"Small domains and problems made by chance, with every feature the front end supports."
module RandomPDDL

using Random

export random_pddl

const TYPES = "(:types small - big big other - object)"
const PREDICATES = [("f0", String[]), ("f1", ["big"]), ("f2", ["big", "object"]), ("g1", ["object"]),
    ("s1", ["object"]), ("s2", ["big", "big"])]
const FLUENT = 1:4

# Terms of the right type from the variables in scope (pairs of name and type) and the constants.
const BELOW = Dict("object" => ["object", "big", "small", "other"], "big" => ["big", "small"], "small" => ["small"],
    "other" => ["other"])
fitting(scope, type) =
    [[name for (name, t) in scope if t in BELOW[type]]; type in ("big", "object") ? ["c1"] : String[]]

function atom(rng, scope, which)
    name, types = PREDICATES[rand(rng, which)]
    string("(", join([name; [rand(rng, fitting(scope, t)) for t in types]], " "), ")")
end

variables(rng, prefix) = [("?$prefix$i", rand(rng, ["big", "small", "other", "object"])) for i in 1:rand(rng, 1:2)]
declare(vars) = string("(", join(("$n - $t" for (n, t) in vars), " "), ")")

function formula(rng, scope, depth)
    kind = depth == 0 ? rand(rng, 1:3) : rand(rng, 1:10)
    inner(s=scope) = formula(rng, s, depth - 1)
    kind <= 2 && return atom(rng, scope, eachindex(PREDICATES))
    if kind == 3
        names = fitting(scope, "object")
        return "(= $(rand(rng, names)) $(rand(rng, names)))"
    end
    kind == 4 && return "(not $(inner()))"
    kind <= 6 && return "(and $(inner()) $(inner()) $(inner()))"
    kind == 7 && return "(or $(inner()) $(inner()))"
    kind == 8 && return "(imply $(inner()) $(inner()))"
    vars = variables(rng, "q$depth")
    "($(kind == 9 ? "forall" : "exists") $(declare(vars)) $(inner([scope; vars])))"
end

function effect(rng, scope, depth)
    kind = depth == 0 ? rand(rng, 1:2) : rand(rng, 1:7)
    inner(s=scope) = effect(rng, s, depth - 1)
    kind == 1 && return atom(rng, scope, FLUENT)
    kind == 2 && return "(not $(atom(rng, scope, FLUENT)))"
    kind <= 4 && return "(and $(inner()) $(inner()))"
    kind == 5 && return "(when $(formula(rng, scope, 2)) $(inner()))"
    vars = variables(rng, "e$depth")
    kind == 6 && return "(forall $(declare(vars)) $(inner([scope; vars])))"
    "(forall $(declare(vars)) (when $(formula(rng, [scope; vars], 1)) $(inner([scope; vars]))))"
end

function action(rng, number)
    parameters = [("?x$i", rand(rng, ["big", "small", "other", "object"])) for i in 1:rand(rng, 0:3)]
    precondition, change = formula(rng, parameters, 3), effect(rng, parameters, 3)
    "(:action a$number :parameters $(declare(parameters)) :precondition $precondition :effect $change)"
end

const OBJECTS = [("o1", "big"), ("o2", "small"), ("o3", "other")]

"Domain and problem as texts. What is said of `objects` is said of the first three."
function random_pddl(rng::AbstractRNG, objects = OBJECTS)
    declare_types(types) = join(("?v$i - $t" for (i, t) in enumerate(types)), " ")
    predicates = join(("($name $(declare_types(types)))" for (name, types) in PREDICATES), " ")
    domain = """(define (domain random) (:requirements :adl) $TYPES (:constants c1 - small)
        (:predicates $predicates) $(join((action(rng, i) for i in 1:3), "\n"))\n)"""
    scope = objects[1:3]
    init = join((atom(rng, scope, eachindex(PREDICATES)) for _ in 1:rand(rng, 0:8)), " ")
    declared = join(("$o - $type" for (o, type) in objects), " ")
    problem = """(define (problem random) (:domain random) (:objects $declared)
        (:init $init)\n(:goal $(formula(rng, scope, 3))))"""
    domain, problem
end

end
