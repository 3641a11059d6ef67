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
from planrank.learning.sampling import Sample, whole
from planrank.models.family import ScoredActions
from planrank.models.policy import log_softmax

PAIRS_IN_A_BLOCK = 2**20


class EntryTables:
    """What the losses need of a plan, or of a sample of its states, beside values and scores.

    `others` are the scores that the plan's own are compared with, by the step from which on they are, so that those of
    step `steps[k]` come before the end `ends[k]`.
    """

    def __init__(self, ranking: EntryRanking, scored: ScoredActions, dtype: torch.dtype, sample: Sample | None = None):
        self.sample = sample = sample or whole(ranking)
        states, on_plan = sample.states, len(sample.path)
        offsets, rows = ranking.rows_of(states)
        places, count = scored.places.astype(np.int64), len(scored.counts)
        self.length, self.counts, self.lengths = ranking.length, scored.counts, scored.lengths
        state = np.repeat(np.arange(len(scored.lengths)), scored.lengths)
        cost = np.zeros(count)
        cost[places] = ranking.action_cost[rows]
        number = np.bincount(places[ranking.leads_to[rows] < 0], minlength=count)
        others = np.flatnonzero(number)
        first_step = ranking.first_step[states[state[others]]]
        by_step = np.argsort(first_step, kind="stable")
        others, first_step = others[by_step], first_step[by_step]
        self.cost_to_goal = torch.from_numpy(ranking.cost_to_goal).to(dtype)
        self.state, self.cost = torch.from_numpy(state), torch.from_numpy(cost).to(dtype)
        self.g = torch.from_numpy(ranking.g[states[state]] + cost).to(dtype)
        self.path = sample.path[sample.path < ranking.length]  # s_{i-1} for each step i that is looked at
        at = np.arange(len(self.path))
        self.steps = torch.from_numpy(self.path + 1)
        self.chosen = torch.from_numpy(places[offsets[at] + ranking.chosen[self.path]])
        self.followed = torch.from_numpy(np.flatnonzero(np.diff(self.path) == 1))
        times = np.where(state[others] < on_plan, sample.two, sample.across)
        self.others, self.weight = torch.from_numpy(others), torch.from_numpy(number[others] * times).to(dtype)
        self.ends = np.searchsorted(first_step, self.path + 1, side="right")
        self.first_step, self.other_state = torch.from_numpy(first_step), torch.from_numpy(state[others])
        off_plan = ranking.off_plan()
        self.pairs = int((off_plan * (ranking.length + 1 - ranking.first_step)).sum())
        pairs_of_step = np.cumsum(np.bincount(ranking.first_step, off_plan, minlength=ranking.length + 2))
        self.pairs_of_step = torch.from_numpy(pairs_of_step[self.path + 1]).to(dtype)

    def f(self, values: Tensor, scores: Tensor, alpha: float, beta: float = 1.0) -> Tensor:
        return alpha * self.g + beta * (values[self.state] + scores)

    def scale(self, reduction: str) -> Tensor:
        """By which the pairs of each step are multiplied."""
        if reduction == "steps":
            return 1 / (self.pairs_of_step.clamp(min=1) * self.length)
        return torch.full_like(self.pairs_of_step, 1 / self.pairs if reduction == "mean" else 1)

    def blocks(self) -> Iterator[tuple[slice, int, Tensor]]:
        """Steps, how many of the others they are compared with, and how often each of these pairs counts."""
        first = 0
        while first < len(self.path):
            last = first + 1
            while last < len(self.path) and (last + 1 - first) * self.ends[last] <= PAIRS_IN_A_BLOCK:
                last += 1
            end = int(self.ends[last - 1])
            weight = self.weight[:end] * (self.first_step[:end] <= self.steps[first:last, None])
            if self.sample.one != self.sample.two:  # pairs of one state are drawn more often than pairs of two
                own = self.other_state[:end] == torch.arange(first, last)[:, None]
                weight[own] *= self.sample.one / self.sample.two
            yield slice(first, last), end, weight
            first = last


_tables: WeakKeyDictionary[EntryRanking, dict[torch.dtype, EntryTables]] = WeakKeyDictionary()


def tables_of(
    ranking: EntryRanking, scored: ScoredActions, dtype: torch.dtype, sample: Sample | None = None
) -> EntryTables:
    """Of an example, which has one network's scores only; made once, and for each sample."""
    if sample is not None:
        return EntryTables(ranking, scored, dtype, sample)
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
    along, after = q[tables.chosen], tables.cost_to_goal[tables.steps]
    if name == "lrt":
        terms = applied(surrogate, along[tables.followed + 1] - along[tables.followed])
        return reduce(terms, reduction, tables.length - 1, tables.sample.neighbours)
    if name == "l2":
        return reduce((along - after) ** 2, reduction, tables.length, tables.sample.one)
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
        for steps, end, weight in tables.blocks():
            r = chosen[steps, None] - others[:end]
            weight *= scale[steps, None]
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
    after, followed, sample = tables.cost_to_goal[tables.steps], tables.followed, tables.sample
    progress = torch.relu(lowest[followed + 1] - along[followed])
    below, above = torch.relu(after - along), torch.relu(along - 2 * after)
    bounds = reduce(below, reduction, tables.length, sample.one) + reduce(above, reduction, tables.length, sample.one)
    return reduce(progress, reduction, tables.length - 1, sample.neighbours) + bounds


def levin(values: Tensor, scores: Tensor, tables: EntryTables, reduction: str) -> Tensor:
    many = torch.from_numpy(np.log(tables.counts)).to(scores.dtype)
    logs = log_softmax(many - scores, tables.lengths, torch) - many
    path, one = tables.sample.path, tables.sample.one
    apart = (values[: len(path)] - tables.cost_to_goal[torch.from_numpy(path)]) ** 2
    losses = reduce(-logs[tables.chosen], reduction, tables.length, one)
    return losses + reduce(apart, reduction, tables.length + 1, one)


def entry_violations(values: Tensor, scores: Tensor, tables: EntryTables, alpha: float, beta: float) -> tuple[int, int]:
    """The 0-1 loss: how many pairs are violated, a tie being a violation, and how many there are. Of a sample both are
    estimates."""
    f = tables.f(values.detach(), scores.detach(), alpha, beta)
    chosen, others, violated = f[tables.chosen], f[tables.others], 0.0
    for steps, end, weight in tables.blocks():
        wrong = ~(others[:end] > chosen[steps, None])
        violated += float((wrong * weight).sum(dtype=torch.float64))
    return round(violated), tables.pairs
