"""Values of states in a search. Julia computes them: parts of the network's work that were done before are not done
again, and a call costs little more than crossing the bridge."""

from __future__ import annotations

from typing import Any

import numpy as np

from planrank import julia
from planrank.limits import Limits
from planrank.models.family import NetworkScorer
from planrank.models.hypergraph.architecture import vertex_widths
from planrank.models.hypergraph.distinct_parts import PartsFinder
from planrank.models.model import Model
from planrank.task import Rows, Task

# A scorer remembers so much, or this share of the memory limit, and then begins anew; that changes no value.
MOST_BYTES = 2**30
SHARE_OF_MEMORY = 0.25
NO_OPERATORS = np.empty(0, np.int32)


class HypergraphScorer(NetworkScorer):
    def __init__(self, model: Model, task: Task, limits: Limits | None = None):
        super().__init__(model, task)
        self.finder = PartsFinder(task, model.architecture, limits)
        self.network: Any = None
        self.most_bytes = min(MOST_BYTES, int(SHARE_OF_MEMORY * limits.memory)) if limits else MOST_BYTES

    def evaluated(self, states: np.ndarray, actions: Rows | None) -> tuple[np.ndarray, np.ndarray | None]:
        if self.network is None:
            self.network = new_network(self.model, self.finder)
        states = np.ascontiguousarray(states, np.uint64)
        if actions is None:
            offsets, operators = np.zeros(len(states) + 1, np.int32), NO_OPERATORS
        else:
            offsets, operators = (np.ascontiguousarray(part, np.int32) for part in (actions.offsets, actions.values))
        values, scores = np.empty(len(states), np.float32), np.empty(len(operators), np.float32)
        rows = (states.ctypes.data, len(states), offsets.ctypes.data, operators.ctypes.data, len(operators))
        known = (self.finder.view_of(self.task), self.network, self.most_bytes)
        julia.call_long("score_states", *known, *rows, values.ctypes.data, scores.ctypes.data)
        return values, None if actions is None else scores

    @property
    def bytes_kept(self) -> int:
        """What is remembered of former states."""
        return julia.call("bytes_kept", self.finder.view_of(self.task), self.network)


def new_network(model: Model, finder: PartsFinder) -> Any:
    """The model's network in Julia."""
    shape, lines, arrays = model.architecture, [], []
    for name, weights in model.weights.items():
        rows, columns = (1, *weights.shape)[-2:]
        lines.append(f"{name} {rows} {columns}")
        arrays.append(np.asarray(weights, np.float32).ravel())
    flat = np.concatenate(arrays)
    widths = " ".join(map(str, vertex_widths(model.signature, shape)))
    poolings = (" ".join(shape.messages), shape.value, " ".join(shape.pooling), " ".join(shape.context))
    options = (shape.dim, shape.mixing, shape.shared, *poolings, shape.distances, shape.relaxed, shape.scores_actions)
    return julia.call("new_network", finder.handle, "\n".join(lines), flat.ctypes.data, len(flat), widths, *options)
