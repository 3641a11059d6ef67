"""The heuristic `table`: a number for each fact, added up over the facts of a state; written down in table.toml.

    places = "p_{column}_{row}"         # for distances: the names of objects that are places

    [[facts]]                           # for every fact like this, with the goal as it is
    state = "(at ?tile ?cell)"
    goal = "(at ?tile ?target)"
    value = "distance"                  # rows and columns from ?cell to ?target, or a number

    [numbers]                           # or fact by fact
    "(door-open kitchen)" = 2.5

The file lies beside the domain, or is named: `--heuristic table:FILE`.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from planrank.atoms import SOURCES, Atoms, Places, patterns_of
from planrank.errors import PlanrankError
from planrank.files import read_toml
from planrank.problems.companions import companion
from planrank.task import Task

NAME = "table.toml"
KEYS = ("places", "facts", "numbers")


def table_of(task: Task, heuristic: str) -> np.ndarray:
    """A number for each fact of the task, in the user's costs."""
    _, _, given = heuristic.partition(":")
    file = Path(given) if given else companion(task.source, task.signature_text, NAME)
    if file is None:
        raise PlanrankError(f"there is no {NAME} beside the domain {task.domain}; give one as --heuristic table:FILE")
    if not file.is_file():
        raise PlanrankError("there is no such table of numbers", file=str(file))
    return read_table(task, file)


def read_table(task: Task, file: Path) -> np.ndarray:
    content, atoms = read_toml(file), Atoms(task)
    unknown = [key for key in content if key not in KEYS]
    if unknown or not (content.get("facts") or content.get("numbers")):
        found = f"unknown key {', '.join(unknown)}" if unknown else "no numbers"
        raise PlanrankError(f"found {found}, expected {', '.join(KEYS)}", file=str(file))
    places = Places(content["places"], file).of(atoms.objects) if "places" in content else {}
    total = np.zeros(task.fact_count)
    for table in content.get("facts", []):
        add_facts(total, table, atoms, places, file)
    numbers = {" ".join(name.lower().split()): number for name, number in content.get("numbers", {}).items()}
    if numbers:
        names = {name: fact for fact, name in enumerate(task.names("facts"))}
        for name, number in numbers.items():
            if name in names:  # another task's facts may stand there too
                total[names[name]] += checked_number(number, file)
    return total


def add_facts(
    total: np.ndarray, table: dict[str, Any], atoms: Atoms, places: dict[str, tuple[int, int]], file: Path
) -> None:
    unknown = [key for key in table if key not in (*SOURCES, "value")]
    if unknown or "state" not in table or "value" not in table:
        found = f"unknown key {', '.join(unknown)}" if unknown else "facts without state or value"
        raise PlanrankError(f"found {found}, expected {', '.join(SOURCES)}, value", file=str(file))
    patterns, value = patterns_of(table, atoms, file), table["value"]
    if value == "distance":
        terms = {term for pattern in patterns.values() for term in pattern.terms}
        if not {"?cell", "?target"} <= terms or not places:
            raise PlanrankError("a distance needs places, and ?cell and ?target in the atoms", file=str(file))
    else:
        checked_number(value, file)
    for fact, binding in atoms.matches(patterns):
        if value == "distance":
            try:
                (a, b), (c, d) = places[binding["?cell"]], places[binding["?target"]]
            except KeyError as e:
                raise PlanrankError(f"{e.args[0]} is no place, so it is at no distance", file=str(file)) from None
            total[fact] += abs(a - c) + abs(b - d)
        else:
            total[fact] += value


def checked_number(number: Any, file: Path) -> float:
    if type(number) not in (int, float) or not math.isfinite(number):
        raise PlanrankError(f'found {number!r} as the value of a fact, expected a number or "distance"', file=str(file))
    return float(number)
