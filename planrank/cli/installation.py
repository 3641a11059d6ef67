"""`planrank setup` and `planrank doctor`."""

from __future__ import annotations

import sys

import click

from planrank.errors import Exit


@click.command()
@click.option("--road", type=click.Choice(["official", "wheel"]), help="Take this road to Julia and no other.")
@click.option("--quiet", is_flag=True, help="Say nothing unless something goes wrong.")
def setup(road: str | None, quiet: bool) -> None:
    """Get Julia ready: find or fetch it, compile planrank's part. Does nothing the second time."""
    from planrank.console import Steps
    from planrank.runtime.setup import set_up

    steps = Steps(quiet=quiet)
    runtime = set_up(road, steps)
    steps.say(f"Julia is ready ({runtime.road} road).")


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def doctor(as_json: bool) -> None:
    """Check the installation: what is there, how fast it starts, what to type if something is broken."""
    from planrank.runtime.doctor import run

    if not run(as_json, click.echo):
        sys.exit(Exit.USAGE)
