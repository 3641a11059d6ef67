"""The losses a heuristic can be trained with, each of the values of the states of one plan.

For the ranking losses r = alpha (g(s_i) - g(s_j)) + beta (h(s_i) - h(s_j)) should be negative for every step i and
every state s_j in the open list with s_i that the plan does not come to later. A state is in the open list for an
interval of steps, so the pairs are the entries of a matrix, steps by open states, that lie in the intervals. All other
entries are -infinity, where both surrogates and their gradients are exactly zero: no list of pairs is made, and the sum
is the same.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

from planrank.choices import PATH_LOSSES, REDUCTIONS, STATE_LOSSES, SURROGATES
from planrank.errors import PlanrankError
from planrank.learning.ranking import Ranking
from planrank.learning.sampling import Sample, whole

SEARCH_OF_LOSS = {"lstar": (1.0, 1.0), "lgbfs": (0.0, 1.0)}  # alpha, beta


def loss(
    name: str,
    values: Tensor,
    ranking: Ranking,
    *,
    surrogate: str = "logistic",
    reduction: str = "mean",
    sample: Sample | None = None,
) -> Tensor:
    """One number with a gradient. `values` are h of `ranking.states`; those of the plan's own are enough for some. With
    a `sample` they are of its states, and the mean over all samples is the loss.

    `reduction` "sum" is the paper's; "mean" divides each sum by the number of its terms, "steps" by that of the steps
    after each step's own pairs were averaged. The Levin loss needs scores of actions: see entry_losses.py, where the
    others stand for networks that rank actions.
    """
    check(name, STATE_LOSSES, "loss of states")
    check(surrogate, SURROGATES, "surrogate")
    check(reduction, REDUCTIONS, "reduction")
    expected = ranking.length + 1 if name in PATH_LOSSES and len(values) == ranking.length + 1 else len(ranking.states)
    if sample is not None:
        expected = len(sample.states)
    if values.shape != (expected,):
        raise PlanrankError(f"found values of shape {tuple(values.shape)}, expected one for each of {expected} states")
    tables = tables_of(ranking, values.dtype, sample)
    if name in SEARCH_OF_LOSS:
        alpha, _ = SEARCH_OF_LOSS[name]
        return ranked(values, tables, alpha, surrogate, reduction)
    path = values[: len(tables.sample.path)]
    if name == "lrt":
        terms = applied(surrogate, path[tables.followed + 1] - path[tables.followed])
        return reduce(terms, reduction, tables.length, tables.sample.neighbours)
    if name == "l2":
        terms = (path - tables.cost_to_goal) ** 2
        return reduce(terms, reduction, tables.length + 1, tables.sample.one)
    return bellman(values, tables, reduction)


def violations(
    values: Tensor,
    ranking: Ranking,
    alpha: float,
    beta: float,
    later_on_path: bool = False,
    sample: Sample | None = None,
) -> tuple[int, int]:
    """The 0-1 loss: how many pairs are violated, a tie being a violation, and how many there are, in a sample if there
    is one.

    With `later_on_path` all pairs of the definition of a perfect ranking, else those of the ranking losses.
    """
    sample = sample or whole(ranking)
    place = sample.places(len(ranking.states))
    steps = sample.path[sample.path > 0]
    entries = np.flatnonzero((place[ranking.open_state] >= 0) & (later_on_path | ~ranking.open_later_on_path))
    f = beta * values.detach().numpy().astype(np.float64)
    chosen = alpha * ranking.path_g[steps].astype(np.float64) + f[place[steps]]
    others = alpha * ranking.open_g[entries].astype(np.float64) + f[place[ranking.open_state[entries]]]
    pairs = ranking.open_at(steps, entries)
    return int((pairs & ~(others > chosen[:, None])).sum()), int(pairs.sum())


def check(name: str, known: tuple[str, ...], what: str) -> None:
    if name not in known:
        raise PlanrankError(f"unknown {what} `{name}`; known: {', '.join(known)}")


class Tables:
    """What the losses need of a ranking, or of a sample of its states, beside the values."""

    def __init__(self, ranking: Ranking, dtype: torch.dtype, sample: Sample):
        self.length, self.dtype, self.sample = ranking.length, dtype, sample
        path = sample.path
        place = sample.places(len(ranking.states))
        self.cost_to_goal = torch.from_numpy(ranking.cost_to_goal[path]).to(dtype)
        self.followed = torch.from_numpy(np.flatnonzero(np.diff(path) == 1))
        steps = path[path > 0]
        entries = np.flatnonzero((place[ranking.open_state] >= 0) & ~ranking.open_later_on_path)
        compared = ranking.open_at(steps, entries)
        used = compared.any(axis=0)
        self.compared, entries = compared[:, used], entries[used]
        pairs = ranking.pairs_of_steps()
        self.pairs = int(pairs.sum())
        self.pairs_of_step = torch.from_numpy(pairs[steps - 1]).clamp(min=1)
        self.chosen = torch.from_numpy(place[steps])
        self.other = torch.from_numpy(place[ranking.open_state[entries]])
        self.path_g, self.open_g = ranking.path_g[steps], ranking.open_g[entries]
        self.child, self.child_cost = padded_children(ranking, path[path < ranking.length], place, dtype)
        self.differences: dict[float, Tensor] = {}

    def difference(self, alpha: float) -> Tensor:
        """alpha (g(s_i) - g(s_j)) for the pairs; -infinity where step i and entry j are no pair."""
        found = self.differences.get(alpha)
        if found is None:
            g = alpha * (self.path_g[:, None].astype(np.float64) - self.open_g)
            found = torch.from_numpy(np.where(self.compared, g, -np.inf)).to(self.dtype)
            self.differences[alpha] = found
        return found


def padded_children(
    ranking: Ranking, expanded: np.ndarray, place: np.ndarray, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """Places of the children of these states and what they cost as matrices; the rest of a row costs infinity."""
    first, counts = ranking.child_offsets[expanded], np.diff(ranking.child_offsets)[expanded]
    child = np.zeros((len(expanded), counts.max(initial=1)), np.int64)
    cost = np.full(child.shape, np.inf)
    there = np.arange(child.shape[1]) < counts[:, None]
    rows = (first[:, None] + np.arange(child.shape[1]))[there]
    child[there] = place[ranking.child_state[rows]]
    cost[there] = ranking.child_cost[rows]
    return torch.from_numpy(child), torch.from_numpy(cost).to(dtype)


_tables: WeakKeyDictionary[Ranking, dict[torch.dtype, Tables]] = WeakKeyDictionary()


def tables_of(ranking: Ranking, dtype: torch.dtype, sample: Sample | None = None) -> Tables:
    """Made once for all states, and for each sample."""
    if sample is not None:
        return Tables(ranking, dtype, sample)
    known = _tables.setdefault(ranking, {})
    if dtype not in known:
        known[dtype] = Tables(ranking, dtype, whole(ranking))
    return known[dtype]


def ranked(values: Tensor, tables: Tables, alpha: float, surrogate: str, reduction: str) -> Tensor:
    if tables.pairs == 0:
        return 0 * values.sum()
    r = values[tables.chosen][:, None] - values[tables.other] + tables.difference(alpha)
    terms = applied(surrogate, r)
    if reduction == "steps":
        return reduce(terms.sum(dim=1) / tables.pairs_of_step, "mean", tables.length, tables.sample.across)
    return reduce(terms, reduction, tables.pairs, tables.sample.across)


def applied(surrogate: str, r: Tensor) -> Tensor:
    if surrogate == "hinge":
        return torch.relu(1 + r)
    return softplus(r, threshold=40)  # beyond it log(1 + exp(r)) is r, in double precision too


def reduce(terms: Tensor, reduction: str, count: int, weight: float) -> Tensor:
    """`count` is how many terms the whole sum has; of a sample of them each counts `weight` times."""
    total = terms.sum() * weight
    return total if reduction == "sum" else total / max(count, 1)


def bellman(values: Tensor, tables: Tables, reduction: str) -> Tensor:
    """The goal is never expanded, so it has bounds (0) but no children to look at."""
    path, one = values[: len(tables.cost_to_goal)], tables.sample.one
    best = (values[tables.child] + tables.child_cost).min(dim=1).values
    progress = torch.relu(best - path[: len(best)])
    below = torch.relu(tables.cost_to_goal - path)
    above = torch.relu(path - 2 * tables.cost_to_goal)
    bounds = reduce(below, reduction, tables.length + 1, one) + reduce(above, reduction, tables.length + 1, one)
    return reduce(progress, reduction, tables.length, one) + bounds
