"Parsing, grounding, heuristics and search for planrank; the Python package holds everything users touch."
module PlanRank

include("errors.jl")
include("limits.jl")
include("task.jl")

include("pddl/tokens.jl")
include("pddl/types.jl")
include("pddl/syntax.jl")
include("pddl/declarations.jl")
include("pddl/formulas.jl")
include("pddl/parse.jl")
include("pddl/validate.jl")
include("pddl/outline.jl")

include("grounding/normalise.jl")
include("grounding/relations.jl")
include("grounding/join.jl")
include("grounding/reach.jl")
include("grounding/settle.jl")
include("grounding/costs.jl")
include("grounding/ground.jl")

include("sorted_names.jl")
include("load.jl")

include("search/growing_vector.jl")
include("search/states.jl")
include("search/successors.jl")
include("search/goal.jl")
include("search/openlist.jl")

include("heuristics/relaxed.jl")
include("heuristics/simple.jl")
include("heuristics/additive.jl")
include("heuristics/lmcut.jl")
include("heuristics/make.jl")

include("search/search.jl")
include("search/shorten.jl")
include("search/action_rows.jl")
include("search/policy.jl")
include("search/entries.jl")
include("search/preferred.jl")
include("search/dive.jl")
include("search/follow.jl")
include("search/windows.jl")

include("hypergraph/signature.jl")
include("hypergraph/goal_distance.jl")
include("hypergraph/hypergraph.jl")
include("hypergraph/numbering.jl")
include("hypergraph/action_columns.jl")
include("hypergraph/nodes.jl")
include("hypergraph/blocks.jl")
include("hypergraph/layers.jl")
include("hypergraph/layer_parts.jl")
include("hypergraph/flat_layers.jl")
include("hypergraph/distinct_parts.jl")
include("hypergraph/parts_format.jl")
include("hypergraph/tables.jl")
include("hypergraph/network.jl")

include("learning/strays.jl")
include("learning/ranking.jl")
include("learning/clean_plan.jl")

include("bridge.jl")
include("workload.jl")

end
