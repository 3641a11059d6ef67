"""`planrank label`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from planrank.choices import TEACHERS
from planrank.cli.options import Choice, Command, pool_options
from planrank.errors import Exit


@click.command(
    cls=Command,
    short_help="Have an optimal plan made for each problem in a folder.",
    examples=["planrank label my-domain --time-limit 30 --jobs 2"],
)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--teacher", type=Choice(TEACHERS), default="builtin", show_default=True, help="Who makes plans.")
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    metavar="S",
    help="Seconds for each instance.",
)
@click.option("--memory-limit", type=click.FloatRange(min=1), metavar="MB", help="For each job.")
@pool_options
@click.option("--allow-suboptimal", is_flag=True, help="Where no proof comes in time, keep a good plan, marked so.")
@click.option("--retry-unproved", is_flag=True, help="Try again to find proved or cheaper plans for those marked so.")
@click.option("--out", type=click.Path(path_type=Path), metavar="FOLDER", help="Copy problems here and label those.")
def label(folder: Path, out: Path | None, teacher: str, **options: Any) -> None:
    """Have an optimal plan made for each problem in FOLDER, validated and stored beside it.

    Work that was interrupted goes on where it was. Plans are files called like the problem, ending in .plan; comments
    in them tell the cost, the teacher and whether the plan is proved optimal.
    """
    from planrank.console import Progress
    from planrank.problems.folders import find_instances
    from planrank.problems.labelling import copy_instances
    from planrank.problems.labelling import label as make_plans

    instances = copy_instances(folder, out) if out else find_instances(folder)
    with Progress("labelling", len(instances)) as progress:
        outcomes = make_plans(instances, teacher, progress=lambda _: progress.advance(), **options)

    failed = [outcome for outcome in outcomes if outcome.plan is None]
    plans = [outcome.plan for outcome in outcomes if outcome.plan is not None]
    new = sum(outcome.new for outcome in outcomes if outcome.plan is not None)
    unproved = sum(not plan.proved_optimal for plan in plans)
    if failed:
        width = max(len(outcome.instance.problem.name) for outcome in failed)
        click.echo("Without a plan:")
        for outcome in failed:
            click.echo(f"  {outcome.instance.problem.name:<{width}}  {outcome.reason}")
    click.echo(
        f"{len(plans)} of {len(outcomes)} instances have a plan ({new} new); "
        f"{len(plans) - unproved} proved optimal, {unproved} not."
    )
    if not plans:
        sys.exit(Exit.GAVE_UP)
