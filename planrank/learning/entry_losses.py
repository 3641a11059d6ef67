"""The losses of networks that rank actions, each of the values and scores of the states of one plan.

An entry (s, a) is an action a not yet taken in a state s that was evaluated; q(s, a) = v(s) + u(s, a). Along a plan
s_0 a_1 s_1 … s_l, r = alpha (g(s_i) - g(s) - cost(a)) + beta (q(s_{i-1}, a_i) - q(s, a)) should be negative for every
step i and every entry of s_0 … s_{i-1} that does not lead to a state of the plan; with detours also for those of
states that a wrong action at one of the steps up to i leads to. Entries that the network cannot tell apart have one
score and are weighted by their number, and pairs are looked at block by block: no list of them is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from planrank.choices import LOSSES, REDUCTIONS, SURROGATES
from planrank.errors import PlanrankError
from planrank.learning.losses import SEARCH_OF_LOSS, applied, check, reduce
from planrank.learning.ranking import EntryRanking
from planrank.models.family import ScoredActions
from planrank.models.policy import log_softmax

PAIRS_IN_A_BLOCK = 2**20


class EntryTables:
    """What the losses need of a plan beside values and scores, made once.

    `others` are the scores that the plan's own are compared with, by the step from which on they are, so that those of
    step i come before the end `ends[i - 1]`.
    """

    def __init__(self, ranking: EntryRanking, scored: ScoredActions, dtype: torch.dtype):
        places, count = scored.places.astype(np.int64), len(scored.counts)
        self.length, self.counts, self.lengths = ranking.length, scored.counts, scored.lengths
        state = np.repeat(np.arange(len(scored.lengths)), scored.lengths)
        cost = np.zeros(count)
        cost[places] = ranking.action_cost
        weight = np.bincount(places[ranking.leads_to < 0], minlength=count)
        others = np.flatnonzero(weight)
        first_step = ranking.first_step[state[others]]
        by_step = np.argsort(first_step, kind="stable")
        others, first_step = others[by_step], first_step[by_step]
        self.cost_to_goal = torch.from_numpy(ranking.cost_to_goal).to(dtype)
        self.state, self.cost = torch.from_numpy(state), torch.from_numpy(cost).to(dtype)
        self.g = torch.from_numpy(ranking.g[state] + cost).to(dtype)
        self.chosen = torch.from_numpy(places[ranking.action_offsets[: ranking.length] + ranking.chosen])
        self.others, self.weight = torch.from_numpy(others), torch.from_numpy(weight[others]).to(dtype)
        self.ends = np.searchsorted(first_step, np.arange(1, ranking.length + 1), side="right")
        self.first_step = torch.from_numpy(first_step)
        self.pairs = int((weight[others] * (ranking.length + 1 - first_step)).sum())
        before = np.concatenate([[0], np.cumsum(weight[others])])
        self.pairs_of_step = torch.from_numpy(before[self.ends]).to(dtype)

    def f(self, values: Tensor, scores: Tensor, alpha: float, beta: float = 1.0) -> Tensor:
        return alpha * self.g + beta * (values[self.state] + scores)

    def scale(self, reduction: str) -> Tensor:
        """By which the pairs of each step are multiplied."""
        if reduction == "steps":
            return 1 / (self.pairs_of_step.clamp(min=1) * self.length)
        return torch.full_like(self.pairs_of_step, 1 / self.pairs if reduction == "mean" else 1)

    def blocks(self) -> Iterator[tuple[slice, int, Tensor]]:
        """Steps, how many of the others they are compared with, and which pairs of these there are."""
        first = 0
        while first < self.length:
            last = first + 1
            while last < self.length and (last + 1 - first) * self.ends[last] <= PAIRS_IN_A_BLOCK:
                last += 1
            end = int(self.ends[last - 1])
            steps = torch.arange(first + 1, last + 1)
            yield slice(first, last), end, self.first_step[:end] <= steps[:, None]
            first = last


_tables: WeakKeyDictionary[EntryRanking, dict[torch.dtype, EntryTables]] = WeakKeyDictionary()


def tables_of(ranking: EntryRanking, scored: ScoredActions, dtype: torch.dtype) -> EntryTables:
    """Of an example, which has one network's scores only."""
    known = _tables.setdefault(ranking, {})
    if dtype not in known:
        known[dtype] = EntryTables(ranking, scored, dtype)
    return known[dtype]


def entry_loss(
    name: str,
    values: Tensor,
    scores: Tensor,
    tables: EntryTables,
    *,
    surrogate: str = "logistic",
    reduction: str = "mean",
) -> Tensor:
    """One number with a gradient. `values` are v of the plan's states, `scores` u of what `ScoredActions` says.

    L2 and L_be look at the cost to the goal after the plan's action; the Levin loss at v, and at the policy
    softmax(-u). `reduction` as in losses.py.
    """
    check(name, LOSSES, "loss")
    check(surrogate, SURROGATES, "surrogate")
    check(reduction, REDUCTIONS, "reduction")
    if values.shape != tables.lengths.shape or scores.shape != tables.state.shape:
        found = f"{len(values)} values and {len(scores)} scores"
        raise PlanrankError(f"found {found}, expected {len(tables.lengths)} and {len(tables.state)}")
    if name in SEARCH_OF_LOSS:
        if tables.pairs == 0:
            return 0 * (values.sum() + scores.sum())
        f = tables.f(values, scores, SEARCH_OF_LOSS[name][0])
        return RankedPairs.apply(f[tables.chosen], f[tables.others], tables, surrogate, tables.scale(reduction))
    if name == "levin":
        return levin(values, scores, tables, reduction)
    q = tables.f(values, scores, 0.0)
    along, after = q[tables.chosen], tables.cost_to_goal[1:]
    if name == "lrt":
        return reduce(applied(surrogate, along[1:] - along[:-1]), reduction) if len(along) > 1 else 0 * along.sum()
    if name == "l2":
        return reduce((along - after) ** 2, reduction)
    return bellman(q, along, tables, reduction)


class RankedPairs(torch.autograd.Function):
    """The surrogate summed over all pairs, each times the `scale` of its step; its derivatives are found on the way,
    so that no pair need be kept."""

    @staticmethod
    def forward(
        context: Any, chosen: Tensor, others: Tensor, tables: EntryTables, surrogate: str, scale: Tensor
    ) -> Tensor:
        total = chosen.new_zeros(())
        of_chosen, of_others = torch.zeros_like(chosen), torch.zeros_like(others)
        for steps, end, there in tables.blocks():
            r = chosen[steps, None] - others[:end]
            weight = tables.weight[:end] * there * scale[steps, None]
            total += (applied(surrogate, r) * weight).sum()
            slope = (torch.sigmoid(r) if surrogate == "logistic" else (r > -1).to(r.dtype)) * weight
            of_chosen[steps] = slope.sum(dim=1)
            of_others[:end] -= slope.sum(dim=0)
        context.save_for_backward(of_chosen, of_others)
        return total

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        of_chosen, of_others = context.saved_tensors
        return gradient * of_chosen, gradient * of_others, None, None, None


def bellman(q: Tensor, along: Tensor, tables: EntryTables, reduction: str) -> Tensor:
    """After the last action comes the goal, which has bounds (0) but no actions to look at."""
    lowest = q.new_full((len(tables.lengths),), torch.inf).scatter_reduce(0, tables.state, tables.cost + q, "amin")
    after = tables.cost_to_goal[1:]
    progress = torch.relu(lowest[1 : tables.length] - along[:-1])
    below, above = torch.relu(after - along), torch.relu(along - 2 * after)
    first = reduce(progress, reduction) if len(progress) else 0 * along.sum()
    return first + reduce(below, reduction) + reduce(above, reduction)


def levin(values: Tensor, scores: Tensor, tables: EntryTables, reduction: str) -> Tensor:
    many = torch.from_numpy(np.log(tables.counts)).to(scores.dtype)
    logs = log_softmax(many - scores, tables.lengths, torch) - many
    return reduce(-logs[tables.chosen], reduction) + reduce(
        (values[: tables.length + 1] - tables.cost_to_goal) ** 2, reduction
    )


def entry_violations(values: Tensor, scores: Tensor, tables: EntryTables, alpha: float, beta: float) -> tuple[int, int]:
    """The 0-1 loss: how many pairs are violated, a tie being a violation, and how many there are."""
    f = tables.f(values.detach(), scores.detach(), alpha, beta)
    chosen, others, violated = f[tables.chosen], f[tables.others], 0.0
    for steps, end, there in tables.blocks():
        wrong = there & ~(others[:end] > chosen[steps, None])
        violated += float((wrong * tables.weight[:end]).sum(dtype=torch.float64))
    return round(violated), tables.pairs
