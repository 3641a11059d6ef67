"""States of a task as images, by a view: a constant and some entries for each fact, in any of eight orientations."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from planrank.atoms import Atoms
from planrank.errors import PlanrankError
from planrank.models.grid.view import CELL, TARGET, View
from planrank.task import Rows, Task

TURNS = 8  # as it is, turned by quarters, and the same mirrored


def turned(turn: int, rows: np.ndarray, columns: np.ndarray, height: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates after the first bit of `turn` mirrors rows, the second columns, and the third swaps the two."""
    if turn & 1:
        rows = height - 1 - rows
    if turn & 2:
        columns = width - 1 - columns
    return (columns, rows) if turn & 4 else (rows, columns)


@dataclass(frozen=True)
class Images:
    """What is needed to make images of a task's states in one orientation; pixels are numbered row by row, and the
    planes of a pixel lie side by side."""

    height: int
    width: int
    constant: np.ndarray  # float32 (pixels · planes,)
    entries: Rows  # of each fact: where it adds …
    numbers: np.ndarray  # … float32, and how much
    cells: np.ndarray  # int32 (operators, most places of an action): pixels of the places of each operator, or -1
    agent: np.ndarray  # int32 (facts,): the pixel of the agent if the fact says where it is, else -1
    links: np.ndarray  # int64 (2, links): pixels, and those they are linked to

    @property
    def size(self) -> int:
        return len(self.constant)

    @cached_property
    def visible(self) -> np.ndarray:
        """The facts that add anything."""
        return np.flatnonzero(np.diff(self.entries.offsets))

    def sparse(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What packed states add to the constant: numbers of states, places in their images, and how much."""
        bits = np.unpackbits(states.view(np.uint8), axis=1, bitorder="little")
        state, column = np.nonzero(bits[:, self.visible])
        first = self.entries.offsets[self.visible[column]]
        count = self.entries.offsets[self.visible[column] + 1] - first
        where = np.repeat(first - np.cumsum(count) + count, count) + np.arange(count.sum())
        return np.repeat(state, count), self.entries.values[where], self.numbers[where]

    def dense(self, states: np.ndarray) -> np.ndarray:
        """Images of packed states: (states, height, width, planes)."""
        found = np.tile(self.constant, len(states))
        state, index, number = self.sparse(states)
        np.add.at(found, state * self.size + index, number)
        return found.reshape(len(states), self.height, self.width, -1)

    def agents(self, states: np.ndarray) -> np.ndarray:
        """The pixel of the agent in each state."""
        known = np.flatnonzero(self.agent >= 0)
        bits = np.unpackbits(states.view(np.uint8), axis=1, bitorder="little")[:, known]
        if not (bits.sum(axis=1) == 1).all():
            raise PlanrankError("there is not exactly one agent in every state, as a network with cell readout needs")
        return self.agent[known[bits.argmax(axis=1)]]


class Painter:
    """Makes `Images` of a task in any orientation. With `fixed` only planes that are the same in all states."""

    def __init__(self, task: Task, view: View, fixed: bool = False):
        atoms = Atoms(task)
        self.task, self.planes = task, [plane for plane in view.planes if not (fixed and plane.changes)]
        self.places = view.places.of(atoms.objects)
        self.height = 1 + max(r for r, _ in self.places.values())
        self.width = 1 + max(c for _, c in self.places.values())
        self.raw: list[tuple[int, int, int, int, int, int]] = []  # number of [[planes]], fact, cell, target
        for number, plane in enumerate(self.planes):
            if not plane.patterns:
                self.raw += [(number, -1, *at, *at) for at in self.places.values()]
            for fact, binding in atoms.matches(plane.patterns) if plane.patterns else ():
                at = self.places.get(binding[CELL])
                to = self.places.get(binding[TARGET]) if plane.displacement else at
                if at is not None and to is not None:
                    self.raw.append((number, fact, *at, *to))
        self.agent = []
        if view.agent is not None:
            found = [(fact, binding[CELL]) for fact, binding in atoms.matches({"state": view.agent})]
            self.agent = [(fact, *self.places[name]) for fact, name in found if name in self.places]
        self.links = []
        if view.links is not None:
            pairs = [(binding[CELL], binding[TARGET]) for _, binding in atoms.matches({"static": view.links})]
            self.links = [(*self.places[a], *self.places[b]) for a, b in pairs if {a, b} <= self.places.keys()]
        self.operator_places = places_of_operators(task, view, [self.places.get(name) for name in atoms.objects])

    def images(self, turn: int = 0) -> Images:
        height, width = (self.width, self.height) if turn & 4 else (self.height, self.width)

        def pixels(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
            r, c = turned(turn, rows, columns, self.height, self.width)
            return r * width + c

        raw = np.array(self.raw, np.int64).reshape(-1, 6)
        total = sum(plane.count for plane in self.planes)
        facts, places, numbers = [], [], []
        first = 0
        for number, plane in enumerate(self.planes):
            of, fact, r, c, to_r, to_c = raw[raw[:, 0] == number].T
            pixel = pixels(r, c) * total + first
            columns = [(np.zeros(len(of), np.int64), np.ones(len(of)))]
            if plane.displacement:
                a, b = turned(turn, r, c, self.height, self.width), turned(turn, to_r, to_c, self.height, self.width)
                columns = displaced(b[0] - a[0], b[1] - a[1], plane.displacement, plane.one_hot)
            for offset, value in columns:
                facts.append(fact)
                places.append(pixel + offset)
                numbers.append(value)
            first += plane.count
        fact, place = np.concatenate(facts), np.concatenate(places)
        value = np.concatenate(numbers).astype(np.float32)
        constant = np.zeros(height * width * total, np.float32)
        np.add.at(constant, place[fact < 0], value[fact < 0])
        moving = (fact >= 0) & (value != 0)
        order = np.argsort(fact[moving], kind="stable")
        offsets = np.searchsorted(fact[moving][order], np.arange(self.task.fact_count + 1))
        agent = np.full(self.task.fact_count, -1, np.int32)
        if self.agent:
            known = np.array(self.agent)
            agent[known[:, 0]] = pixels(known[:, 1], known[:, 2])
        at = self.operator_places
        cells = np.where(at[:, :, 0] < 0, -1, pixels(at[:, :, 0], at[:, :, 1])).astype(np.int32)
        rows = Rows(offsets, place[moving][order])
        linked = np.array(self.links, np.int64).reshape(-1, 4).T
        links = np.stack([pixels(linked[0], linked[1]), pixels(linked[2], linked[3])])
        return Images(height, width, constant, rows, value[moving][order], cells, agent, links)


def displaced(
    rows: np.ndarray, columns: np.ndarray, unit: float, most: int | None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Places among the planes of a displacement, and the numbers there."""
    zero, ones = np.zeros(len(rows), np.int64), np.ones(len(rows))
    found = [(zero, rows / unit), (zero + 1, columns / unit)]
    if most is not None:
        found.append((2 + np.clip(rows, -most, most) + most, ones))
        found.append((3 + 2 * most + np.clip(columns, -most, most) + most, ones))
    return found


def places_of_operators(task: Task, view: View, at: list[tuple[int, int] | None]) -> np.ndarray:
    """(operators, most places of an action, 2): row and column of the places each operator names, -1 where none is."""
    most = max((len(numbers) for numbers in view.actions.values()), default=0)
    found = np.full((task.operator_count, max(1, most), 2), -1, np.int64)
    coordinates = np.array([(-1, -1) if one is None else one for one in at], np.int64).reshape(-1, 2)
    offsets, objects = task.operator_arguments.offsets, task.operator_arguments.values
    for schema, name in enumerate(task.names("schemas")):
        operators = np.flatnonzero(task.schema_of_operator == schema)
        for column, parameter in enumerate(view.actions[name]):
            found[operators, column] = coordinates[objects[offsets[operators] + parameter]]
    for schema, name in enumerate(task.names("schemas")):
        used = found[task.schema_of_operator == schema, : len(view.actions[name])]
        if (used < 0).any():
            message = f"an action {name} names an object that is no place, expected places as {view.places.text!r}"
            raise PlanrankError(message, file=str(view.file))
    return found


def kinds_of_operators(task: Task) -> np.ndarray:
    """The number of each operator's action, as the names of the actions are sorted."""
    names = sorted({words[0] for words in task.declared[1]})
    kinds = np.array([names.index(name) for name in task.names("schemas")], np.int32)
    return kinds[task.schema_of_operator]
