"""`planrank generate`."""

from __future__ import annotations

from pathlib import Path

import click

from planrank.cli.options import Command, complete_domain


@click.command(
    cls=Command,
    short_help="Write random problems of planrank's own domains.",
    examples=["planrank generate ferry --count 20 --size cars=5-15 --seed 7 --out larger-ferries"],
)
@click.argument("name", shell_complete=complete_domain)
@click.option("--count", type=click.IntRange(min=1), metavar="N", help="How many problems.  [default: 10]")
@click.option("--seed", type=int, metavar="S", help="The same seed gives the same files.  [default: 0]")
@click.option("--size", "sizes", multiple=True, metavar="KEY=VALUE", help="A size or, as KEY=LOW-HIGH, a range of it.")
@click.option("--set", "which", metavar="SET", help="A standard set of the domain, such as train or large, instead.")
@click.option("--out", type=click.Path(path_type=Path), required=True, metavar="FOLDER", help="Where the files go.")
@click.option("--trivial", is_flag=True, help="Also problems whose goal holds from the start.")
def generate(
    name: str, count: int | None, seed: int | None, sizes: tuple[str, ...], which: str | None, out: Path, trivial: bool
) -> None:
    """Write random problems of NAME, one of planrank's own domains: distinct, solvable, checked.

    Sizes of blocksworld: blocks; elevators: passengers; ferry: locations, cars; gripper: balls; maze: side, open (walls
    in a hundred); npuzzle: side; sokoban: boxes, side, pulls, steady (pulls in a hundred that go on with the same
    box); spanner: nuts, locations, and spare spanners or spanners in all; tiles: side, walk (moves from the goal, by
    default any placement). A range is swept evenly.
    """
    if which is not None and (count is not None or seed is not None or sizes):
        raise click.UsageError("--set fixes count, seed and sizes; give either it or them")
    from planrank.console import Progress
    from planrank.problems.problem_sets import Group, parse_sizes, standard_set
    from planrank.problems.problem_sets import generate as make

    if which is not None:
        groups = standard_set(name, which)
    else:
        groups = [Group(10 if count is None else count, seed or 0, parse_sizes(sizes))]
    with Progress("generating", sum(group.count for group in groups)) as progress:
        made = make(name, groups, out, trivial=trivial, progress=lambda _: progress.advance())
    click.echo(f"{len(made)} problems of {name} in {out}")
