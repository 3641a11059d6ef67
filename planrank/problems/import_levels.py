"""Levels as people have them, read from text files: Sokoban drawn in characters, mazes and tiles as rows of numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from planrank.choices import known_instead_of
from planrank.errors import PlanrankError
from planrank.files import make_folder, write_text
from planrank.problems.folders import own_domain_file
from planrank.problems.levels import (
    AGENT,
    DIRECTIONS,
    FIRST_PORTAL,
    GOAL,
    SOKOBAN_NUMBERS,
    WALL,
    maze_problem,
    moved,
    sokoban_cells,
    sokoban_problem,
    tiles_problem,
)
from planrank.problems.random_levels import parity

SOKOBAN_MARKS = "#$.*@+ -_"


@dataclass(frozen=True)
class Written:
    """A level as it stands in a file: the number of its first line, and its lines."""

    line: int
    rows: list[str]


def import_levels(
    name: str,
    file: Path,
    out: Path,
    count: int | None = None,
    skip: int = 0,
    progress: Callable[[], None] = lambda: None,
) -> int:
    """Write the levels of a file as problems of the domain `name` into a folder; how many there are.

    `skip` leaves the first ones out, `count` takes no more. PlanrankError says in which line a level is wrong.
    """
    if name not in READERS:
        raise PlanrankError(f"there are no levels of {name!r} to read, expected {known_instead_of(name, READERS)}")
    try:
        lines = file.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as e:
        reason = getattr(e, "strerror", None) or "not text"
        raise PlanrankError(f"the levels cannot be read: {reason}", file=str(file)) from None
    found = list(written_levels(lines))[skip:][:count]
    if not found:
        raise PlanrankError("there are no levels in this file", file=str(file))
    texts = []
    for i, level in enumerate(found):
        title = f"{file.stem.lower()}-{skip + i + 1:04}"
        texts.append((title, READERS[name](title, level, file)))
    make_folder(out)
    write_text(out / "domain.pddl", own_domain_file(name).read_text())
    for title, text in texts:
        write_text(out / f"{title}.pddl", text)
        progress()
    return len(texts)


def written_levels(lines: list[str]) -> Iterator[Written]:
    """Levels drawn in characters are apart by an empty line, or one that is a title; one in numbers is a line."""
    rows: list[str] = []
    first = 0
    for number, line in enumerate([*lines, ""], start=1):
        if line.strip() and all(word.isdigit() for word in line.split()):
            yield Written(number, [line])
        elif line.strip() and set(line.rstrip()) <= set(SOKOBAN_MARKS):
            first = first if rows else number
            rows.append(line.rstrip().replace("-", " ").replace("_", " "))
        else:
            if rows:
                yield Written(first, rows)
            rows = []


def numbers_of(level: Written) -> list[int] | None:
    """The numbers of a level that is a row of them."""
    return [int(word) for word in level.rows[0].split()] if level.rows[0].strip()[:1].isdigit() else None


def square(numbers: list[int], file: Path, line: int) -> int:
    side = math.isqrt(len(numbers))
    if side * side != len(numbers) or side < 2:
        message = f"found {len(numbers)} numbers, expected those of a square, such as 100 for 10 rows of 10"
        raise PlanrankError(message, file=str(file), line=line)
    return side


def sokoban_level(title: str, level: Written, file: Path) -> str:
    rows, numbers = level.rows, numbers_of(level)
    if numbers is not None:
        side = square(numbers, file, level.line)
        unknown = [number for number in numbers if number not in SOKOBAN_NUMBERS]
        if unknown:
            raise bad(f"found the number {unknown[0]} in a level, expected 0 to 6", file, level.line)
        marks = [SOKOBAN_NUMBERS[number] for number in numbers]
        rows = ["".join(marks[i : i + side]) for i in range(0, len(marks), side)]
    text = "".join(rows)
    players = text.count("@") + text.count("+")
    boxes, targets = text.count("$") + text.count("*"), text.count(".") + text.count("*") + text.count("+")
    if players != 1:
        raise bad(
            f"found {players or 'no'} player{'s' * (players > 1)} (@ or +) in this level, expected one",
            file,
            level.line,
        )
    if boxes != targets or boxes == 0:
        raise bad(f"found {boxes} box(es) and {targets} target(s) in this level, expected as many", file, level.line)
    width = max(map(len, rows))
    for r, c in sokoban_cells([row.ljust(width) for row in rows]):
        if numbers is None and (r in (0, len(rows) - 1) or c in (0, width - 1)):
            message = f"the border is open: row {r + 1}, column {c + 1} can be reached, expected walls all around"
            raise bad(message, file, level.line + r)
    return sokoban_problem(title, [row.ljust(width) for row in rows])


def maze_level(title: str, level: Written, file: Path) -> str:
    numbers = numbers_of(level)
    if numbers is None:
        raise bad("found characters, expected a maze as a row of numbers", file, level.line)
    side = square(numbers, file, level.line)
    for number, what in ((AGENT, "agent"), (GOAL, "goal")):
        if numbers.count(number) != 1:
            raise bad(f"found {numbers.count(number)} times {number}, expected one {what}", file, level.line)
    for number in sorted(set(numbers)):
        if number >= FIRST_PORTAL and numbers.count(number) != 2:
            message = f"found {numbers.count(number)} times {number}, expected a portal and its twin"
            raise bad(message, file, level.line)
    rows = [numbers[i : i + side] for i in range(0, len(numbers), side)]
    if not reaches_goal(rows):
        raise bad("no way leads from the agent to the goal", file, level.line)
    return maze_problem(title, rows)


def reaches_goal(rows: list[list[int]]) -> bool:
    cells = {(r, c): number for r, row in enumerate(rows) for c, number in enumerate(row) if number != WALL}
    twins: dict[int, list[tuple[int, int]]] = {}
    for cell, number in cells.items():
        twins.setdefault(number, []).append(cell)
    waiting = list(twins[AGENT])
    reached = set(waiting)
    while waiting:
        near = [there for step in DIRECTIONS.values() if (there := moved(waiting[-1], step)) in cells]
        waiting.pop()
        near += [twin for there in near if cells[there] >= FIRST_PORTAL for twin in twins[cells[there]]]
        waiting += set(near) - reached
        reached |= set(near)
    return twins[GOAL][0] in reached


def tiles_level(title: str, level: Written, file: Path) -> str:
    numbers = numbers_of(level)
    if numbers is None:
        raise bad("found characters, expected the tiles as a row of numbers", file, level.line)
    side = square(numbers, file, level.line)
    wrong = sorted(set(range(len(numbers))) - set(numbers))
    if wrong:
        raise bad(f"the tile {wrong[0]} is missing, expected each of 0 to {len(numbers) - 1} once", file, level.line)
    if parity(numbers, side):
        message = "the goal cannot be reached from here: no move changes the parity, expected an even one"
        raise bad(message, file, level.line)
    return tiles_problem(title, numbers, side)


def bad(message: str, file: Path, line: int) -> PlanrankError:
    return PlanrankError(message, file=str(file), line=line)


READERS: dict[str, Callable[[str, Written, Path], str]] = {
    "maze": maze_level,
    "sokoban": sokoban_level,
    "tiles": tiles_level,
}
