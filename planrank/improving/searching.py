"""Searches problems as jobs: what a model expands, the plan it finds, where it went astray."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planrank import julia
from planrank.errors import PlanrankError
from planrank.files import write_text
from planrank.improving.ladder import LadderProblem
from planrank.limits import Limits
from planrank.models.model import Model
from planrank.parallel.pool import REHEARSAL, Job, pool_of
from planrank.problems.labelled_plans import LabelledPlan, labelled_plan_text
from planrank.problems.teachers import Question, builtin
from planrank.search.forward import SLICE_SECONDS, Evaluator, Search
from planrank.search.heuristic import Heuristic
from planrank.search.plans import SHORTENING_SECONDS, validated_cost
from planrank.task import Task, load

# What a worker may take beyond the seconds of its searches before it counts as stuck.
GRACE_SECONDS = 120.0


@dataclass(frozen=True)
class Terms:
    """How problems are searched; `strays` are states off the plan that are kept for each of its steps."""

    search: str
    expansions: int
    seconds: float
    strays: int
    fallback: str = "none"
    fallback_expansions: int = 0
    teacher_time: float = 0.0


@dataclass(frozen=True)
class Found:
    """`expanded` is what the model's search did, whoever found the plan: "model", "ff", "teacher", nobody if empty."""

    by: str
    expanded: int
    steps: int = 0
    seconds: float = 0.0

    @property
    def solved(self) -> bool:
        """By the model itself."""
        return self.by == "model"


def search_all(
    model: Path,
    problems: Sequence[LadderProblem],
    terms: Terms,
    plans: Path | None,
    jobs: int | None = None,
    cluster: str | None = None,
) -> Iterator[tuple[LadderProblem, Found]]:
    """Every problem with what came of it, as they come. With `plans`, a folder, plans are kept there, with the states
    off them that the search went to. `jobs` and `cluster` are those of `planrank.parallel.pool.pool_of`; whoever
    searches, results are the same."""
    asked = [arguments_of(model, problem, terms, plans) for problem in problems]
    if cluster is None and (jobs or 1) == 1:
        for problem, arguments in zip(problems, asked, strict=True):
            yield problem, Found(**search_problem(**arguments))
        return
    seconds = 2 * terms.seconds + terms.teacher_time + GRACE_SECONDS
    work = [
        Job(
            f"{__name__}:search_problem",
            arguments,
            seconds,
            reads=(arguments["model"], arguments["domain"], arguments["problem"]),
            writes=tuple(arguments["kept"].values()),
        )
        for arguments in asked
    ]
    for number, answer in pool_of(jobs, REHEARSAL, cluster).map(work):
        if answer.error is not None and not answer.lost:
            raise answer.error
        yield problems[number], Found("", terms.expansions) if answer.lost else Found(**answer.value)


def arguments_of(model: Path, problem: LadderProblem, terms: Terms, plans: Path | None) -> dict[str, Any]:
    kept = {} if plans is None else {what: str(plans / f"{problem.name}.{what}") for what in ("plan", "strays")}
    files = {"model": str(model), "domain": problem.domain, "problem": problem.problem, "kept": kept}
    return files | {"terms": vars(terms)}


def search_problem(
    model: str, domain: str, problem: str, kept: dict[str, str], terms: dict[str, Any]
) -> dict[str, Any]:
    """A job: the fields of `Found`. `kept` says into which files the plan and the states off it go, if into any."""
    began = time.time()
    try:
        found = searched(Model.load(model), domain, problem, kept, Terms(**terms))
    except PlanrankError as e:
        if e.kind not in ("time", "memory"):
            raise
        found = Found("", terms["expansions"])
    return vars(found) | {"seconds": round(time.time() - began, 2)}


def searched(model: Model, domain: str, problem: str, kept: dict[str, str], terms: Terms) -> Found:
    limits = Limits.of(terms.seconds)
    task = load(domain, problem, limits)
    forward = Search(task, terms.search, rank=model.ranked_by(terms.search), merge=True, limits=limits)
    try:
        by, steps = "model", plan_within(forward, model.scorer(task, limits), terms.expansions, limits)
        expanded = forward.expanded
        if not kept:
            return Found("", expanded) if steps is None else Found(by, expanded, len(steps))
        if steps is None:
            by, steps = terms.fallback, fallback_plan(task, domain, problem, terms)
        if steps is None:
            return Found("", expanded)
        steps = cleaned(task, steps)
        if not steps:
            return Found("", expanded)  # the initial state is a goal
        plan = LabelledPlan(steps, validated_cost(task, steps), f"improve {by}", False)
        strays = forward.strays(steps, terms.strays * len(steps))
    finally:
        forward.release()
    write_text(Path(kept["strays"]), "".join(f"{line}\n" for line in strays))
    write_text(Path(kept["plan"]), labelled_plan_text(plan, task.unit_cost))
    return Found(by, expanded, len(steps))


def plan_within(search: Search, evaluator: Evaluator, expansions: int, limits: Limits) -> list[str] | None:
    """Search until so many states are expanded or time is up; the plan if there is one by then."""
    status = search.status
    while status == "running" and search.expanded < expansions and (left := limits.seconds_left()) > 0:
        status = search.run(evaluator, min(SLICE_SECONDS, left), expansions)
    return search.plan() if status == "solved" else None


def fallback_plan(task: Task, domain: str, problem: str, terms: Terms) -> list[str] | None:
    if terms.fallback == "none":
        return None
    if terms.fallback == "teacher":
        return builtin(Question(domain, problem, terms.teacher_time, allow_suboptimal=True)).steps
    limits = Limits.of(terms.seconds)
    lazy = Search(task, "lazy", preferred=True, merge=True, limits=limits)
    try:
        return plan_within(lazy, Heuristic(task, "ff", limits), terms.fallback_expansions, limits)
    finally:
        lazy.release()


def cleaned(task: Task, steps: list[str]) -> list[str]:
    """Without loops and needless steps."""
    deadline = Limits.of(SHORTENING_SECONDS).deadline
    return julia.call_long("clean_plan_lines", task.handle, "\n".join(steps), deadline).splitlines()
