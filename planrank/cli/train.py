"""`planrank train`: its options are the fields of the configuration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import Field
from pathlib import Path
from typing import Any

import click

from planrank.cli.options import Choice, Command, Names, complete_domain
from planrank.learning.config import OPTIONS, configuration, default_text
from planrank.options import kind_of


def option_of(one: Field[Any], shown: str | None) -> Any:
    """The option of a field, whose default is shown so. It has none of its own: what is not given may come from the
    file or the profile."""
    kind, choices = kind_of(one), one.metadata["choices"]
    name = "--" + one.name.replace("_", "-")
    if kind is bool:
        name += f"/--no-{name[2:]}"
    help = one.metadata["help"]
    if kind is tuple:
        help += f" Several of {', '.join(choices)}, separated by commas."
    if shown is not None:
        help += f" [default: {shown}]"
    types: dict[type, Any] = {str: click.STRING, int: click.INT, float: click.FLOAT, bool: click.BOOL, tuple: Names()}
    chosen = Choice(choices) if choices and kind is not tuple else types[kind]
    metavars: dict[type, str] = {tuple: "NAMES"} if choices else {str: "TEXT"}
    metavar = metavars.get(kind)
    more: dict[str, Any] = {"shell_complete": complete_domain} if one.name == "domain" else {}
    return click.option(name, one.name, type=chosen, default=None, help=help, metavar=metavar, **more)


def options_of_fields(fields: dict[str, Field[Any]], shown: Callable[[Field[Any]], str | None]) -> Callable[[Any], Any]:
    """Gives a command the options of all fields; `shown` says how help shows a default."""

    def decorate(command: Any) -> Any:
        for one in reversed(fields.values()):
            command = option_of(one, shown(one))(command)
        return command

    return decorate


@click.command(
    cls=Command,
    short_help="Learn a heuristic for a domain from plans.",
    examples=[
        "planrank train --domain blocksworld --profile quick",
        "planrank train --domain my-domain --out my-model.safetensors --steps 2000",
    ],
)
@click.option("--config", "config_file", metavar="FILE", help="A TOML file; its keys are the options, with _ for -.")
@click.option("--resume", is_flag=True, help="Go on from the checkpoint where a run was interrupted.")
@options_of_fields(OPTIONS, lambda one: default_text(one.name))
def train(config_file: str | None, resume: bool, **options: Any) -> None:
    """Learn a heuristic for a domain from plans, and write it down as a model that `solve` can use.

    Instances of planrank's own domains are made, and their plans found, when there are none yet.
    """
    given = {name: value for name, value in options.items() if value is not None}
    config = configuration(config_file, given)

    from planrank.learning.train import train as run

    try:
        model = run(config, resume=resume)
    except KeyboardInterrupt:
        click.echo("planrank: the last checkpoint is kept; --resume goes on from there", err=True)
        raise
    figures = model.metadata["figures"]
    if "validation_of" in figures:
        solved, of = figures["validation_solved"], figures["validation_of"]
        click.echo(f"Validation: {solved} of {of} solved, {figures['validation_expansions']} expansions.")
        if solved < of and not (config.select or config.grid):
            click.echo("`--select` tries networks of other kinds, which may solve more.")
    click.echo(f"Trained on {figures['training_instances']} instances in {figures['seconds']:.0f} s.")
    click.echo(f"Model written to {Path(config.out)}.")
