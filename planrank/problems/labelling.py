"""Gives every instance of a folder a plan to learn from, in several processes, going on where it was interrupted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from planrank import julia
from planrank.errors import PlanrankError
from planrank.files import make_folder, write_bytes, write_text
from planrank.limits import NO_LIMIT, available_memory
from planrank.parallel.pool import REHEARSAL, Answer, Job, pool_of
from planrank.problems.folders import Instance, find_instances, instance_of, natural
from planrank.problems.labelled_plans import LabelledPlan, checked_plan, labelled_plan_text, read_plan
from planrank.problems.splits import in_rounds
from planrank.problems.teachers import Question, TeacherAnswer, check_teacher
from planrank.search.plans import validate

# What a worker may take beyond the time limit before it counts as stuck.
GRACE_SECONDS = 60


@dataclass(frozen=True)
class Outcome:
    """What came of one instance: its plan, or the reason why it has none. `new`: the plan was made just now."""

    instance: Instance
    plan: LabelledPlan | None
    reason: str = ""
    new: bool = True


def label(
    instances: Sequence[Instance],
    teacher: str = "builtin",
    *,
    time_limit: float = 60.0,
    memory_limit: float | None = None,
    jobs: int | None = None,
    cluster: str | None = None,
    allow_suboptimal: bool = False,
    retry_unproved: bool = False,
    progress: Callable[[Outcome], None] | None = None,
) -> list[Outcome]:
    """Have a plan made and validated for each instance that has none, and write it beside the problem.

    `time_limit` is in seconds for each instance, `memory_limit` in megabytes for each process (by default the memory at
    hand is shared out; in a cluster there is no limit). `jobs` and `cluster` are those of
    `planrank.parallel.pool.pool_of`. Plans that are there stay, unless `retry_unproved` asks for those without proof to
    be replaced by proved or cheaper ones. Failures are outcomes, not errors.
    """
    if memory_limit is None and cluster is None and (at_hand := available_memory()) != NO_LIMIT:
        memory_limit = at_hand / 2**20 / (jobs or 1)
    outcomes = []

    def done(outcome: Outcome) -> None:
        outcomes.append(outcome)
        if progress is not None:
            progress(outcome)

    waiting = []
    for instance in instances:
        old = existing(instance)
        if old is None or (retry_unproved and old.plan is not None and not old.plan.proved_optimal):
            waiting.append(instance)
        else:
            done(old)
    if waiting:
        check_teacher(teacher)
        julia.module()  # if it cannot start, that is said now and once
        waiting = in_rounds(waiting)
        terms = (time_limit, memory_limit, allow_suboptimal)
        questions = [asdict(Question(str(one.domain), str(one.problem), *terms)) for one in waiting]
        arguments = [{"teacher": teacher, "question": question} for question in questions]
        files = [(str(one.domain), str(one.problem)) for one in waiting]
        teach = ("planrank.problems.teachers:teach", time_limit + GRACE_SECONDS)
        asked = [Job(teach[0], one, teach[1], reads) for one, reads in zip(arguments, files, strict=True)]
        # The program of another teacher needs no Julia in the worker.
        pool = pool_of(jobs, REHEARSAL if teacher == "builtin" else None, cluster)
        for number, answer in pool.map(asked):
            done(stored(waiting[number], teacher_answer(answer)))
    return sorted(outcomes, key=lambda outcome: natural(outcome.instance.problem))


def existing(instance: Instance) -> Outcome | None:
    if not instance.plan_file.is_file():
        return None
    try:
        return Outcome(instance, checked_plan(instance), new=False)
    except PlanrankError as e:
        return Outcome(instance, None, f"the plan file there is wrong: {e.message}", new=False)


def teacher_answer(answer: Answer) -> TeacherAnswer:
    """A worker that was lost, or an error in it, is a reason for having no plan."""
    return TeacherAnswer(reason=str(answer.error)) if answer.error else TeacherAnswer(**answer.value)


def stored(instance: Instance, answer: TeacherAnswer) -> Outcome:
    """Validate what the teacher found and write it down, all of it or nothing."""
    old = read_plan(instance.plan_file) if instance.plan_file.is_file() else None
    if answer.steps is None:
        return Outcome(instance, old, "" if old else answer.reason, new=False)
    try:
        cost = replayed_cost(instance, answer.steps)
    except PlanrankError as e:
        return Outcome(instance, old, f"the teacher's plan is not valid: {e}", new=False)
    plan = LabelledPlan(answer.steps, cost, answer.teacher, answer.proved_optimal)
    if old is not None and old.cost <= cost and not plan.proved_optimal:
        return Outcome(instance, old, new=False)
    write_text(instance.plan_file, labelled_plan_text(plan, answer.unit_cost))
    return Outcome(instance_of(instance.domain, instance.problem), plan)


def replayed_cost(instance: Instance, steps: list[str]) -> float:
    return validate(instance.domain, instance.problem, "\n".join(steps))[1]


def copy_instances(folder: Path, out: Path) -> list[Instance]:
    """Problems, domains and plans of a folder in another one, laid out alike; what is there already stays."""
    folder = Path(folder)
    found = find_instances(folder)
    files = {file for instance in found for file in (instance.domain, instance.problem, instance.plan) if file}
    for file in sorted(files):
        copy = Path(out) / file.relative_to(folder)
        make_folder(copy.parent)
        if not copy.exists():
            # Contents only: a copy of a read-only file must not be read-only.
            write_bytes(copy, file.read_bytes())
        elif file.suffix == ".pddl" and copy.read_bytes() != file.read_bytes():
            raise PlanrankError(f"this file is in the way of a copy of {file}", file=str(copy))
    return find_instances(out)
