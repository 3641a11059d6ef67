"""Plans: their files, one `(name argument …)` to a line with the cost in a comment at the end, and their validation."""

from __future__ import annotations

from pathlib import Path

from planrank import julia
from planrank.errors import PlanrankError
from planrank.limits import Limits
from planrank.task import Source, Task, source_handle

# Leaving out needless steps takes time quadratic in their number: this is enough for some ten thousand.
SHORTENING_SECONDS = 10.0


def plan_text(steps: list[str], cost: float, unit_cost: bool) -> str:
    kind = "unit cost" if unit_cost else "general cost"
    return "".join(f"{step}\n" for step in steps) + f"; cost = {cost_text(cost)} ({kind})\n"


def cost_text(cost: float) -> str:
    """Exactly: as few digits as say the number."""
    return str(plain(cost))


def plain(cost: float) -> float:
    """A whole number as one."""
    return int(cost) if cost == int(cost) else cost


def read_steps(file: Path) -> list[str]:
    """The lines of a plan file."""
    try:
        return file.read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        raise PlanrankError("this file cannot be read, expected a plan", file=str(file)) from None


def validate(domain: Source, problem: Source, plan: Source, limits: Limits | None = None) -> tuple[int, float]:
    """Number of steps and cost of a plan, or PlanrankError with what is wrong with it. All three are files or text."""
    limits = limits or Limits.of()
    parts = zip((domain, problem, plan), ("domain", "problem", "plan"), strict=True)
    sources = [source_handle(part, name) for part, name in parts]
    steps, cost = julia.call_long("validate_sources", *sources, limits.deadline, limits.memory)
    return steps, plain(cost)


def plan_cost(task: Task, steps: list[str], name: str) -> float:
    """The cost of a plan, replayed on the lifted task; PlanrankError says where the plan fails, by its name."""
    return plain(julia.call_long("validate", task.handle, "\n".join(steps), name)[1])


def validated_cost(task: Task, steps: list[str]) -> float:
    """Of a plan that planrank found; one that fails here is a bug of planrank, and is not handed out."""
    try:
        return plan_cost(task, steps, "the plan found")
    except PlanrankError as e:
        raise PlanrankError(f"the plan found is not valid: {e}", "internal") from None
