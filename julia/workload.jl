# Does once all that Python asks for, on a toy task, so that its machine code is in the package or system image.

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

const TOY_PLAN = """
(load red van depot)
(drive van depot north)
(unload red van north)
(drive van north depot)
(load blue van depot)
(drive van depot south)
(unload blue van south)
"""

const TOY_STRAYS = """
0 (load blue van depot)
8 (drive van depot south)
"""

const BROKEN_DOMAINS = ("", "(define", "(define (domain d) (:action a))", "(define (domain d) (:durative-action a))")

"As Python calls: by dynamic dispatch, so that each function is compiled by itself and not as a part of its caller."
call(f, arguments...) = Base.invokelatest(f, arguments...)

"An address as Python gives it."
address(vector) = Int(UInt(pointer(vector)))

"Every call that Python makes, with the types of arguments that Python uses."
function workload()
    rehearse_basics()
    for adl in (true, false)
        # LM-cut takes part only without conditional effects.
        domain = adl ? TOY_DOMAIN : replace(TOY_DOMAIN, "(when (wet) (sealed ?c))" => "")
        loaded = call(load, toy_source("toy domain", domain), toy_source("toy problem", TOY_PROBLEM), Inf, typemax(Int))
        rehearse_task(loaded)
        for heuristic in ("blind", "goalcount", "hmax", "hadd", "ff", "lmcut", "table")
            adl && heuristic == "lmcut" || rehearse_heuristic(loaded, heuristic)
        end
        rehearse_batches(loaded)
        rehearse_windows(loaded)
        rehearse_actions(loaded)
        rehearse_following(loaded)
        rehearse_learning(loaded)
    end
    mktempdir(rehearse_files)
    foreach(rehearse_error, BROKEN_DOMAINS)
end

toy_source(name, text) = call(text_source, name, text)

function rehearse_basics()
    foreach(call, (module_version, julia_version, parts_format, resident_bytes, peak_bytes))
    numbers = call(ramp, 5)
    GC.@preserve numbers call(sum_of, address(numbers), length(numbers))
    call(ask_before_going_on, Int(UInt(STOP_QUESTION[])))
    check(Limits(time() + 10, typemax(Int) - 1), "trying everything once")
end

function rehearse_task(loaded::LoadedTask)
    foreach(f -> call(f, loaded), (dimensions, task_seconds, task_names, task_costs, static_atoms, declared))
    call(fact_flags, loaded, true, Inf, typemax(Int))
    call(operator_effects, loaded, Inf, typemax(Int))
    foreach(list -> call(joined_names, loaded, list), keys(NAME_LISTS))
    for list in ("facts", "operators")
        names = call(sorted_names, loaded, list, Inf, typemax(Int))
        call(names_in_pieces, names)
        call(names_piece, names, 0)
    end
    foreach(name -> call(task_rows, loaded, name), ("pre", "neg", "add", "del", "goal_pos", "fact_args", "op_args"))
    foreach(name -> call(task_column, loaded, name), ("init", "op_schema", "fact_predicate"))
end

toy_search(loaded::LoadedTask, name, reopen = nothing, ties = nothing; entries = false, preferred = false) =
    call(new_search, loaded, name, entries, preferred, true, 3.0, reopen, ties, 1, 0, Inf, typemax(Int))

function toy_heuristic(loaded::LoadedTask, name)
    name == "table" || return call(new_heuristic, loaded, name, Inf, typemax(Int))
    numbers = ones(nfacts(loaded.task))
    GC.@preserve numbers call(new_table, loaded, address(numbers), length(numbers))
end

function rehearse_heuristic(loaded::LoadedTask, name)
    heuristic = toy_heuristic(loaded, name)
    for search_name in ("astar", "gbfs", "wastar", "lazy", "preferred", "ucs", "bfs")
        preferred = search_name == "preferred"
        preferred && name != "ff" && continue
        search = toy_search(loaded, preferred ? "lazy" : search_name; preferred)
        while call(run_slice, search, heuristic, 1.0, typemax(Int)) == "running" end
        call(validate, loaded, call(plan_lines, search), "toy plan")
        foreach(f -> call(f, search), (statistics, search_status, proved_unsolvable))
    end
    initial = pack_facts(loaded.task.init, nwords(loaded.task))
    GC.@preserve initial call(heuristic_values, loaded, heuristic, address(initial), 1)
    name == "ff" && GC.@preserve initial call(relaxed_plans, loaded, heuristic, address(initial), 1)
    values = zeros(Float32, 1)
    GC.@preserve values call(stored_values, loaded, address(values), 1)
end

function insert_zeros(search, n)
    values = zeros(Float32, n)
    GC.@preserve values call(insert_values, search, address(values), n)
end

function rehearse_batches(loaded::LoadedTask)
    search = toy_search(loaded, "gbfs", true, "random")
    while (n = call(expand_batch, search, 2, 1.0)) > 0
        call(new_words, search)
        insert_zeros(search, n)
    end
    call(stray_lines, search, call(needed_plan_lines, search, Inf), 10)
    foreach(f -> call(f, search), (expanded_states, release_search))
end

function rehearse_windows(loaded::LoadedTask)
    first = toy_search(loaded, "gbfs")
    heuristic = toy_heuristic(loaded, "blind")
    while call(run_slice, first, heuristic, 1.0, typemax(Int)) == "running" end
    windows = call(new_windows, first, Inf, typemax(Int))
    search = call(search_below, windows, "wastar", 3.0, typemax(Int))
    while call(improve_slice, windows, 1.0) == "cheaper"
        call(lower_bound, search, windows)
    end
    call(windows_plan_lines, windows)
    call(restart_windows, windows, first)
    call(stop_windows, windows)
end

"Every applicable operator is as good as any other."
function rehearse_actions(loaded::LoadedTask)
    for name in ("phs", "levints", "gbfs", "astar", "dive")
        entries = name in ("gbfs", "astar", "dive")
        search = toy_search(loaded, name; entries)
        while (n = call(expand_batch, search, 1, 1.0)) > 0
            call(new_words, search)
            values, numbers = zeros(Float32, n), zeros(Float32, length(last(call(new_operators, search))))
            GC.@preserve values numbers entries ? call(insert_entry_values, search, address(numbers), length(numbers)) :
                call(insert_values_and_policy, search, address(values), n, address(numbers), length(numbers))
        end
        call(stray_lines, search, call(needed_plan_lines, search, Inf), 10)
        foreach(f -> call(f, search), (plan_lines, statistics, expanded_states, search_status, proved_unsolvable))
        call(release_search, search)
    end
end

function rehearse_following(loaded::LoadedTask)
    search = toy_search(loaded, "astar")
    last, node, n = 0, 1, call(expand_batch, search, 1, Inf)
    while node != 0 && call(search_status, search) == "running"
        insert_zeros(search, n)
        last, (node, n) = node, call(take_best, search)
        node == 0 || call(joining_step, search, last, node)
    end
end

function rehearse_learning(loaded::LoadedTask)
    call(signature_text, loaded)
    call(hypergraph_arrays, loaded, "adds", true)
    initial = pack_facts(loaded.task.init, nwords(loaded.task))
    offsets, operators = call(new_operators, toy_search(loaded, "gbfs"; entries = true))
    for actions in (true, false)
        FLATTENS[] = actions                            # so small a task has no layers in blocks otherwise
        distinct = call(new_distinct_parts, loaded, 2, true, "all")
        parts = call(new_parts_of_state, distinct, loaded, actions, true, true, Inf, typemax(Int))
        call(distinct_layouts, distinct)
        GC.@preserve initial offsets operators actions ? call(find_parts_and_actions, parts, address(initial), 1,
            address(offsets), address(operators), length(operators)) : call(find_parts, parts, address(initial), 1)
        call(take_new, distinct)
        others = [zero(initial); initial; .~initial]
        GC.@preserve others actions || call(find_parts, parts, address(others), 3)
        foreach(compact!, parts.layers)
        forget_parts!(parts)
        rehearse_network(distinct, parts, actions, others)
    end
    FLATTENS[] = true
    call(clean_plan_lines, loaded, TOY_PLAN, Inf)
    call(ranking_columns, loaded, TOY_PLAN, TOY_STRAYS)
    call(entry_ranking_columns, loaded, TOY_PLAN, 1, TOY_STRAYS, true)
end

"A network whose weights are zero."
function rehearse_network(distinct, parts, actions, states)
    names, width = String[], 2
    add(name, inputs) = push!(names, "$name.map $inputs $width", "$name.bias 1 $width")
    nrelations = relation_places(distinct.signature, distinct.receivers)[2]
    for layer in 0:1, (kind, edge) in enumerate(distinct.signature.edges)
        before = layer == 0 ? 6 : width
        add("layer$layer.edge$(kind-1)", nsenders(edge, distinct.receivers) * before + 3)
        foreach(p -> add("layer$layer.vertex$(p-1)", nrelations[p] * 2width + before), eachindex(nrelations))
        layer == 0 && add("action$(kind-1)", (length(edge.tails) + length(edge.heads)) * width + 3)
    end
    add("head.value", width * length(nrelations))
    add("actions.context", 2width * length(nrelations))
    push!(names, "actions.state.map $width $width", "actions.score.map $width 1")
    weights = zeros(Float32, sum(line -> prod(parse.(Int, split(line)[2:3])), names))
    GC.@preserve weights network = call(new_network, distinct, lines(names), address(weights), length(weights), "6 2 2",
        width, true, false, "mean max", "held", "mean max", "mean max", true, true, actions)
    n = length(states) ÷ length(parts.state)
    offsets, operators = zeros(Int32, n + 1), Int32[]
    values, scores = zeros(Float32, n), Float32[]
    GC.@preserve states offsets operators values scores call(score_states, parts, network, 1 << 40, address(states), n,
        address(offsets), address(operators), 0, address(values), address(scores))
    call(bytes_kept, parts, network)
end

function rehearse_files(folder)
    domain, problem, plan = (joinpath(folder, name) for name in ("domain.pddl", "problem.pddl", "toy.plan"))
    foreach(write, (domain, problem, plan), (TOY_DOMAIN, TOY_PROBLEM, TOY_PLAN))
    foreach(file -> call(outline, file), (domain, problem))
    call(domain_signature, call(file_source, domain))
    sources = [call(file_source, file) for file in (domain, problem, plan)]
    call(load, sources[1], sources[2], Inf, typemax(Int))
    call(validate_sources, sources..., Inf, typemax(Int))
end

function rehearse_error(domain)
    try
        call(load, toy_source("broken domain", domain), toy_source("toy problem", TOY_PROBLEM), Inf, typemax(Int))
    catch e
        sprint(showerror, e)
        call(error_fields, e)
    end
end

# On Julia 1.9 and newer this runs while the package is precompiled, and its machine code is kept.
ccall(:jl_generating_output, Cint, ()) == 1 && VERSION >= v"1.9" && workload()
