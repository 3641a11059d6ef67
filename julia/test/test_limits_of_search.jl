# What comes between grounding and the first expansion asks the limits often, and stops when it is told to.
using Test
using PlanRank
using PlanRank: Limits, PlanRankError, Signature, Hypergraph, DistinctParts, PartsOfState, SuccessorGenerator

isdefined(Main, :Texts) || include("texts.jl")
using .Texts

const BLOCKSWORLD = joinpath(@__DIR__, "..", "..", "domains", "blocksworld", "domain.pddl")

"All blocks on the table, to be stacked: the square of their number of facts, and twice as many operators."
function blocks_task(n)
    blocks = ["b$i" for i in 1:n]
    init = join(["(clear $b) (on-table $b)" for b in blocks], ' ')
    goal = join(["(on $a $b)" for (a, b) in zip(blocks, blocks[2:end])], ' ')
    PlanRank.load(PlanRank.Source(BLOCKSWORLD), PlanRank.Source("problem", "(define (problem p) (:domain blocksworld)
        (:objects $(join(blocks, ' ')) - block) (:init (handempty) $init) (:goal (and $goal)))"))
end

const LAST_ASKED = Ref(0.0)
const LONGEST_WAIT = Ref(0.0)

"Stands for the host program's answer: no, go on; and notes how long it was not asked."
function note_question()::Cint
    now = time()
    LONGEST_WAIT[] = max(LONGEST_WAIT[], now - LAST_ASKED[])
    LAST_ASKED[] = now
    0
end

"The longest time that `f` did not ask whether it should stop."
function longest_wait(f)
    GC.gc()
    before = PlanRank.STOP_QUESTION[]
    PlanRank.STOP_QUESTION[] = @cfunction(note_question, Cint, ())
    LAST_ASKED[], LONGEST_WAIT[] = time(), 0.0
    try
        f()
    finally
        PlanRank.STOP_QUESTION[] = before
    end
    note_question()
    LONGEST_WAIT[]
end

function phases(loaded, limits)
    task, signature = loaded.task, Signature(loaded.domain)
    words = PlanRank.pack_facts(task.init, PlanRank.nwords(task))
    values(name) = PlanRank.evaluate(PlanRank.make_heuristic(task, name, limits), words, 0)
    graph() = Hypergraph(signature, task, limits)
    parts() = PartsOfState(DistinctParts(signature, 2, true, :adds), graph(), nothing, limits)
    ["successors" => () -> SuccessorGenerator(task, limits), "ff" => () -> values(:ff), "hmax" => () -> values(:hmax),
        "lmcut" => () -> values(:lmcut), "parts" => () -> PlanRank.find_parts!(parts(), words, 1)]
end

@testset "preparing a search of a large task" begin
    small, large = blocks_task(4), blocks_task(400)
    foreach(p -> last(p)(), phases(small, Limits()))                # compiles
    for (name, phase) in phases(large, Limits())
        seconds = @elapsed @test (name, longest_wait(phase) < 0.5) == (name, true)
        @test (name, seconds < 10) == (name, true)
    end
    for (name, phase) in phases(large, Limits(time() - 1, typemax(Int)))
        @test (name, error_of(phase).kind) == (name, :time)
    end
    for (name, phase) in phases(large, Limits(Inf, 1))
        @test (name, error_of(phase).kind) == (name, :memory)
    end
end

@testset "a goal of many disjuncts" begin
    loaded = blocks_task(60)
    fields = (name => getfield(loaded.task, name) for name in fieldnames(PlanRank.Task))
    n, facts = 200_000, PlanRank.nfacts(loaded.task)
    disjuncts = PlanRank.rows_of([Int32[i % facts + 1, (7i) % facts + 1] for i in 1:n])
    task = PlanRank.Task(; fields..., goal_pos = disjuncts, goal_neg = PlanRank.rows_of([Int32[] for _ in 1:n]))
    @test (@allocated PlanRank.GoalTest(task)) < 200 * n
end

@testset "a state that was not looked at to the end is looked at anew: $blocks blocks" for blocks in (6, 40)
    loaded = blocks_task(blocks)
    task, signature = loaded.task, Signature(loaded.domain)
    distinct, graph = DistinctParts(signature, 2, true, :adds), Hypergraph(signature, task)
    parts, fresh = PartsOfState(distinct, graph), PartsOfState(distinct, graph)
    words = PlanRank.pack_facts(task.init, PlanRank.nwords(task))
    PlanRank.next_state!(parts, words, 0)
    @test isempty(parts.flat) == (blocks == 40)
    parts.unfinished = true
    isempty(parts.flat) ? (parts.layers[1].blocks.block .= 1) : (parts.flat[1].edges .= 1)
    PlanRank.next_state!(parts, words, 0)
    PlanRank.next_state!(fresh, words, 0)
    same(part) = [part(parts, l) for l in 1:2] == [part(fresh, l) for l in 1:2]
    @test same(PlanRank.vertex_parts) && same(PlanRank.edge_parts)
end
