"""States of grid domains drawn with characters, as the [[picture]] tables of grid.toml say.

    [[picture]]                     # later ones are drawn over earlier ones
    goal = "(box ?cell)"
    mark = "."

    [[picture]]
    state = "(box ?cell)"
    mark = "$"
    over = { "." = "*" }            # what it becomes over another mark

    [[picture]]
    state = "(at ?tile ?cell)"
    mark = "?tile"                  # the number in the name of what the variable stands for

Places where nothing is drawn are blank, and what is no place is `#`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from planrank.atoms import SOURCES, Atoms, Pattern, Places, patterns_of
from planrank.errors import PlanrankError
from planrank.files import read_toml
from planrank.problems.companions import companion
from planrank.task import Task

NAME = "grid.toml"
CELL = "?cell"
WALL, BLANK = "#", " "
MOST_SHOWN = 24  # states of a plan

Drawn = tuple[tuple[int, int], str]  # where, and which mark


@dataclass(frozen=True)
class Layer:
    patterns: dict[str, Pattern]
    mark: str
    over: dict[str, str]


class Picture:
    """Draws states of one task."""

    def __init__(self, task: Task):
        file = companion(task.source, task.signature_text, NAME)
        content = {} if file is None else read_toml(file)
        if file is None or not content.get("picture"):
            where = "there is none" if file is None else f"{file} has none"
            raise PlanrankError(f"{task.domain} is drawn by the [[picture]] tables of its {NAME}, and {where}")
        atoms = Atoms(task)
        self.task, self.file = task, file
        self.places = Places(content.get("places"), file).of(atoms.objects)
        layers = [self._layer(table, atoms) for table in content["picture"]]
        self.fixed: list[list[Drawn]] = []
        self.of_fact: list[dict[int, list[Drawn]]] = []
        self.over = [layer.over for layer in layers]
        for layer in layers:
            fixed: list[Drawn] = []
            moving: dict[int, list[Drawn]] = {}
            for fact, binding in atoms.matches(layer.patterns):
                if binding[CELL] in self.places:
                    drawn = (self.places[binding[CELL]], mark_of(layer.mark, binding))
                    (fixed if fact < 0 else moving.setdefault(fact, [])).append(drawn)
            self.fixed.append(fixed)
            self.of_fact.append(moving)
        self.height = 1 + max(r for r, _ in self.places.values())
        self.columns = 1 + max(c for _, c in self.places.values())

    def _layer(self, table: dict[str, Any], atoms: Atoms) -> Layer:
        patterns = patterns_of(table, atoms, self.file)
        mark, over = table.get("mark"), table.get("over", {})
        unknown = [key for key in table if key not in (*SOURCES, "mark", "over")]
        if unknown or not patterns or not isinstance(mark, str) or not mark or not isinstance(over, dict):
            found = f"unknown key {unknown[0]}" if unknown else "a picture without an atom or a mark"
            raise PlanrankError(f"found {found}, expected {', '.join(SOURCES)}, mark, over", file=str(self.file))
        if not any(CELL in pattern.terms for pattern in patterns.values()):
            raise PlanrankError(f"a picture does not say where, expected {CELL} in its atom", file=str(self.file))
        return Layer(patterns, mark, over)

    def lines(self, state: np.ndarray) -> list[str]:
        """A packed state, a line for each row."""
        drawn = dict.fromkeys(self.places.values(), BLANK)
        facts = self.task.facts_in(state).tolist()
        for fixed, of_fact, over in zip(self.fixed, self.of_fact, self.over, strict=True):
            for cell, mark in fixed + [one for fact in facts for one in of_fact.get(fact, ())]:
                drawn[cell] = over.get(drawn[cell], mark)
        width = max(map(len, drawn.values()))
        joint = " " if width > 1 else ""
        rows = range(-1, self.height + 1), range(-1, self.columns + 1)
        marks = [[drawn.get((r, c), WALL * width).rjust(width) for c in rows[1]] for r in rows[0]]
        return [joint.join(row) for row in marks]


def mark_of(mark: str, binding: dict[str, str]) -> str:
    if not mark.startswith("?"):
        return mark
    name = binding.get(mark, mark)
    return "".join(re.findall(r"\d+", name)) or name


def drawn_plan(task: Task, steps: list[str], width: int) -> str:
    """The states that a plan goes through side by side, as many as fit; of a long plan some, evenly spread."""
    from planrank.learning.ranking import entry_ranking_of_plan

    picture = Picture(task)
    states = entry_ranking_of_plan(task, steps).states if steps else task.packed(task.init)[None]
    count = min(MOST_SHOWN, len(states))
    shown = [round(i * (len(states) - 1) / max(1, count - 1)) for i in range(count)]
    blocks = []
    for i in shown:
        title = "start" if i == 0 else f"after {i}"
        lines = picture.lines(states[i])
        size = max(len(title), *map(len, lines))
        blocks.append([line.ljust(size) for line in (title, *lines)])
    in_a_row = max(1, (width + 2) // (max(len(block[0]) for block in blocks) + 2))
    text = []
    for first in range(0, len(blocks), in_a_row):
        row = blocks[first : first + in_a_row]
        text += ["  ".join(parts).rstrip() for parts in zip(*row, strict=True)] + [""]
    return "\n".join(text)
