"""Forward search: Julia holds the lists, Python drives it in slices, so that limits and Ctrl-C always work."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from planrank import julia
from planrank.errors import Exit, PlanrankError
from planrank.limits import Limits
from planrank.task import Task, load

SLICE_SECONDS = 0.05

EXIT_OF_STATUS = {
    "solved": Exit.OK,
    "unsolvable": Exit.UNSOLVABLE,
    "gave up": Exit.GAVE_UP,
    "out of memory": Exit.OUT_OF_MEMORY,
    "out of time": Exit.OUT_OF_TIME,
}


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


@dataclass(frozen=True)
class Result:
    """What `solve` found. `status` is a key of `EXIT_OF_STATUS`; `reason` says more where there is no plan."""

    status: str
    reason: str
    plan: list[str] | None
    plan_cost: float | None
    unit_cost: bool
    statistics: Statistics
    search: str
    heuristic: str
    search_seconds: float
    total_seconds: float
    peak_kb: int

    @property
    def plan_length(self) -> int | None:
        return None if self.plan is None else len(self.plan)

    def as_json(self) -> dict[str, object]:
        counters = self.statistics
        return {
            "status": self.status,
            "reason": self.reason,
            "plan": self.plan,
            "plan_length": self.plan_length,
            "plan_cost": self.plan_cost,
            "expanded": counters.expanded,
            "evaluated": counters.evaluated,
            "generated": counters.generated,
            "reopened": counters.reopened,
            "dead_ends": counters.dead_ends,
            "search_seconds": self.search_seconds,
            "total_seconds": self.total_seconds,
            "peak_kb": self.peak_kb,
            "heuristic": self.heuristic,
            "search": self.search,
        }


class Heuristic:
    """A classical heuristic of a task, one of `planrank.choices.HEURISTICS`."""

    def __init__(self, task: Task, name: str, limits: Limits | None = None):
        limits = limits or Limits()
        self.task = task
        self.name = name
        self.handle = julia.call("new_heuristic", task.handle, name, limits.deadline, limits.memory)

    def values(self, states: np.ndarray) -> np.ndarray:
        """Of packed states, a row each; infinity where the goal cannot be reached."""
        if states.ndim != 2 or states.shape[1] != self.task.words:
            raise PlanrankError(f"found an array of shape {states.shape}, expected states of {self.task.words} words")
        address, _ = julia.lend(states, np.uint64)
        return julia.view(julia.call("heuristic_values", self.handle, address, len(states), self.task.words))


class Search:
    """One forward search on a task. Either call `run` with a heuristic of Julia, or `expand` and `insert` in turn."""

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
        limits = limits or Limits()
        self.task = task
        options = (name, weight, reopen, ties, batch, seed, limits.deadline, limits.memory)
        self.handle = julia.call("new_search", task.handle, *options)

    @property
    def status(self) -> str:
        """ "running", "solved", "exhausted" or "memory"."""
        return julia.call("search_status", self.handle)

    def run(self, heuristic: Heuristic, seconds: float = SLICE_SECONDS) -> str:
        """Go on for at most so long; the status then."""
        return julia.call("run_slice", self.handle, heuristic.handle, seconds)

    def expand(self, k: int = 1, seconds: float = math.inf) -> np.ndarray:
        """Pop up to k nodes and expand them; the new states, a row each. None: the search or the time has ended."""
        count = julia.call("expand_batch", self.handle, k, seconds)
        if count == 0:
            return np.empty((0, self.task.words), np.uint64)
        return julia.view(julia.call("new_words", self.handle)).reshape(count, self.task.words)

    def insert(self, values: np.ndarray) -> None:
        """Heuristic values of the states that `expand` gave, in its order; infinity marks a dead end."""
        julia.call("insert_values", self.handle, *julia.lend(np.ascontiguousarray(values, np.float32), np.float32))

    def statistics(self) -> Statistics:
        return Statistics(*julia.call("statistics", self.handle))

    def release(self) -> None:
        """Give the memory of the states back now; the search cannot be used afterwards."""
        julia.call("release_search", self.handle)

    def proved_unsolvable(self) -> bool:
        return julia.call("proved_unsolvable", self.handle)

    def plan(self) -> list[str]:
        lines = julia.call("plan_lines", self.task.handle, self.handle)
        return lines.split("\n") if lines else []


def solve(
    domain: str | Path,
    problem: str | Path,
    search: str = "gbfs",
    heuristic: str = "ff",
    *,
    weight: float = 3.0,
    reopen: bool | None = None,
    ties: str | None = None,
    batch: int = 1,
    seed: int = 0,
    time_limit: float | None = None,
    memory_limit: float | None = None,
    started: float | None = None,
    progress: Callable[[Statistics, float], None] | None = None,
) -> Result:
    """Search for a plan and validate it.

    `time_limit` is in seconds from `started` (a value of `time.time()`, by default now), `memory_limit` in megabytes of
    resident memory of the whole process. `progress` is called after every slice with the counters and the seconds.
    """
    started = time.time() if started is None else started
    limits = Limits.of(time_limit, memory_limit, started)
    if search in ("ucs", "bfs"):
        heuristic = "blind"
    status, reason, steps, cost, unit_cost = "", "", None, None, True
    counters = Statistics()
    searching = time.time()
    try:
        task = load(domain, problem, limits)
        unit_cost = task.unit_cost
        searching = time.time()
        if task.goal_count == 0:
            status, reason = "unsolvable", "the goal cannot be reached even if nothing is ever made false"
        else:
            options = {"weight": weight, "reopen": reopen, "ties": ties, "batch": batch, "seed": seed}
            forward = Search(task, search, limits=limits, **options)
            try:
                status, reason = drive(forward, Heuristic(task, heuristic, limits), limits, progress, searching)
            finally:
                counters = forward.statistics()
            if status == "solved":
                steps = forward.plan()
            forward.release()
    except PlanrankError as e:
        if e.kind not in ("time", "memory"):
            raise
        status, reason = f"out of {e.kind}", e.message
    search_seconds = time.time() - searching
    if steps is not None:
        cost = validated_cost(task, steps)
    times = {"search_seconds": search_seconds, "total_seconds": time.time() - started, "peak_kb": peak_kilobytes()}
    return Result(status, reason, steps, cost, unit_cost, counters, search, heuristic, **times)


def drive(search: Search, heuristic: Heuristic, limits: Limits, progress, started: float) -> tuple[str, str]:
    """Slices until the search ends or a limit is met; the status and the reason for it."""
    while True:
        left = limits.seconds_left()
        if left <= 0:
            return "out of time", "the time limit was met while searching"
        status = search.run(heuristic, min(SLICE_SECONDS, left))
        if progress is not None:
            progress(search.statistics(), time.time() - started)
        if status == "solved":
            return "solved", ""
        if status == "exhausted":
            if search.proved_unsolvable():
                return "unsolvable", "all states that can be reached were looked at, and none is a goal"
            return "gave up", "the heuristic took every state that was left for a dead end"
        if status == "memory" or resident_bytes() > limits.memory:
            return "out of memory", "the memory limit was met while searching"


def validated_cost(task: Task, steps: list[str]) -> float:
    """Replay the plan on the lifted task; a plan that fails here is a bug of planrank, and is not handed out."""
    try:
        _, cost = julia.call("validate", task.handle, "\n".join(steps), "the plan found")
    except PlanrankError as e:
        raise PlanrankError(f"the plan found is not valid: {e}", "internal") from None
    return plain(cost)


def plain(cost: float) -> float:
    """A whole number as one."""
    return int(cost) if cost == int(cost) else cost


def validate(domain: str | Path, problem: str | Path, plan: str | Path) -> tuple[int, float]:
    """Number of steps and cost of a plan, or PlanrankError with what is wrong with it."""
    steps, cost = julia.call("validate_files", str(domain), str(problem), str(plan))
    return steps, plain(cost)


def resident_bytes() -> int:
    return julia.call("resident_bytes")


def peak_kilobytes() -> int:
    return julia.call("peak_bytes") // 1024
