"""Solving a problem: parse, ground, search within limits, validate the plan."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planrank import console, julia
from planrank.errors import Exit, PlanrankError
from planrank.limits import Limits
from planrank.models.model import Model
from planrank.search.forward import SLICE_SECONDS, Evaluator, Search, Statistics
from planrank.search.guides import Guide, fitting_guide, takes_preferred, wanted_guide
from planrank.search.plans import SHORTENING_SECONDS, validated_cost
from planrank.task import Source, Task, load

PATIENCE = 1 / 3  # of its seconds: so long a guide may go on after them without coming nearer to a plan
EXIT_OF_STATUS = {
    "solved": Exit.OK,
    "unsolvable": Exit.UNSOLVABLE,
    "gave up": Exit.GAVE_UP,
    "out of memory": Exit.OUT_OF_MEMORY,
    "out of time": Exit.OUT_OF_TIME,
}


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
        """The number of steps, None without a plan."""
        return None if self.plan is None else len(self.plan)

    def as_json(self) -> dict[str, object]:
        """What `planrank solve --json` writes."""
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


def solve(
    domain: Source,
    problem: Source,
    search: str = "gbfs",
    heuristic: str | None = None,
    *,
    model: Model | str | Path | None = None,
    rank: str | None = None,
    preferred: bool | None = None,
    merge: bool = True,
    weight: float = 3.0,
    reopen: bool | None = None,
    ties: str | None = None,
    batch: int = 1,
    seed: int = 0,
    shorten: bool = True,
    fallback: float | None = None,
    time_limit: float | None = None,
    memory_limit: float | None = None,
    started: float | None = None,
    progress: Callable[[Statistics, float], None] | None = None,
) -> Result:
    """Search for a plan and validate it. Domain and problem are files or PDDL text, as `planrank.load` takes them.

    The search is guided by `heuristic` or by `model`; with neither, by a model that fits the domain where there is one
    (see `planrank.models.library`), else by hFF. ucs and bfs take no guide, phs and levints a model that scores
    actions. Whether actions or states are ranked depends on the model; `rank` asks for one that ranks these.
    lazy with hFF takes its helpful actions first, unless `preferred` is False. Of actions that differ only in objects
    that nothing tells apart, one is looked at, unless `merge` is False; for searches that rank actions, and lazy.
    `shorten` leaves out steps of the plan that the goal does not need.
    A model that has found no plan after `fallback` seconds and comes no nearer to one for a third of them, gives up or
    fills the memory makes way for lazy with hFF.
    `time_limit` is in seconds from `started` (a value of `time.time()`, by default now), `memory_limit` in megabytes of
    resident memory of the whole process. `progress` is called after every slice with the counters and the seconds.
    """
    started = time.time() if started is None else started
    limits = Limits.of(time_limit, memory_limit, started)
    guide = wanted_guide(search, heuristic, model, rank)
    options = {"weight": weight, "reopen": reopen, "ties": ties, "batch": batch, "seed": seed}
    options |= {"merge": merge, "preferred": takes_preferred(search, guide, preferred)}
    attempt = Attempt(search, guide, rank, limits, progress, fallback)
    try:
        attempt.run(domain, problem, shorten, options)
    except PlanrankError as e:
        if e.kind not in ("time", "memory"):
            raise
        attempt.status, attempt.reason = f"out of {e.kind}", e.message
    return attempt.result(started)


class Patience:
    """With a guide that has another behind it: for so many seconds, and on as long as values fall."""

    def __init__(self, seconds: float):
        self.seconds, self.best = seconds, math.inf
        self.began = self.fell = time.time()

    def is_over(self, best_h: float) -> bool:
        now = time.time()
        if best_h < self.best:
            self.best, self.fell = best_h, now
        return now - self.began >= self.seconds and now - self.fell >= PATIENCE * self.seconds


class Attempt:
    """One call of `solve`: what has been found so far, so that it can be told when a limit ends it."""

    def __init__(
        self,
        search: str,
        guide: Guide | None,
        rank: str | None,
        limits: Limits,
        progress: Callable | None,
        fallback: float | None = None,
    ):
        self.search, self.guide, self.rank, self.limits, self.progress = search, guide, rank, limits, progress
        self.fallback = fallback
        self.status, self.reason = "", ""
        self.counters = Statistics()
        self.task: Task | None = None
        self.steps: list[str] | None = None
        self.began = time.time()

    def run(self, domain: Source, problem: Source, shorten: bool, options: dict[str, Any]) -> None:
        forward = self.first_search(domain, problem, options)
        if forward is None:
            return
        if self.status == "solved":
            self.steps = forward.needed_plan(self.shortening_limits()) if shorten else forward.plan()
        forward.release()

    def shortening_limits(self) -> Limits:
        """Some of the time that is left is for validating the plan and writing it down."""
        return Limits.of(min(SHORTENING_SECONDS, 0.5 * max(0.0, self.limits.seconds_left())))

    def first_search(self, domain: Source, problem: Source, options: dict[str, Any]) -> Search | None:
        """The search when it has ended; None if there was nothing to search for."""
        self.task = task = load(domain, problem, self.limits)
        seconds = f"parsed in {task.parse_seconds:.3f} s, grounded in {task.ground_seconds:.3f} s"
        console.detail(f"{task.fact_count} facts, {task.operator_count} actions, {seconds}")
        self.began = time.time()
        if task.goal_count == 0:
            self.status, self.reason = "unsolvable", "the goal cannot be reached even if nothing is ever made false"
            return None
        self.guide = self.guide or fitting_guide(task, self.search, self.rank)
        if self.fallback is None or self.guide.model is None:
            return self.searched(task, self.guide, self.limits, options)
        forward = self.searched(task, self.guide, self.limits, options, Patience(self.fallback))
        if self.status in ("solved", "unsolvable") or self.limits.seconds_left() <= 0:
            return forward
        if forward is not None:
            forward.release()
        julia.collect_garbage()  # what the model has remembered of states is garbage now
        console.detail(f"{self.guide.name} has found no plan after {time.time() - self.began:.1f} s; now lazy with ff")
        self.search, self.guide = "lazy", Guide.of_heuristic("ff")
        options = options | {"ties": None, "reopen": None, "preferred": True}
        return self.searched(task, self.guide, self.limits, options)

    def searched(
        self, task: Task, guide: Guide, limits: Limits, options: dict[str, Any], patience: Patience | None = None
    ) -> Search | None:
        """The search when it has ended, for whatever reason, None if time or memory was spent before it began; its
        counters are added to those there are."""
        before = self.counters
        forward = None
        try:
            forward = Search(task, self.search, rank=guide.rank(self.search), limits=limits, **options)
            evaluator = guide.evaluator(task, limits)
            self.status, self.reason = drive(forward, evaluator, limits, self.progress, self.began, patience)
        except PlanrankError as e:
            if e.kind not in ("time", "memory"):
                raise
            self.status, self.reason = f"out of {e.kind}", e.message
        finally:
            if forward is not None:
                self.counters = before + forward.statistics()
        return forward

    def result(self, started: float) -> Result:
        search_seconds = time.time() - self.began
        cost = None if self.steps is None or self.task is None else validated_cost(self.task, self.steps)
        return Result(
            status=self.status,
            reason=self.reason,
            plan=self.steps,
            plan_cost=cost,
            unit_cost=self.task is None or self.task.unit_cost,
            statistics=self.counters,
            search=self.search,
            heuristic="" if self.guide is None else self.guide.name,
            model_file=None if self.guide is None else self.guide.file,
            search_seconds=search_seconds,
            total_seconds=time.time() - started,
            peak_kb=julia.call("peak_bytes") // 1024,
        )


def is_full(limits: Limits) -> bool:
    """Whether the memory is spent, when garbage, which counts as memory in use, has been taken out."""
    if julia.resident_bytes() > limits.memory:
        julia.collect_garbage()
    return julia.resident_bytes() > limits.memory


def drive(
    search: Search,
    evaluator: Evaluator,
    limits: Limits,
    progress: Callable | None,
    started: float,
    patience: Patience | None = None,
) -> tuple[str, str]:
    """Slices until the search ends, a limit is met or patience is over; the status and the reason for it."""
    while True:
        left = limits.seconds_left()
        if left <= 0:
            return "out of time", "the time limit was met while searching"
        if patience is not None and patience.is_over(search.statistics().best_h):
            return "gave up", "the model came no nearer to a plan"
        status = search.run(evaluator, min(SLICE_SECONDS, left))
        if progress is not None:
            progress(search.statistics(), time.time() - started)
        if status == "solved":
            return "solved", ""
        if status == "exhausted":
            if search.proved_unsolvable():
                return "unsolvable", "all states that can be reached were looked at, and none is a goal"
            return "gave up", "the heuristic took every state that was left for a dead end"
        if status == "memory" or is_full(limits):
            return "out of memory", "the memory limit was met while searching"
