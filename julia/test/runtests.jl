# Runs every test_*.jl of this folder: julia --project julia/test/runtests.jl [part of a name]
using Test

@testset "PlanRank" begin
    for file in sort(readdir(@__DIR__))
        startswith(file, "test_") && endswith(file, ".jl") && all(occursin(file), ARGS) || continue
        @testset "$file" begin
            include(file)
        end
    end
end
