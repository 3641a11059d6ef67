# Does once everything users do, on a toy task, so that its machine code is in the package or system image.

const TOY_DOMAIN = """
(define (domain toy)
  (:requirements :adl :typing :action-costs)
  (:types place thing - object truck crate - thing)
  (:constants depot - place)
  (:predicates (at ?t - thing ?p - place) (in ?c - crate ?t - truck) (road ?a ?b - place) (wet) (sealed ?c - crate))
  (:functions (total-cost) - number (length ?a ?b - place) - number)
  (:action drive
    :parameters (?t - truck ?a ?b - place)
    :precondition (and (at ?t ?a) (road ?a ?b) (not (= ?a ?b)) (or (not (wet)) (at ?t depot)))
    :effect (and (at ?t ?b) (not (at ?t ?a)) (increase (total-cost) (length ?a ?b))))
  (:action load
    :parameters (?c - crate ?t - truck ?p - place)
    :precondition (and (at ?c ?p) (at ?t ?p) (forall (?o - crate) (not (in ?o ?t))))
    :effect (and (in ?c ?t) (not (at ?c ?p)) (when (wet) (sealed ?c)) (increase (total-cost) 1)))
  (:action unload
    :parameters (?c - crate ?t - truck ?p - place)
    :precondition (and (in ?c ?t) (at ?t ?p) (exists (?q - place) (road ?p ?q)))
    :effect (and (at ?c ?p) (not (in ?c ?t)) (increase (total-cost) 1))))
"""

const TOY_PROBLEM = """
(define (problem toy) (:domain toy)
  (:objects north south - place van - truck red blue - crate)
  (:init (at van depot) (at red depot) (at blue depot) (road depot north) (road north depot) (road depot south)
    (road south depot) (= (total-cost) 0) (= (length depot north) 2) (= (length north depot) 2)
    (= (length depot south) 3) (= (length south depot) 3))
  (:goal (and (at red north) (at blue south)))
  (:metric minimize (total-cost)))
"""

"Every operator is equally likely in each of the n waiting states; those that are not applicable do no harm."
function rehearse_policy(search::Search, n::Integer)
    all_operators = noperators(search.task)
    values, offsets = zeros(Float32, n), Int32.(all_operators .* (0:n))
    operators = repeat(collect(Int32, 0:all_operators-1), n)
    logs = fill(-log(Float32(all_operators)), length(operators))
    address(vector) = UInt(pointer(vector))
    GC.@preserve values offsets operators logs insert_values_and_policy(
        search, address(values), n, address(offsets), address(operators), address(logs), length(operators))
end

function workload()
    for adl in (true, false)
        # Without conditional effects LM-cut takes part too.
        text = adl ? TOY_DOMAIN : replace(TOY_DOMAIN, "(when (wet) (sealed ?c))" => "")
        domain = parse_domain(text, "toy domain")
        problem = parse_problem(TOY_PROBLEM, "toy problem", domain)
        task = ground(domain, problem)
        loaded = LoadedTask(domain, problem, task, 0.0, 0.0)
        for list in keys(NAME_LISTS)
            joined_names(loaded, list)
        end
        for name in ("astar", "gbfs", "wastar", "ucs", "bfs"), heuristic in ("blind", "goalcount", "hmax", "hadd", "ff", "lmcut")
            adl && heuristic == "lmcut" && continue
            search = new_search(loaded, name, 3.0, nothing, nothing, 1, 0, Inf, typemax(Int))
            estimate = new_heuristic(loaded, heuristic, Inf, typemax(Int))
            while run_slice(search, estimate, 1.0) == "running" end
            validate(loaded, plan_lines(loaded, search), "toy plan")
            ranking_columns(loaded, plan_lines(loaded, search))
            statistics(search)
        end
        search = new_search(loaded, "gbfs", 3.0, true, "random", 2, 0, Inf, typemax(Int))
        while (n = expand_batch(search, 2, 1.0)) > 0
            new_words(search)
            values = zeros(Float32, n)
            GC.@preserve values insert_values(search, UInt(pointer(values)), n)
        end
        for name in ("phs", "levints")
            search = new_search(loaded, name, 3.0, nothing, nothing, 1, 0, Inf, typemax(Int))
            while (n = expand_batch(search, 1, 1.0)) > 0
                rehearse_policy(search, n)
            end
            plan_lines(loaded, search), needed_plan_lines(loaded, search, Inf), statistics(search), expanded_states(search), release_search(search)
        end
        search = new_search(loaded, "astar", 3.0, nothing, nothing, 1, 0, Inf, typemax(Int))
        last, node = 0, 1
        while node != 0 && search_status(search) == "running"
            insert!(search, zeros(Float32, waiting(search)))
            last, (node, _) = node, take_best(search)
            node == 0 || joining_step(loaded, search, last, node)
        end
        for rows in ("pre", "neg", "add", "del", "goal_pos")
            task_rows(loaded, rows)
        end
        task_column(loaded, "init"), task_costs(loaded), dimensions(loaded)
        check(Limits(time() + 10, typemax(Int) - 1), "trying everything once")
    end
    for broken in ("", "(define", "(define (domain d) (:action a))", "(define (domain d) (:durative-action a))")
        try
            parse_domain(broken, "broken domain")
        catch e
            sprint(showerror, e)
            error_fields(e)
        end
    end
    nothing
end

# On Julia 1.9 and newer this runs while the package is precompiled, and its machine code is kept.
ccall(:jl_generating_output, Cint, ()) == 1 && VERSION >= v"1.9" && workload()
