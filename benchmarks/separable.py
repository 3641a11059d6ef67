"""How many pairs of a perfect ranking can no weights put in order, because the network sees the same in both?

    python benchmarks/separable.py --instances FOLDER [--domains ferry,spanner] [--count N]

FOLDER has a folder for each domain of the learning track. Along N training plans of each domain, spread over all sizes,
the pairs are counted that networks value alike whatever their weights are: those that `planrank train --select` tries,
and others that see more or less. Pairs are of actions, the search is GBFS. Many of these pairs cannot matter: of two
equal things a plan takes one first. Writes results/separable.{md,json}.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import script
from tables import machine, markdown, write
from toy import toy_training_data
from track import DOMAINS

from planrank import Model, TrainConfig, load
from planrank.console import Progress
from planrank.learning.separable import inseparable_pairs
from planrank.models import families
from planrank.problems.folders import Instance
from planrank.problems.labelled_plans import read_plan
from planrank.problems.splits import descending, parts_of, spread

NETWORKS: dict[str, dict[str, Any]] = {
    "facts, 2 layers": {"family": "hypergraph", "relaxed": False, "distances": False},
    "facts, 4 layers": {"family": "hypergraph", "relaxed": False, "distances": False, "layers": 4},
    "facts, 2 layers, distances": {"family": "hypergraph", "relaxed": False},
    "facts, 2 layers, distances, relaxed plan": {"family": "hypergraph"},
    "objects, 3 layers, distances": {"family": "relational", "layers": 3, "relaxed": False},
    "objects, 3 layers, distances, relaxed plan": {"family": "relational", "layers": 3},
}


def main() -> None:
    parser = script.parser(__doc__)
    parser.add_argument("--instances", type=Path, metavar="FOLDER", help="the learning track, see above")
    parser.add_argument("--domains", type=script.names(DOMAINS), default=list(DOMAINS), metavar="NAME,…")
    parser.add_argument("--count", type=int, default=12, metavar="N", help="plans of each domain")
    options = script.parse(parser, "instances", quick={"domains": ["ferry"], "count": 2})
    with script.folder_for(None) as scratch:
        folder = toy_training_data(scratch) / "paper" if options.quick else options.instances
        figures = measured(folder, options)
    head = f"Pairs of actions along {options.count} training plans of each domain, percent; {machine()}."
    lines = [
        [one["domain"], f"{one['pairs']:,}", *(f"{100 * count / one['pairs']:.2f}" for count in one["inseparable"])]
        for one in figures
    ]
    table = markdown(["domain", "pairs", *NETWORKS], lines)
    write(options.results, "separable", ["# Pairs that no weights can put in order", "", head, "", *table], figures)


def measured(folder: Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    found = []
    with Progress("domains", len(options.domains)) as progress:
        for domain in options.domains:
            chosen = with_plans(folder / domain, options.count)
            counts = [counted(chosen, network) for network in NETWORKS.values()]
            found.append({"domain": domain, "pairs": counts[0][0], "inseparable": [hopeless for _, hopeless in counts]})
            progress.advance()
    return found


def with_plans(folder: Path, count: int) -> list[Instance]:
    """Of all sizes, at most so many."""
    return spread(descending(one for one in parts_of(folder)["train"] if one.plan), count)


def counted(instances: list[Instance], network: dict[str, Any]) -> tuple[int, int]:
    """All pairs, and those that no weights put in order."""
    family = families.get(network["family"])
    shape = TrainConfig(domain="ferry", **network).architecture
    pairs = hopeless = 0
    for instance in instances:
        task, plan = load(instance.domain, instance.problem), read_plan(instance.plan)
        seen = inseparable_pairs(task, plan.steps, Model.fresh(family.signature(task), shape))
        pairs, hopeless = pairs + seen[0], hopeless + seen[1]
    return pairs, hopeless


if __name__ == "__main__":
    script.run(main)
