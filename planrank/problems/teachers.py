"""Teachers: planners that give each instance a plan to learn from, optimal where they can prove it.

A teacher is a function of plain values, so that it can run as a job in any process: `teach` calls it by its name. The
built-in one is this package's own A*; the others are programs from the Python index.
"""

from __future__ import annotations

import math
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from planrank.choices import CLASSICAL_SEARCHES, TEACHERS
from planrank.errors import PlanrankError
from planrank.files import read_toml
from planrank.options import check_fields, option
from planrank.problems import fast_downward

LESSONS = "teacher.toml"  # beside a domain: what the built-in teacher tries there


@dataclass(frozen=True)
class TeacherAnswer:
    """What a teacher found: a plan, or the reason why there is none."""

    steps: list[str] | None = None
    unit_cost: bool = True
    teacher: str = ""
    proved_optimal: bool = False
    reason: str = ""


@dataclass(frozen=True)
class Question:
    """An instance, how long and with how much memory a teacher may work on it, and whether it needs a proof."""

    domain: str
    problem: str
    seconds: float
    memory_limit: float | None = None
    allow_suboptimal: bool = False


def teach(teacher: str, question: dict[str, Any]) -> dict[str, Any]:
    """A job: the answer of a teacher, both as plain values."""
    asked = Question(**question)
    return asdict(builtin(asked) if teacher == "builtin" else program(teacher, asked))


def check_teacher(teacher: str) -> None:
    """PlanrankError if there is none of this name or it is not installed."""
    if teacher not in TEACHERS:
        raise PlanrankError(f"there is no teacher {teacher!r}; known are {', '.join(TEACHERS)}")
    if teacher != "builtin":
        try:
            fast_downward.driver(teacher)
        except PlanrankError as e:
            raise PlanrankError(f"the teacher {e.message}") from None


def builtin(question: Question) -> TeacherAnswer:
    """What a teacher.toml says; else A* with LM-cut, and where allowed and needed weighted A* and greedy search with
    hFF."""
    from planrank.problems.companions import companion, signature_of
    from planrank.search.solve import Result, solve

    file = companion(question.domain, signature_of(question.domain), LESSONS)
    if file is not None:
        return by_lessons(question, file)
    deadline = time.time() + question.seconds

    def attempt(search: str, heuristic: str, until: float) -> Result:
        limits: dict[str, Any] = {"time_limit": until - time.time(), "memory_limit": question.memory_limit}
        return solve(question.domain, question.problem, search, heuristic, **limits)

    heuristic = "lmcut"
    until = deadline - (0.3 * question.seconds if question.allow_suboptimal else 0.0)
    try:
        result = attempt("astar", heuristic, until)
    except PlanrankError as e:
        if e.kind != "unsupported":
            raise
        heuristic = "hmax"  # also admissible, and takes the conditional effects that LM-cut refuses
        result = attempt("astar", heuristic, until)
    if result.plan is not None:
        return TeacherAnswer(result.plan, result.unit_cost, f"builtin astar {heuristic}", True)
    reason = result.status
    if question.allow_suboptimal and result.status != "unsolvable":
        for search, until in (("wastar", (time.time() + deadline) / 2), ("gbfs", deadline)):
            result = attempt(search, "ff", until)
            if result.plan is not None:
                return TeacherAnswer(result.plan, result.unit_cost, f"builtin {search} ff", False)
    return TeacherAnswer(reason=reason)


@dataclass(frozen=True)
class Lesson:
    """A [[searches]] of teacher.toml: a search, whether its plans are optimal, and its share of the teacher's time."""

    search: str = option(None, "", choices=CLASSICAL_SEARCHES)
    heuristic: str = option("blind", "")
    weight: float = option(3.0, "", least=0)
    optimal: bool = option(False, "")
    share: float = option(1.0, "", above=0, most=1)

    def __post_init__(self) -> None:
        if self.search is None:
            raise PlanrankError(f"a search is missing, expected one of {', '.join(CLASSICAL_SEARCHES)}")
        check_fields(self)


def read_lessons(file: Path) -> list[Lesson]:
    content = read_toml(file)
    tables = content.get("searches")
    if set(content) != {"searches"} or not isinstance(tables, list):
        raise PlanrankError("expected [[searches]] and nothing else", file=str(file))
    try:
        return [Lesson(**table) for table in tables]
    except (TypeError, PlanrankError) as e:
        raise PlanrankError(str(e).replace("Lesson.__init__() got an ", ""), file=str(file)) from None


def by_lessons(question: Question, file: Path) -> TeacherAnswer:
    """The searches of a teacher.toml one after the other, without those whose plans are not wanted."""
    from planrank.search.solve import solve

    deadline, reason = time.time() + question.seconds, "no search of its teacher.toml proves plans optimal"
    for lesson in read_lessons(file):
        if not (lesson.optimal or question.allow_suboptimal):
            continue
        until = min(deadline, time.time() + lesson.share * question.seconds)
        limits: dict[str, Any] = {"time_limit": until - time.time(), "memory_limit": question.memory_limit}
        heuristic = None if lesson.search in ("ucs", "bfs") else lesson.heuristic
        options: dict[str, Any] = {"weight": lesson.weight, **limits}
        result = solve(question.domain, question.problem, lesson.search, heuristic, **options)
        if result.plan is not None:
            how = f"builtin {lesson.search} {heuristic or ''}".strip()
            return TeacherAnswer(result.plan, result.unit_cost, how, lesson.optimal)
        reason = result.status
        if reason == "unsolvable":
            break
    return TeacherAnswer(reason=reason)


# Searches that prove their plan optimal: name, the driver's option, share of the time. LM-cut is quick where it works,
# pattern databases get further; SymK searches in both directions, with sets of states.
SCHEDULES = {
    "fast-downward": (
        ("astar lmcut", "astar(lmcut())", 0.15),
        ("astar ipdb", "astar(ipdb(max_time={seconds}))", 0.5),
    ),
    "symk": (("sym_bd", "sym_bd()", 0.7),),
}


def program(name: str, question: Question) -> TeacherAnswer:
    """A planner with Fast Downward's driver: it translates once, then searches in the ways of its schedule.

    Where a plan without proof will do, LAMA improves one for the rest of the time.
    """
    deadline = time.monotonic() + question.seconds
    with tempfile.TemporaryDirectory(prefix="planrank-") as scratch:
        folder = Path(scratch)

        def run(until: float, *options: str | Path) -> fast_downward.Run:
            seconds = until - time.monotonic()
            if seconds <= 0:
                return fast_downward.Run(None, "", 0.0)
            limits: dict[str, Any] = {"folder": folder, "memory_limit": question.memory_limit}
            return fast_downward.run(options, seconds, planner=name, **limits)

        files = [Path(question.domain).resolve(), Path(question.problem).resolve()]
        done = run(deadline, "--translate", "--sas-file", "task.sas", *files)
        if done.code != 0:
            return TeacherAnswer(reason=fast_downward.failure(done))
        bound, reason = -math.inf, "out of time"
        for how, search, share in schedule(name, question.allow_suboptimal):
            until = min(deadline, time.monotonic() + share * question.seconds)
            option = search.format(seconds=max(1, question.seconds / 5))
            done = run(until, "--plan-file", "plan", "task.sas", "--search", option)
            if done.code == 0 and (plan := fast_downward.read_plan_file(folder / "plan")):
                return TeacherAnswer(plan.steps, plan.unit_cost, f"{name} {how}", True)
            reason = fast_downward.failure(done)
            if reason == "unsolvable":
                return TeacherAnswer(reason=reason)
            bound = max(bound, fast_downward.proved_bound(done.log))
        if question.allow_suboptimal:
            run(deadline, "--alias", "lama", "--plan-file", "good", "task.sas")
            if plan := fast_downward.best_plan_file(folder, "good"):
                proved = plan.cost <= bound
                how = "lama at the bound of astar" if proved else "lama"
                return TeacherAnswer(plan.steps, plan.unit_cost, f"{name} {how}", proved)
    return TeacherAnswer(reason=reason)


def schedule(name: str, allow_suboptimal: bool) -> tuple[tuple[str, str, float], ...]:
    """Where a plan without proof will do, the last search leaves time to find one; else it has all the rest."""
    if allow_suboptimal:
        return SCHEDULES[name]
    *first, (how, search, _) = SCHEDULES[name]
    return (*first, (how, search, 1.0))
