"""`planrank certify`."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from planrank.choices import CERTIFIED_SEARCHES
from planrank.cli.options import Choice, Command, HeuristicName, limit_options, task_arguments, write_json
from planrank.cli.solve import shows_counters
from planrank.errors import PlanrankError

if TYPE_CHECKING:
    import numpy as np

    from planrank.learning.certificate import Certificate
    from planrank.task import Task

SHOWN_PAIRS = 10


@click.command(
    cls=Command,
    short_help="Say whether a model or heuristic ranks a problem perfectly.",
    examples=[
        "planrank certify domain.pddl problem.pddl --model planrank-models/blocksworld.safetensors",
        "planrank certify problem.pddl --heuristic lmcut --search gbfs --all",
    ],
)
@task_arguments()
@click.option("--model", type=click.Path(path_type=Path), metavar="FILE", help="A trained model.")
@click.option("--heuristic", type=HeuristicName(), help="A classical heuristic in place of a model.")
@click.option("--plan", type=click.Path(path_type=Path), metavar="FILE", help="Ask for this plan only.")
@click.option(
    "--search",
    type=Choice(CERTIFIED_SEARCHES),
    default="astar",
    show_default=True,
    help="A* or greedy best-first.",
)
@click.option("--all", "show_all", is_flag=True, help=f"Show all violated pairs, not just the first {SHOWN_PAIRS}.")
@click.option("--json", "json_file", metavar="FILE", help="Write the certificate as JSON too; - prints it.")
@limit_options
def certify(
    domain: Path, problem: Path, model: Path | None, heuristic: str | None, plan: Path | None, search: str,
    show_all: bool, json_file: str | None, time_limit: float | None, memory_limit: float | None,
) -> None:  # fmt: skip
    """Say whether a model or heuristic ranks PROBLEM of DOMAIN perfectly.

    It does if the search expands only the states of an optimal plan however ties are broken. If it does not, the pairs
    of states, or of actions if the model ranks these, that are in the wrong order are shown.
    """
    if (model is None) == (heuristic is None):
        raise click.UsageError("Give either --model or --heuristic.")
    from planrank.console import Progress
    from planrank.files import check_writable
    from planrank.learning import certificate
    from planrank.learning.separable import inseparable_pairs
    from planrank.limits import Limits, process_started
    from planrank.search.guides import Guide
    from planrank.search.plans import read_steps
    from planrank.search.solve import EXIT_OF_STATUS
    from planrank.task import load

    if json_file not in (None, "-"):
        check_writable(Path(json_file))
    steps = None if plan is None else read_steps(plan)
    limits = Limits.of(time_limit, memory_limit, process_started())
    task = load(domain, problem, limits)
    guide = Guide.of_model(model) if model is not None else Guide.of_heuristic(str(heuristic))
    rank, most = guide.rank(search), None if show_all else SHOWN_PAIRS
    options: dict[str, Any] = {"rank": rank, "plan": steps, "most": most, "limits": limits}
    try:
        with Progress("certifying") as progress:
            shown = shows_counters(progress)
            found = certificate.certify(task, guide.evaluator(task, limits), search, progress=shown, **options)
    except PlanrankError as e:
        if plan is None or e.kind != "meaning":
            raise
        raise PlanrankError(e.message, e.kind, str(plan)) from None
    hopeless = None
    if guide.model is not None and found.check is not None and found.check.violated:
        try:
            _, hopeless = inseparable_pairs(task, found.check.steps, guide.model, search, limits)
        except PlanrankError as e:
            if e.kind not in ("time", "memory"):  # the certificate stands without it
                raise
    if json_file != "-":
        for line in lines(task, found, rank, hopeless):
            click.echo(line)
    write_json(json_file, as_json(task, found, search, rank, heuristic, model) | {"inseparable": hopeless})
    sys.exit(0 if found.perfect is not None and found.status != "unsolvable" else EXIT_OF_STATUS[found.proof])


def lines(task: Task, found: Certificate, rank: str, hopeless: int | None) -> Iterator[str]:
    """The certificate in words."""
    from planrank.learning.wording import in_words

    verdict = {True: "perfect", False: "not perfect", None: "undecided"}[found.perfect]
    yield f"{verdict}: {found.reason}"
    names = task.names("facts")
    if found.check is not None:
        for step in found.check.dead_ends:
            yield f"  the state after step {step} is taken for a dead end"
        for violation in found.check.violations:
            yield f"  {in_words(task, names, found.check.steps, violation)}"
        left = found.check.violated - len(found.check.violations)
        if left:
            yield f"  … and {left} more; --all shows them"
    if hopeless is not None:
        yield f"Of these pairs {hopeless} cannot be put in order by any weights of this network."
    more = "" if found.status == "solved" else f" ({found.status})"
    yield f"Expanded {found.expanded} state(s){more}, ranking {rank}."


def as_json(
    task: Task, found: Certificate, search: str, rank: str, heuristic: str | None, model: Path | None
) -> dict[str, object]:
    names = task.names("facts")
    check = found.check

    def number(f: float) -> float | None:
        return f if math.isfinite(f) else None

    def facts(state: np.ndarray) -> list[str]:
        return [names[f] for f in task.facts_in(state)]

    violations = [
        {
            "step": v.step,
            "f": number(v.f),
            "other_f": number(v.other_f),
            "state": facts(v.state),
            "other": facts(v.other),
            "other_step": v.other_step,
            "other_action": v.other_action,
            "other_after": v.other_after,
        }
        for v in (check.violations if check else [])
    ]
    return {
        "perfect": found.perfect,
        "reason": found.reason,
        "plan": check and check.steps,
        "plan_cost": check and check.cost,
        "optimal_cost": found.optimal_cost,
        "pairs": check and check.pairs,
        "violated": check and check.violated,
        "violations": violations,
        "dead_ends": check.dead_ends if check else [],
        "expanded": found.expanded,
        "status": found.status,
        "search": search,
        "rank": rank,
        "heuristic": heuristic,
        "model_file": model and str(model),
    }
