"""A plan as something to learn from: its states, all that is generated on the way, and the open list at every step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

import numpy as np

from planrank import julia
from planrank.task import Rows, Task


@dataclass(frozen=True, eq=False)
class Ranking:
    """What a search meets that expands just the states s_0 … s_{l-1} of a plan, and then takes the goal s_l.

    `states` are distinct packed rows: first s_0 … s_l in order, then what else expanding s_0 … s_{l-1} generates.
    Entry k of the open columns: state `open_state[k]` lies in the open list with cost `open_g[k]` when s_i is chosen,
    for all steps i in 1 … l with `open_from[k] <= i < open_until[k]`; s_i itself is no entry at step i. A state reached
    again at a lower cost has a second entry. States that the plan comes to later carry `open_later_on_path`: the
    definition of a perfect ranking compares s_i with them, the losses do not.
    Row i of the actions holds the operators applicable in s_i, row i of the children the states they lead to and what
    each costs; `chosen[i]` is the place in row i of the plan's own action. Costs are those the user wrote.
    """

    states: np.ndarray  # (n, words) uint64
    length: int  # l
    path_g: np.ndarray  # float32 (l + 1,), along the plan
    cost_to_goal: np.ndarray  # float32 (l + 1,), along the plan
    open_state: np.ndarray  # int32 (m,)
    open_from: np.ndarray  # int32 (m,)
    open_until: np.ndarray  # int32 (m,)
    open_g: np.ndarray  # float32 (m,)
    open_later_on_path: np.ndarray  # bool (m,)
    child_offsets: np.ndarray  # int32 (l + 1,)
    child_state: np.ndarray  # int32
    child_cost: np.ndarray  # float32
    action_offsets: np.ndarray  # int32 (l + 1,)
    action: np.ndarray  # int32
    chosen: np.ndarray  # int32 (l,)

    def in_open_list(self, later_on_path: bool = True) -> np.ndarray:
        """A matrix (l, m): the row of step i says which entries are in the open list then, or count in the losses."""
        step = np.arange(1, self.length + 1, dtype=np.int32)[:, None]
        there = (self.open_from <= step) & (step < self.open_until)
        return there if later_on_path else there & ~self.open_later_on_path

    def window(self, first: int, last: int) -> Ranking:
        """The same from s_first to s_last, for a search that begins with s_first and knows nothing from before."""
        kept = (self.open_from > first) & (self.open_from <= last)
        rows = slice(self.child_offsets[first], self.child_offsets[last])
        path = np.arange(first, last + 1)
        used = np.union1d(self.open_state[kept], self.child_state[rows])
        order = np.concatenate([path, np.setdiff1d(used, path)])
        number = np.full(len(self.states), -1, np.int32)
        number[order] = np.arange(len(order))
        offsets = self.child_offsets[first : last + 1] - self.child_offsets[first]
        return Ranking(
            states=self.states[order],
            length=last - first,
            path_g=self.path_g[first : last + 1] - self.path_g[first],
            cost_to_goal=self.cost_to_goal[first : last + 1],
            open_state=number[self.open_state[kept]],
            open_from=self.open_from[kept] - np.int32(first),
            open_until=np.minimum(self.open_until[kept], last + 1).astype(np.int32) - np.int32(first),
            open_g=self.open_g[kept] - self.path_g[first],
            open_later_on_path=self.open_later_on_path[kept],
            child_offsets=offsets,
            child_state=number[self.child_state[rows]],
            child_cost=self.child_cost[rows],
            action_offsets=offsets,
            action=self.action[rows],
            chosen=self.chosen[first:last],
        )


@dataclass(frozen=True, eq=False)
class EntryRanking:
    """What a search over entries (state, action) meets that takes just the actions of a plan s_0 a_1 s_1 … s_l.

    `states` are s_0 … s_l, then strays and detours: states off the plan that wrong actions lead to. Row i of the
    actions holds the operators applicable in state i (none in a goal, where the search ends), what each costs, and in
    `leads_to` the number of the plan's state that it leads to, -1 if to none; `chosen[i]` is the place in row i of the
    plan's own. The entries of state i compete with the plan's from step `first_step[i]` on, counted from 1.
    """

    states: np.ndarray  # (n, words) uint64
    length: int  # l
    g: np.ndarray  # float32 (n,)
    cost_to_goal: np.ndarray  # float32 (l + 1,), along the plan
    first_step: np.ndarray  # int32 (n,)
    action_offsets: np.ndarray  # int32 (n + 1,)
    action: np.ndarray  # int32
    action_cost: np.ndarray  # float32
    leads_to: np.ndarray  # int32
    chosen: np.ndarray  # int32 (l,)

    @property
    def path_g(self) -> np.ndarray:
        """The cost of the way to each state of the plan."""
        return self.g[: self.length + 1]

    @property
    def actions(self) -> Rows:
        """The operators of each state."""
        return Rows(self.action_offsets, self.action)

    def window(self, first: int, last: int) -> EntryRanking:
        """The same from s_first to s_last. An action that leads to a state of the plan outside of the window is said to
        lead to the nearest one in it."""
        steps = self.first_step[self.length + 1 :]
        detours = self.length + 1 + np.flatnonzero((steps > first) & (steps <= last))
        states = np.concatenate([np.arange(first, last + 1), detours])
        lengths = np.diff(self.action_offsets)[states]
        lengths[last - first] = 0  # where the window ends
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        rows = np.arange(offsets[-1]) + np.repeat(self.action_offsets[states] - offsets[:-1], lengths)
        leads_to = self.leads_to[rows]
        nearest = np.clip(leads_to, first, last) - first
        return EntryRanking(
            states=self.states[states],
            length=last - first,
            g=self.g[states] - self.g[first],
            cost_to_goal=self.cost_to_goal[first : last + 1],
            first_step=self.first_step[states] - np.int32(first),
            action_offsets=offsets,
            action=self.action[rows],
            action_cost=self.action_cost[rows],
            leads_to=np.where(leads_to < 0, -1, nearest).astype(np.int32),
            chosen=self.chosen[first:last],
        )


AnyRanking = TypeVar("AnyRanking", Ranking, EntryRanking)


def window_count(length: int, most: int) -> int:
    """How many pieces with at most `most` steps a plan is cut into; 0: one."""
    return -(-length // most) if most else 1


def windows(ranking: AnyRanking, most: int) -> list[AnyRanking]:
    """A long plan in pieces of about the same length, none with more than `most` steps; 0: the whole plan."""
    count = window_count(ranking.length, most)
    if count == 1:
        return [ranking]
    ends = [round(i * ranking.length / count) for i in range(count + 1)]
    return [ranking.window(first, last) for first, last in pairwise(ends)]


def entry_ranking_of_plan(task: Task, steps: list[str], detours: int = 0, strays: Sequence[str] = ()) -> EntryRanking:
    """As `ranking_of_plan`, for a network that ranks actions. The entries of `strays` compete too, and where these are
    fewer, those of so many detours at each step, if there are any."""
    columns = julia.call_long("entry_ranking_columns", task.handle, "\n".join(steps), detours, "\n".join(strays))
    words, g, first_step, offsets, cost, action, leads_to, chosen = (np.array(julia.view(column)) for column in columns)
    path_g = g[: len(chosen) + 1]
    return EntryRanking(
        states=words.reshape(-1, task.words),
        length=len(chosen),
        g=g,
        cost_to_goal=path_g[-1] - path_g,
        first_step=first_step,
        action_offsets=offsets,
        action=action,
        action_cost=cost,
        leads_to=leads_to,
        chosen=chosen,
    )


def ranking_of_plan(task: Task, steps: list[str], strays: Sequence[str] = ()) -> Ranking:
    """Of a plan that solves the task, `(name argument …)` for each step.

    `strays` are states off the plan, as `Search.strays` gives them, which are expanded too, each when the plan is left
    for it: what they generate is in the open list from then on.
    PlanrankError says which step fails and why, that the plan or the way to the goal is empty, or that the plan comes
    back to a state or goes on after the goal, which no search does.
    """
    columns = julia.call_long("ranking_columns", task.handle, "\n".join(steps), "\n".join(strays))
    # Copies, so that a ranking does not keep Julia's memory alive.
    words, path_g, state, start, until, g, later, offsets, child, cost, action, chosen = (
        np.array(julia.view(column)) for column in columns
    )
    return Ranking(
        states=words.reshape(-1, task.words),
        length=len(chosen),
        path_g=path_g,
        cost_to_goal=path_g[-1] - path_g,
        open_state=state,
        open_from=start,
        open_until=until,
        open_g=g,
        open_later_on_path=later.astype(bool),
        child_offsets=offsets,
        child_state=child,
        child_cost=cost,
        action_offsets=offsets,
        action=action,
        chosen=chosen,
    )
