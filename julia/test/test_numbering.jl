using Test, Random
using PlanRank
using PlanRank: Interner, KeyBatch, clear!, open_key!, close_key!, number_all!, intern!, hash_key

intern_key!(interner, key) = intern!(interner, key, 0, length(key), hash_key(key, 0, length(key)))

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
    intern_key!(interner, Int32[1, 2])
    fill!(interner.table, 0)
    hash = hash_key(Int32[3, 4], 0, 2)                 # pretend that the first had the hash of the second
    interner.table[PlanRank.first_slot(hash, length(interner.table))] = hash | 0x01
    @test intern_key!(interner, Int32[3, 4]) == 2
end
