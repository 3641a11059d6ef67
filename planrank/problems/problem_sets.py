"""Sets of random problems: distinct, not trivial, each parsed and grounded before it is kept.

All are solvable by construction: blocks can be put on the table and stacked anew, ferry, lift and robot can carry one
thing after the other, a man who picks up every spanner has one for each nut, two placements of tiles of equal parity
reach each other, boxes that were pulled can be pushed back, and a tree of ways reaches all of a maze. What is checked
of each is that it grounds, and that its goal can be reached at least when nothing is ever made false.
"""

from __future__ import annotations

import inspect
import math
import os
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planrank.choices import known_instead_of
from planrank.errors import PlanrankError
from planrank.files import make_folder, read_toml, write_text
from planrank.paths import own_domains
from planrank.problems.folders import Instance, instance_of, own_domain_file, resolve_domain
from planrank.problems.random_levels import LEVELS
from planrank.problems.random_problems import GENERATORS

# Draws of one size that bring nothing new before that size counts as used up.
PATIENCE = 100

ATOM = re.compile(r"\(([^()]+)\)")

Ranges = dict[str, tuple[int, int]]


@dataclass(frozen=True)
class Group:
    """So many instances with sizes in these ranges, both ends included."""

    count: int
    seed: int
    sizes: Ranges


def parse_range(text: str) -> tuple[int, int]:
    """ "5" or "3-8"."""
    found = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", text)
    low, high = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
    if low > high:
        raise PlanrankError(f"found {text!r} as a size, expected a number or a range such as 3-8")
    return low, high


def parse_sizes(items: tuple[str, ...] | list[str]) -> Ranges:
    """Each "key=value" or "key=low-high"."""
    sizes = {}
    for item in items:
        key, equals, value = item.partition("=")
        if not equals:
            raise PlanrankError(f"found {item!r} as a size, expected KEY=VALUE or KEY=LOW-HIGH")
        sizes[key.strip()] = parse_range(value)
    return sizes


def standard_sets(name: str) -> dict[str, list[dict[str, Any]]]:
    """All sets that the domain's sets.toml describes, by their names."""
    check_name(name)
    return read_toml(resolve_domain(name) / "sets.toml").get("sets", {})


def standard_set(name: str, which: str) -> list[Group]:
    sets = standard_sets(name)
    if which not in sets:
        raise PlanrankError(f"{name} has no set {which!r}; it has {known_instead_of(which, sets) or 'none'}")
    return [
        Group(group["count"], group["seed"], {key: parse_range(str(value)) for key, value in group["size"].items()})
        for group in sets[which]
    ]


def check_name(name: str) -> None:
    if name not in GENERATORS:
        known = known_instead_of(name, own_domains())
        raise PlanrankError(f"there is no generator for {name!r}; planrank has them for {known}")


def check_sizes(name: str, sizes: Ranges) -> None:
    known = list(inspect.signature(GENERATORS[name]).parameters)[2:]
    for key, (low, _) in sizes.items():
        if key not in known:
            raise PlanrankError(f"{name} has no size called {key!r}; it has {known_instead_of(key, known)}")
        if low < 1 and key != "spare":
            raise PlanrankError(f"found {low} as the smallest number of {key}, expected at least 1")


def generate(
    name: str,
    groups: list[Group],
    out: str | Path,
    *,
    trivial: bool = False,
    progress: Callable[[Instance], None] | None = None,
) -> list[Instance]:
    """Write the problems of these groups into a folder, the domain file beside them; the same groups, the same files.

    Files that are there already and equal stay; a file of another set is refused, so that sets do not mix. `trivial`
    lets problems through whose goal holds from the start.
    """
    check_name(name)
    for group in groups:
        check_sizes(name, group.sizes)
    out = Path(out)
    make_folder(out)
    domain = out / "domain.pddl"
    put(domain, own_domain_file(name).read_text())
    there = {file.name.partition("-")[0]: file for file in out.glob("p[0-9]*-*.pddl")}
    made: list[Instance] = []
    seen: set[tuple[int, ...]] = set()

    def keep(title: str, text: str) -> bool:
        def wanted(scratch: Path) -> bool:
            if holds_from_the_start(domain, scratch) and not trivial:
                return False
            # Only now: what is not wanted did not get the number the first time either.
            if title.partition("-")[0] in there:
                raise of_another_set(there[title.partition("-")[0]])
            return True

        file = out / f"{title}.pddl"
        if not put(file, text, wanted):
            return False
        made.append(instance_of(domain, file))
        if progress is not None:
            progress(made[-1])
        return True

    for group in groups:
        fill(name, group, len(made), seen, keep)
    return made


def fill(name: str, group: Group, before: int, seen: set, keep: Callable[[str, str], bool]) -> None:
    """Draw problems of a group until enough were kept; what `seen` holds is not drawn again."""
    rng = random.Random(f"{name} {group.seed}")
    combinations = math.prod(high - low + 1 for low, high in group.sizes.values())
    used_up: set[tuple[int, ...]] = set()
    number = before + 1

    def found_one(sizes: dict[str, int]) -> bool:
        title = "-".join([f"p{number:04}", *(f"{key}{value}" for key, value in sizes.items())])
        for _ in range(PATIENCE):
            text = GENERATORS[name](rng, title, **sizes)
            if (found := identity(name, title, text)) not in seen:
                seen.add(found)
                if keep(title, text):
                    return True
        return False

    for sizes in sweep(group.sizes, rng):
        if number > before + group.count:
            return
        values = tuple(sizes.values())
        if values in used_up:
            continue
        if found_one(sizes):
            number += 1
            continue
        used_up.add(values)
        if len(used_up) == combinations:
            few = number - before - 1
            raise PlanrankError(
                f"found only {few} distinct problems of these sizes, {group.count} were asked for; allow other sizes"
            )


def sweep(sizes: Ranges, rng: random.Random) -> Iterator[dict[str, int]]:
    """Sizes without end; each runs through its whole range, in another order every time, before one comes again."""
    decks: dict[str, list[int]] = {key: [] for key in sizes}
    while True:
        for key, (low, high) in sizes.items():
            if not decks[key]:
                decks[key] = list(range(low, high + 1))
                rng.shuffle(decks[key])
        yield {key: deck.pop() for key, deck in decks.items()}


def identity(name: str, title: str, text: str) -> tuple[int, ...]:
    """What makes a problem another one. Places of levels have names that say where they are, so their text will do."""
    return (hash(text.replace(title, "", 1)),) if name in LEVELS else shape(text)


def shape(text: str) -> tuple[int, ...]:
    """The same for problems that differ only in the names of objects.

    Objects are told apart by the facts and goals they appear in, then by what appears there with them, and so on until
    no more can be told apart. A few problems that differ by more look the same too; they are only not drawn.
    """
    # Patterns will do: the text is that of our own generators, and it is not read as PDDL here.
    init, _, goal = text[text.index("(:init") + len("(:init") :].partition("(:goal")
    written = [(when, atom.split()) for when, part in enumerate((init, goal)) for atom in ATOM.findall(part)]
    atoms = [(when, words[0], words[1:]) for when, words in written if words != ["and"]]
    colours = {name: 0 for _, _, names in atoms for name in names}
    kinds = 0
    while (now := len(set(colours.values()))) > kinds:
        kinds = now
        places: dict[str, list[int]] = {name: [] for name in colours}
        for when, predicate, names in atoms:
            around = (when, predicate, *(colours[name] for name in names))
            for i, name in enumerate(names):
                places[name].append(hash((i, around)))
        colours = {name: hash((colours[name], *sorted(found))) for name, found in places.items()}
    return tuple(sorted(colours.values()))


def holds_from_the_start(domain: Path, problem: Path) -> bool:
    """Whether nothing need be done; a problem that does not ground or cannot be solved is a bug of its generator."""
    from planrank.task import load

    task = load(domain, problem)
    if task.goal_count == 0:
        raise PlanrankError("a generated problem cannot be solved", "internal", file=str(problem))
    init = set(task.init.tolist())
    return any(init.issuperset(task.goal[i].tolist()) for i in range(len(task.goal)))


def put(file: Path, text: str, wanted: Callable[[Path], bool] = lambda scratch: True) -> bool:
    """Write a file unless it is there or not wanted, which is asked before the file gets its name."""
    if file.exists() and file.read_text() == text:
        return True
    scratch = file.with_name(f".{file.name}.{os.getpid()}.checked")
    try:
        write_text(scratch, text)
        if not wanted(scratch):
            return False
        if file.exists():
            raise of_another_set(file)
        os.replace(scratch, file)
        return True
    finally:
        scratch.unlink(missing_ok=True)


def of_another_set(file: Path) -> PlanrankError:
    return PlanrankError("this file is of another set; choose an empty folder", file=str(file))
