# The parts of nodes and blocks, as far as they may have changed, and the removal of nodes that nothing is any more.

edge_cells(nodes::Nodes, node::Integer) = (cells = key_range(nodes, node); first(cells)+2:last(cells))
bag_cells(nodes::Nodes, node::Integer) = (cells = key_range(nodes, node); first(cells):2:last(cells))

"Link the nodes that have got members, and ask for their parts; unlink those that have lost them."
function settle!(nodes::Nodes, firsts::Vector{Int32}, cells::F, stamp::Int32) where {F}
    @inbounds for node in nodes.touched
        lives = nodes.members[node] > 0
        lives == nodes.linked[node] && continue
        nodes.linked[node] = lives
        lives ? link!(nodes, firsts, node, cells(nodes, node)) : unlink!(nodes, firsts, cells(nodes, node))
        lives && ask!(nodes, node, stamp)
    end
    empty!(nodes.touched)
end

"The same for the contents of blocks; those before the first layer are made of nothing and belong to no layer."
function settle!(blocks::Blocks, layer::Union{Layer,Nothing}, stamp::Int32)
    @inbounds for block in blocks.touched
        old, lives = blocks.linked[block], blocks.size[block] > 0
        lives == (old != 0) || list_block!(blocks, block, lives)
        new = lives ? blocks.content[block] : zero(Int32)
        (old == 0 || old == new) && continue
        blocks.linked[block] = 0
        layer === nothing || unlink_content!(layer, old)
        blocks.contents.linked[old] = false
    end
    @inbounds for block in blocks.touched
        new = blocks.size[block] > 0 ? blocks.content[block] : zero(Int32)
        blocks.linked[block] == new && continue
        blocks.linked[block] = new
        layer === nothing || link_content!(layer, new)
        blocks.contents.linked[new] = true
        ask!(blocks.contents, new, stamp)
    end
    empty!(blocks.touched)
end

function list_block!(blocks::Blocks, block::Int32, lives::Bool)
    content = lives ? blocks.content[block] : blocks.linked[block]
    list = blocks.kinds[blocks.contents.keys.records[first(key_range(blocks.contents, content))]]
    if lives
        push!(list, block)
        blocks.spot[block] = length(list)
    else
        last = pop!(list)
        last == block && return
        list[blocks.spot[block]] = last
        blocks.spot[last] = blocks.spot[block]
    end
    nothing
end

function link_content!(layer::Layer, content::Int32)
    cells = key_range(layer.blocks.contents, content)
    link!(layer.blocks.contents, layer.contents_of_block, content, first(cells)+1:first(cells)+1)
    link!(layer.blocks.contents, layer.contents_of_bag, content, first(cells)+2:last(cells))
end

function unlink_content!(layer::Layer, content::Int32)
    cells = key_range(layer.blocks.contents, content)
    unlink!(layer.blocks.contents, layer.contents_of_block, first(cells)+1:first(cells)+1)
    unlink!(layer.blocks.contents, layer.contents_of_bag, first(cells)+2:last(cells))
end

"Find the parts of what is new in this layer, or made of something that is another part than before."
function find_layer_parts!(layer::Layer, parts, number::Int, before::Blocks)
    distinct, keys, stamp, ticker = parts.distinct, parts.distinct.keys, parts.changes.stamp, parts.ticker
    settle!(layer.edges, layer.edges_of_block, edge_cells, stamp)
    ask_users!(layer.edges, layer.edges_of_block, before.changed, stamp)
    clear!(keys)
    foreach(node -> write_edge_parts!(keys, parts, layer.edges, node, before.part), layer.edges.asked)
    number_all!(distinct.edges[number], keys, ticker)
    take_parts!(layer.edges, keys)

    settle!(layer.bags, layer.bags_of_edge, bag_cells, stamp)
    ask_users!(layer.bags, layer.bags_of_edge, layer.edges.changed, stamp)
    find_bag_parts!(layer, parts, number)

    blocks = layer.blocks
    settle!(blocks, layer, stamp)
    ask_users!(blocks.contents, layer.contents_of_bag, layer.bags.changed, stamp)
    ask_users!(blocks.contents, layer.contents_of_block, before.changed, stamp)
    clear!(keys)
    foreach(node -> write_content_parts!(keys, layer, node, before.part, ticker), blocks.contents.asked)
    number_all!(distinct.vertices[number+1], keys, ticker)
    take_parts!(blocks, keys)
end

@inline function write_edge_parts!(keys::KeyBatch, parts, nodes::Nodes, node::Int32, part::Vector{Int32})
    cells = key_range(nodes, node)
    n = length(cells)
    tick!(parts.ticker, n)
    at = open_key!(keys, n)
    entries, records, from = keys.entries, nodes.keys.records, first(cells) - 1
    @inbounds begin
        entries[at+1], entries[at+2] = records[from+1], records[from+2]
        for i in 3:n
            block = records[from+i]
            entries[at+i] = block == 0 ? zero(Int32) : part[block]
        end
        layout = entries[at+1]
        parts.ragged_layout[layout] && sort_columns!(entries, at + 2, parts.distinct.layouts[layout].slot_of_column)
    end
    close_key!(keys, n)
end

"Different nodes of edges are different parts, so that none occurs twice in a bag."
function find_bag_parts!(layer::Layer, parts, number::Int)
    nodes, edge_part, changes, distinct = layer.bags, layer.edges.part, parts.changes, parts.distinct
    pairs, records, in = changes.pairs, nodes.keys.records, distinct.bags[number]
    lengthen!(changes.tally, length(distinct.edges[number]))
    empty!(nodes.changed)
    @inbounds for node in nodes.asked
        cells = bag_cells(nodes, node)
        n = length(cells)
        tick!(parts.ticker, 2n)
        length(pairs) < n && resize!(pairs, 2n)
        for (i, cell) in enumerate(cells)
            pairs[i] = UInt64(edge_part[records[cell]]) << 32 | UInt64(records[cell+1])
        end
        part = intern_multiset!(in, pairs, n, changes.tally, changes.key)
        nodes.part[node] == part && continue
        nodes.part[node] = part
        push!(nodes.changed, node)
    end
    empty!(nodes.asked)
    nothing
end

@inline function write_content_parts!(keys::KeyBatch, layer::Layer, node::Int32, part::Vector{Int32}, ticker::Ticker)
    nodes = layer.blocks.contents
    cells = key_range(nodes, node)
    n = length(cells)
    tick!(ticker, n)
    at = open_key!(keys, n)
    entries, records, from = keys.entries, nodes.keys.records, first(cells) - 1
    @inbounds begin
        entries[at+1] = records[from+1]
        entries[at+2] = records[from+2] == 0 ? zero(Int32) : part[records[from+2]]
        for i in 3:n
            bag = records[from+i]
            entries[at+i] = bag == 0 ? zero(Int32) : layer.bags.part[bag]
        end
    end
    close_key!(keys, n)
end

"A block has the part of its content."
function take_parts!(blocks::Blocks, keys::KeyBatch)
    contents = blocks.contents
    empty!(blocks.changed)
    @inbounds for (i, content) in enumerate(contents.asked)
        block, part = blocks.owner[content], keys.numbers[i]
        contents.part[content] = part
        blocks.part[block] == part && continue
        blocks.part[block] = part
        push!(blocks.changed, block)
    end
    empty!(contents.asked)
    nothing
end

# Memory

"How many numbers the keys of a layer take, those without members included."
nrecords(layer::Layer) = sum(length(in.records) for in in (layer.edges.keys, layer.bags.keys,
    layer.blocks.contents.keys, layer.steps))

"Keep only nodes that have members, with new numbers."
function compact!(layer::Layer)
    blocks = layer.blocks
    layer.edges, edge_number = compacted(layer.edges)
    layer.bags, bag_number = compacted(layer.bags, edge_number, 1, 2)
    blocks.contents, content_number = compacted(blocks.contents, bag_number, 3, 1)
    renumber!(layer.edge_node, edge_number)
    renumber!(layer.bag_node, bag_number)
    renumber!(blocks.linked, content_number)
    blocks.owner = zeros(Int32, length(blocks.contents))
    for block in eachindex(blocks.content)
        blocks.content[block] == 0 && continue
        content = blocks.content[block] = content_number[blocks.content[block]]
        content == 0 ? push!(blocks.unused, block) : (blocks.owner[content] = block)
    end
    for firsts in (layer.edges_of_block, layer.bags_of_edge, layer.contents_of_bag, layer.contents_of_block)
        fill!(firsts, 0)
    end
    for (nodes, firsts, cells) in ((layer.edges, layer.edges_of_block, edge_cells),
        (layer.bags, layer.bags_of_edge, bag_cells))
        for node in 1:length(nodes)
            link!(nodes, firsts, Int32(node), cells(nodes, node))
            nodes.linked[node] = true
        end
    end
    for content in 1:length(blocks.contents)
        link_content!(layer, Int32(content))
        blocks.contents.linked[content] = true
    end
    layer.steps, layer.step_to = Interner(), Int32[]
    fill!(layer.leader, NO_LEADER)
    fill!(layer.alone, 0)
    nothing
end

renumber!(list::Vector{Int32}, number::Vector{Int32}) =
    @inbounds for i in eachindex(list)
        list[i] == 0 || (list[i] = number[list[i]])
    end
