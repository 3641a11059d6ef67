"""`planrank report` and `planrank show`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from planrank.choices import CERTIFIED_SEARCHES, HEURISTICS
from planrank.cli.options import Choice, Command, limit_options, task_arguments
from planrank.cli.solve import shows_counters

PAGE_FILE = click.Path(path_type=Path)


@click.command(
    cls=Command,
    short_help="Make a page to look at of results.",
    examples=["planrank report results.jsonl planrank-models --out report.html"],
)
@click.argument("results", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option("--out", type=PAGE_FILE, required=True, metavar="FILE", help="The page, such as report.html.")
@click.option("--title", default="planrank report", show_default=True, metavar="TEXT", help="Its headline.")
def report(results: tuple[Path, ...], out: Path, title: str) -> None:
    """Make a page to look at of RESULTS, a single HTML file that needs nothing else.

    RESULTS are files that `evaluate --out` or a benchmark wrote, models with their training folders beside them, or
    folders with any of these.
    """
    from planrank.console import say
    from planrank.files import check_writable
    from planrank.reports.report import report as write_report

    check_writable(out)
    found = write_report(results, out, title)
    for notice in found.notices:
        say(notice)
    click.echo(f"{found.told} in {out}")


@click.command(
    cls=Command,
    short_help="Make a page that shows a plan and the search for it.",
    examples=[
        "planrank show problem.pddl --out plan.html",
        "planrank show domain.pddl problem.pddl sas_plan --out plan.html",
    ],
)
@task_arguments(optional="plan")
@click.option("--out", type=PAGE_FILE, required=True, metavar="FILE", help="The page, such as plan.html.")
@click.option("--search", type=Choice(CERTIFIED_SEARCHES), default="gbfs", show_default=True,
              help="A* or greedy best-first.")  # fmt: skip
@click.option("--model", type=click.Path(path_type=Path), metavar="FILE", help="A model that guides the search.")
@click.option("--heuristic", type=Choice(HEURISTICS),
              help="Or a classical heuristic. [default: a model that fits the domain, else ff]")  # fmt: skip
@click.option("--expansions", type=click.IntRange(min=1), default=300, show_default=True, metavar="N",
              help="How many of the states that the search expands are drawn.")  # fmt: skip
@limit_options
def show(domain: Path, problem: Path, plan: Path | None, out: Path, **options: Any) -> None:
    """Make a page that shows a plan step by step, and where the search that looks for one goes.

    PLAN is a file; without one, the plan that the search finds is shown. Blocks are drawn as towers, places with rows
    and columns in their names as boards, other states as facts.
    """
    from planrank.console import Progress
    from planrank.files import check_writable
    from planrank.limits import process_started
    from planrank.reports.show import show as write_show
    from planrank.search.solve import EXIT_OF_STATUS

    check_writable(out)
    with Progress("searching") as progress:
        shown = shows_counters(progress)
        found = write_show(domain, problem, out, plan, started=process_started(), progress=shown, **options)
    if found.plan is None:
        click.echo(f"No plan: {found.status}; {found.reason}.")
        sys.exit(EXIT_OF_STATUS[found.status])
    click.echo(f"A plan of {len(found.plan)} step(s) and a search of {found.expanded} expansion(s) in {out}")
