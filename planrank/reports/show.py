"""The page of `planrank show`: a plan step by step, what the ranking says of each step, and where the search went."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from planrank.errors import PlanrankError
from planrank.learning.certificate import (
    Compared,
    Score,
    compared_entries,
    compared_states,
    merit,
    score_of,
)
from planrank.learning.ranking import entry_ranking_of_plan
from planrank.learning.wording import other
from planrank.limits import Limits
from planrank.models.model import Model
from planrank.reports.page import write_page
from planrank.reports.trace import Node, record
from planrank.reports.views import fact_of, view_of
from planrank.search.forward import Search, Statistics
from planrank.search.guides import fitting_guide, wanted_guide
from planrank.search.plans import plan_cost, read_steps
from planrank.search.solve import drive
from planrank.task import Task, load

SCRIPTS = ("scenes.js", "stage.js", "ranking.js", "tree.js", "show.js")
MOST_RIVALS = 5  # that are named for each step


@dataclass(frozen=True)
class Shown:
    """What the page is about. `status` is the search's; there is no page, and no `plan`, if it found none."""

    plan: list[str] | None
    status: str
    reason: str
    expanded: int


def show(
    domain: str | Path,
    problem: str | Path,
    out: str | Path,
    plan: str | Path | None = None,
    *,
    search: str = "gbfs",
    heuristic: str | None = None,
    model: Model | str | Path | None = None,
    expansions: int = 300,
    time_limit: float | None = None,
    memory_limit: float | None = None,
    started: float | None = None,
    progress: Callable[[Statistics, float], None] | None = None,
) -> Shown:
    """Write a page about a plan, the one given or the one that the search finds, and about that search.

    Of the states that the search expands so many are drawn; the guide is chosen as `solve` does.
    """
    limits = Limits.of(time_limit, memory_limit, started)
    guide = wanted_guide(search, heuristic, model)
    steps = [] if plan is None else plan_steps(Path(plan))
    task = load(domain, problem, limits)
    if task.goal_count == 0:
        return Shown(None, "unsolvable", "the goal cannot be reached even if nothing is ever made false", 0)
    guide = guide or fitting_guide(task, search)
    rank, evaluator = guide.rank(search), guide.evaluator(task, limits)
    cost = None if plan is None else named(plan, lambda: plan_cost(task, steps, "the plan"))
    score, weights = score_of(evaluator), merit(search)
    forward = Search(task, search, rank=rank, merge=True, limits=limits)
    trace = record(forward, score, weights, expansions, limits, progress)
    status, reason = drive(forward, evaluator, limits, progress, time.time())
    counters = forward.statistics()
    if plan is None:
        if status != "solved":
            return Shown(None, status, reason, counters.expanded)
        steps = forward.plan()
        cost = plan_cost(task, steps, "the plan found")
    if not steps:
        raise PlanrankError("the goal holds at the start, so there is no plan to show", file=str(problem))
    drawn = Drawn(task, Path(domain), named(plan, lambda: entry_ranking_of_plan(task, steps).states))
    page = {
        "notices": [],
        "problem": task.problem,
        "domain": task.domain,
        "guide": guide.name.removeprefix("model:"),
        "guide_is_model": guide.model is not None,
        "search": search,
        "rank": rank,
        "status": status,
        "given": plan is not None,
        "cost": cost,
        "counters": {name: getattr(counters, name) for name in ("expanded", "evaluated", "generated", "reopened")},
        "steps": ["", *steps],
        "ranking": ranking_data(task, steps, score, weights, rank),
        "nodes": [drawn.node(node) for node in trace.nodes],
        "whole": trace.ended,
        "states": drawn.states,
        "facts": drawn.names,
        "goal": sorted(drawn.numbers(drawn.goal)),
    }
    write_page(Path(out), f"{task.problem}: a plan of {len(steps)} steps", page, *SCRIPTS)
    return Shown(steps, status, reason, counters.expanded)


def plan_steps(file: Path) -> list[str]:
    return [step for line in read_steps(file) if (step := line.partition(";")[0].strip().lower())]


def named(plan: str | Path | None, call: Callable[[], Any]) -> Any:
    """What is wrong with the plan given is said with the name of its file."""
    try:
        return call()
    except PlanrankError as e:
        if plan is None or e.kind != "meaning":
            raise
        raise PlanrankError(e.message, e.kind, str(plan), e.line, e.column) from None


def ranking_data(
    task: Task, steps: list[str], score: Score, weights: tuple[float, float], rank: str
) -> list[dict[str, Any]]:
    """For each step: f of the plan's own choice, the best of all else that is open, and what is ranked too well."""
    compare = compared_entries if rank == "actions" else compared_states
    compared: Compared = compare(task, steps, score, *weights)
    names = task.names("facts")
    found = []
    for i in range(1, len(steps) + 1):
        there = np.flatnonzero((compared.open_from <= i) & (i < compared.open_until))
        wrong = there[~(compared.open_f[there] > compared.path_f[i])]
        wrong = wrong[np.argsort(compared.open_f[wrong], kind="stable")]
        mine, theirs = (
            float(f) / task.cost_scale for f in (compared.path_f[i], min(compared.open_f[there], default=np.inf))
        )
        rivals = [compared.name(i, k, mine, float(compared.open_f[k]) / task.cost_scale) for k in wrong[:MOST_RIVALS]]
        found.append(
            {
                "f": mine,
                "other": theirs,
                "open": len(there) + 1,
                "wrong": len(wrong),
                "rivals": [{"f": one.other_f, "what": other(task, names, one)} for one in rivals],
            }
        )
    return found


class Drawn:
    """States as the page has them: the numbers of their facts and a scene. The plan's come first, in order."""

    def __init__(self, task: Task, domain: Path, path: np.ndarray):
        self.task, self.view = task, view_of(task, domain)
        self.all_names = task.names("facts")
        self.goal = task.goal[0].tolist() if len(task.goal) == 1 else []
        self.names: list[str] = []  # of the facts that are met, in the order of their numbers
        self.number: dict[int, int] = {}
        self.states: list[dict[str, Any]] = []
        self.place: dict[bytes, int] = {}
        for state in path:
            self.add(state)
        self.length = len(path)

    def numbers(self, facts: list[int]) -> list[int]:
        for fact in facts:
            if fact not in self.number:
                self.number[fact] = len(self.names)
                self.names.append(self.all_names[fact])
        return [self.number[fact] for fact in facts]

    def add(self, state: np.ndarray) -> int:
        key = state.tobytes()
        if key not in self.place:
            self.place[key] = len(self.states)
            facts = self.task.facts_in(state).tolist()
            scene = None if self.view is None else self.view.scene([fact_of(self.all_names[fact]) for fact in facts])
            self.states.append({"facts": self.numbers(facts), "scene": scene})
        return self.place[key]

    def node(self, node: Node) -> dict[str, Any]:
        """A node of the tree. The goal that was found may be of a state that nobody gave."""
        place = self.length - 1 if node.state is None else self.add(node.state)
        on_plan = place if place < self.length else None
        made = {"state": place, "on": on_plan, "parent": node.parent, "step": node.step, "h": node.h, "open": node.open}
        return made
