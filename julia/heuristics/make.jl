const HEURISTICS = Dict{Symbol,Any}(:blind => BlindHeuristic, :goalcount => GoalCountHeuristic, :hmax => MaxHeuristic,
    :hadd => AddHeuristic, :ff => FFHeuristic, :lmcut => LMCutHeuristic)

function make_heuristic(task::Task, name::Symbol, limits::Limits = Limits())
    known = join(sort!(collect(keys(HEURISTICS))), ", ")
    haskey(HEURISTICS, name) || throw(PlanRankError(:usage, "unknown heuristic `$name`; known: $known"))
    HEURISTICS[name](task, limits)
end

"Whether Inf proves that the goal cannot be reached."
has_safe_dead_ends(heuristic) = true
has_safe_dead_ends(::TableHeuristic) = false

"Whether one evaluation takes long enough to look at the clock after each."
is_costly(heuristic) = true
is_costly(::Union{BlindHeuristic,GoalCountHeuristic,TableHeuristic}) = false

"Whether its values are never more than the cheapest plan costs."
is_admissible(heuristic) = false
is_admissible(::Union{BlindHeuristic,MaxHeuristic,LMCutHeuristic}) = true
