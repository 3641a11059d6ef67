"""Pairs that no weights can put in order: what a network sees of the two is the same, so it values them alike.

Random weights tell: what several networks with different random weights all value alike, to rounding, is the same to
every network of this shape. That is no proof, but a difference that is seen has a value in some of them.
"""

from __future__ import annotations

import numpy as np

from planrank.errors import PlanrankError
from planrank.learning.certificate import Compared, compared_entries, compared_states, merit, score_of
from planrank.limits import Limits
from planrank.models.model import Model
from planrank.task import Rows, Task

TRIES = 4  # networks with random weights
ALIKE = 1e-5  # differences of values beyond rounding, as a share of the larger


def inseparable_pairs(
    task: Task, steps: list[str], model: Model, search: str = "gbfs", limits: Limits | None = None
) -> tuple[int, int]:
    """How many pairs a perfect ranking would put in order along this plan, and how many of these are out of order
    whatever the weights of the model are; it counts for its shape alone."""
    alpha, _ = merit(search)
    limits = limits or Limits()
    compare = compared_entries if model.ranked_by(search) == "actions" else compared_states
    costs = compare(task, steps, nothing, alpha, 0.0)
    seen = []
    for seed in range(TRIES):
        if limits.seconds_left() <= 0:
            raise PlanrankError("the time limit was met while pairs were compared", "time")
        fresh = Model.fresh(model.signature, model.architecture, seed)
        seen.append(compare(task, steps, score_of(fresh.scorer(task, limits)), 0.0, 1.0))
    pairs = hopeless = 0
    for i in range(1, len(costs.path_f)):
        there = np.flatnonzero((costs.open_from <= i) & (i < costs.open_until))
        alike = np.all([alike_at(one, i, there) for one in seen], axis=0)
        pairs += len(there)
        hopeless += int((alike & ~(costs.open_f[there] > costs.path_f[i])).sum())
    return pairs, hopeless


def nothing(states: np.ndarray, actions: Rows | None) -> np.ndarray:
    """The values where costs alone are asked for."""
    return np.zeros(len(states) if actions is None else len(actions.values), np.float32)


def alike_at(compared: Compared, i: int, others: np.ndarray) -> np.ndarray:
    """Which of the others have the same value as what the plan takes at step i."""
    mine, theirs = compared.path_f[i], compared.open_f[others]
    return np.abs(theirs - mine) <= ALIKE * np.maximum(np.abs(theirs), np.abs(mine))
