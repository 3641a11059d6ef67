"""`planrank validate` and `planrank ground`."""

from __future__ import annotations

from pathlib import Path

import click

from planrank.cli.options import Command, limit_options, task_arguments, write_json


@click.command(
    cls=Command,
    short_help="Replay a plan on the PDDL itself.",
    examples=["planrank validate domain.pddl problem.pddl sas_plan"],
)
@task_arguments("plan")
def validate(domain: Path, problem: Path, plan: Path) -> None:
    """Replay PLAN step by step on the PDDL itself; if it fails, say where and why, with exit code 31."""
    from planrank.search.plans import validate as replay

    steps, cost = replay(domain, problem, plan)
    click.echo(f"Plan valid.\nPlan length: {steps} step(s).\nPlan cost: {cost:g}")


@click.command(cls=Command, examples=["planrank ground domain.pddl problem.pddl --json -"])
@task_arguments()
@click.option("--json", "json_file", metavar="FILE", help="Write counts and hashes as JSON; - prints it.")
@limit_options
def ground(
    domain: Path, problem: Path, json_file: str | None, time_limit: float | None, memory_limit: float | None
) -> None:
    """Parse and ground PROBLEM of DOMAIN and say what is in it."""
    from planrank.files import check_writable
    from planrank.limits import Limits, process_started
    from planrank.task import load

    if json_file not in (None, "-"):
        check_writable(Path(json_file))
    limits = Limits.of(time_limit, memory_limit, process_started())
    task = load(domain, problem, limits)
    if json_file != "-":
        click.echo(f"{task.fact_count} facts, {task.operator_count} actions")
        click.echo(f"parsed in {task.parse_seconds:.4f} s, grounded in {task.ground_seconds:.4f} s")
    if json_file is not None:
        write_json(json_file, task.digest(limits))
