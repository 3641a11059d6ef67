"""`planrank setup` and `planrank doctor`."""

from __future__ import annotations

import sys

import click

from planrank.cli.options import Choice, Command
from planrank.errors import Exit


@click.command(cls=Command, examples=["planrank setup"])
@click.option("--road", type=Choice(["official", "wheel"]), help="Take this road to Julia and no other.")
def setup(road: str | None) -> None:
    """Get Julia ready: find or fetch it, compile planrank's part. Does nothing the second time."""
    from planrank.console import Steps
    from planrank.runtime.setup import set_up

    steps = Steps()
    runtime = set_up(road, steps)
    steps.say(f"Julia is ready ({runtime.road} road).")


@click.command(cls=Command, short_help="Check the installation and say what to type.", examples=["planrank doctor"])
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def doctor(as_json: bool) -> None:
    """Check the installation: what is there, how fast it starts, what to type if something is broken."""
    from planrank.runtime.doctor import run

    if not run(as_json, click.echo):
        sys.exit(Exit.USAGE)
