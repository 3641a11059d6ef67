"""What several commands share."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from planrank.choices import HEURISTICS

Command = Callable[..., Any]
PDDL_FILE = click.Path(path_type=Path)


class Names(click.ParamType):
    """Words with commas between them, each one of those known if there is a list of them."""

    name = "names"

    def __init__(self, known: tuple[str, ...] | None = None):
        self.known = known

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        words = tuple(dict.fromkeys(word.strip() for word in value.split(",") if word.strip()))
        for word in words:
            # table:FILE goes with the names of heuristics.
            if self.known is not None and word.partition(":")[0] not in self.known:
                self.fail(f"unknown name {word!r}, expected {', '.join(self.known)}", param, ctx)
        return words


class HeuristicName(click.ParamType):
    """A classical heuristic, or a table of numbers: the domain's own or table:FILE."""

    name = "heuristic"

    def get_metavar(self, *_: Any) -> str:
        return f"[{'|'.join(HEURISTICS)}|table[:FILE]]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in HEURISTICS and value != "table" and not str(value).startswith("table:"):
            self.fail(f"unknown heuristic {value!r}, expected {', '.join(HEURISTICS)}, table or table:FILE", param, ctx)
        return value


def limit_options(command: Command) -> Command:
    """The two limits that every command which grounds takes."""
    amount = click.FloatRange(min=0)
    memory = click.option("--memory-limit", type=amount, metavar="MB", help="Resident memory of the whole command.")
    seconds = click.option("--time-limit", type=amount, metavar="S", help="Seconds for the whole command.")
    return seconds(memory(command))


def write_json(file: str | None, content: dict[str, Any]) -> None:
    from planrank.files import write_text

    if file == "-":
        click.echo(json.dumps(content))
    elif file is not None:
        write_text(Path(file), json.dumps(content) + "\n")
