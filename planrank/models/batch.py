"""States as a deduplicated network input: the distinct computations of each layer, as flat arrays from Julia."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from planrank import julia
from planrank.models.architecture import Architecture
from planrank.task import Task


@dataclass
class Group:
    """New classes of one kind. Edges: `own` are their features, `inputs` the classes of their tails, a column for each
    fact, `slots` the literal of each column if some literal has several. Vertices: `own` is their class in the layer
    before, `inputs` their bags."""

    kind: int
    ids: np.ndarray
    own: np.ndarray
    inputs: np.ndarray
    slots: np.ndarray | None = None


@dataclass
class Lists:
    """Rows of varying length: row i has `lengths[i]` of `ids`, each with its entry of `more`."""

    lengths: np.ndarray
    ids: np.ndarray
    more: np.ndarray


@dataclass
class Layer:
    edges: list[Group]
    bags: Lists
    vertices: list[Group]


@dataclass
class Batch:
    """What is new in some states. Classes of each layer are numbered from 1; 0 stands for nothing, a row of zeros.

    `readout` has a row for each state and predicate: classes of its vertices and how many are of each. `actions` has a
    row for each state: the applicable operators, and the classes of their edges in the last layer.
    """

    flags: np.ndarray
    features: np.ndarray
    layers: list[Layer]
    readout: Lists
    actions: Lists


class Classifier:
    """Finds the classes of states; what it has met before is not handed out again."""

    def __init__(self, task: Task, shape: Architecture):
        self.shape = shape
        self.handle = julia.call("new_classifier", task.handle, shape.layers, shape.residual, shape.deletes)
        self.cursors: dict[int, tuple[Task, object]] = {}
        self.layouts = Layouts(np.empty(0, np.int32), np.zeros(1, np.int32), np.empty(0, np.int32))

    def add(self, task: Task, states: np.ndarray) -> None:
        """Look at states of a task, a row each; several tasks of one domain may be mixed."""
        if id(task) not in self.cursors:
            cursor = julia.call("new_cursor", self.handle, task.handle, self.shape.policy)
            self.cursors[id(task)] = (task, cursor)
            self.layouts = Layouts(*(julia.view(a).copy() for a in julia.call("classifier_layouts", self.handle)))
        states = np.ascontiguousarray(states, np.uint64)
        julia.call("classify_states", self.cursors[id(task)][1], states.ctypes.data, len(states))

    def take_flat(self) -> tuple[np.ndarray, np.ndarray]:
        """All that is new since the last call, as Julia wrote it: `read_batch` reads it."""
        numbers, features = julia.call("take_new", self.handle)
        return julia.view(numbers), julia.view(features)

    def take(self) -> Batch:
        return read_batch(*self.take_flat(), self.layouts, self.shape.layers)


class Layouts:
    """How the tails of edges stand in columns: of each its kind of edge and the literal of each column."""

    def __init__(self, kinds: np.ndarray, offsets: np.ndarray, slots: np.ndarray):
        self.arrays = (kinds, offsets, slots)
        self.kinds = kinds.tolist()
        rows = [slots[a:b] for a, b in pairwise(offsets.tolist())]
        self.slots = [row if len(set(row.tolist())) < len(row) else None for row in rows]


def read_batch(numbers: np.ndarray, features: np.ndarray, layouts: Layouts, layer_count: int) -> Batch:
    """What `take_new!` in julia/deduplicate.jl wrote."""
    reader = Reader(numbers)
    flags = reader.take(reader.number())
    layers = []
    for _ in range(layer_count):
        edges = reader.groups()
        for group in edges:
            group.kind, group.slots = layouts.kinds[group.kind], layouts.slots[group.kind]
        count, total = reader.number(), reader.number()
        bags = Lists(reader.take(count), reader.take(total), reader.take(total))
        layers.append(Layer(edges, bags, reader.groups()))
    return Batch(flags, features.reshape(-1, 3), layers, reader.lists(), reader.lists())


class Reader:
    """Takes pieces off the front of a flat vector."""

    def __init__(self, numbers: np.ndarray):
        self.numbers = numbers
        self.at = 0

    def number(self) -> int:
        self.at += 1
        return int(self.numbers[self.at - 1])

    def take(self, count: int) -> np.ndarray:
        self.at += count
        return self.numbers[self.at - count : self.at]

    def groups(self) -> list[Group]:
        found = []
        for _ in range(self.number()):
            kind, count, width = self.number(), self.number(), self.number()
            ids, own = self.take(count), self.take(count)
            found.append(Group(kind, ids, own, self.take(count * width).reshape(count, width)))
        return found

    def lists(self) -> Lists:
        lengths = self.take(self.number())
        total = self.number()
        return Lists(lengths, self.take(total), self.take(total))
