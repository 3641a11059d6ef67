"""A plan as something to learn from: its states, all that is generated on the way, and the open list at every step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
        there = self.open_at(np.arange(1, self.length + 1), np.arange(len(self.open_state)))
        return there if later_on_path else there & ~self.open_later_on_path

    def open_at(self, steps: np.ndarray, entries: np.ndarray) -> np.ndarray:
        """The same for these steps, counted from 1, and these entries."""
        return (self.open_from[entries] <= steps[:, None]) & (steps[:, None] < self.open_until[entries])

    def pairs_of_steps(self) -> np.ndarray:
        """How many entries count in the losses at each of the steps 1 … l."""
        counted = ~self.open_later_on_path
        changes = np.bincount(self.open_from[counted], minlength=self.length + 2)
        changes -= np.bincount(self.open_until[counted], minlength=self.length + 2)
        return np.cumsum(changes)[1 : self.length + 1]


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

    def rows_of(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The rows of actions of these states one after the other: where each begins, and which actions there are."""
        lengths = np.diff(self.action_offsets)[states]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        return offsets, np.arange(offsets[-1]) + np.repeat(self.action_offsets[states] - offsets[:-1], lengths)

    def off_plan(self) -> np.ndarray:
        """Of each state, how many of its actions lead to no state of the plan."""
        counted = np.concatenate([[0], np.cumsum(self.leads_to < 0)])
        return counted[self.action_offsets[1:]] - counted[self.action_offsets[:-1]]


def entry_ranking_of_plan(
    task: Task, steps: list[str], detours: int = 0, strays: Sequence[str] = (), *, merge: bool = False
) -> EntryRanking:
    """As `ranking_of_plan`, for a network that ranks actions. The entries of `strays` compete too, and where these are
    fewer, those of so many detours at each step, if there are any. With `merge`, as in `Search`, rows of actions have
    one of those that are alike: the plan's own if it is among them."""
    rest = detours, "\n".join(strays), merge
    columns = julia.call_long("entry_ranking_columns", task.handle, "\n".join(steps), *rest)
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
