"""The forward search: Julia holds the lists, Python drives it in slices, so that limits and Ctrl-C always work."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from planrank import julia
from planrank.choices import POLICY_SEARCHES
from planrank.errors import PlanrankError
from planrank.limits import NO_LIMIT, Limits
from planrank.models.family import Scorer
from planrank.models.policy import favour_first, log_softmax
from planrank.search.heuristic import Heuristic
from planrank.task import Rows, Task

SLICE_SECONDS = 0.05

# Facts and operators times states: a scorer looks at no more of them at a time.
WORK_IN_A_PORTION = 2**21

# What tells a search how good states are: both have `values(states)`.
Evaluator = Heuristic | Scorer


@dataclass(frozen=True)
class Statistics:
    """Counters of a search so far. `best_h` is infinite before the first value."""

    expanded: int = 0
    evaluated: int = 0
    generated: int = 0
    reopened: int = 0
    dead_ends: int = 0
    best_h: float = math.inf
    states: int = 0
    state_bytes: int = 0

    def __add__(self, later: Statistics) -> Statistics:
        """Of a search and of another after it, whose states are those in memory."""
        added = ("expanded", "evaluated", "generated", "reopened", "dead_ends")
        return replace(later, **{name: getattr(self, name) + getattr(later, name) for name in added})


class Search:
    """One forward search on a task. Either call `run` with an evaluator, or `expand` and `insert` in turn.

    With `rank` "actions" the open list holds actions not yet taken in states that were evaluated: astar, gbfs and
    wastar then need a scorer that scores actions, or `expand`, `applicable` and `insert_actions` in turn. "dive", which
    ranks nothing else, is gbfs that every second time goes on from where it is, with the best action there. "lazy" is
    gbfs with such a list, in which every action has the value of the state it is taken in; with `preferred` it must be
    run with hFF, and takes helpful actions first. With `merge` such lists have one of the actions that differ only in
    objects that nothing tells apart.
    """

    def __init__(
        self,
        task: Task,
        name: str = "astar",
        *,
        rank: str = "states",
        preferred: bool = False,
        merge: bool = False,
        weight: float = 3.0,
        reopen: bool | None = None,
        ties: str | None = None,
        batch: int = 1,
        seed: int = 0,
        limits: Limits | None = None,
    ):
        if rank not in ("actions", "states"):
            raise PlanrankError(f"unknown rank `{rank}`; known: actions, states")
        self.limits = limits = limits or Limits()
        self.task = task
        self.batch = batch
        self.takes_policy = name in POLICY_SEARCHES
        self.ranks_actions = rank == "actions"
        self.has_entries = self.ranks_actions or name == "lazy"
        options = (weight, reopen, ties, batch, seed, limits.deadline, limits.memory)
        kind = (name, self.ranks_actions, preferred, merge and self.has_entries)
        self.handle = julia.call_long("new_search", task.handle, *kind, *options)

    @classmethod
    def below(cls, task: Task, windows: Any, name: str, weight: float, limits: Limits) -> Search:
        """A search for anything cheaper than a plan that is held by Julia as `windows`."""
        search = cls.__new__(cls)
        search.task, search.limits, search.batch = task, limits, 1
        search.takes_policy = search.ranks_actions = search.has_entries = False
        search.handle = julia.call_long("search_below", windows, name, weight, limits.memory)
        return search

    @property
    def status(self) -> str:
        """ "running", "solved", "exhausted" or "memory"."""
        return julia.call("search_status", self.handle)

    @property
    def expanded(self) -> int:
        """How many states were expanded so far."""
        return julia.call("expanded_states", self.handle)

    def run(self, evaluator: Evaluator, seconds: float = SLICE_SECONDS, max_expansions: int = NO_LIMIT) -> str:
        """Go on for at most so long, and until so many states are expanded in all, and with a scorer for the batch that
        was begun; the status then."""
        if isinstance(evaluator, Heuristic):
            return julia.call_long("run_slice", self.handle, evaluator.handle, seconds, max_expansions)
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0 and self.expanded < max_expansions:
            if not self.step(evaluator, left):
                break
        return self.status

    def step(self, scorer: Scorer, seconds: float = math.inf) -> bool:
        """Expand one batch and have its new states scored; False if the search or the time has ended."""
        states = self.expand(seconds=seconds)
        if len(states) == 0:
            return False
        scored: list[tuple[np.ndarray, np.ndarray]] = []
        for portion, actions in self.portions(states):
            if scored and self.limits.seconds_left() <= 0:
                return False
            if actions is None:
                scored.append((scorer.values(portion), np.empty(0)))
            else:
                scored.append(self.with_actions(*scorer.values_and_scores(portion, actions), actions))
        # Most often there is one portion, and nothing to join.
        values, numbers = (np.concatenate(c) if len(c) > 1 else c[0] for c in zip(*scored, strict=True))
        if self.ranks_actions:
            self.insert_actions(numbers)
        else:
            self.insert(values, numbers if self.takes_policy else None)
        return True

    def with_actions(self, values: np.ndarray, scores: np.ndarray, actions: Rows) -> tuple[np.ndarray, np.ndarray]:
        """Values, and what this search wants to know of the actions."""
        counts = np.diff(actions.offsets)
        if self.takes_policy:
            return values, favour_first(log_softmax(-scores, counts), counts)
        return values, np.repeat(values, counts) + scores

    def portions(self, states: np.ndarray) -> Iterator[tuple[np.ndarray, Rows | None]]:
        """So few states at a time that the clock is looked at often enough, however large the task is; with their
        applicable operators, if these are to be scored.

        Their number depends on the task alone: values may differ in the last bit from batch to batch.
        """
        size = max(16, WORK_IN_A_PORTION // (self.task.fact_count + self.task.operator_count + 1))
        wants_actions = self.ranks_actions or self.takes_policy
        rows = self.applicable() if wants_actions else None
        for i in range(0, len(states), size):
            portion = states[i : i + size]
            yield portion, None if rows is None else rows.part(i, i + len(portion))

    def expand(self, k: int | None = None, seconds: float = math.inf) -> np.ndarray:
        """Pop up to k nodes (by default a batch) and expand them; the new states, a row each.

        None: the search or the time has ended.
        """
        count = julia.call("expand_batch", self.handle, self.batch if k is None else k, seconds)
        if count == 0:
            return np.empty((0, self.task.words), np.uint64)
        return julia.view(julia.call("new_words", self.handle)).reshape(count, self.task.words)

    def applicable(self) -> Rows:
        """The operators that are applicable in the states that `expand` gave, a row for each state."""
        if not (self.has_entries or self.takes_policy):
            raise PlanrankError("this search ranks states and does not ask for the operators that are applicable")
        return Rows(*(julia.view(part) for part in julia.call("new_operators", self.handle)))

    def insert(self, values: np.ndarray, policy: np.ndarray | None = None) -> None:
        """Values of the states that `expand` gave, in its order and in the user's costs; infinity marks a dead end.

        `policy`, for phs and levints, has the logarithm of the probability of each operator in `applicable()`.
        """
        values = np.ascontiguousarray(values, np.float32)
        if policy is None:
            julia.call("insert_values", self.handle, *julia.lend(values, np.float32))
        else:
            logs = np.ascontiguousarray(policy, np.float32)
            lent = (*julia.lend(values, np.float32), *julia.lend(logs, np.float32))
            julia.call("insert_values_and_policy", self.handle, *lent)

    def insert_actions(self, values: np.ndarray) -> None:
        """Values of all operators in `applicable()`, where actions are ranked; infinity: it leads nowhere."""
        values = np.ascontiguousarray(values, np.float32)
        julia.call("insert_entry_values", self.handle, *julia.lend(values, np.float32))

    def statistics(self) -> Statistics:
        """All counters so far."""
        return Statistics(*julia.call("statistics", self.handle))

    def release(self) -> None:
        """Give the memory of the states back now; the search cannot be used afterwards."""
        julia.call("release_search", self.handle)

    def proved_unsolvable(self) -> bool:
        """Whether the search has ended and shown that there is no plan."""
        return julia.call("proved_unsolvable", self.handle)

    def plan(self) -> list[str]:
        """The path to the goal that was found, step by step."""
        return julia.call("plan_lines", self.handle).splitlines()

    def needed_plan(self, limits: Limits | None = None) -> list[str]:
        """The same without steps that the goal does not need (Action Elimination)."""
        deadline = (limits or Limits()).deadline
        return julia.call_long("needed_plan_lines", self.handle, deadline).splitlines()

    def strays(self, plan: list[str], most: int) -> list[str]:
        """States off a plan that this search has expanded, the nearest to it first, at most so many.

        Each is a line `NUMBER (ACTION)`: where an action leads from the state of this number. Those of the plan, which
        need not be one that this search found, are 0, 1, …, and these follow in their order.
        """
        return julia.call_long("stray_lines", self.handle, "\n".join(plan), most).splitlines()
