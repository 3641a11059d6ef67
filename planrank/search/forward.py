"""The forward search: Julia holds the lists, Python drives it in slices, so that limits and Ctrl-C always work."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from planrank import julia
from planrank.choices import POLICY_SEARCHES
from planrank.errors import PlanrankError
from planrank.limits import Limits
from planrank.models.family import Scorer
from planrank.search.heuristic import Heuristic
from planrank.task import Task

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


Policy = tuple[np.ndarray, np.ndarray, np.ndarray]  # offsets, operators, logarithms of their probabilities


def joined(portions: list[tuple[np.ndarray, ...]]) -> tuple[np.ndarray, Policy]:
    """Values and policies of several portions as those of one."""
    values, offsets, operators, logs = zip(*portions, strict=True)
    starts = np.cumsum([0, *(own[-1] for own in offsets)])
    later = [own[1:] + start for own, start in zip(offsets, starts[:-1], strict=True)]
    together = np.concatenate([[0], *later])
    return np.concatenate(values), (together, np.concatenate(operators), np.concatenate(logs))


class Search:
    """One forward search on a task. Either call `run` with an evaluator, or `expand` and `insert` in turn."""

    def __init__(
        self,
        task: Task,
        name: str = "astar",
        *,
        weight: float = 3.0,
        reopen: bool | None = None,
        ties: str | None = None,
        batch: int = 1,
        seed: int = 0,
        limits: Limits | None = None,
    ):
        self.limits = limits = limits or Limits()
        self.task = task
        self.batch = batch
        self.takes_policy = name in POLICY_SEARCHES
        options = (name, weight, reopen, ties, batch, seed, limits.deadline, limits.memory)
        self.handle = julia.call_long("new_search", task.handle, *options)

    @property
    def status(self) -> str:
        """ "running", "solved", "exhausted" or "memory"."""
        return julia.call("search_status", self.handle)

    @property
    def expanded(self) -> int:
        return julia.call("expanded_states", self.handle)

    def run(self, evaluator: Evaluator, seconds: float = SLICE_SECONDS) -> str:
        """Go on for at most so long, and with a scorer for the batch that was begun; the status then."""
        if isinstance(evaluator, Heuristic):
            return julia.call_long("run_slice", self.handle, evaluator.handle, seconds)
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0 and self.step(evaluator, left):
            pass
        return self.status

    def step(self, scorer: Scorer, seconds: float = math.inf) -> bool:
        """Expand one batch and have its new states scored; False if the search or the time has ended."""
        states = self.expand(seconds=seconds)
        if len(states) == 0:
            return False
        if self.takes_policy:
            score: Callable[[np.ndarray], Any] = scorer.values_and_policy
        else:
            score = scorer.values
        scored: list[Any] = []
        for portion in self.portions(states):
            if scored and self.limits.seconds_left() <= 0:
                return False
            scored.append(score(portion))
        if self.takes_policy:
            self.insert(*joined(scored))
        else:
            self.insert(np.concatenate(scored))
        return True

    def portions(self, states: np.ndarray) -> Iterator[np.ndarray]:
        """So few states at a time that the clock is looked at often enough, however large the task is.

        Their number depends on the task alone: values may differ in the last bit from batch to batch.
        """
        size = max(16, WORK_IN_A_PORTION // (self.task.fact_count + self.task.operator_count + 1))
        return (states[i : i + size] for i in range(0, len(states), size))

    def expand(self, k: int | None = None, seconds: float = math.inf) -> np.ndarray:
        """Pop up to k nodes (by default a batch) and expand them; the new states, a row each.

        None: the search or the time has ended.
        """
        count = julia.call("expand_batch", self.handle, self.batch if k is None else k, seconds)
        if count == 0:
            return np.empty((0, self.task.words), np.uint64)
        return julia.view(julia.call("new_words", self.handle)).reshape(count, self.task.words)

    def insert(self, values: np.ndarray, policy: Policy | None = None) -> None:
        """Values of the states that `expand` gave, in its order and in the user's costs; infinity marks a dead end.

        `policy`, for phs and levints, is offsets, operators and logarithms of their probabilities: those of state i lie
        from offsets[i] to offsets[i + 1].
        """
        values = np.ascontiguousarray(values, np.float32)
        if policy is None:
            julia.call("insert_values", self.handle, *julia.lend(values, np.float32))
            return
        offsets, operators = (np.ascontiguousarray(part, np.int32) for part in policy[:2])
        logs = np.ascontiguousarray(policy[2], np.float32)
        if len(offsets) != len(values) + 1 or len(operators) != len(logs):
            found = f"{len(offsets)} offsets, {len(operators)} operators and {len(logs)} probabilities"
            raise PlanrankError(f"found {found} for {len(values)} states")
        parts = (julia.lend(array, array.dtype) for array in (offsets, operators, logs))
        addresses = (address for address, _ in parts)
        julia.call("insert_values_and_policy", self.handle, values.ctypes.data, len(values), *addresses, len(logs))

    def statistics(self) -> Statistics:
        return Statistics(*julia.call("statistics", self.handle))

    def release(self) -> None:
        """Give the memory of the states back now; the search cannot be used afterwards."""
        julia.call("release_search", self.handle)

    def proved_unsolvable(self) -> bool:
        return julia.call("proved_unsolvable", self.handle)

    def plan(self) -> list[str]:
        """The path to the goal that was found, step by step."""
        return julia.call("plan_lines", self.handle).splitlines()

    def needed_plan(self, limits: Limits | None = None) -> list[str]:
        """The same without steps that the goal does not need (Action Elimination)."""
        deadline = (limits or Limits()).deadline
        return julia.call_long("needed_plan_lines", self.handle, deadline).splitlines()
