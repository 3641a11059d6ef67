"""Gives every instance of a folder a plan to learn from, in several processes, going on where it was interrupted."""

from __future__ import annotations

import contextlib
import queue
import shutil
import signal
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from planrank import julia, teachers
from planrank.datasets import (
    Instance,
    LabelledPlan,
    checked_plan,
    find_instances,
    in_rounds,
    instance_of,
    labelled_plan_text,
    natural,
    read_plan,
)
from planrank.errors import PlanrankError
from planrank.limits import NO_LIMIT, available_memory
from planrank.plans import write_atomically
from planrank.search import validate


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
    jobs: int = 1,
    allow_suboptimal: bool = False,
    retry_unproved: bool = False,
    progress: Callable[[Outcome], None] | None = None,
) -> list[Outcome]:
    """Have a plan made and validated for each instance that has none, and write it beside the problem.

    `time_limit` is in seconds for each instance, `memory_limit` in megabytes for each process (by default the memory at
    hand is shared out). Plans that are there stay, unless `retry_unproved` asks for those without proof to be replaced
    by proved or cheaper ones. Failures are outcomes, not errors.
    """
    if memory_limit is None and (at_hand := available_memory()) != NO_LIMIT:
        memory_limit = at_hand / 2**20 / jobs
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
        julia.module()  # if it cannot start, that is said now and once
        with staff(teacher, min(jobs, len(waiting)), memory_limit) as ask:
            questions = {
                ask(instance.domain, instance.problem, time_limit, allow_suboptimal): instance
                for instance in in_rounds(waiting)
            }
            for question in as_completed(questions):
                done(stored(questions[question], question.result()))
    return sorted(outcomes, key=lambda outcome: natural(outcome.instance.problem))


def existing(instance: Instance) -> Outcome | None:
    if not instance.plan_file.is_file():
        return None
    try:
        return Outcome(instance, checked_plan(instance), new=False)
    except PlanrankError as e:
        return Outcome(instance, None, f"the plan file there is wrong: {e.message}", new=False)


@contextlib.contextmanager
def staff(name: str, jobs: int, memory_limit: float | None):
    """A function that hands a question to the next idle teacher; at the end, however it comes, all are stopped.

    Threads only wait for the teachers' processes. What they bring is validated by the caller, since Julia wants to be
    called from one thread.
    """
    all_teachers = [teachers.make(name, memory_limit) for _ in range(jobs)]
    idle: queue.SimpleQueue = queue.SimpleQueue()
    for one in all_teachers:
        idle.put(one)

    def answer(*question) -> teachers.Answer:
        one = idle.get()
        try:
            return one.plan(*question)
        finally:
            idle.put(one)

    pool = ThreadPoolExecutor(jobs)
    try:
        with termination_as_interrupt():
            yield lambda *question: pool.submit(answer, *question)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for one in all_teachers:
            one.stop()
        pool.shutdown()


@contextlib.contextmanager
def termination_as_interrupt():
    """A polite kill ends the teachers too, as Ctrl-C does."""

    def interrupt(*_) -> None:
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGTERM, interrupt)
    except ValueError:  # not the main thread, which alone receives signals
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def stored(instance: Instance, answer: teachers.Answer) -> Outcome:
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
    write_atomically(instance.plan_file, labelled_plan_text(plan, answer.unit_cost))
    return Outcome(instance_of(instance.domain, instance.problem), plan)


def replayed_cost(instance: Instance, steps: list[str]) -> float:
    with tempfile.TemporaryDirectory(prefix="planrank-") as scratch:
        file = Path(scratch, "plan")
        file.write_text("\n".join(steps))
        return validate(instance.domain, instance.problem, file)[1]


def copy_instances(folder: Path, out: Path) -> list[Instance]:
    """Problems, domains and plans of a folder in another one, laid out alike; what is there already stays."""
    folder = Path(folder)
    found = find_instances(folder)
    files = {file for instance in found for file in (instance.domain, instance.problem, instance.plan) if file}
    try:
        for file in sorted(files):
            copy = Path(out) / file.relative_to(folder)
            copy.parent.mkdir(parents=True, exist_ok=True)
            if not copy.exists():
                # Contents only: a copy of a read-only file must not be read-only.
                shutil.copyfile(file, copy)
            elif file.suffix == ".pddl" and copy.read_bytes() != file.read_bytes():
                raise PlanrankError(f"this file is in the way of a copy of {file}", file=str(copy))
    except OSError as e:
        raise PlanrankError(f"cannot be written: {e.strerror}", file=str(e.filename or out)) from None
    return find_instances(out)
