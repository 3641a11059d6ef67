"""The network itself, written once over two kinds of arithmetic: NumPy for search, PyTorch for training.

`arithmetic` does what differs: `select` takes rows of a table by number, `pool` reduces lists of rows, `store` makes
the table of a layer from blocks of rows, `features` gives the features of edges. Row 0 of every table is zero and
stands for nothing. All entries of tables are at least zero, so zero is neutral for the maximum too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from planrank.models.hypergraph.architecture import Architecture, vertex_widths
from planrank.models.hypergraph.signature import HypergraphSignature


def vertex_features(flags: np.ndarray) -> np.ndarray:
    """In the state, in the goal, in the goal as false; the bits Julia numbers vertices by."""
    return np.stack([flags & 1, (flags >> 1) & 1, (flags >> 2) & 1], axis=1).astype(np.float32)


def forward(
    arithmetic: Any, weights: Any, signature: HypergraphSignature, shape: Architecture, parts: Any
) -> tuple[Any, Any]:
    """Values of states, and for policy networks the logit of each action in `parts.actions`, else None.

    `parts` are the distinct `Parts` of the states, or what the arithmetic has prepared from them.
    """
    widths = vertex_widths(signature, shape)
    vertices = arithmetic.store("vertices", 0, [(None, arithmetic.first_vertices(parts))], widths[0])
    for number, layer in enumerate(parts.layers):
        blocks, logits = [], []
        for group in layer.edges:
            tails = arithmetic.select(vertices, group.tails)
            if group.slots is not None:
                tails = summed_by_slot(arithmetic, tails, group.slots, widths[number])
            inputs = arithmetic.concat([tails, arithmetic.features(group.features)])
            rows = arithmetic.relu(dense(weights, f"layer{number}.edge{group.kind}", inputs))
            blocks.append((group.ids, rows))
            if shape.policy and number == shape.layers - 1:
                scores = rows @ weights["policy.map"][group.kind] + weights["policy.bias"][group.kind]
                logits.append((group.ids, scores[:, None]))
        messages = arithmetic.store("messages", number, blocks, shape.dim)
        pooled = arithmetic.pool(messages, layer.bags, shape.messages)
        bags = arithmetic.store("bags", number, [(None, pooled)], len(shape.messages) * shape.dim)
        blocks = []
        for group in layer.vertices:
            columns = [arithmetic.select(bags, group.bags)]
            if shape.residual:
                columns.append(arithmetic.select(vertices, group.before))
            rows = arithmetic.concat(columns)
            if shape.mixing:
                rows = arithmetic.relu(dense(weights, f"layer{number}.vertex{group.kind}", rows))
            else:
                rows = arithmetic.widen(rows, widths[number + 1])
            blocks.append((group.ids, rows))
        vertices = arithmetic.store("vertices", number + 1, blocks, widths[number + 1])
    pooled = arithmetic.pool(vertices, parts.readout, shape.pooling)
    pooled = pooled.reshape(-1, len(signature.predicates) * pooled.shape[1])
    values = dense(weights, "head.value", arithmetic.relu(dense(weights, "head.hidden", pooled)))[:, 0]
    if not shape.policy:
        return values, None
    return values, arithmetic.select(arithmetic.store("logits", 0, logits, 1), parts.actions.edges)[:, 0]


def dense(weights: Any, name: str, inputs: Any) -> Any:
    return inputs @ weights[f"{name}.map"] + weights[f"{name}.bias"]


def summed_by_slot(arithmetic: Any, tails: Any, slots: np.ndarray, width: int) -> Any:
    """Add up the facts of each literal, so that every literal has one place again."""
    select = arithmetic.constant(slots[None, :] == np.arange(slots.max() + 1)[:, None], tails)
    summed = select @ tails.reshape(-1, len(slots), width)
    return summed.reshape(len(tails), -1)
