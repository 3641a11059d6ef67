"""`planrank import`."""

from __future__ import annotations

from pathlib import Path

import click

from planrank.cli.options import Command


@click.command(
    "import",
    cls=Command,
    short_help="Write levels in a file as problems.",
    examples=["planrank import sokoban levels.txt --out my-levels"],
)
@click.argument("name")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), required=True, metavar="FOLDER", help="Where the files go.")
@click.option("--count", type=click.IntRange(min=1), metavar="N", help="At most so many levels.  [default: all]")
@click.option("--skip", type=click.IntRange(min=0), default=0, metavar="N", help="Leave out so many at the beginning.")
def import_(name: str, file: Path, out: Path, count: int | None, skip: int) -> None:
    """Write the levels in FILE as problems of NAME: sokoban, maze or tiles.

    Sokoban levels are drawn as in XSokoban and Boxoban (# wall, $ box, . target, * both, @ player, + player on target),
    with a line without such characters between them, or are numbers by rows, a level a line: 0 wall, 1 floor, 2 target,
    3 player, 4 box. Mazes are such lines too: 0 wall, 1 floor, 2 agent, 3 goal, from 4 on pairs of portals. Tiles are
    the numbers by rows, 0 for the hole, which the goal has first.
    """
    from planrank.console import Progress
    from planrank.problems.import_levels import import_levels

    with Progress("levels") as progress:
        made = import_levels(name, file, out, count, skip, progress.advance)
    click.echo(f"{made} problems of {name} in {out}")
