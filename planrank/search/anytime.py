"""Better and better plans: after the first, which is found as `solve` finds one, cheaper ones until a limit is met or
it is proved that there are none.

Two improvers take turns, whichever has had less time. One plans windows of the plan anew (julia/search/windows.jl),
which stays cheap for long plans and many actions. The other searches from the beginning for anything cheaper: A* with
falling weights, and at last A* with LM-cut, which proves that there is nothing. It is guided by hFF and not by a model:
weighted A* adds costs to estimates of costs, and what a model gives is a ranking, of which only the order counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from planrank import console, julia
from planrank.choices import ADMISSIBLE
from planrank.errors import PlanrankError
from planrank.limits import Limits
from planrank.models.model import Model
from planrank.search.forward import Search, Statistics
from planrank.search.guides import takes_preferred, wanted_guide
from planrank.search.heuristic import Heuristic
from planrank.search.plans import cost_text, validated_cost
from planrank.search.solve import Attempt, Result
from planrank.task import Source, Task

WEIGHTS = (5.0, 3.0, 2.0, 1.0)
TURN_SECONDS = 0.2
PAUSE = 5.0  # between plans that are made public, in terms of how long that takes

# How a search for better plans ends. With any of these there may be a plan.
OPTIMAL, OUT_OF_TIME, OUT_OF_MEMORY, INTERRUPTED = "optimal", "out of time", "out of memory", "interrupted"


@dataclass(frozen=True)
class FoundPlan:
    """One of the plans: what it costs, after how many seconds it was found, and how."""

    steps: list[str]
    cost: float
    seconds: float
    by: str

    def __str__(self) -> str:
        return f"cost {cost_text(self.cost)}, {len(self.steps)} step(s), {self.seconds:.2f} s, by {self.by}"

    def as_json(self) -> dict[str, object]:
        """Without the steps."""
        return {"cost": self.cost, "length": len(self.steps), "seconds": self.seconds, "by": self.by}


@dataclass(frozen=True)
class AnytimeResult(Result):
    """A `Result` of the cheapest plan, all plans that were found before it, and why the search ended."""

    plans: tuple[FoundPlan, ...] = ()
    ended: str = ""

    @property
    def optimal(self) -> bool:
        """Whether it was proved that no plan is cheaper."""
        return self.ended == OPTIMAL

    def as_json(self) -> dict[str, object]:
        """What `planrank solve --anytime --json` writes."""
        more = {"plans": [plan.as_json() for plan in self.plans], "ended": self.ended, "optimal": self.optimal}
        return super().as_json() | more


def solve_anytime(
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
    fallback: float | None = None,
    time_limit: float | None = None,
    memory_limit: float | None = None,
    started: float | None = None,
    progress: Callable[[Statistics, float], None] | None = None,
) -> Anytime:
    """Plans as they are found, each validated and cheaper than the one before: iterate over what is returned.

    The options are those of `planrank.solve` and say how the first plan is found. Later searches are guided by
    `heuristic` if one is given, else by hFF. It goes on until the time limit, or without one until it is proved that
    there is nothing cheaper; the program that iterates may stop before.
    """
    started = time.time() if started is None else started
    guide = wanted_guide(search, heuristic, model, rank)
    options = {"weight": weight, "reopen": reopen, "ties": ties, "batch": batch, "seed": seed}
    options |= {"merge": merge, "preferred": takes_preferred(search, guide, preferred)}
    attempt = Attempt(search, guide, rank, Limits.of(time_limit, memory_limit, started), progress, fallback)
    return Anytime(attempt, domain, problem, options, started)


class Anytime:
    """The plans of a problem, an iterator. `plans` has those so far, `ended` says why there are no more."""

    def __init__(self, attempt: Attempt, domain: Source, problem: Source, options: dict[str, Any], started: float):
        self.attempt, self.started = attempt, started
        self.plans: list[FoundPlan] = []
        self.ended = ""
        self._published_at = self._publishing = 0.0
        self._ahead = self._search(domain, problem, options)

    @property
    def unit_cost(self) -> bool:
        """Whether costs are numbers of steps."""
        return self.attempt.task is None or self.attempt.task.unit_cost

    def __iter__(self) -> Iterator[FoundPlan]:
        return self

    def __next__(self) -> FoundPlan:
        return next(self._ahead)

    def result(self) -> AnytimeResult:
        """What `solve` would say of the best plan so far. The counters are those of all searches for whole plans."""
        found = self.attempt.result(self.started)
        if self.plans:
            best = self.plans[-1]
            found = replace(found, status="solved", reason="", plan=best.steps, plan_cost=best.cost)
        fields = {name: getattr(found, name) for name in Result.__dataclass_fields__}
        return AnytimeResult(**fields, plans=tuple(self.plans), ended=self.ended or INTERRUPTED)

    def _search(self, domain: Source, problem: Source, options: dict[str, Any]) -> Iterator[FoundPlan]:
        """All plans, until the end is known."""
        attempt = self.attempt
        improvers: list[Improver] = []
        try:
            forward = attempt.first_search(domain, problem, options)
            if forward is None or attempt.status != "solved":
                self.ended = attempt.status
                return
            assert attempt.task is not None and attempt.guide is not None
            name = f"{attempt.search} with {attempt.guide.name}"
            yield from self._published(attempt.task, forward.plan, name)
            if is_optimal(attempt, options["weight"]):
                self.ended = OPTIMAL
                return
            windows = Windows(forward, attempt.limits)
            forward.release()
            improvers = [windows, Weighted(windows, attempt, options["weight"])]
            yield from self._improved(attempt.task, windows, improvers)
        except PlanrankError as e:
            if e.kind not in ("time", "memory"):
                raise
            attempt.status, attempt.reason = f"out of {e.kind}", e.message
            self.ended = attempt.status
        finally:
            for improver in improvers:
                improver.release()

    def _improved(self, task: Task, windows: Windows, improvers: list[Improver]) -> Iterator[FoundPlan]:
        """Cheaper plans than the first. To validate and write a long plan takes longer than to find the next, so not
        every one is made public."""
        limits = self.attempt.limits
        waiting = ""  # what has found a plan that is not public yet
        try:
            while improvers and not self.ended:
                left = limits.seconds_left() - (2 * self._publishing if waiting else 0)
                if left <= 0:
                    self.ended = OUT_OF_TIME
                    break
                improver = min(improvers, key=lambda one: one.seconds)
                outcome = improver.take_turn(min(TURN_SECONDS, left))
                self._show_progress()
                if outcome == "cheaper":
                    waiting = improver.name
                    for one in improvers:
                        one.note_cheaper_plan()
                elif outcome == "optimal":
                    self.ended = OPTIMAL
                elif outcome == "memory" or julia.resident_bytes() > limits.memory:
                    # The other may still find something in the memory that this gives back; the last has the most.
                    full = improver if outcome == "memory" else improvers[-1]
                    full.release()
                    improvers.remove(full)
                if waiting and time.time() - self._published_at > PAUSE * self._publishing:
                    yield from self._published(task, windows.plan, waiting)
                    waiting = ""
            self.ended = self.ended or OUT_OF_MEMORY
        except (PlanrankError, KeyboardInterrupt):
            # The turn that was cut short may have found a plan too.
            if validated_cost(task, windows.plan()) < self.plans[-1].cost:
                yield from self._published(task, windows.plan, waiting or windows.name)
            raise
        if waiting:
            yield from self._published(task, windows.plan, waiting)

    def _show_progress(self) -> None:
        if self.attempt.progress is not None:
            self.attempt.progress(self.attempt.counters, time.time() - self.attempt.began)

    def _published(self, task: Task, plan: Callable[[], list[str]], by: str) -> Iterator[FoundPlan]:
        """The next plan, and how long it took to validate it and to do what the program does with it."""
        began = time.time()
        try:
            found = self._found(task, plan(), by)
        except KeyboardInterrupt:
            self._found(task, plan(), by)  # who interrupts wants the plans that there are, and this is one
            raise
        yield found
        self._published_at = time.time()
        self._publishing = self._published_at - began

    def _found(self, task: Task, steps: list[str], by: str) -> FoundPlan:
        """The next plan, validated."""
        cost = validated_cost(task, steps)
        if self.plans and self.plans[-1].steps == steps:
            return self.plans[-1]  # an interruption came just after it was found
        if self.plans and cost >= self.plans[-1].cost:
            message = f"a plan that costs {cost_text(cost)} was taken for cheaper than {cost_text(self.plans[-1].cost)}"
            raise PlanrankError(message, "internal")
        plan = FoundPlan(steps, cost, time.time() - self.started, by)
        self.plans.append(plan)
        console.detail(f"plan {len(self.plans)}: {plan}")
        return plan


def is_optimal(attempt: Attempt, weight: float) -> bool:
    """Whether the first plan of this search is the cheapest there is."""
    assert attempt.task is not None and attempt.guide is not None
    if attempt.search == "bfs":
        return attempt.task.unit_cost
    is_astar = attempt.search == "astar" or (attempt.search == "wastar" and weight <= 1)
    return attempt.search == "ucs" or (is_astar and attempt.guide.heuristic in ADMISSIBLE)


class Improver:
    """Something that makes the plan cheaper."""

    name = ""
    seconds = 0.0  # that it has had

    def take_turn(self, seconds: float) -> str:
        """ "cheaper", "optimal", "memory" if it can do no more for want of it, else "running"."""
        began = time.monotonic()
        try:
            return self.run(seconds)
        except PlanrankError as e:
            if e.kind != "memory":
                raise
            return e.kind
        finally:
            self.seconds += time.monotonic() - began

    def run(self, seconds: float) -> str:
        raise NotImplementedError

    def note_cheaper_plan(self) -> None:
        """It, or another, has found one."""

    def release(self) -> None:
        """Give memory back."""


class Windows(Improver):
    """The plan that was found last, parts of which are planned anew."""

    name = "windows"

    def __init__(self, forward: Search, limits: Limits):
        self.handle = julia.call_long("new_windows", forward.handle, limits.deadline, limits.memory)

    def run(self, seconds: float) -> str:
        return julia.call_long("improve_slice", self.handle, seconds)

    def plan(self) -> list[str]:
        """The cheapest so far."""
        return julia.call("windows_plan_lines", self.handle).splitlines()

    def release(self) -> None:
        julia.call("stop_windows", self.handle)


class Weighted(Improver):
    """Searches for whole plans below the cost of the last one, a new one for each weight."""

    def __init__(self, windows: Windows, attempt: Attempt, first_weight: float):
        assert attempt.task is not None and attempt.guide is not None
        self.windows, self.attempt, self.task, self.limits = windows, attempt, attempt.task, attempt.limits
        asked = "ff" if attempt.search == "bfs" else attempt.guide.heuristic or "ff"
        weights = [one for one in WEIGHTS if attempt.search != "wastar" or one < first_weight]
        self.left = [("wastar", weight, asked) for weight in weights]
        if asked not in ADMISSIBLE:
            self.left.append(("astar", 1.0, "lmcut"))
        self.search: Search | None = None
        self.proved = False  # that the plan it has found is the cheapest
        self.before = attempt.counters

    def run(self, seconds: float) -> str:
        if self.proved:
            return "optimal"
        if self.search is None:
            self.begin()
            return "running"
        status = self.search.run(self.heuristic, seconds)
        self.attempt.counters = self.before + self.search.statistics()
        if status == "solved":
            julia.call("restart_windows", self.windows.handle, self.search.handle)
            self.proved = self.weight == 1 and self.heuristic.name in ADMISSIBLE
            return "cheaper"
        if status == "exhausted":
            if self.search.proved_unsolvable():
                return "optimal"
            self.release()
        return "memory" if status == "memory" else "running"

    def begin(self) -> None:
        """The next search. The last one ends with a proof, whatever it finds."""
        search, self.weight, guide = self.left.pop(0)
        try:
            self.heuristic = Heuristic(self.task, guide, self.limits)
        except PlanrankError as e:
            if e.kind != "unsupported":
                raise
            self.heuristic = Heuristic(self.task, "blind", self.limits)  # LM-cut refuses conditional effects
        self.name = f"{search} with {self.heuristic.name}" + (f", weight {self.weight:g}" if search == "wastar" else "")
        self.search = Search.below(self.task, self.windows.handle, search, self.weight, self.limits)

    def note_cheaper_plan(self) -> None:
        """A search that has ended makes way for the next, another goes on below the new cost."""
        if self.search is None:
            return
        if self.search.status == "running":
            julia.call("lower_bound", self.search.handle, self.windows.handle)
        else:
            self.release()

    def release(self) -> None:
        if self.search is not None:
            self.before = self.attempt.counters
            self.search.release()
            self.search = None
