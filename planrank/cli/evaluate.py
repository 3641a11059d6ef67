"""`planrank evaluate`."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from planrank.choices import HEURISTICS, SEARCHES
from planrank.cli.options import Choice, Command, Names, complete_domain, pool_options
from planrank.errors import PlanrankError

if TYPE_CHECKING:
    from planrank.problems.folders import Instance
    from planrank.search.guides import Guide


@click.command(
    cls=Command,
    short_help="Compare models and heuristics on many problems.",
    examples=[
        "planrank evaluate --domain my-problems --split all --time-limit 10",
        "planrank evaluate --domain blocksworld --model a.safetensors,b.safetensors --search gbfs,astar",
    ],
)
@click.option("--domain", required=True, metavar="NAME|FOLDER", shell_complete=complete_domain,
              help="One of planrank's own, or a folder of problems.")  # fmt: skip
@click.option("--data", type=click.Path(path_type=Path), metavar="FOLDER",
              help="Where the problems of a NAME are. [default: planrank-data/NAME/train]")  # fmt: skip
@click.option("--model", "models", type=Names(), metavar="FILE,…",
              help="Trained models, or none. [default: the one that solve would take, if there is one]")  # fmt: skip
@click.option("--search", "searches", type=Names(SEARCHES), default="gbfs", show_default=True, metavar="NAME,…",
              help=f"Any of {', '.join(SEARCHES)}.")  # fmt: skip
@click.option("--heuristics", type=Names(HEURISTICS), default="ff,blind", show_default=True,
              metavar="NAME,…",
              help="Classical heuristics to compare with.")  # fmt: skip
@click.option("--split", "part", type=Choice(["test", "validation", "train", "all"]), default="test",
              show_default=True, help="Which part of the problems.")  # fmt: skip
@click.option("--split-seed", type=int, help="As in training. [default: the domain's]")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="No more problems than this, spread over all.")
@click.option("--time-limit", type=click.FloatRange(min=0), default=5.0, show_default=True, metavar="S",
              help="Seconds for each run.")  # fmt: skip
@click.option("--memory-limit", type=click.FloatRange(min=0), metavar="MB", help="Of each process.")
@click.option("--batch", type=click.IntRange(min=1), default=1, show_default=True, help="Nodes expanded in one step.")
@click.option("--fallback", type=click.FloatRange(min=0), metavar="SECONDS",
              help="If a model has found no plan by then, or gives up, go on with lazy and ff.")  # fmt: skip
@pool_options
@click.option("--cold", is_flag=True, help="A fresh process for each run, all of it counted.")
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE",
              help="Write every run as a line of JSON; runs that are in it already are not repeated.")  # fmt: skip
def evaluate(
    domain: str, data: Path | None, models: tuple[str, ...] | None, searches: tuple[str, ...],
    heuristics: tuple[str, ...], part: str, split_seed: int | None, limit: int | None, out: Path | None,
    **settings: Any,
) -> None:  # fmt: skip
    """Run models and classical heuristics on many problems and compare them."""
    from planrank.console import Progress
    from planrank.evaluation.runs import evaluate as run_all
    from planrank.evaluation.tables import report
    from planrank.problems.splits import spread
    from planrank.search.guides import Guide

    if not searches:
        raise PlanrankError("no search was named")
    instances = spread(chosen_instances(domain, data, part, split_seed), limit)
    named = () if models == ("none",) else models
    guides = fitting_models(instances, searches) if named is None else [Guide.of_model(file) for file in named]
    guides += [Guide.of_heuristic(name) for name in heuristics]
    with Progress("runs") as progress:

        def show(row: dict[str, Any], done: int, count: int) -> None:
            progress.total, progress.done = count, done
            progress.show(f"{row['search']} {row['guide']} {Path(row['problem']).stem}: {row['status']}")

        rows = run_all(instances, guides, searches, out=out, progress=show, **settings)
    click.echo(report(rows))


def fitting_models(instances: list[Instance], searches: tuple[str, ...]) -> list[Guide]:
    """The models that `planrank solve` would take for these problems."""
    from planrank.console import say
    from planrank.search.guides import fitting_guide
    from planrank.task import load

    if not instances:
        return []
    smallest = min(instances, key=lambda one: one.problem.stat().st_size)
    found: dict[str | None, Guide] = {}
    # A problem that cannot be read is told of when it is run.
    with contextlib.suppress(PlanrankError):
        task = load(smallest.domain, smallest.problem)
        for search in searches:
            if search not in ("ucs", "bfs"):
                guide = fitting_guide(task, search)
                found[guide.file] = guide
    models = [guide for file, guide in found.items() if file is not None]
    for guide in models:
        say(f"{guide.name} fits this domain and is compared too ({guide.file})")
    return models


def chosen_instances(domain: str, data: Path | None, part: str, seed: int | None) -> list[Instance]:
    """The problems of a folder; for one of planrank's own domains, those that training keeps."""
    from planrank.paths import own_domains
    from planrank.problems.folders import find_instances, resolve_domain
    from planrank.problems.splits import parts_of

    folder = resolve_domain(domain)
    if domain in own_domains():
        folder = data or Path("planrank-data", domain, "train")
        if not folder.is_dir():
            wanted = f"`planrank train --domain {domain}` makes them, --data names another folder"
            raise PlanrankError(f"there are no problems of {domain} here; {wanted}", file=str(folder))
    return find_instances(folder) if part == "all" else parts_of(domain, folder, seed)[part]
