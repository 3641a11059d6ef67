"""How a state is drawn: as towers, as a board with rows and columns, or not at all, so that its facts stand for it.

A view makes a scene of a state's facts, plain values that `assets/scenes.js` draws. To add one, write a class with
`of`, which says whether it suits a task, and `scene`; put it into VIEWS.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from planrank.files import read_toml
from planrank.task import Task

Fact = tuple[str, ...]  # the predicate and its arguments
Scene = dict[str, Any]

TABLE = ("on-table", "ontable")
HELD = ("holding", "holds")
NOT_DRAWN = ("clear", "empty", "free", "blank")  # on a board, what nothing stands on
GRID_FILE = "grid.toml"  # beside a domain: `places` says how the names of its places tell row and column
PLACES = r"(?P<kind>\D*?)(?P<column>\d+)\D+(?P<row>\d+)\D*"


class View(Protocol):
    def scene(self, facts: Iterable[Fact]) -> Scene: ...


def fact_of(name: str) -> Fact:
    """Of a name such as `(on a b)`."""
    return tuple(name.strip("()").split())


def view_of(task: Task, domain: Path) -> View | None:
    """The first view that suits the task."""
    facts = [fact_of(name) for name in task.names("facts")]
    goal = {facts[fact] for fact in task.goal[0]} if len(task.goal) == 1 else set()
    for kind in VIEWS:
        view = kind.of(task, facts, goal, domain)
        if view is not None:
            return view
    return None


@dataclass(frozen=True)
class Towers:
    """Blocks on each other, on a table or in a hand."""

    goal: set[Fact]

    @property
    def anywhere(self) -> set[str]:
        """Blocks that something belongs on, while the goal does not say where they belong themselves."""
        below = {fact[2] for fact in self.goal if fact[0] == "on"}
        return below - {fact[1] for fact in self.goal if fact[0] in ("on", *TABLE)}

    @classmethod
    def of(cls, task: Task, facts: list[Fact], goal: set[Fact], domain: Path) -> Towers | None:
        has_on = any(fact[0] == "on" and len(fact) == 3 for fact in facts)
        has_table = any(fact[0] in TABLE and len(fact) == 2 for fact in facts)
        return cls(goal) if has_on and has_table else None

    def scene(self, facts: Iterable[Fact]) -> Scene:
        above: dict[str, tuple[str, bool]] = {}
        bottoms, held = [], []
        for fact in facts:
            if fact[0] == "on":
                above[fact[2]] = (fact[1], fact in self.goal)
            elif fact[0] in TABLE:
                bottoms.append((fact[1], fact in self.goal or fact[1] in self.anywhere))
            elif fact[0] in HELD:
                held.append(fact[1])
        towers = []
        for block, right in sorted(bottoms, key=lambda bottom: natural(bottom[0])):
            tower = [{"name": block, "right": right}]
            while tower[-1]["name"] in above:
                block, in_place = above[str(tower[-1]["name"])]
                right = right and in_place  # a block is where it belongs if all below it are
                tower.append({"name": block, "right": right})
            towers.append(tower)
        return {"kind": "towers", "towers": towers, "held": held}


def natural(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", name) if part]


@dataclass(frozen=True)
class Board:
    """Objects whose names say in which row and column they are, and what is on them."""

    places: dict[str, tuple[int, int]]  # row and column, counted from 0
    goal: set[Fact]

    @classmethod
    def of(cls, task: Task, facts: list[Fact], goal: set[Fact], domain: Path) -> Board | None:
        places = places_of(task.names("objects"), domain.parent / GRID_FILE)
        drawn = any(sum(word in places for word in fact[1:]) == 1 for fact in facts)
        return cls(places, goal) if drawn else None

    def scene(self, facts: Iterable[Fact]) -> Scene:
        found = [item for fact in facts for item in self.items(fact, fact in self.goal)]
        # Where something belongs that has no name of its own, such as a box.
        targets = [item["at"] for fact in self.goal if len(fact) == 2 for item in self.items(fact, True)]
        rows, columns = (1 + max(place[i] for place in self.places.values()) for i in (0, 1))
        cells = list(self.places.values())
        return {"kind": "board", "rows": rows, "columns": columns, "cells": cells, "items": found, "targets": targets}

    def items(self, fact: Fact, right: bool) -> Iterable[Scene]:
        """What a fact about one place says is there: something with a name, or what the predicate says."""
        at = [self.places[word] for word in fact[1:] if word in self.places]
        if len(at) != 1 or fact[0] in NOT_DRAWN:
            return
        names = [word for word in fact[1:] if word not in self.places]
        yield {"at": at[0], "name": " ".join(names), "predicate": fact[0], "right": right}


def places_of(objects: list[str], grid_file: Path) -> dict[str, tuple[int, int]]:
    """Row and column of the objects that have them in their names, all of one kind; none if that is no grid."""
    told = read_toml(grid_file).get("places")
    pattern = PLACES
    if isinstance(told, str) and "{row}" in told and "{column}" in told:
        pattern = re.escape(told.lower()).replace(r"\{row\}", r"(?P<row>\d+)")
        pattern = r"(?P<kind>)" + pattern.replace(r"\{column\}", r"(?P<column>\d+)")
    kinds: dict[str, dict[str, tuple[int, int]]] = {}
    for name in objects:
        if found := re.fullmatch(pattern, name):
            kinds.setdefault(found["kind"], {})[name] = (int(found["row"]), int(found["column"]))
    places = max(kinds.values(), key=len, default={})
    if len(set(places.values())) < max(4, len(places)):
        return {}
    top, left = (min(place[i] for place in places.values()) for i in (0, 1))
    return {name: (row - top, column - left) for name, (row, column) in places.items()}


VIEWS: tuple[type[Towers] | type[Board], ...] = (Towers, Board)
