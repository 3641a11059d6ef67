"""Values of states in a search: parts of the network's work that were done before are not done again."""

from __future__ import annotations

import numpy as np

from planrank.errors import PlanrankError
from planrank.limits import Limits
from planrank.models.hypergraph.distinct_parts import Actions, PartsFinder
from planrank.models.hypergraph.network import forward
from planrank.models.hypergraph.numpy_arithmetic import NumpyArithmetic
from planrank.models.model import Model
from planrank.models.policy import log_softmax
from planrank.task import Task


class HypergraphScorer:
    def __init__(self, model: Model, task: Task, limits: Limits | None = None):
        self.model = model
        self.task = task
        self.finder = PartsFinder(task, model.architecture, limits)
        self.arithmetic = NumpyArithmetic()

    def values(self, states: np.ndarray) -> np.ndarray:
        """Of packed states, a row each."""
        return self._run(states)[0]

    def values_and_policy(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        if not self.model.has_policy:
            raise PlanrankError("this model has no policy; train one with the Levin loss")
        values, logits, actions = self._run(states)
        offsets = np.concatenate([[0], np.cumsum(actions.lengths)])
        return values, offsets, actions.operators, log_softmax(logits, actions.lengths)

    def _run(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray, Actions]:
        if states.ndim != 2 or states.shape[1] != self.task.words:
            raise PlanrankError(
                f"these states have {states.shape[-1]} words, expected {self.task.words}: another task's?"
            )
        self.finder.add(self.task, states)
        parts = self.finder.take()
        self.arithmetic.begin(parts)
        model = self.model
        with np.errstate(over="ignore", invalid="ignore"):  # said below, in words
            values, logits = forward(self.arithmetic, model.weights, model.signature, model.architecture, parts)
        if not np.isfinite(values).all():
            raise PlanrankError("the model gives values that are no numbers; its weights are unusable")
        return values, logits, parts.actions
