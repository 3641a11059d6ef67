"""`planrank evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from planrank.choices import HEURISTICS, SEARCHES
from planrank.cli.options import Names
from planrank.errors import PlanrankError

if TYPE_CHECKING:
    from planrank.problems.folders import Instance


@click.command()
@click.option("--domain", required=True, metavar="NAME|FOLDER", help="One of planrank's own, or a folder of problems.")
@click.option("--data", type=click.Path(path_type=Path), metavar="FOLDER",
              help="Where the problems of a NAME are. [default: planrank-data/NAME/train]")  # fmt: skip
@click.option("--model", "models", type=Names(), default="", metavar="FILE,…", help="Trained models.")
@click.option("--search", "searches", type=Names(SEARCHES), default="gbfs", show_default=True, metavar="NAME,…",
              help=f"Any of {', '.join(SEARCHES)}.")  # fmt: skip
@click.option("--heuristics", type=Names((*HEURISTICS, "table")), default="ff,blind", show_default=True,
              metavar="NAME,…",
              help="Classical heuristics to compare with.")  # fmt: skip
@click.option("--split", "part", type=click.Choice(["test", "validation", "train", "all"]), default="test",
              show_default=True, help="Which part of the problems.")  # fmt: skip
@click.option("--split-seed", type=int, help="As in training. [default: the domain's]")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="No more problems than this, spread over all.")
@click.option("--time-limit", type=click.FloatRange(min=0), default=5.0, show_default=True, metavar="S",
              help="Seconds for each run.")  # fmt: skip
@click.option("--memory-limit", type=click.FloatRange(min=0), metavar="MB", help="Of each process.")
@click.option("--batch", type=click.IntRange(min=1), default=1, show_default=True, help="Nodes expanded in one step.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Processes at a time.")
@click.option("--cold", is_flag=True, help="A fresh process for each run, all of it counted.")
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE",
              help="Write every run as a line of JSON; runs that are in it already are not repeated.")  # fmt: skip
def evaluate(
    domain: str, data: Path | None, models: tuple[str, ...], searches: tuple[str, ...], heuristics: tuple[str, ...],
    part: str, split_seed: int | None, limit: int | None, out: Path | None, **settings: Any,
) -> None:  # fmt: skip
    """Run models and classical heuristics on many problems and compare them."""
    from planrank.console import Progress
    from planrank.evaluation.runs import evaluate as run_all
    from planrank.evaluation.tables import report
    from planrank.search.guides import Guide

    if not searches:
        raise PlanrankError("no search was named")
    guides = [Guide.of_model(file) for file in models] + [Guide.of_heuristic(name) for name in heuristics]
    instances = spread(chosen_instances(domain, data, part, split_seed), limit)
    with Progress("runs") as progress:

        def show(row: dict[str, Any], done: int, count: int) -> None:
            progress.total, progress.done = count, done
            progress.show(f"{row['search']} {row['guide']} {Path(row['problem']).stem}: {row['status']}")

        rows = run_all(instances, guides, searches, out=out, progress=show, **settings)
    click.echo(report(rows))


def chosen_instances(domain: str, data: Path | None, part: str, seed: int | None) -> list[Instance]:
    """The problems of a folder; for one of planrank's own domains, those that training keeps."""
    from planrank.problems.folders import find_instances, own_domains, resolve_domain
    from planrank.problems.splits import parts_of

    folder = resolve_domain(domain)
    if domain in own_domains():
        folder = data or Path("planrank-data", domain, "train")
        if not folder.is_dir():
            wanted = f"`planrank train --domain {domain}` makes them, --data names another folder"
            raise PlanrankError(f"there are no problems of {domain} here; {wanted}", file=str(folder))
    return find_instances(folder) if part == "all" else parts_of(domain, folder, seed)[part]


def spread(instances: list[Instance], limit: int | None) -> list[Instance]:
    """At most so many, evenly spaced."""
    if limit is None or limit >= len(instances):
        return instances
    return [instances[i * len(instances) // limit] for i in range(limit)]
