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

SEARCH_OF_LOSS = {"lstar": (1.0, 1.0), "lgbfs": (0.0, 1.0)}  # alpha, beta


def loss(
    name: str,
    values: Tensor,
    ranking: Ranking,
    *,
    surrogate: str = "logistic",
    reduction: str = "mean",
) -> Tensor:
    """One number with a gradient. `values` are h of `ranking.states`; those of the plan's own are enough for some.

    `reduction` "sum" is the paper's; "mean" divides each sum by the number of its terms, "steps" by that of the steps
    after each step's own pairs were averaged. The Levin loss needs scores of actions: see entry_losses.py, where the
    others stand for networks that rank actions.
    """
    check(name, STATE_LOSSES, "loss of states")
    check(surrogate, SURROGATES, "surrogate")
    check(reduction, REDUCTIONS, "reduction")
    expected = ranking.length + 1 if name in PATH_LOSSES and len(values) == ranking.length + 1 else len(ranking.states)
    if values.shape != (expected,):
        raise PlanrankError(f"found values of shape {tuple(values.shape)}, expected one for each of {expected} states")
    tables = tables_of(ranking, values.dtype)
    if name in SEARCH_OF_LOSS:
        alpha, _ = SEARCH_OF_LOSS[name]
        return ranked(values, tables, alpha, surrogate, reduction)
    if name == "lrt":
        path = values[: ranking.length + 1]
        return reduce(applied(surrogate, path[1:] - path[:-1]), reduction)
    if name == "l2":
        return squared(values, tables, reduction)
    return bellman(values, tables, reduction)


def violations(
    values: Tensor, ranking: Ranking, alpha: float, beta: float, later_on_path: bool = False
) -> tuple[int, int]:
    """The 0-1 loss: how many pairs are violated, a tie being a violation, and how many there are.

    With `later_on_path` all pairs of the definition of a perfect ranking, else those of the ranking losses.
    """
    f = beta * values.detach().numpy().astype(np.float64)
    chosen = alpha * ranking.path_g[1:].astype(np.float64) + f[1 : ranking.length + 1]
    others = alpha * ranking.open_g.astype(np.float64) + f[ranking.open_state]
    pairs = ranking.in_open_list(later_on_path)
    return int((pairs & ~(others > chosen[:, None])).sum()), int(pairs.sum())


def check(name: str, known: tuple[str, ...], what: str) -> None:
    if name not in known:
        raise PlanrankError(f"unknown {what} `{name}`; known: {', '.join(known)}")


class Tables:
    """What the losses need of a ranking beside the values, made once."""

    def __init__(self, ranking: Ranking, dtype: torch.dtype):
        self.length = ranking.length
        self.dtype = dtype
        self.cost_to_goal = torch.from_numpy(ranking.cost_to_goal).to(dtype)
        compared = ranking.in_open_list(later_on_path=False)
        used = compared.any(axis=0)
        self.compared = compared[:, used]
        self.pairs = int(self.compared.sum())
        self.pairs_of_step = torch.from_numpy(self.compared.sum(axis=1)).clamp(min=1)
        self.other = torch.from_numpy(ranking.open_state[used].astype(np.int64))
        self.path_g, self.open_g = ranking.path_g[1:], ranking.open_g[used]
        self.child, self.child_cost = padded_children(ranking, dtype)
        self.differences: dict[float, Tensor] = {}

    def difference(self, alpha: float) -> Tensor:
        """alpha (g(s_i) - g(s_j)) for the pairs; -infinity where step i and entry j are no pair."""
        found = self.differences.get(alpha)
        if found is None:
            g = alpha * (self.path_g[:, None].astype(np.float64) - self.open_g)
            found = torch.from_numpy(np.where(self.compared, g, -np.inf)).to(self.dtype)
            self.differences[alpha] = found
        return found


def padded_children(ranking: Ranking, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """The children of s_0 … s_{l-1} and what they cost as matrices; the rest of a row costs infinity."""
    counts = np.diff(ranking.child_offsets)
    child = np.zeros((ranking.length, counts.max()), np.int64)
    cost = np.full(child.shape, np.inf)
    there = np.arange(child.shape[1]) < counts[:, None]
    child[there] = ranking.child_state
    cost[there] = ranking.child_cost
    return torch.from_numpy(child), torch.from_numpy(cost).to(dtype)


_tables: WeakKeyDictionary[Ranking, dict[torch.dtype, Tables]] = WeakKeyDictionary()


def tables_of(ranking: Ranking, dtype: torch.dtype) -> Tables:
    known = _tables.setdefault(ranking, {})
    if dtype not in known:
        known[dtype] = Tables(ranking, dtype)
    return known[dtype]


def ranked(values: Tensor, tables: Tables, alpha: float, surrogate: str, reduction: str) -> Tensor:
    if tables.pairs == 0:
        return 0 * values.sum()
    chosen = values[1 : tables.length + 1]
    r = chosen[:, None] - values[tables.other] + tables.difference(alpha)
    terms = applied(surrogate, r)
    if reduction == "steps":
        return (terms.sum(dim=1) / tables.pairs_of_step).mean()
    return terms.sum() / tables.pairs if reduction == "mean" else terms.sum()


def applied(surrogate: str, r: Tensor) -> Tensor:
    if surrogate == "hinge":
        return torch.relu(1 + r)
    return softplus(r, threshold=40)  # beyond it log(1 + exp(r)) is r, in double precision too


def reduce(terms: Tensor, reduction: str) -> Tensor:
    return terms.sum() if reduction == "sum" else terms.mean()


def squared(values: Tensor, tables: Tables, reduction: str) -> Tensor:
    return reduce((values[: tables.length + 1] - tables.cost_to_goal) ** 2, reduction)


def bellman(values: Tensor, tables: Tables, reduction: str) -> Tensor:
    """The goal is never expanded, so it has bounds (0) but no children to look at."""
    path = values[: tables.length + 1]
    best = (values[tables.child] + tables.child_cost).min(dim=1).values
    progress = torch.relu(best - path[:-1])
    below = torch.relu(tables.cost_to_goal - path)
    above = torch.relu(path - 2 * tables.cost_to_goal)
    return reduce(progress, reduction) + reduce(below, reduction) + reduce(above, reduction)
