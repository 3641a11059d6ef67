"""`planrank improve`: its options are the fields of the configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from planrank.cli.options import Command
from planrank.cli.train import options_of_fields
from planrank.improving.config import OPTIONS, configuration
from planrank.options import shown_default


@click.command(
    cls=Command,
    short_help="Make a model better without a teacher.",
    examples=[
        "planrank improve --domain blocksworld --sizes blocks=15,20,30,50 --rounds 10",
        "planrank improve --domain my-domain --model my-model.safetensors --out better.safetensors",
    ],
)
@click.option("--config", "config_file", metavar="FILE", help="A TOML file; its keys are the options, with _ for -.")
@click.option("--resume", is_flag=True, help="Go on where a run was interrupted.")
@options_of_fields(OPTIONS, shown_default)
def improve(config_file: str | None, resume: bool, **options: Any) -> None:
    """Make a model better without a teacher: it searches problems a little larger than those it solves, learns from the
    plans it finds and from where it went astray on the way, and goes on to larger ones when most are solved.

    The model that does best on the next size is kept, and written down whenever there is a better one.
    """
    config = configuration(config_file, {name: value for name, value in options.items() if value is not None})

    from planrank.improving.improve import improve as run

    try:
        model = run(config, resume=resume)
    except KeyboardInterrupt:
        click.echo("planrank: the best model so far is kept; --resume goes on from here", err=True)
        raise
    said = model.metadata["improving"]
    click.echo(f"Best model: that of round {said['round']}." if said["round"] else "No better model was found.")
    click.echo(f"Model written to {Path(config.out)}.")
