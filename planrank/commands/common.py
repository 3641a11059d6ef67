"""What several commands share."""

from __future__ import annotations

import json
from pathlib import Path

import click

PDDL_FILE = click.Path(path_type=Path)


def limit_options(command):
    """The two limits that every command which grounds takes."""
    amount = click.FloatRange(min=0)
    memory = click.option("--memory-limit", type=amount, metavar="MB", help="Resident memory of the whole command.")
    seconds = click.option("--time-limit", type=amount, metavar="S", help="Seconds for the whole command.")
    return seconds(memory(command))


def write_json(file: str | None, content: dict) -> None:
    from planrank.plans import write_atomically

    if file == "-":
        click.echo(json.dumps(content))
    elif file is not None:
        write_atomically(Path(file), json.dumps(content) + "\n")
