"""How many nodes should be expanded for each call of the model?

    python benchmarks/batch.py [--count N] [--seconds S]

For each shipped model, random problems of the largest sizes of the paper, GBFS with K = 1, 2, 4, 8 and 16 nodes a call:
problems solved, expansions, and processor seconds over the problems that all K solve. Writes results/batch.{md,json}.
"""

from __future__ import annotations

import random
import time

import script
from tables import machine, markdown, write

from planrank import Model, Search, julia, load, paths
from planrank.console import Progress
from planrank.problems.random_problems import GENERATORS
from planrank.task import Task

BATCHES = (1, 2, 4, 8, 16)
SIZES = {
    "blocksworld": {"blocks": 15},
    "ferry": {"locations": 10, "cars": 20},
    "npuzzle": {"side": 4},
    "elevators": {"passengers": 16},
    "spanner": {"nuts": 15, "locations": 20},
}
QUICK_SIZES = {"blocksworld": {"blocks": 4}, "spanner": {"nuts": 2, "locations": 3}}
HEADER = ["Domain", "K", "solved", "solved by all K", "expanded", "per plan step", "processor seconds"]


def main() -> None:
    parser = script.parser(__doc__)
    parser.add_argument("--count", type=int, default=5, help="problems of each domain")
    parser.add_argument("--seconds", type=float, default=6.0, help="for each search")
    options = script.parse(parser, quick={"count": 2, "seconds": 1.0})
    sizes = QUICK_SIZES if options.quick else SIZES
    julia.module()
    figures = []
    with Progress("searches", len(sizes) * len(BATCHES) * options.count) as progress:
        for name in sizes:
            figures += figures_of(name, sizes[name], options.count, options.seconds, progress)
    shown = "; ".join(f"{name} {' '.join(f'{k} {v}' for k, v in size.items())}" for name, size in sizes.items())
    title = ["# Nodes expanded for each call of the model", ""]
    title += [f"GBFS with the shipped models, {options.seconds:g} s a search; {shown}; {machine()}.", ""]
    write(options.results, "batch", title + markdown(HEADER, map(line_of, figures)), figures)


def figures_of(name: str, sizes: dict[str, int], count: int, seconds: float, progress: Progress) -> list[dict]:
    """For each K: how many were solved and, over those that all K solve, expansions, plan steps and seconds."""
    domain = paths.shared() / "domains" / name
    model = Model.load(domain / "model.json")
    texts = [GENERATORS[name](random.Random(seed), f"{name}-{seed}", **sizes) for seed in range(count)]
    tasks = [load(domain / "domain.pddl", text) for text in texts]
    runs: dict[int, list[dict]] = {k: [] for k in BATCHES}
    for k in BATCHES:
        for task in tasks:
            runs[k].append(run(task, model, k, seconds))
            progress.advance()
    common = [i for i in range(count) if all(runs[k][i]["solved"] for k in BATCHES)]
    found = []
    for k in BATCHES:
        counts = {"solved": sum(one["solved"] for one in runs[k]), "of": count, "solved_by_all": len(common)}
        sums = {key: sum(runs[k][i][key] for i in common) for key in ("expanded", "steps", "seconds")}
        found.append({"domain": name, "k": k} | counts | sums)
    return found


def run(task: Task, model: Model, k: int, seconds: float) -> dict:
    scorer = model.scorer(task)
    search = Search(task, "gbfs", rank=model.ranked_by("gbfs"), batch=k)
    started = time.process_time()
    solved = search.run(scorer, seconds) == "solved"
    spent, expanded = time.process_time() - started, search.expanded
    steps = len(search.plan()) if solved else 0
    search.release()
    return {"solved": solved, "expanded": expanded, "steps": steps, "seconds": spent}


def line_of(one: dict) -> list[str]:
    per_step = f"{one['expanded'] / one['steps']:.2f}" if one["steps"] else "-"
    counts = [f"{one['solved']} of {one['of']}", str(one["solved_by_all"]), str(one["expanded"])]
    return [one["domain"], str(one["k"]), *counts, per_step, f"{one['seconds']:.2f}"]


if __name__ == "__main__":
    script.run(main)
