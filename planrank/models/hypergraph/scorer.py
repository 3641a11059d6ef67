"""Values of states in a search: parts of the network's work that were done before are not done again."""

from __future__ import annotations

import numpy as np

from planrank.limits import Limits
from planrank.models.family import NetworkScorer
from planrank.models.hypergraph.distinct_parts import PartsFinder
from planrank.models.hypergraph.network import forward
from planrank.models.hypergraph.numpy_arithmetic import NumpyArithmetic
from planrank.models.model import Model
from planrank.task import Rows, Task

# A scorer remembers so much, or this share of the memory limit, and then begins anew.
MOST_BYTES = 2**30
SHARE_OF_MEMORY = 0.25

# Julia's keys of parts as numbers, with the table that finds them.
BYTES_OF_A_NUMBER = 8


class HypergraphScorer(NetworkScorer):
    def __init__(self, model: Model, task: Task, limits: Limits | None = None):
        super().__init__(model, task)
        self.finder = PartsFinder(task, model.architecture, limits)
        self.arithmetic = NumpyArithmetic()
        self.most_bytes = min(MOST_BYTES, int(SHARE_OF_MEMORY * limits.memory)) if limits else MOST_BYTES
        self.numbers_kept = 0

    def evaluated(self, states: np.ndarray, actions: Rows | None) -> tuple[np.ndarray, np.ndarray | None]:
        if BYTES_OF_A_NUMBER * self.numbers_kept + self.arithmetic.bytes_kept > self.most_bytes:
            self.forget()
        model, asked = self.model, actions
        if actions is None and model.scores_actions:
            asked = Rows(np.zeros(len(states) + 1, np.int32), np.empty(0, np.int32))
        self.finder.add(self.task, states, asked)
        parts = self.finder.take()
        self.numbers_kept += parts.size_kept
        self.arithmetic.begin(parts)
        values, scores = forward(self.arithmetic, model.weights, model.signature, model.architecture, parts)
        return values, None if actions is None else scores[parts.actions.scored.places]

    def forget(self) -> None:
        """Give back the memory of what was computed before. It is computed again when needed, to the same values."""
        self.finder.forget(self.task)
        self.arithmetic.forget()
        self.numbers_kept = 0
