"""`planrank solve`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from planrank.choices import SEARCHES, TIES
from planrank.cli.options import Choice, Command, HeuristicName, limit_options, task_arguments, write_json

if TYPE_CHECKING:
    from planrank.console import Progress
    from planrank.search.anytime import AnytimeResult
    from planrank.search.forward import Statistics
    from planrank.search.solve import Result


@click.command(
    cls=Command,
    short_help="Find a plan, validate it and write it down.",
    examples=[
        "planrank solve problem.pddl",
        "planrank solve domain.pddl problem.pddl --search astar --heuristic lmcut --time-limit 60",
        "planrank solve problem.pddl --anytime --time-limit 60",
    ],
)
@task_arguments()
@click.option(
    "--search",
    type=Choice(SEARCHES),
    default="gbfs",
    show_default=True,
    help="A*, greedy best-first, weighted A*, greedy with deferred evaluation, uniform cost, breadth-first; dive: "
    "greedy, but every second time on from where it is, for models that rank actions; by a policy: PHS*, LevinTS.",
)
@click.option("--model", type=click.Path(path_type=Path), metavar="FILE", help="A model that guides the search.")
@click.option(
    "--heuristic",
    type=HeuristicName(),
    help="Estimate that guides the search (ucs and bfs use none). [default: a model that fits the domain, else ff]",
)
@click.option(
    "--rank",
    type=Choice(["actions", "states"]),
    help="Take a model that ranks these. [default: whatever the model ranks]",
)
@click.option(
    "--preferred/--no-preferred",
    default=None,
    help="Take actions that begin the relaxed plan of ff first. [default: in lazy with ff]",
)
@click.option(
    "--merge/--no-merge",
    default=True,
    show_default=True,
    help="Where actions are ranked, and in lazy: of actions that differ only in objects that nothing tells apart, look "
    "at one.",
)
@click.option("--weight", type=click.FloatRange(min=0), default=3.0, show_default=True, help="Of h in wastar.")
@click.option("--batch", type=click.IntRange(min=1), default=1, show_default=True, help="Nodes expanded in one step.")
@click.option(
    "--ties",
    type=Choice(TIES),
    help="Which of equally good nodes comes first. [default: h_newest; lazy: h_oldest; bfs: oldest]",
)
@click.option(
    "--reopen/--no-reopen", default=None, help="Take cheaper paths to closed states. [default: not in gbfs, bfs]"
)
@click.option("--seed", type=int, default=0, show_default=True, help="For random ties.")
@click.option(
    "--shorten/--no-shorten", default=True, show_default=True, help="Leave out steps that the goal does not need."
)
@click.option(
    "--anytime",
    is_flag=True,
    help="Go on after the first plan, for cheaper ones: sas_plan.1, sas_plan.2, … until the limit or a proof.",
)
@click.option(
    "--fallback",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="If a model has found no plan by then and comes no nearer to one, or gives up, go on with lazy and ff.",
)
@limit_options
@click.option(
    "--plan-file", default="sas_plan", show_default=True, metavar="FILE", help="Where the plan goes; - prints it."
)
@click.option("--show", is_flag=True, help="Draw the states of the plan, for domains with [[picture]] in grid.toml.")
@click.option("--json", "json_file", metavar="FILE", help="Write the result as JSON too; - prints it.")
def solve(
    domain: Path, problem: Path, anytime: bool, plan_file: str, show: bool, json_file: str | None, **options: Any
) -> None:
    """Find a plan for PROBLEM of DOMAIN, validate it and write it down.

    Without DOMAIN the domain is domain.pddl or PROBLEM-domain.pddl beside the problem, or the like.
    """
    from planrank import console, files
    from planrank.console import Progress
    from planrank.limits import process_started
    from planrank.search.log import log_lines
    from planrank.search.solve import EXIT_OF_STATUS
    from planrank.search.solve import solve as find_plan

    if anytime:
        check_anytime(plan_file, options)
    for file in (f"{plan_file}.1" if anytime else plan_file, json_file):
        if file not in (None, "-"):
            files.check_writable(Path(file))
    if show:
        check_can_be_shown(domain, problem)
    # What is printed for programs has standard output to itself.
    log = sys.stderr if "-" in (plan_file, json_file) else sys.stdout
    if anytime:
        result: Result = find_plans(domain, problem, plan_file, log, options)
    else:
        with Progress("searching") as progress:
            shown = shows_counters(progress)
            result = find_plan(domain, problem, **options, started=process_started(), progress=shown)
        if result.plan is not None and result.plan_cost is not None:
            write_plan(plan_file, result.plan, result.plan_cost, result.unit_cost)
    found = result.as_json()
    if show and result.plan is not None:
        print(drawn(domain, problem, result.plan), file=log)
    if not console.is_quiet():
        print("\n".join(log_lines(found, options["time_limit"], options["memory_limit"])), file=log)
    elif result.plan is None:
        console.warn(f"no plan: {result.status}; {result.reason}")
    write_json(json_file, found)
    sys.exit(EXIT_OF_STATUS[result.status])


def write_plan(file: str, steps: list[str], cost: float, unit_cost: bool) -> None:
    from planrank import files
    from planrank.search.plans import plan_text

    text = plan_text(steps, cost, unit_cost)
    if file == "-":
        click.echo(text, nl=False)
    else:
        files.write_text(Path(file), text)


def check_anytime(plan_file: str, options: dict[str, Any]) -> None:
    """What makes no sense together."""
    if plan_file == "-":
        raise click.UsageError("--anytime writes a file for each plan, so --plan-file must name one, not '-'.")
    if not options["shorten"]:
        raise click.UsageError("--anytime makes plans cheaper, first by leaving steps out: --no-shorten forbids that.")


def find_plans(domain: Path, problem: Path, plan_file: str, log: TextIO, options: dict[str, Any]) -> AnytimeResult:
    """Write every plan to its own file as it is found. Ctrl-C and the like are a way to say that the last will do."""
    from planrank import console
    from planrank.console import Progress
    from planrank.limits import process_started
    from planrank.search.anytime import solve_anytime

    remove_plans(plan_file)
    del options["shorten"]
    with Progress("searching") as progress:
        shown = shows_counters(progress)
        run = solve_anytime(domain, problem, **options, started=process_started(), progress=shown)
        written = 0

        def write_last() -> None:
            nonlocal written
            last, file = run.plans[-1], f"{plan_file}.{len(run.plans)}"
            write_plan(file, last.steps, last.cost, run.unit_cost)
            written = len(run.plans)
            if not console.is_quiet():
                print(f"Plan {written}: {last} ({file})", file=log, flush=True)

        try:
            for _ in run:
                write_last()
        except KeyboardInterrupt:
            if not run.plans:
                raise
        if written < len(run.plans):  # interrupted between finding and writing
            write_last()
    return run.result()


def remove_plans(plan_file: str) -> None:
    """Of an earlier run, from the first on, as other planners do: they would be taken for better ones of this run."""
    from planrank.errors import PlanrankError

    number = 1
    while (file := Path(f"{plan_file}.{number}")).is_file():
        try:
            file.unlink()
        except OSError as e:
            raise PlanrankError(f"this older plan cannot be removed: {e.strerror}", file=str(file)) from None
        number += 1


def check_can_be_shown(domain: Path, problem: Path) -> None:
    """Before a long search rather than after it."""
    from planrank.pictures import Picture
    from planrank.task import load

    Picture(load(domain, problem))


def drawn(domain: Path, problem: Path, plan: list[str]) -> str:
    import shutil

    from planrank.pictures import drawn_plan
    from planrank.task import load

    return drawn_plan(load(domain, problem), plan, shutil.get_terminal_size().columns)


def shows_counters(progress: Progress) -> Callable[[Statistics, float], None]:
    """What `solve` and its like call now and then."""

    def show(counters: Statistics, seconds: float) -> None:
        figures = f"expanded {counters.expanded:,}, best h {counters.best_h:g}, states {counters.states:,}"
        progress.show(figures)

    return show
