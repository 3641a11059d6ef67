"""Tiny sets of problems for `--quick`."""

from __future__ import annotations

from pathlib import Path

from planrank.problems.folders import Instance
from planrank.problems.labelling import label
from planrank.problems.problem_sets import Group, generate, parse_sizes

# Domain: how many problems of which sizes.
SIZES = {"blocksworld": (2, ["blocks=3-4"]), "ferry": (2, ["locations=2-3", "cars=1-2"])}
TRAINING = (12, ["locations=2-3", "cars=1-3"])


def toy_problems(folder: Path) -> Path:
    """A folder of domains, each with a few problems."""
    for domain, (count, sizes) in SIZES.items():
        toy_set(domain, folder / domain, count, *sizes)
    return folder


def toy_set(domain: str, folder: Path, count: int, *sizes: str) -> list[Instance]:
    return generate(domain, [Group(count, 0, parse_sizes(sizes))], folder)


def toy_training_data(folder: Path) -> Path:
    """Labelled problems of ferry, in the place where benchmarks look for them."""
    count, sizes = TRAINING
    label(toy_set("ferry", folder / "paper/ferry", count, *sizes))
    return folder
