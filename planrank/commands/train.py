"""`planrank train`: its options are the fields of the configuration."""

from __future__ import annotations

from dataclasses import Field
from pathlib import Path

import click

from planrank.config import FIELDS, KINDS, configuration, default_text


class Names(click.ParamType):
    """Several names, separated by commas."""

    name = "names"

    def convert(self, value, param, ctx):
        return tuple(part.strip() for part in value.split(",")) if isinstance(value, str) else value


def option_of(one: Field):
    """The option of a field. Without a default of its own: what is not given may come from the file or the profile."""
    kind, choices = KINDS[one.type], one.metadata["choices"]
    name = "--" + one.name.replace("_", "-")
    if kind is bool:
        name += f"/--no-{name[2:]}"
    shown = default_text(one)
    help = one.metadata["help"]
    if kind is tuple:
        help += f" Several of {', '.join(choices)}, separated by commas."
    if shown is not None:
        help += f" [default: {shown}]"
    if kind is tuple:
        type_ = Names()
    elif choices:
        type_ = click.Choice(choices)
    else:
        type_ = {str: click.STRING, int: click.INT, float: click.FLOAT, bool: click.BOOL}[kind]
    metavar = {str: "TEXT", tuple: "NAMES"}.get(kind) if not choices or kind is tuple else None
    return click.option(name, one.name, type=type_, default=None, help=help, metavar=metavar)


def config_options(command):
    for one in reversed(FIELDS.values()):
        command = option_of(one)(command)
    return command


@click.command()
@click.option("--config", "config_file", metavar="FILE", help="A TOML file; its keys are the options, with _ for -.")
@click.option("--resume", is_flag=True, help="Go on from the checkpoint where a run was interrupted.")
@config_options
def train(config_file: str | None, resume: bool, **options) -> None:
    """Learn a heuristic for a domain from plans, and write it down as a model that `solve` can use.

    Instances of planrank's own domains are made, and their plans found, when there are none yet.
    """
    given = {name: value for name, value in options.items() if value is not None}
    config = configuration(config_file, given)

    from planrank.training import train as run

    try:
        model = run(config, resume=resume)
    except KeyboardInterrupt:
        click.echo("planrank: the last checkpoint is kept; --resume goes on from there", err=True)
        raise
    figures = model.metadata["figures"]
    if "validation_of" in figures:
        solved, of = figures["validation_solved"], figures["validation_of"]
        click.echo(f"Validation: {solved} of {of} solved, {figures['validation_expansions']} expansions.")
    click.echo(f"Trained on {figures['training_instances']} instances in {figures['seconds']:.0f} s.")
    click.echo(f"Model written to {Path(config.out)}.")
