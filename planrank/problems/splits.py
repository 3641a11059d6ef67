"""How problems are split for training, validation and test."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from planrank.errors import PlanrankError
from planrank.files import read_toml
from planrank.problems.folders import Instance, find_instances, natural, resolve_domain, size_of

FRACTIONS = (0.5, 0.25, 0.25)
PARTS = ("train", "validation", "test")
FOLDERS = {"train": "training", "validation": "validation", "test": "testing"}


def parts_of(
    domain: str | Path, folder: str | Path | None = None, seed: int | None = None
) -> dict[str, list[Instance]]:
    """The problems for training, validation and test, as every command splits them.

    `domain` is a folder or the name of one of planrank's own domains, whose sets.toml says how; the problems are those
    of `folder`, by default the domain's own. `seed` overrules the one in sets.toml.
    """
    home = resolve_domain(domain)
    settings = split_settings(home)
    if seed is not None:
        settings["seed"] = seed
    return split(find_instances(folder or home), **settings)


def by_size(instances: Iterable[Instance]) -> dict[int, list[Instance]]:
    groups: dict[int, list[Instance]] = {}
    for instance in instances:
        groups.setdefault(size_of(instance.problem), []).append(instance)
    return dict(sorted(groups.items()))


def in_rounds(instances: Iterable[Instance]) -> list[Instance]:
    """One of each size, from small to large, then the next of each: work that is cut short has seen all sizes."""
    groups = list(by_size(instances).values())
    longest = max(map(len, groups), default=0)
    return [group[i] for i in range(longest) for group in groups if i < len(group)]


def spread(instances: list[Instance], limit: int | None) -> list[Instance]:
    """At most so many, evenly spaced, the first among them."""
    if not limit or limit >= len(instances):
        return instances
    return [instances[i * len(instances) // limit] for i in range(limit)]


def descending(instances: Iterable[Instance]) -> list[Instance]:
    """By size, the largest first."""
    return [instance for group in by_size(instances).values() for instance in group][::-1]


def split(
    instances: Sequence[Instance], seed: int = 0, fractions: Sequence[float] = FRACTIONS
) -> dict[str, list[Instance]]:
    """Instances for training, validation and test, every part with its share of every size.

    Where the problems lie in folders called training and testing or validation, as in the IPC's learning track, these
    are the parts. Without a folder for validation the largest of training are held back for it: what is learned is to
    be good for problems larger than those it was learned from.
    """
    if len(fractions) != 3 or min(fractions) < 0 or not math.isclose(sum(fractions), 1):
        raise PlanrankError(f"found {tuple(fractions)} as fractions of the split, expected three that add up to 1")
    lying = {part: [i for i in instances if name in i.problem.parent.parts] for part, name in FOLDERS.items()}
    if lying["train"] and lying["validation"]:
        return lying
    rest = fractions[0] + fractions[1]
    if lying["train"] and lying["test"] and rest > 0:
        return lying | held_back(lying["train"], seed, fractions[1] / rest)
    return deal(instances, seed, fractions)


def held_back(instances: Sequence[Instance], seed: int, share: float) -> dict[str, list[Instance]]:
    """The smaller ones for training, and this share of them all, the largest, for validation."""
    ascending = [instance for group in shuffled_by_size(instances, seed) for instance in group]
    kept = len(ascending) - round(share * len(ascending))
    return {"train": ascending[:kept], "validation": ascending[kept:]}


def deal(instances: Sequence[Instance], seed: int, fractions: Sequence[float]) -> dict[str, list[Instance]]:
    """Shuffle within each size, then go through all sizes and give each instance to the part furthest behind."""
    parts: dict[str, list[Instance]] = {part: [] for part in PARTS}
    dealt = 0
    for group in shuffled_by_size(instances, seed):
        for instance in group:
            dealt += 1
            behind = [share * dealt - len(parts[part]) for part, share in zip(PARTS, fractions, strict=True)]
            parts[PARTS[behind.index(max(behind))]].append(instance)
    return parts


def shuffled_by_size(instances: Sequence[Instance], seed: int) -> Iterator[list[Instance]]:
    rng = random.Random(seed)
    for group in by_size(sorted(instances, key=lambda i: (natural(Path(i.problem.name)), str(i.problem)))).values():
        rng.shuffle(group)
        yield group


def split_settings(folder: str | Path) -> dict[str, Any]:
    """`seed` and `fractions` from the sets.toml of a domain's folder, as arguments of `split`."""
    found = read_toml(Path(folder) / "sets.toml").get("split", {})
    return {"seed": found.get("seed", 0), "fractions": tuple(found.get("fractions", FRACTIONS))}
