"""Some of an example's states, drawn at random, and the weights that make up for those that are left out.

A loss is a sum of terms, each of one or two states. A term counts if its states are drawn, divided by the probability
of that. So the mean over all draws, of the loss as of its gradient, is that of the whole example.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planrank.choices import PATH_LOSSES, RANKING_LOSSES
from planrank.learning.ranking import EntryRanking, Ranking


@dataclass(frozen=True, eq=False)
class Sample:
    """Numbers of states in an example, ascending: of the plan, and of others that are looked at with them.

    How often a term counts that is of one state of the plan, of two that follow each other, of any two of the plan, of
    one of the plan and one of the others.
    """

    path: np.ndarray
    others: np.ndarray
    one: float = 1.0
    neighbours: float = 1.0
    two: float = 1.0
    across: float = 1.0

    @property
    def states(self) -> np.ndarray:
        """In the order in which they are evaluated."""
        return np.concatenate([self.path, self.others])

    def places(self, count: int) -> np.ndarray:
        """Of each of so many states its place in this order, -1 if it is not drawn."""
        found = np.full(count, -1, np.int64)
        found[self.states] = np.arange(len(self.states))
        return found


def whole(ranking: Ranking | EntryRanking) -> Sample:
    numbers = np.arange(len(ranking.states))
    return Sample(numbers[: ranking.length + 1], numbers[ranking.length + 1 :])


def draw(ranking: Ranking | EntryRanking, loss: str, most: int, rng: np.random.Generator) -> Sample | None:
    """About `most` states of the example, if the loss looks at more; else None, for all of them."""
    counted = states_that_count(ranking, loss)
    off_plan = np.arange(ranking.length + 1, len(ranking.states))
    if loss in PATH_LOSSES:
        off_plan = off_plan[:0]
    if len(counted) + len(off_plan) <= most:
        return None
    if loss == "lrt" or (loss == "lbe" and isinstance(ranking, EntryRanking)):
        return run_of(counted, most, rng)
    if loss in RANKING_LOSSES:
        count = min(len(counted), max(most // 2, most - len(off_plan)))
        path, one, two = drawn(counted, count, rng)
        others, times, _ = drawn(off_plan, most - count, rng)
        return Sample(path, others, one=one, two=two, across=one * times)
    if loss == "lbe" and isinstance(ranking, Ranking):
        path, one, _ = drawn(counted, max(1, most * len(counted) // len(ranking.states)), rng)
        return Sample(path, children_of(ranking, path), one=one)
    path, one, _ = drawn(counted, most, rng)
    return Sample(path, off_plan[:0], one=one)


def states_that_count(ranking: Ranking | EntryRanking, loss: str) -> np.ndarray:
    """The states of the plan that terms of the loss are of: among actions not the goal, which has none, among states
    not the first, which nothing is compared with."""
    first = int(isinstance(ranking, Ranking) and loss in RANKING_LOSSES)
    goal = int(isinstance(ranking, Ranking) or loss == "levin")
    return np.arange(first, ranking.length + goal)


def drawn(numbers: np.ndarray, count: int, rng: np.random.Generator) -> tuple[np.ndarray, float, float]:
    """So many of the numbers, each as likely as any; how often one of them counts then, and two together."""
    n, k = len(numbers), min(count, len(numbers))
    chosen = np.sort(rng.choice(n, k, replace=False, shuffle=False))
    return numbers[chosen], n / max(k, 1), n * (n - 1) / max(k * (k - 1), 1)


def run_of(numbers: np.ndarray, count: int, rng: np.random.Generator) -> Sample:
    """At most so many that follow each other. A run may begin before the first and end after the last, or these would
    be drawn less often."""
    n, k = len(numbers), min(count, len(numbers))
    first = int(rng.integers(1 - k, n))
    path = numbers[max(first, 0) : first + k]
    return Sample(path, path[:0], one=(n + k - 1) / k, neighbours=(n + k - 1) / (k - 1))


def children_of(ranking: Ranking, path: np.ndarray) -> np.ndarray:
    """The states that expanding these generates, without themselves."""
    there = np.zeros(len(ranking.states), bool)
    for i in path[path < ranking.length]:
        there[ranking.child_state[ranking.child_offsets[i] : ranking.child_offsets[i + 1]]] = True
    there[path] = False
    return np.flatnonzero(there)
