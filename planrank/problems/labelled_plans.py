"""Plans to learn from: a plan file whose comments say who made the plan and whether it is proved optimal."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from planrank import julia
from planrank.console import say as print_line
from planrank.console import track
from planrank.errors import PlanrankError
from planrank.limits import Limits
from planrank.problems.folders import Instance
from planrank.search.plans import SHORTENING_SECONDS, cost_text, plan_cost, plan_text, validate
from planrank.task import load

UNKNOWN = "unknown"


@dataclass(frozen=True)
class LabelledPlan:
    """A plan, who made it, and whether it is proved that none is cheaper."""

    steps: list[str]
    cost: float
    teacher: str
    proved_optimal: bool


def labelled_plan_text(plan: LabelledPlan, unit_cost: bool) -> str:
    """A plan file whose comments say who made the plan and whether it is proved optimal."""
    proved = "yes" if plan.proved_optimal else "no"
    notes = [*plan.steps, f"; teacher = {plan.teacher}", f"; proved optimal = {proved}"]
    return plan_text(notes, plan.cost, unit_cost)


def read_plan(file: str | Path) -> LabelledPlan:
    """A plan and what its comments say of it; one that says nothing is of an unknown teacher and not proved optimal."""
    try:
        lines = Path(file).read_text().splitlines()
    except (OSError, UnicodeDecodeError) as e:
        reason = getattr(e, "strerror", None) or "not text"
        raise PlanrankError(f"the plan cannot be read: {reason}", file=str(file)) from None
    notes = {key: value.strip() for key, value in re.findall(r"^\s*;\s*([\w ]+?)\s*=(.*)$", "\n".join(lines), re.M)}
    text = "\n".join(line.partition(";")[0] for line in lines).lower()
    steps = [" ".join(step.split()) for step in re.findall(r"\([^()]*\)", text)]
    cost = re.match(r"\d+(\.\d+)?(e[+-]?\d+)?", notes.get("cost", ""))
    return LabelledPlan(
        steps,
        float(cost.group()) if cost else float(len(steps)),
        notes.get("teacher", UNKNOWN),
        notes.get("proved optimal") == "yes",
    )


def checked_plan(instance: Instance) -> LabelledPlan:
    """The plan beside a problem, replayed on it; a plan for another problem is refused."""
    plan = read_plan(instance.plan_file)
    try:
        _, cost = validate(instance.domain, instance.problem, instance.plan_file)
    except PlanrankError as e:
        if e.file != str(instance.plan_file):
            raise
        place = f"line {e.line}: " if e.line else ""
        message = f"this is no plan for {instance.problem.name}: {place}{e.message}"
        raise PlanrankError(message, e.kind, file=e.file) from None
    return replace(plan, cost=float(cost))


def shortened(instance: Instance, plan: LabelledPlan) -> LabelledPlan:
    """A checked plan without loops, steps after the goal and needless steps; the file stays as it is.

    One that becomes cheaper was not optimal, whatever its file says.
    """
    try:
        task = load(instance.domain, instance.problem)
    except PlanrankError:
        return plan  # whoever makes an example of it meets the error again, and says so
    deadline = Limits.of(SHORTENING_SECONDS).deadline
    steps = julia.call_long("clean_plan_lines", task.handle, "\n".join(plan.steps), deadline).splitlines()
    if len(steps) == len(plan.steps):
        return plan
    cost = float(plan_cost(task, steps, f"what is left of {instance.plan_file}"))
    return replace(plan, steps=steps, cost=cost, proved_optimal=plan.proved_optimal and cost == plan.cost)


def labelled(
    instances: Iterable[Instance],
    allow_suboptimal: bool = False,
    say: Callable[[str], None] = print_line,
) -> list[tuple[Instance, LabelledPlan]]:
    """The instances whose plans may be learned from, each plan checked and shortened; `say` gets a sentence about that
    and about the others."""
    found, bare, empty, unproved, shorter = [], 0, 0, 0, 0
    for instance in track(list(instances), "plans"):
        if not instance.plan_file.is_file():
            bare += 1
            continue
        brought = checked_plan(instance)
        plan = shortened(instance, brought)
        if brought.proved_optimal and not plan.proved_optimal:
            costs = f"costs {cost_text(brought.cost)}, and {cost_text(plan.cost)} without needless steps"
            say(f"{instance.plan_file}: the plan is said to be proved optimal, but {costs}")
        if not plan.steps:
            empty += 1
        elif not plan.proved_optimal and not allow_suboptimal:
            unproved += 1
        else:
            found.append((instance, plan))
            shorter += len(plan.steps) < len(brought.steps)
    reasons = [
        (bare, "have no plan beside them (`planrank label` makes them)"),
        (empty, "are solved from the start, so nothing can be learned from them"),
        (unproved, "have a plan that is not proved optimal (--allow-suboptimal takes it)"),
    ]
    told = "; ".join(f"{count} {reason}" for count, reason in reasons if count)
    if not found:
        raise PlanrankError(f"no instance can be learned from: {told or 'there are none'}")
    if told:
        say(f"of {len(found) + bare + empty + unproved} instances {told}; {len(found)} are used")
    taken = sum(not plan.proved_optimal for _, plan in found)
    if taken:
        say(f"{taken} of {len(found)} plans are not proved optimal")
    if shorter:
        say(f"{shorter} of {len(found)} plans were shortened (loops and needless steps left out)")
    return found
