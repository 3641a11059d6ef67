"""The network itself, written once over two kinds of arithmetic: NumPy for search, PyTorch for training.

`ops` does what differs: `select` takes rows of a table by number, `pool` reduces lists of rows, `store` makes the table
of a layer from blocks of rows, `features` gives the features of edges. Row 0 of every table is zero and stands for
nothing. All entries of tables are at least zero, so zero is neutral for the maximum too.
"""

from __future__ import annotations

import numpy as np

from planrank.models.architecture import Architecture, vertex_widths
from planrank.models.batch import Batch
from planrank.models.signature import Signature


def vertex_features(flags: np.ndarray) -> np.ndarray:
    """In the state, in the goal, in the goal as false; the bits Julia numbers vertices by."""
    return np.stack([flags & 1, (flags >> 1) & 1, (flags >> 2) & 1], axis=1).astype(np.float32)


def forward(ops, weights, signature: Signature, shape: Architecture, batch: Batch):
    """Values of the batch's states, and for policy networks the logit of each action in `batch.actions`."""
    widths = vertex_widths(signature, shape)
    vertices = ops.store("vertices", 0, [(None, ops.first_vertices(batch))], widths[0])
    for number, layer in enumerate(batch.layers):
        blocks, logits = [], []
        for group in layer.edges:
            tails = ops.select(vertices, group.inputs)
            if group.slots is not None:
                tails = summed_by_slot(ops, tails, group.slots, widths[number])
            inputs = ops.concat([tails, ops.features(group.own)])
            rows = ops.relu(dense(weights, f"layer{number}.edge{group.kind}", inputs))
            blocks.append((group.ids, rows))
            if shape.policy and number == shape.layers - 1:
                scores = rows @ weights["policy.map"][group.kind] + weights["policy.bias"][group.kind]
                logits.append((group.ids, scores[:, None]))
        messages = ops.store("messages", number, blocks, shape.dim)
        pooled = ops.pool(messages, layer.bags, shape.messages)
        bags = ops.store("bags", number, [(None, pooled)], len(shape.messages) * shape.dim)
        blocks = []
        for group in layer.vertices:
            parts = [ops.select(bags, group.inputs)]
            if shape.residual:
                parts.append(ops.select(vertices, group.own))
            rows = ops.concat(parts)
            if shape.mixing:
                rows = ops.relu(dense(weights, f"layer{number}.vertex{group.kind}", rows))
            else:
                rows = ops.widen(rows, widths[number + 1])
            blocks.append((group.ids, rows))
        vertices = ops.store("vertices", number + 1, blocks, widths[number + 1])
    pooled = ops.pool(vertices, batch.readout, shape.pooling)
    pooled = pooled.reshape(-1, len(signature.predicates) * pooled.shape[1])
    values = dense(weights, "head.value", ops.relu(dense(weights, "head.hidden", pooled)))[:, 0]
    if not shape.policy:
        return values, None
    return values, ops.select(ops.store("logits", 0, logits, 1), batch.actions.more)[:, 0]


def dense(weights, name: str, inputs):
    return inputs @ weights[f"{name}.map"] + weights[f"{name}.bias"]


def summed_by_slot(ops, tails, slots: np.ndarray, width: int):
    """Add up the facts of each literal, so that every literal has one place again."""
    select = ops.constant(slots[None, :] == np.arange(slots.max() + 1)[:, None], tails)
    summed = select @ tails.reshape(-1, len(slots), width)
    return summed.reshape(len(tails), -1)
