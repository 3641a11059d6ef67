"""The network itself, as training computes it; `julia/hypergraph/network.jl` computes the same in search.

`arithmetic` does the work: `select` takes rows of a table by number, `pool` reduces lists of rows, `store` makes
the table of a layer from blocks of rows, `map_edges` and `map_vertices` are dense maps of rows of tables that stand
side by side. Row 0 of every table is zero and stands for nothing. All entries of tables are at least zero, so zero is
neutral for the maximum too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from planrank.models.hypergraph.architecture import Architecture, vertex_widths
from planrank.models.hypergraph.signature import HypergraphSignature

NEEDED = 1 << 30  # the bit of facts that the relaxed plan makes true
SHARED_SCALE = 0.5**0.5  # keeps the size of sums of two


def vertex_features(flags: np.ndarray, shape: Architecture) -> np.ndarray:
    """In the state, in the goal, in the goal as false, from the bits Julia numbers vertices by; with distances also
    whether there is a way to the goal and how far it is, in tens of steps; and whether the relaxed plan needs it."""
    columns: list[np.ndarray] = [flags & 1, (flags >> 1) & 1, (flags >> 2) & 1]
    if shape.distances:
        way = (flags & (NEEDED - 1)) >> 3
        columns += [way > 0, np.maximum(way - 1, 0) / 10]
    if shape.relaxed:
        columns.append((flags & NEEDED) > 0)
    return np.stack(columns, axis=1).astype(np.float32)


def forward(
    arithmetic: Any, weights: Any, signature: HypergraphSignature, shape: Architecture, parts: Any
) -> tuple[Any, Any]:
    """Values of states, and of networks that score actions the scores of those in `parts.actions`, else None.

    `parts` are the distinct `Parts` of the states, or what the arithmetic has prepared from them.
    """
    widths = vertex_widths(signature, shape)
    vertices = arithmetic.store("vertices", 0, [(None, arithmetic.first_vertices(parts, shape))], widths[0])
    for number, layer in enumerate(parts.layers):
        name = f"layer{shape.weights_of_layer(number)}"
        blocks = []
        for group in layer.edges:
            rows = arithmetic.map_edges(weights, f"{name}.edge{group.kind}", vertices, group)
            blocks.append((group.ids, arithmetic.relu(rows)))
        messages = arithmetic.store("messages", number, blocks, shape.dim)
        pooled = arithmetic.pool(messages, layer.bags, shape.messages)
        bags = arithmetic.store("bags", number, [(None, pooled)], len(shape.messages) * shape.dim)
        blocks = []
        for group in layer.vertices:
            before = vertices if shape.residual else None
            if shape.mixing:
                rows = arithmetic.map_vertices(weights, f"{name}.vertex{group.kind}", bags, before, group)
                rows = arithmetic.relu(rows)
                if shape.shared and number > 0:
                    rows = (rows + arithmetic.select(vertices, group.before)) * SHARED_SCALE
            else:
                rows = arithmetic.widen(arithmetic.side_by_side(bags, before, group), widths[number + 1])
            blocks.append((group.ids, rows))
        vertices = arithmetic.store("vertices", number + 1, blocks, widths[number + 1])
    if shape.poolings:
        pooled = arithmetic.pool(vertices, parts.readout, shape.poolings)
        pooled = pooled.reshape(-1, len(signature.predicates), len(shape.poolings), widths[-1])

    def seen(kinds: tuple[str, ...]) -> Any:
        chosen = pooled if kinds == shape.poolings else pooled[:, :, [shape.poolings.index(kind) for kind in kinds]]
        return chosen.reshape(len(pooled), -1)

    if shape.value == "held":
        read = arithmetic.pool(vertices, arithmetic.held(parts), ("sum",)).reshape(
            -1, len(signature.predicates) * widths[-1]
        )
    elif shape.value == "sum":
        read = seen(("sum",))
    else:
        read = arithmetic.relu(dense(weights, "head.hidden", seen(shape.pooling)))
    values = dense(weights, "head.value", read)[:, 0]
    if not shape.scores_actions:
        return values, None
    blocks = []
    for group in parts.actions.groups:
        blocks.append((group.ids, arithmetic.map_edges(weights, f"action{group.kind}", vertices, group)))
    actions = arithmetic.store("actions", 0, blocks, shape.dim)
    # What an action is does not depend on the rest of the state, so that is added after the distinct ones are known.
    context = arithmetic.relu(dense(weights, "actions.context", seen(shape.context))) @ weights["actions.state.map"]
    context = arithmetic.select(context, parts.actions.states)
    rows = arithmetic.relu(arithmetic.select(actions, parts.actions.ids) + context)
    return values, (rows @ weights["actions.score.map"])[:, 0]


def holds_or_is_goal(flags: np.ndarray) -> np.ndarray:
    """Which vertices a value of held facts counts, from the same bits. Of others larger problems may have many more."""
    return (flags & 7) > 0


def dense(weights: Any, name: str, inputs: Any) -> Any:
    return inputs @ weights[f"{name}.map"] + weights[f"{name}.bias"]
