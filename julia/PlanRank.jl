module PlanRank
include("errors.jl")
include("task.jl")
include("bridge.jl")
end
