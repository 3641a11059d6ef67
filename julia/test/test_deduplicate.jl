using Test, Random
using PlanRank
using PlanRank: Interner, KeyBatch, clear!, open_key!, close_key!, number_all!, intern!, Signature, signature_text, Hypergraph, Classifier, Cursor, classify!, next_state!, take_new!,
    SuccessorGenerator, applicable_operators!, apply!, pack_facts, nwords, nfacts, parse_domain, parse_problem, ground, row, nedges

isdefined(Main, :RandomPDDL) || include("random_pddl.jl")
using .RandomPDDL

@testset "equal keys get equal numbers, and no others do" begin
    rng = MersenneTwister(1)
    interner, known, batch = Interner(), Dict{Vector{Int32},Int32}(), KeyBatch()
    for _ in 1:500
        keys = [rand(rng, Int32(1):Int32(4), rand(rng, 0:6)) for _ in 1:rand(rng, 0:80)]
        clear!(batch)
        for key in keys
            at = open_key!(batch, length(key) + 2)              # more room than is used
            batch.entries[at+1:at+length(key)] = key
            close_key!(batch, length(key))
        end
        number_all!(interner, batch)
        @test batch.numbers[1:length(keys)] == [get!(known, key, length(known) + 1) for key in keys]
    end
    @test length(interner) == length(known)
end

@testset "keys with equal hashes are told apart" begin
    interner = Interner()
    intern!(interner, Int32[1, 2])
    fill!(interner.table, 0)
    hash = PlanRank.hash_key(Int32[3, 4], 0, 2)                 # pretend that the first had the hash of the second
    interner.table[PlanRank.first_slot(hash, length(interner.table))] = hash | 0x01
    @test intern!(interner, Int32[3, 4]) == 2
end

function walked_states(task, rng, count)
    generator, n = SuccessorGenerator(task), nwords(task)
    states, state, applicable = UInt64[], pack_facts(task.init, n), Int32[]
    for _ in 1:count
        append!(states, state)
        empty!(applicable)
        applicable_operators!(applicable, generator, state, 0)
        isempty(applicable) && break
        next = similar(state)
        apply!(next, 0, generator, state, 0, rand(rng, applicable))
        state = next
    end
    states
end

@testset "classes found from state to state are those found from nothing" begin
    compared = 0
    for seed in 1:150
        rng = MersenneTwister(seed)
        domain_text, problem_text = random_pddl(rng)
        domain = parse_domain(domain_text, "d")
        task = ground(domain, parse_problem(problem_text, "p", domain))
        nfacts(task) == 0 && continue
        deletes, residual = rand(rng, Bool), rand(rng, Bool)
        graph = Hypergraph(Signature(domain), task; deletes = deletes)
        classifier = Classifier(Signature(domain), 3, residual, deletes)
        moving = Cursor(classifier, graph)
        states, width = walked_states(task, rng, 12), nwords(task)
        for i in 0:length(states)÷width-1
            next_state!(moving, states, i * width)
            fresh = Cursor(classifier, graph)
            next_state!(fresh, states, i * width)
            @test moving.vertex_class == fresh.vertex_class
            @test moving.edge_class == fresh.edge_class
            @test moving.bag_class == fresh.bag_class
            compared += 1
        end
    end
    @test compared > 300
end

@testset "what was handed out is not handed out again" begin
    domain_text, problem_text = random_pddl(MersenneTwister(3))
    domain = parse_domain(domain_text, "d")
    task = ground(domain, parse_problem(problem_text, "p", domain))
    signature = Signature(domain)
    classifier = Classifier(signature, 2, true, false)
    cursor = Cursor(classifier, Hypergraph(signature, task))
    state = pack_facts(task.init, nwords(task))
    classify!(cursor, state, 1)
    first, features = take_new!(classifier)
    classify!(cursor, state, 1)
    second, again = take_new!(classifier)
    @test length(second) < length(first) && isempty(again)
    # No class is new: 0 first classes, and for both layers 0 edges, 0 bags of 0 entries, 0 vertices.
    @test second[1:9] == zeros(9)
    @test length(features) % 3 == 0
end

@testset "the signature does not depend on the order of the domain file" begin
    actions = ["(:action a :parameters (?x) :precondition (p ?x) :effect (and (q ?x) (not (p ?x))))",
        "(:action b :parameters (?x) :precondition (not (q ?x)) :effect (and (p ?x) (when (p ?x) (q ?x))))"]
    predicates = ["(p ?x)", "(q ?x)", "(static ?x)"]
    text(order, names) = "(define (domain d) (:requirements :adl) (:predicates $(join(predicates[names], ' '))) $(join(actions[order], ' ')))"
    one, two = (signature_text(Signature(parse_domain(text(o, n), "d"))) for (o, n) in (([1, 2], 1:3), ([2, 1], 3:-1:1)))
    @test one == two
    @test one == """
    domain d
    predicate p
    predicate q
    edge a : +p : +q -p
    edge b : -q : +p +q
    edge b/1 : -q +p : +q
    """
end
