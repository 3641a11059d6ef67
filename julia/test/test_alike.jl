using Random
using Test
using PlanRank
using PlanRank: Alike, SuccessorGenerator, applicable_operators!, nfacts, nwords, row

isdefined(Main, :RandomPDDL) || include("random_pddl.jl")
isdefined(Main, :RandomTasks) || include("random_tasks.jl")
using .RandomPDDL, .RandomTasks

const TWINS = [RandomPDDL.OBJECTS; [("o4", "big"), ("o5", "big"), ("o6", "small"), ("o7", "other")]]

"Random tasks of fewer than so many operators, with the objects of each that may be alike; those that have some."
function twins(seeds, most)
    found = Tuple{Int,PlanRank.LoadedTask,Alike}[]
    for seed in seeds
        texts = random_pddl(MersenneTwister(seed), TWINS)
        l = try
            PlanRank.load((PlanRank.Source("text", text) for text in texts)...)
        catch e
            e isa PlanRank.PlanRankError || rethrow()
            continue
        end
        0 < PlanRank.noperators(l.task) < most || continue
        alike = Alike(l.domain, l.problem, l.task)
        alike === nothing || push!(found, (seed, l, alike))
    end
    found
end

function permutations(items)
    length(items) <= 1 && return [items]
    [[items[i]; rest] for i in eachindex(items) for rest in permutations(items[[1:i-1; i+1:end]])]
end

"All ways of renaming objects of the same type, other than constants, that keep what no action changes and the goal."
function renamings(l)
    n, first = length(l.problem.objects), length(l.domain.constants) + 1
    fluent = PlanRank.fluent_predicates(l.domain)
    static = Set((l.problem.init.predicate[i], PlanRank.arguments(l.problem.init, i)...)
                 for i in 1:length(l.problem.init) if !fluent[l.problem.init.predicate[i]])
    found = Vector{Int}[]
    for order in permutations(collect(first:n))
        to = [1:first-1; order]
        all(o -> l.problem.objects[o].types == l.problem.objects[to[o]].types, 1:n) || continue
        Set((p, (to[o] for o in args)...) for (p, args...) in static) == static || continue
        facts = renamed_facts(l.task, to)
        goals(f) = Set((sort(f[row(l.task.goal_pos, i)]), sort(f[row(l.task.goal_neg, i)]))
                       for i in 1:length(l.task.goal_pos))
        goals(facts) == goals(collect(1:nfacts(l.task))) && push!(found, facts)
    end
    found
end

"The number that each fact has with its objects renamed; 0 if it cannot be reached then."
function renamed_facts(task, to)
    number = Dict((task.fact_predicate[f], row(task.fact_args, f)...) => f for f in 1:nfacts(task))
    [get(number, (task.fact_predicate[f], (to[o] for o in row(task.fact_args, f))...), 0) for f in 1:nfacts(task)]
end

successor_of(task, state, operator) = sort(successor(task, sort(state), operator))

@testset "what is dropped leads where something leads that is kept, but for names" begin
    dropped = 0
    for (seed, l, alike) in twins(1:200, 2000)
        task = l.task
        generator, rng = SuccessorGenerator(task), MersenneTwister(seed)
        state, names = sort(Int.(task.init)), nothing
        for _ in 1:4
            words = PlanRank.pack_facts(state, nwords(task))
            found = applicable_operators!(Int32[], generator, words, 0)
            isempty(found) && break
            kept = applicable_operators!(Int32[], generator, words, 0, alike)
            @test !isempty(kept) && issubset(kept, found)
            any(!=(0), alike.group) && @test sort(kept) == sort(filter(o -> PlanRank.is_first(alike, o), found))
            gone = setdiff(found, kept)
            dropped += length(gone)
            if !isempty(gone)
                names = something(names, Some(renamings(l)))
                same = [f for f in names if sort(f[state]) == state]
                led = Set(successor_of(task, state, o) for o in kept)
                for o in gone
                    next = successor_of(task, state, o)
                    @test any(f -> sort(f[next]) in led, same)
                end
            end
            state = Int.(successor_of(task, state, rand(rng, found)))
        end
    end
    @test dropped > 500
end

"The outcome of a search over entries, A* without a heuristic, and the cost of its plan."
function outcome(task, alike)
    search = PlanRank.make_search(task, :astar; entries = true, alike)
    while PlanRank.expand!(search) > 0
        search.expanded > 3000 && return :running, 0
        from, to = search.first_waiting, search.store.count
        _, operators = PlanRank.operators_of(search.rule.rows, from, to)
        PlanRank.insert_entries!(search, zeros(Float32, length(operators)))
    end
    search.status, search.status === :solved ? search.store.g[search.goal_id] : 0
end

@testset "plans cost the same with one of each, and are found or not" begin
    solved = 0
    for (_, l, alike) in twins(1:600, 500)
        whole = outcome(l.task, nothing)
        whole[1] === :running || @test outcome(l.task, alike) == whole
        solved += whole[1] === :solved && whole[2] > 0
    end
    @test solved > 15
end

const SNACK = """(define (domain snack) (:requirements :typing) (:types bread filling child)
    (:predicates (bread-there ?b - bread) (there ?f - filling) (salty ?f - filling) (made ?b - bread ?f - filling)
        (wants-salt ?c - child) (fed ?c - child) (not-fed ?c - child))
    (:action make :parameters (?b - bread ?f - filling) :precondition (and (bread-there ?b) (there ?f))
        :effect (and (made ?b ?f) (not (bread-there ?b)) (not (there ?f))))
    (:action feed :parameters (?c - child ?b - bread ?f - filling) :precondition (and (made ?b ?f) (not-fed ?c))
        :effect (and (fed ?c) (not (made ?b ?f))))
    (:action feed-salt :parameters (?c - child ?b - bread ?f - filling)
        :precondition (and (made ?b ?f) (salty ?f) (wants-salt ?c)) :effect (and (fed ?c) (not (made ?b ?f)))))"""

@testset "facts of objects far behind are not needed" begin
    n = 9
    names(kind) = join(("$kind$i" for i in 1:n), " ")
    facts(head, kind, those) = join(("($head $kind$i)" for i in those), " ")
    problem = """(define (problem p) (:domain snack)
        (:objects $(names("b")) - bread $(names("f")) - filling $(names("c")) - child)
        (:init $(facts("bread-there", "b", 1:n)) $(facts("there", "f", 1:n)) $(facts("salty", "f", 4:7))
            $(facts("wants-salt", "c", 6:n)) $(facts("not-fed", "c", 1:n)))
        (:goal (and $(facts("fed", "c", 1:n)))))"""
    l = PlanRank.load(PlanRank.Source("domain", SNACK), PlanRank.Source("problem", problem))
    alike, generator = Alike(l.domain, l.problem, l.task), SuccessorGenerator(l.task)
    @test alike.hides
    state, rng, dropped = sort(Int.(l.task.init)), MersenneTwister(1), 0
    for step in 1:14
        words = PlanRank.pack_facts(state, nwords(l.task))
        found = applicable_operators!(Int32[], generator, words, 0)
        isempty(found) && break
        kept = applicable_operators!(Int32[], generator, words, 0, alike)
        @test sort(kept) == sort(filter(o -> PlanRank.is_first(alike, o), found))
        step == 1 && @test length(found) == n * n && length(kept) == 2     # salty and not
        dropped += length(found) - length(kept)
        state = Int.(successor_of(l.task, state, rand(rng, found)))
    end
    @test dropped > 200
end
