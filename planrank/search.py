"""Forward search: Julia holds the lists, Python drives it in slices, so that limits and Ctrl-C always work."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from planrank import julia
from planrank.choices import POLICY_SEARCHES
from planrank.errors import Exit, PlanrankError
from planrank.guides import NamedModel, choose_guide, fitting_guide
from planrank.limits import Limits
from planrank.task import Task, load

if TYPE_CHECKING:
    from planrank.models import Model

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
    """What `solve` found. `status` is a key of `EXIT_OF_STATUS`; `reason` says more where there is no plan.

    `heuristic` is the name of a classical one, or "model:" and the name of a model, and empty if it all ended before
    one was chosen; `model_file` is where the model was read from.
    """

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
    model_file: str | None = None

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
            "model_file": self.model_file,
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


class Scorer(Protocol):
    """A model prepared for one task. Its values are in the costs that the user wrote."""

    def values(self, states: np.ndarray) -> np.ndarray: ...

    def values_and_policy(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Values, and the policies as offsets, operators and logarithms of their probabilities."""


class Search:
    """One forward search on a task. Either call `run` with a guide, or `expand` and `insert` in turn."""

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
        self.batch = batch
        self.takes_policy = name in POLICY_SEARCHES
        options = (name, weight, reopen, ties, batch, seed, limits.deadline, limits.memory)
        self.handle = julia.call("new_search", task.handle, *options)

    @property
    def status(self) -> str:
        """ "running", "solved", "exhausted" or "memory"."""
        return julia.call("search_status", self.handle)

    @property
    def expanded(self) -> int:
        return julia.call("expanded_states", self.handle)

    def run(self, guide: Heuristic | Scorer, seconds: float = SLICE_SECONDS) -> str:
        """Go on for at most so long, and with a scorer for the batch that was begun; the status then."""
        if isinstance(guide, Heuristic):
            return julia.call("run_slice", self.handle, guide.handle, seconds)
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0 and self.step(guide, left):
            pass
        return self.status

    def step(self, scorer: Scorer, seconds: float = math.inf) -> bool:
        """Expand one batch and have its new states scored; False if the search or the time has ended."""
        states = self.expand(seconds=seconds)
        if len(states) == 0:
            return False
        values, *policy = scorer.values_and_policy(states) if self.takes_policy else (scorer.values(states),)
        # Julia counts costs in whole numbers.
        scaled = values if self.task.cost_scale == 1 else values * np.float32(self.task.cost_scale)
        self.insert(scaled, tuple(policy) or None)
        return True

    def expand(self, k: int | None = None, seconds: float = math.inf) -> np.ndarray:
        """Pop up to k nodes (by default a batch) and expand them; the new states, a row each.

        None: the search or the time has ended.
        """
        count = julia.call("expand_batch", self.handle, self.batch if k is None else k, seconds)
        if count == 0:
            return np.empty((0, self.task.words), np.uint64)
        return julia.view(julia.call("new_words", self.handle)).reshape(count, self.task.words)

    def insert(self, values: np.ndarray, policy: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None) -> None:
        """Values of the states that `expand` gave, in its order; infinity marks a dead end.

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
        return julia.call("plan_lines", self.task.handle, self.handle).splitlines()

    def needed_plan(self, limits: Limits | None = None) -> list[str]:
        """The same without steps that the goal does not need (Action Elimination)."""
        deadline = (limits or Limits()).deadline
        return julia.call("needed_plan_lines", self.task.handle, self.handle, deadline).splitlines()


def solve(
    domain: str | Path,
    problem: str | Path,
    search: str = "gbfs",
    heuristic: str | None = None,
    *,
    model: Model | str | Path | None = None,
    weight: float = 3.0,
    reopen: bool | None = None,
    ties: str | None = None,
    batch: int = 1,
    seed: int = 0,
    shorten: bool = True,
    time_limit: float | None = None,
    memory_limit: float | None = None,
    started: float | None = None,
    progress: Callable[[Statistics, float], None] | None = None,
) -> Result:
    """Search for a plan and validate it.

    The search is guided by `heuristic` or by `model`; with neither, by a model that fits the domain where there is one
    (see `planrank.shipped`), else by hFF. ucs and bfs take no guide, phs and levints a model with a policy. `shorten`
    leaves out steps of the plan that the goal does not need.
    `time_limit` is in seconds from `started` (a value of `time.time()`, by default now), `memory_limit` in megabytes of
    resident memory of the whole process. `progress` is called after every slice with the counters and the seconds.
    """
    started = time.time() if started is None else started
    limits = Limits.of(time_limit, memory_limit, started)
    source = choose_guide(search, heuristic, model)
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
                source = source or fitting_guide(task, search)
                guide = Heuristic(task, source, limits) if isinstance(source, str) else source.model.scorer(task)
                status, reason = drive(forward, guide, limits, progress, searching)
            finally:
                counters = forward.statistics()
            if status == "solved":
                steps = forward.needed_plan(limits) if shorten else forward.plan()
            forward.release()
    except PlanrankError as e:
        if e.kind not in ("time", "memory"):
            raise
        status, reason = f"out of {e.kind}", e.message
    search_seconds = time.time() - searching
    if steps is not None:
        cost = validated_cost(task, steps)
    times = {"search_seconds": search_seconds, "total_seconds": time.time() - started}
    times["peak_kb"] = julia.call("peak_bytes") // 1024
    named = {"heuristic": source or "", "model_file": None}
    if isinstance(source, NamedModel):
        named = {"heuristic": f"model:{source.name}", "model_file": source.file}
    return Result(status, reason, steps, cost, unit_cost, counters, search, **named, **times)


def drive(search: Search, guide: Heuristic | Scorer, limits: Limits, progress, started: float) -> tuple[str, str]:
    """Slices until the search ends or a limit is met; the status and the reason for it."""
    while True:
        left = limits.seconds_left()
        if left <= 0:
            return "out of time", "the time limit was met while searching"
        status = search.run(guide, min(SLICE_SECONDS, left))
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
