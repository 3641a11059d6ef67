# The vertices of a task in blocks of those that are alike, and how they go from block to block.

"""
Vertices whose content changes, in groups: those of one block that get the same content. The groups of a block and those
of a content are lists.
"""
mutable struct Groups
    noted::Int                          # how many vertices there are
    vertices::Vector{Int32}             # these, and the content that each gets
    contents::Vector{Int32}
    following::Vector{Int32}            # the next in `vertices` of the same group
    block::Vector{Int32}                # of each group
    content::Vector{Int32}
    count::Vector{Int32}
    first::Vector{Int32}                # place in `vertices`
    next_of_block::Vector{Int32}
    next_of_content::Vector{Int32}
    stays::Vector{Bool}                 # the block goes with this group
    leaving::Vector{Int32}              # of each block: how many vertices get another content
    of_block::Vector{Int32}             # of each block and each content its first group, 0 between uses
    of_content::Vector{Int32}
    blocks::Vector{Int32}               # those that have groups
    goes_at::Vector{Int32}              # of each vertex, the stamp of when its content changed
end

Groups(n::Integer) = Groups(0, (zeros(Int32, n) for _ in 1:3)..., (Int32[] for _ in 1:6)..., Bool[],
    (Int32[] for _ in 1:4)..., zeros(Int32, n))

"""
The vertices before the first layer or after a layer, in blocks. All vertices of a block have the same content, a node
of `contents`, and no two blocks have the same; so a block is exactly the vertices of one part. Unlike a node a block
may change its content: if all or most of its vertices change theirs in the same way it stays the block it is, and what
is made of it is made of the same as before.
"""
mutable struct Blocks
    contents::Nodes
    block::Vector{Int32}                # of each vertex
    next::Vector{Int32}                 # of each vertex, in the list of its block
    previous::Vector{Int32}             # the first vertex of a block has minus the block
    first::Vector{Int32}                # of each block
    size::Vector{Int32}
    content::Vector{Int32}
    linked::Vector{Int32}               # the content that was linked for it, 0 for none
    part::Vector{Int32}
    owner::Vector{Int32}                # of each content, its block
    unused::Vector{Int32}               # blocks without vertices and content
    kinds::Vector{Vector{Int32}}        # of each predicate, its blocks that have vertices …
    spot::Vector{Int32}                 # … and the place of each block there
    moved::Vector{Int32}                # vertices that are in another block now: the first `nmoved` of these
    nmoved::Int
    changed::Vector{Int32}              # blocks whose part is another one now
    touched::Vector{Int32}
    touched_at::Vector{Int32}
    groups::Groups
end

Blocks(vertices::Integer, predicates::Integer, groups::Groups) = Blocks(Nodes(),
    (zeros(Int32, vertices) for _ in 1:3)..., (Int32[] for _ in 1:7)..., [Int32[] for _ in 1:predicates], Int32[],
    zeros(Int32, vertices), 0, (Int32[] for _ in 1:3)..., groups)

"A block without vertices that has this content."
function new_block!(blocks::Blocks, content::Int32)
    if isempty(blocks.unused)
        foreach(list -> push!(list, 0), (blocks.first, blocks.size, blocks.content, blocks.linked, blocks.part,
            blocks.spot, blocks.touched_at))
        push!(blocks.unused, length(blocks.first))
    end
    block = pop!(blocks.unused)
    blocks.content[block] = content
    blocks.owner[content] = block
    block
end

"The block of a content; one is made if there is none."
@inline function block_of!(blocks::Blocks, content::Int32)
    content > length(blocks.owner) && lengthen!(blocks.owner, content)
    block = @inbounds blocks.owner[content]
    block == 0 ? new_block!(blocks, content) : block
end

@inline function enter!(blocks::Blocks, v::Int32, block::Int32)
    @inbounds begin
        after = blocks.first[block]
        blocks.block[v], blocks.next[v], blocks.previous[v] = block, after, -block
        after == 0 || (blocks.previous[after] = v)
        blocks.first[block] = v
        blocks.size[block] += Int32(1)
    end
    nothing
end

@inline function leave!(blocks::Blocks, v::Int32)
    @inbounds begin
        before, after = blocks.previous[v], blocks.next[v]
        before < 0 ? (blocks.first[-before] = after) : (blocks.next[before] = after)
        after == 0 || (blocks.previous[after] = before)
        blocks.size[blocks.block[v]] -= Int32(1)
    end
    nothing
end

@inline function touch!(blocks::Blocks, block::Int32, stamp::Int32)
    @inbounds blocks.touched_at[block] == stamp && return
    @inbounds blocks.touched_at[block] = stamp
    push!(blocks.touched, block)
    nothing
end

@inline function move!(blocks::Blocks, v::Int32, block::Int32)
    leave!(blocks, v)
    enter!(blocks, v, block)
    @inbounds blocks.moved[blocks.nmoved+=1] = v
    nothing
end

"Vertex v, of another content so far, gets this one."
@inline function note!(blocks::Blocks, v::Int32, content::Int32, stamp::Int32)
    groups = blocks.groups
    groups.noted = place = groups.noted + 1
    @inbounds groups.vertices[place], groups.contents[place], groups.goes_at[v] = v, content, stamp
    nothing
end

"Move the vertices that were noted, or leave them where they are and change the content of their block."
function regroup!(blocks::Blocks, stamp::Int32, ticker::Ticker)
    groups = blocks.groups
    blocks.nmoved = 0
    lengthen!(blocks.owner, length(blocks.contents))
    make_groups!(groups, blocks, stamp, ticker)
    @inbounds for block in groups.blocks
        all_leave(blocks, block) && (blocks.owner[blocks.content[block]] = 0)
    end
    foreach(block -> rename!(blocks, block, stamp), groups.blocks)
    @inbounds for g in eachindex(groups.block)
        groups.stays[g] && continue
        target = block_of!(blocks, groups.content[g])
        touch!(blocks, target, stamp)
        place = groups.first[g]
        while place != 0
            tick!(ticker, 4)
            move!(blocks, groups.vertices[place], target)
            place = groups.following[place]
        end
    end
    @inbounds for block in groups.blocks
        groups.of_block[block] = groups.leaving[block] = 0
        blocks.content[block] == 0 && push!(blocks.unused, block)
    end
    clear!(groups)
end

@inline all_leave(blocks::Blocks, block::Int32) =
    @inbounds blocks.groups.leaving[block] == blocks.size[block]

function make_groups!(groups::Groups, blocks::Blocks, stamp::Int32, ticker::Ticker)
    lengthen!(groups.of_block, length(blocks.first))
    lengthen!(groups.leaving, length(blocks.first))
    lengthen!(groups.of_content, length(blocks.contents))
    @inbounds for place in 1:groups.noted
        v = groups.vertices[place]
        tick!(ticker, 2)
        block, content = blocks.block[v], groups.contents[place]
        if groups.of_block[block] == 0
            push!(groups.blocks, block)
            touch!(blocks, block, stamp)
        end
        g = find_group(groups, block, content)
        g == 0 && (g = new_group!(groups, block, content))
        groups.following[place] = groups.first[g]
        groups.first[g] = place
        groups.count[g] += Int32(1)
        groups.leaving[block] += Int32(1)
    end
end

"Both lists have the group if there is one; the shorter one says so first."
@inline function find_group(groups::Groups, block::Int32, content::Int32)
    @inbounds begin
        a, b = groups.of_block[block], groups.of_content[content]
        while a != 0 && b != 0
            groups.content[a] == content && return a
            groups.block[b] == block && return b
            a, b = groups.next_of_block[a], groups.next_of_content[b]
        end
    end
    Int32(0)
end

function new_group!(groups::Groups, block::Int32, content::Int32)
    push!(groups.block, block)
    push!(groups.content, content)
    push!(groups.count, 0)
    push!(groups.first, 0)
    push!(groups.stays, false)
    push!(groups.next_of_block, groups.of_block[block])
    push!(groups.next_of_content, groups.of_content[content])
    groups.of_block[block] = groups.of_content[content] = length(groups.block)
end

"""
A block goes with the largest group that needs no other block, if that is more than stay as they are, who then get a
block of their own. A block that all leave without it keeps its content for others, if no other block has taken it.
"""
function rename!(blocks::Blocks, block::Int32, stamp::Int32)
    groups, best, most = blocks.groups, Int32(0), blocks.size[block] - blocks.groups.leaving[block]
    staying, old = most, blocks.content[block]
    g = groups.of_block[block]
    @inbounds while g != 0
        owner = blocks.owner[groups.content[g]]
        if groups.count[g] > most && (owner == 0 || blocks.size[owner] == 0)
            best, most = g, groups.count[g]
        end
        g = groups.next_of_block[g]
    end
    if best == 0
        staying == 0 || return
        blocks.owner[old] == 0 ? (blocks.owner[old] = block) : (blocks.content[block] = 0)
        return
    end
    content = groups.content[best]
    empty_block = blocks.owner[content]
    if empty_block != 0
        blocks.content[empty_block] = 0
        push!(blocks.unused, empty_block)
    end
    groups.stays[best] = true
    blocks.content[block] = content
    blocks.owner[content] = block
    staying == 0 || move_staying!(blocks, block, old, stamp)
    nothing
end

function move_staying!(blocks::Blocks, block::Int32, content::Int32, stamp::Int32)
    target = new_block!(blocks, content)
    touch!(blocks, target, stamp)
    v = blocks.first[block]
    @inbounds while v != 0
        after = blocks.next[v]
        blocks.groups.goes_at[v] == stamp || move!(blocks, v, target)
        v = after
    end
end

function clear!(groups::Groups)
    @inbounds for content in groups.content
        groups.of_content[content] = 0
    end
    groups.noted = 0
    foreach(empty!, (groups.block, groups.content, groups.count, groups.first, groups.next_of_block,
        groups.next_of_content, groups.stays, groups.blocks))
end
