"""`planrank evaluate`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from planrank.choices import HEURISTICS, SEARCHES
from planrank.errors import PlanrankError


class Names(click.ParamType):
    """Words with commas between them, each one of those known if there is a list of them."""

    name = "names"

    def __init__(self, known: tuple[str, ...] | None = None):
        self.known = known

    def convert(self, value, param, ctx):
        if isinstance(value, tuple):
            return value
        words = tuple(dict.fromkeys(word.strip() for word in value.split(",") if word.strip()))
        for word in words:
            if self.known is not None and word not in self.known:
                self.fail(f"unknown name {word!r}, expected {', '.join(self.known)}", param, ctx)
        return words


@click.command()
@click.option("--domain", required=True, metavar="NAME|FOLDER", help="One of planrank's own, or a folder of problems.")
@click.option("--data", type=click.Path(path_type=Path), metavar="FOLDER",
              help="Where the problems of a NAME are. [default: planrank-data/NAME/train]")  # fmt: skip
@click.option("--model", "models", type=Names(), default="", metavar="FILE,…", help="Trained models.")
@click.option("--search", "searches", type=Names(SEARCHES), default="gbfs", show_default=True, metavar="NAME,…",
              help=f"Any of {', '.join(SEARCHES)}.")  # fmt: skip
@click.option("--heuristics", type=Names(HEURISTICS), default="ff,blind", show_default=True, metavar="NAME,…",
              help="Classical heuristics to compare with.")  # fmt: skip
@click.option("--split", "part", type=click.Choice(["test", "validation", "train", "all"]), default="test",
              show_default=True, help="Which part of the problems.")  # fmt: skip
@click.option("--split-seed", type=int, default=0, show_default=True, help="As in training.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="No more problems than this, spread over all.")
@click.option("--time-limit", type=click.FloatRange(min=0), default=5.0, show_default=True, metavar="S",
              help="Seconds for each run.")  # fmt: skip
@click.option("--memory-limit", type=click.FloatRange(min=0), metavar="MB", help="Of each process.")
@click.option("--batch", type=click.IntRange(min=1), default=1, show_default=True, help="Nodes expanded in one step.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Processes at a time.")
@click.option("--cold", is_flag=True, help="A fresh process for each run, all of it counted.")
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE",
              help="Write every run as a line of JSON; runs that are in it already are not repeated.")  # fmt: skip
def evaluate(domain, data, models, searches, heuristics, part, split_seed, limit, out, **settings) -> None:
    """Run models and classical heuristics on many problems and compare them."""
    from planrank.evaluation import Guide
    from planrank.evaluation import evaluate as run_all
    from planrank.report import report

    if not searches:
        raise PlanrankError("no search was named")
    guides = [Guide.of_model(file) for file in models] + [Guide.of_heuristic(name) for name in heuristics]
    instances = spread(chosen_instances(domain, data, part, split_seed), limit)
    progress = show_progress if sys.stderr.isatty() else None
    try:
        rows = run_all(instances, guides, searches, out=out, progress=progress, **settings)
    finally:
        if progress:
            print("\r\x1b[K", end="", file=sys.stderr)
    click.echo(report(rows))


def chosen_instances(domain: str, data: Path | None, part: str, seed: int) -> list:
    """The problems of a folder; for one of planrank's own domains, those that training keeps."""
    from planrank.datasets import find_instances, own_domains, resolve_domain, split

    folder = resolve_domain(domain)
    if domain in own_domains():
        folder = data or Path("planrank-data", domain, "train")
        if not folder.is_dir():
            wanted = f"`planrank train --domain {domain}` makes them, --data names another folder"
            raise PlanrankError(f"there are no problems of {domain} here; {wanted}", file=str(folder))
    instances = find_instances(folder)
    return instances if part == "all" else split(instances, seed)[part]


def spread(instances: list, limit: int | None) -> list:
    """At most so many, evenly spaced."""
    if limit is None or limit >= len(instances):
        return instances
    return [instances[i * len(instances) // limit] for i in range(limit)]


def show_progress(row: dict, done: int, count: int) -> None:
    name = Path(row["problem"]).stem
    line = f"\r{done}/{count}  {row['search']} {row['guide']} {name}: {row['status']}"
    print(line[:110], end="\x1b[K", file=sys.stderr, flush=True)
