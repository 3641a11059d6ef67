"""The distinct parts of some states' hypergraphs, as flat arrays from Julia: what the network computes, each once.

Parts are vertices, edges and bags (of messages that arrive at a vertex through one relation), numbered from 1 in every
layer; 0 stands for nothing, a row of zeros.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from planrank import julia
from planrank.errors import PlanrankError
from planrank.limits import Limits
from planrank.models.family import ScoredActions
from planrank.models.hypergraph.architecture import Architecture
from planrank.task import Rows, Task

FORMAT = 2  # of the flat vector that `take_new!` in julia/hypergraph/parts_format.jl describes


@dataclass
class EdgeGroup:
    """New edges of one type. `features` are numbers of rows of `Parts.features`; `tails` has a column for each fact of
    the tails, and `slots` says which literal each column belongs to where some literal has several."""

    kind: int
    ids: np.ndarray
    features: np.ndarray
    tails: np.ndarray
    slots: np.ndarray | None


@dataclass
class VertexGroup:
    """New vertices of one predicate: which vertex of the layer before each was, and its bags, a column for each."""

    kind: int
    ids: np.ndarray
    before: np.ndarray
    bags: np.ndarray


@dataclass
class Multisets:
    """Rows of varying length: row i has `lengths[i]` of `ids`, each so often as `counts` says."""

    lengths: np.ndarray
    ids: np.ndarray
    counts: np.ndarray

    def only(self, chosen: np.ndarray) -> Multisets:
        """The same rows with those `ids` alone that are chosen."""
        rows = np.repeat(np.arange(len(self.lengths)), self.lengths)[chosen]
        lengths = np.bincount(rows, minlength=len(self.lengths)).astype(self.lengths.dtype)
        return Multisets(lengths, self.ids[chosen], self.counts[chosen])


@dataclass
class Actions:
    """The new ones, as groups like those of edges, with the facts that they need, add and delete for tails; and which
    of all are scored in each state. Score i is that of action `ids[i]` in state `states[i]`."""

    groups: list[EdgeGroup]
    ids: np.ndarray
    states: np.ndarray
    scored: ScoredActions


@dataclass
class Layer:
    edges: list[EdgeGroup]
    bags: Multisets  # of edges
    vertices: list[VertexGroup]


@dataclass
class Parts:
    """What is new in some states. `readout` has a row for each state and predicate, of vertices in the last layer."""

    flags: np.ndarray  # of the vertices before the first layer
    features: np.ndarray
    layers: list[Layer]
    readout: Multisets
    actions: Actions


class Layouts:
    """How the tails of edges stand in columns: of each layout its type of edge and the literal of each column."""

    def __init__(self, kinds: np.ndarray, offsets: np.ndarray, slots: np.ndarray):
        self.arrays = {"layout_kinds": kinds, "layout_offsets": offsets, "layout_slots": slots}
        self.kinds = kinds.tolist()
        rows = [slots[a:b] for a, b in pairwise(offsets.tolist())]
        self.slots = [row if len(set(row.tolist())) < len(row) else None for row in rows]


class PartsFinder:
    """Finds the distinct parts of states; what it has met before is not handed out again."""

    def __init__(self, task: Task, shape: Architecture, limits: Limits | None = None):
        self.shape = shape
        self.limits = limits or Limits()
        self.handle = julia.call("new_distinct_parts", task.handle, shape.layers, shape.residual, shape.receivers)
        self.views: dict[int, tuple[Task, object]] = {}
        self.layouts = Layouts(np.empty(0, np.int32), np.zeros(1, np.int32), np.empty(0, np.int32))

    def add(self, task: Task, states: np.ndarray, actions: Rows | None = None) -> None:
        """Look at states of a task, a row each; several tasks of one domain may be mixed.

        `actions` are the operators of each state that a network that scores actions is to score.
        """
        states = np.ascontiguousarray(states, np.uint64)
        view, asked = self.view_of(task), (states.ctypes.data, len(states))
        if actions is None:
            julia.call_long("find_parts", view, *asked)
        else:
            offsets, operators = (np.ascontiguousarray(part, np.int32) for part in (actions.offsets, actions.values))
            rows = (offsets.ctypes.data, operators.ctypes.data, len(operators))
            julia.call_long("find_parts_and_actions", view, *asked, *rows)

    def view_of(self, task: Task) -> object:
        """What Julia knows of the task's states."""
        if id(task) not in self.views:
            limits = (self.limits.deadline, self.limits.memory)
            seen = (self.shape.scores_actions, self.shape.distances, self.shape.relaxed)
            view = julia.call_long("new_parts_of_state", self.handle, task.handle, *seen, *limits)
            self.views[id(task)] = (task, view)
            self.layouts = Layouts(*(julia.view(a).copy() for a in julia.call("distinct_layouts", self.handle)))
        return self.views[id(task)][1]

    def take_flat(self) -> tuple[np.ndarray, np.ndarray]:
        """All that is new since the last call, as Julia wrote it: `read_parts` reads it."""
        numbers, features = julia.call("take_new", self.handle)
        return julia.view(numbers), julia.view(features)

    def take(self) -> Parts:
        return read_parts(*self.take_flat(), self.layouts, self.shape.layers)


def read_parts(numbers: np.ndarray, features: np.ndarray, layouts: Layouts, layer_count: int) -> Parts:
    reader = Reader(numbers)
    if (found := reader.number()) != FORMAT:
        raise PlanrankError(f"distinct parts are of format {found}, expected {FORMAT}", "internal")
    flags = reader.take(reader.number())

    def edge_groups() -> list[EdgeGroup]:
        return [
            EdgeGroup(layouts.kinds[layout], ids, own, columns, layouts.slots[layout])
            for layout, ids, own, columns in reader.groups()
        ]

    layers = []
    for _ in range(layer_count):
        edges = edge_groups()
        count, total = reader.number(), reader.number()
        bags = Multisets(reader.take(count), reader.take(total), reader.take(total))
        layers.append(Layer(edges, bags, [VertexGroup(*group) for group in reader.groups()]))
    readout, groups, (lengths, ids, counts) = Multisets(*reader.lists()), edge_groups(), reader.lists()
    states = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    scored = ScoredActions(lengths, counts, reader.take(reader.number()))
    return Parts(flags, features.reshape(-1, 3), layers, readout, Actions(groups, ids, states, scored))


class Reader:
    """Takes pieces off the front of a flat vector."""

    def __init__(self, numbers: np.ndarray):
        self.numbers = numbers
        self.one_by_one = numbers.data  # gives single numbers faster than the array
        self.at = 0

    def number(self) -> int:
        self.at += 1
        return self.one_by_one[self.at - 1]

    def take(self, count: int) -> np.ndarray:
        self.at += count
        return self.numbers[self.at - count : self.at]

    def groups(self) -> list[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
        """Kind, numbers, the one number of its own that each has, and its columns."""
        found = []
        for _ in range(self.number()):
            kind, count, width = self.number(), self.number(), self.number()
            ids, own = self.take(count), self.take(count)
            found.append((kind, ids, own, self.take(count * width).reshape(count, width)))
        return found

    def lists(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        lengths = self.take(self.number())
        total = self.number()
        return lengths, self.take(total), self.take(total)
