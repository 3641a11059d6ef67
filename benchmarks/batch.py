"""How many nodes should be expanded for each call of the model?

    python benchmarks/batch.py [--count N] [--seconds S]

For each shipped model, random problems of the largest sizes of the paper, GBFS with K = 1, 2, 4, 8 and 16 nodes a call:
problems solved, expansions, and processor seconds over the problems that all K solve. Writes results/batch.md.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from pathlib import Path

from tables import RESULTS, markdown, write

from planrank import Model, Search, julia, load, paths
from planrank.generators import GENERATORS

BATCHES = (1, 2, 4, 8, 16)
SIZES = {
    "blocksworld": {"blocks": 15},
    "ferry": {"locations": 10, "cars": 20},
    "npuzzle": {"side": 4},
    "elevators": {"passengers": 16},
    "spanner": {"nuts": 15, "locations": 20},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10, help="problems of each domain")
    parser.add_argument("--seconds", type=float, default=10.0, help="for each search")
    options = parser.parse_args()
    julia.module()
    rows = []
    for name, sizes in SIZES.items():
        domain = paths.shared() / "domains" / name
        model = Model.load(domain / "model.json")
        tasks = [random_task(domain, name, sizes, seed) for seed in range(options.count)]
        runs = {k: [run(task, model, k, options.seconds) for task in tasks] for k in BATCHES}
        common = [i for i in range(len(tasks)) if all(runs[k][i][0] for k in BATCHES)]
        for k in BATCHES:
            solved = sum(one[0] for one in runs[k])
            expanded, seconds, steps = (sum(runs[k][i][j] for i in common) for j in (1, 2, 3))
            per_step = f"{expanded / max(steps, 1):.2f}"
            counts = [f"{solved} of {len(tasks)}", str(len(common)), str(expanded), per_step, f"{seconds:.2f}"]
            rows.append([name, str(k), *counts])
    header = ["Domain", "K", "solved", "solved by all K", "expanded", "per plan step", "processor seconds"]
    title = [
        "# Nodes expanded for each call of the model",
        "",
        f"GBFS, {options.seconds:g} s a search, sizes {SIZES}.",
        "",
    ]
    write(RESULTS, "batch", title + markdown(header, rows), [dict(zip(header, row, strict=True)) for row in rows])


def random_task(domain: Path, name: str, sizes: dict[str, int], seed: int):
    with tempfile.TemporaryDirectory() as folder:
        problem = Path(folder, "problem.pddl")
        problem.write_text(GENERATORS[name](random.Random(seed), f"{name}-{seed}", **sizes))
        return load(domain / "domain.pddl", problem)


def run(task, model: Model, k: int, seconds: float) -> tuple[bool, int, float, int]:
    """Whether it was solved, expansions, processor seconds, steps of the plan."""
    scorer = model.scorer(task)
    search = Search(task, "gbfs", batch=k)
    started = time.process_time()
    solved = search.run(scorer, seconds) == "solved"
    return solved, search.expanded, time.process_time() - started, len(search.plan()) if solved else 0


if __name__ == "__main__":
    main()
