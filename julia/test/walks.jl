# Small tasks made by chance, and walks in them.
using PlanRank
using PlanRank: SuccessorGenerator, applicable_operators!, apply!, pack_facts, nwords

isdefined(Main, :RandomPDDL) || include("random_pddl.jl")
using .RandomPDDL

function random_domain_and_task(rng)
    domain_text, problem_text = random_pddl(rng)
    loaded = PlanRank.load(PlanRank.Source("d", domain_text), PlanRank.Source("p", problem_text))
    loaded.domain, loaded.task
end

"States of a random walk, at most so many, each with the operators that are applicable there, counted from 0."
function random_walk(task, rng, count)
    generator, state = SuccessorGenerator(task), pack_facts(task.init, nwords(task))
    found = Tuple{Vector{UInt64},Vector{Int32}}[]
    for _ in 1:count
        applicable = applicable_operators!(Int32[], generator, state, 0)
        push!(found, (state, applicable .- Int32(1)))
        isempty(applicable) && break
        next = similar(state)
        apply!(next, 0, generator, state, 0, rand(rng, applicable))
        state = next
    end
    found
end

walked_states(task, rng, count) = reduce(vcat, first.(random_walk(task, rng, count)))
