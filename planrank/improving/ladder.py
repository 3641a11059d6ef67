"""Problems from small to large: those of a folder, or those that a generator makes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from planrank.errors import PlanrankError
from planrank.files import read_toml
from planrank.paths import own_domains
from planrank.problems.folders import Instance, find_instances, resolve_domain
from planrank.problems.problem_sets import Group, Ranges, check_sizes, generate, identity, parse_range
from planrank.problems.splits import by_size, deal, parts_of, spread

# Seeds of sets that are made: those of one size apart from those of the next.
SEEDS_OF_A_SIZE = 10_000
HELD_OUT = 1 / 3  # of the problems of a folder


@dataclass(frozen=True)
class LadderProblem:
    """`name` is its own among all problems of the ladder, and can be that of a file."""

    name: str
    level: int
    domain: str
    problem: str


class Ladder(ABC):
    """Levels of problems; `sizes` says what each is called. Those of `held_out` are in no other answer."""

    sizes: list[str]

    def __len__(self) -> int:
        return len(self.sizes)

    @abstractmethod
    def fresh(self, level: int, round: int, count: int, known: Collection[str]) -> list[LadderProblem]:
        """At most so many problems of a level that are not known by their names."""

    @abstractmethod
    def held_out(self, level: int) -> list[LadderProblem]:
        """Of a level."""

    def next_level(self, level: int) -> int:
        """The last one has none after it, and stands for it."""
        return min(level + 1, len(self) - 1)


class MadeLadder(Ladder):
    """Of one of planrank's own domains: the generator makes new problems for every round."""

    def __init__(self, domain: str, levels: list[Ranges], folder: Path, held_out: int, seed: int):
        self.domain, self.levels, self.folder, self.count, self.seed = domain, levels, folder, held_out, seed
        self.sizes = [size_text(level) for level in levels]
        self.kept: dict[int, list[LadderProblem]] = {}

    def fresh(self, level: int, round: int, count: int, known: Collection[str]) -> list[LadderProblem]:
        held_out = {self.identity(one) for one in self.held_out(level)}
        found = self.made(level, f"round{round:03}", round, count)
        new = [one for one in found if self.identity(one) not in held_out]
        if found and not new:
            raise PlanrankError(f"all problems of {self.sizes[level]} are held out; allow other sizes")
        return new

    def held_out(self, level: int) -> list[LadderProblem]:
        if level not in self.kept:
            self.kept[level] = self.made(level, "held-out", 0, self.count)
        return self.kept[level]

    def identity(self, one: LadderProblem) -> tuple[int, ...]:
        """Small problems may be made twice."""
        return identity(self.domain, Path(one.problem).stem, Path(one.problem).read_text())

    def made(self, level: int, name: str, number: int, count: int) -> list[LadderProblem]:
        if count == 0:
            return []
        seed = (self.seed * len(self) + level) * SEEDS_OF_A_SIZE + number
        folder = self.folder / f"level{level:02}" / name
        found = generate(self.domain, [Group(count, seed, self.levels[level])], folder)
        start = f"level{level:02}-{name}"
        return [LadderProblem(f"{start}-{one.problem.stem}", level, str(one.domain), str(one.problem)) for one in found]


class FolderLadder(Ladder):
    """Of a folder: all problems but those of the test part, by the number of their objects; some of every size are held
    out, whatever they are for in training, where validation may have the largest."""

    def __init__(self, folder: str, problems: int, held_out: int, seed: int):
        home, found = resolve_domain(folder), parts_of(folder)
        parts = deal(found["train"] + found["validation"], seed, (1 - HELD_OUT, HELD_OUT, 0))
        self.levels: list[dict[str, list[LadderProblem]]] = []
        self.sizes = []
        for pieces in cut(parts["train"], parts["validation"], problems, held_out):
            level = len(self.levels)
            self.levels.append({part: [named(one, home, level) for one in found] for part, found in pieces.items()})
            counts = list(by_size(pieces["train"] + pieces["validation"]))
            self.sizes.append(f"{counts[0]} to {counts[-1]} objects" if len(counts) > 1 else f"{counts[0]} objects")

    def fresh(self, level: int, round: int, count: int, known: Collection[str]) -> list[LadderProblem]:
        return [one for one in self.levels[level]["train"] if one.name not in known][:count]

    def held_out(self, level: int) -> list[LadderProblem]:
        return self.levels[level]["validation"]


def named(instance: Instance, home: Path, level: int) -> LadderProblem:
    name = "-".join(instance.problem.relative_to(home).with_suffix("").parts)
    return LadderProblem(name, level, str(instance.domain), str(instance.problem))


def cut(
    training: list[Instance], validation: list[Instance], problems: int, held_out: int
) -> list[dict[str, list[Instance]]]:
    """Levels with so many problems to learn from, at least, and some that are held out; sizes are not cut through. What
    is left at the end belongs to the last level."""
    if not training or not validation:
        raise PlanrankError("too few problems: expected some to learn from and some to hold out")
    groups = {"train": by_size(training), "validation": by_size(validation)}
    levels: list[dict[str, list[Instance]]] = []
    full = True
    for size in sorted(groups["train"].keys() | groups["validation"].keys()):
        if full:
            levels.append({"train": [], "validation": []})
        for part, found in levels[-1].items():
            found += groups[part].get(size, [])
        full = len(levels[-1]["train"]) >= problems and len(levels[-1]["validation"]) > 0
    if not full and len(levels) > 1:
        rest = levels.pop()
        levels[-1] = {part: found + rest[part] for part, found in levels[-1].items()}
    for level in levels:
        level["validation"] = spread(level["validation"], held_out)
    return levels


def ladder_of(domain: str, sizes: str | None, folder: Path, problems: int, held_out: int, seed: int) -> Ladder:
    """`folder` is where problems are put that have to be made."""
    if domain not in own_domains():
        if sizes is not None:
            raise PlanrankError("the problems of a folder have the sizes they have; sizes are for planrank's domains")
        find_instances(resolve_domain(domain))
        return FolderLadder(domain, problems, held_out, seed)
    found = read_toml(resolve_domain(domain) / "sets.toml").get("improve", {}) if sizes is None else parse_ladder(sizes)
    return MadeLadder(domain, levels_of(domain, found), folder, held_out, seed)


def parse_ladder(text: str) -> dict[str, list[str]]:
    """ "blocks=10,15,20-25", several of these separated by blanks."""
    found = {}
    for item in text.split():
        key, equals, values = item.partition("=")
        if not equals or not values:
            raise PlanrankError(f"found {item!r} as sizes, expected KEY=SIZE,SIZE,… such as blocks=10,15,20-25")
        found[key] = values.split(",")
    return found


def levels_of(domain: str, columns: dict[str, list[str]]) -> list[Ranges]:
    """One for each place in the lists; a list of one is that for all."""
    if not columns:
        raise PlanrankError(f"no sizes are known that {domain} could grow by; give them by --sizes")
    count = max(map(len, columns.values()))
    if any(len(values) not in (1, count) for values in columns.values()):
        lengths = ", ".join(f"{key} {len(values)}" for key, values in columns.items())
        raise PlanrankError(f"sizes have lists of different lengths ({lengths}), expected the same or one value")
    levels = [
        {key: parse_range(str(values[i if len(values) > 1 else 0])) for key, values in columns.items()}
        for i in range(count)
    ]
    for level in levels:
        check_sizes(domain, level)
    return levels


def size_text(sizes: Ranges) -> str:
    return ", ".join(f"{key} {low}" + (f"-{high}" if high > low else "") for key, (low, high) in sizes.items())
