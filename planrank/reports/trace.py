"""Follows a search to see which states it expands, in which order, and how they hang together."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from planrank import julia
from planrank.learning.certificate import Score, insert
from planrank.limits import Limits
from planrank.search.forward import Search


@dataclass
class Node:
    """A state that the search expanded, or the goal. `parent` is its place in the list of nodes."""

    state: np.ndarray | None
    parent: int | None
    step: str
    h: float | None  # of the state, or of the action that led to it where actions are ranked
    g: float
    open: int = 0  # how many states, or actions not yet taken, were open when it was expanded


@dataclass
class Trace:
    """`ended`: the nodes are all that the search took, up to the goal or until nothing was left."""

    nodes: list[Node] = field(default_factory=list)
    ended: bool = False


def record(search: Search, score: Score, merit: tuple[float, float], most: int, limits: Limits) -> Trace:
    """Let the search expand at most so many states and write them down; it can be driven on afterwards."""
    kind = EntryRecorder if search.ranks_actions else StateRecorder
    return kind(search, score, merit).record(most, limits)


class Recorder:
    """`place` has the place in `nodes` of the search's own numbers."""

    def __init__(self, search: Search, score: Score, merit: tuple[float, float]):
        self.search, self.task, self.score = search, search.task, score
        self.alpha, self.beta = merit
        self.trace = Trace()
        self.place: dict[int, int] = {}
        self.cost_of: dict[str, float] | None = None

    def record(self, most: int, limits: Limits) -> Trace:
        states = self.search.expand(1)
        self.meet(0, states)
        while self.search.status == "running":
            if len(states):
                insert(self.search, states, self.score)
            full = len(self.trace.nodes) >= most or julia.resident_bytes() > limits.memory
            if full or limits.seconds_left() <= 0:
                break
            node, waiting = julia.call("take_best", self.search.handle)
            states = np.empty((0, self.task.words), np.uint64)
            if waiting:
                states = julia.view(julia.call("new_words", self.search.handle)).reshape(waiting, -1).copy()
            if node:
                self.meet(node, states)
        self.trace.ended = self.search.status in ("solved", "exhausted")
        return self.trace

    def meet(self, node: int, states: np.ndarray) -> None:
        """The search took this node, and these states are new."""
        raise NotImplementedError

    def add(self, node: int, made: Node) -> None:
        self.place[node] = len(self.trace.nodes)
        self.trace.nodes.append(made)

    def step(self, before: int, node: int) -> tuple[str, float]:
        """The action that leads from one node to another, and its cost."""
        name = julia.call("joining_step", self.search.handle, before, node)
        if self.cost_of is None:
            self.cost_of = dict(zip(self.task.names("operators"), self.task.costs.tolist(), strict=True))
        return name, self.cost_of.get(name, 0.0)


class StateRecorder(Recorder):
    """Where states are ranked a node that is taken makes its successors, whose number the search counts on."""

    def __init__(self, search: Search, score: Score, merit: tuple[float, float]):
        super().__init__(search, score, merit)
        self.made_by: dict[int, int] = {}
        self.states: dict[int, np.ndarray] = {}

    def meet(self, node: int, states: np.ndarray) -> None:
        for state in states:
            new = len(self.states) + 1
            self.states[new], self.made_by[new] = state, node
        if node == 0 or node in self.place:  # nothing was taken yet; or once more, by a cheaper path
            return
        before = self.made_by[node]
        parent = self.place.get(before)
        step, cost = self.step(before, node) if before else ("", 0.0)
        h = float(self.score(self.states[node][None], None)[0])
        counted = self.search.statistics()
        still_open = counted.states - counted.expanded + counted.reopened - counted.dead_ends
        g = 0.0 if parent is None else self.trace.nodes[parent].g + cost
        self.add(node, Node(self.states[node], parent, step, h, g, still_open))


class EntryRecorder(Recorder):
    """Where actions are ranked a node is taken when an action that leads to it is; the search does not say which."""

    def __init__(self, search: Search, score: Score, merit: tuple[float, float]):
        super().__init__(search, score, merit)
        self.entries: dict[int, dict[str, float]] = {}  # of a node: q of its actions
        self.names = self.task.names("operators")
        self.made = 0

    def meet(self, node: int, states: np.ndarray) -> None:
        node = node or 1
        if node in self.place:
            return
        parent, step, h, g = self.origin(node)
        counted = self.search.statistics()
        state = states[0] if len(states) else None
        self.add(node, Node(state, parent, step, h, g, self.made - counted.generated))
        if state is not None:
            actions = self.search.applicable()
            values = self.score(states, actions).tolist()
            self.made += len(values)
            self.entries[node] = {self.names[a]: q for a, q in zip(actions.values.tolist(), values, strict=True)}

    def origin(self, node: int) -> tuple[int | None, str, float | None, float]:
        """Of all actions that lead to it from states met before, the one that the search liked best."""
        best: tuple[float, int | None, str, float | None, float] | None = None
        for before, q_of in self.entries.items():
            step, cost = self.step(before, node)
            if step not in q_of:
                continue
            g = self.trace.nodes[self.place[before]].g + cost
            f = self.alpha * g + self.beta * q_of[step]
            if best is None or f < best[0]:
                best = (f, self.place[before], step, q_of[step], g)
        return best[1:] if best else (None, "", None, 0.0)
