"""Small graphs as planning tasks, a fact for each node, an action for each edge; and what the definitions say."""

from __future__ import annotations

import math
import random
import tempfile
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from planrank import Task, load

DOMAIN = """
(define (domain graph)
  (:requirements :typing :action-costs :disjunctive-preconditions)
  (:types node edge)
  (:predicates (at ?n - node) (link ?e - edge ?a ?b - node))
  (:functions (total-cost) - number (cost ?e - edge) - number)
  (:action go
    :parameters (?e - edge ?a ?b - node)
    :precondition (and (at ?a) (link ?e ?a ?b))
    :effect (and (not (at ?a)) (at ?b) (increase (total-cost) (cost ?e)))))
"""


@dataclass(frozen=True)
class Graph:
    """Edges are (from, to, cost); there may be several between two nodes, and loops."""

    edges: tuple[tuple[int, int, int], ...]
    start: int
    goals: frozenset[int]

    def problem(self) -> str:
        nodes = sorted({node for a, b, _ in self.edges for node in (a, b)} | {self.start} | self.goals)
        links = [f"(link e{e} n{a} n{b}) (= (cost e{e}) {cost})" for e, (a, b, cost) in enumerate(self.edges)]
        return f"""(define (problem p) (:domain graph)
          (:objects {" ".join(f"n{n}" for n in nodes)} - node {" ".join(f"e{e}" for e in range(len(links)))} - edge)
          (:init (at n{self.start}) (= (total-cost) 0) {" ".join(links)})
          (:goal (or {" ".join(f"(at n{n})" for n in sorted(self.goals))})) (:metric minimize (total-cost)))"""

    def task(self) -> Task:
        with tempfile.TemporaryDirectory() as folder:
            domain, problem = Path(folder, "domain.pddl"), Path(folder, "problem.pddl")
            domain.write_text(DOMAIN)
            problem.write_text(self.problem())
            return load(domain, problem)

    def children(self, node: int) -> list[tuple[int, int]]:
        """(child, cost) of every edge from a node."""
        return [(b, cost) for a, b, cost in self.edges if a == node]

    def step(self, a: int, b: int) -> str:
        """The cheapest action from a to b."""
        _, e = min((cost, e) for e, (start, end, cost) in enumerate(self.edges) if (start, end) == (a, b))
        return f"(go e{e} n{a} n{b})"

    def steps(self, path) -> list[str]:
        return [self.step(a, b) for a, b in pairwise(path)]

    def cost(self, path) -> int | None:
        """Of the cheapest edges along a path, None if there is no such path."""
        total = 0
        for a, b in pairwise(path):
            costs = [cost for child, cost in self.children(a) if child == b]
            if not costs:
                return None
            total += min(costs)
        return total

    def distances(self) -> dict[int, float]:
        """From the start, by relaxing every edge until nothing changes."""
        found = {self.start: 0}
        for _ in self.edges:
            for a, b, cost in self.edges:
                if a in found:
                    found[b] = min(found.get(b, math.inf), found[a] + cost)
        return found

    def optimal_cost(self) -> float:
        distances = self.distances()
        return min((distances.get(goal, math.inf) for goal in self.goals), default=math.inf)


def random_graph(rng: random.Random, costs=(0, 1, 2, 9)) -> Graph:
    """At most eight nodes; there is a plan, the start is no goal, and seldom next to one."""
    while True:
        nodes = rng.randint(4, 8)
        count = rng.randint(nodes, 3 * nodes)
        edges = [(rng.randrange(nodes), rng.randrange(nodes), rng.choice(costs)) for _ in range(count)]
        graph = Graph(tuple(edges), 0, frozenset(rng.sample(range(1, nodes), rng.choice((1, 1, 2)))))
        at_once = any(child in graph.goals for child, _ in graph.children(graph.start))
        if graph.optimal_cost() < math.inf and (not at_once or rng.random() < 0.2):
            return graph


class Nodes:
    """Which node a packed state of a graph's task stands for."""

    def __init__(self, task: Task):
        self.node_of_fact = np.array([int(name[len("(at n") : -1]) for name in task.names("facts")])

    def of(self, states: np.ndarray) -> np.ndarray:
        bits = np.unpackbits(np.ascontiguousarray(states).view(np.uint8), axis=1, bitorder="little")
        rows, facts = np.nonzero(bits)
        assert (rows == np.arange(len(states))).all()
        return self.node_of_fact[facts]


def open_lists(graph: Graph, path) -> list[dict[int, int]]:
    """O_1 … O_l of a search that expands only the path, each with g; straight from the definition."""
    open_list, lists, g = {}, [], 0
    for i, (state, following) in enumerate(pairwise(path)):
        for child, cost in graph.children(state):
            if child not in path[: i + 1]:
                open_list[child] = min(open_list.get(child, math.inf), g + cost)
        g += graph.cost((state, following))
        lists.append({s: cost for s, cost in open_list.items() if s != following})
        open_list.pop(following)
    return lists


class Table:
    """A heuristic that knows a value for every node; to planrank it is the scorer of a model."""

    def __init__(self, task: Task, values):
        self.nodes = Nodes(task)
        self.table = np.asarray(values, np.float32)

    def values(self, states: np.ndarray) -> np.ndarray:
        return self.table[self.nodes.of(states)]


def sequences(graph: Graph, h, alpha: float, beta: float, reopen: bool) -> set[tuple[int, ...]]:
    """The states that the textbook search takes, goal included, in every way of breaking ties."""
    found = set()
    begin = ({graph.start: 0}, frozenset({graph.start}) if h[graph.start] < math.inf else frozenset(), ())
    todo = [begin]
    while todo:
        g, open_list, taken = todo.pop()
        f = {s: alpha * g[s] + beta * h[s] for s in open_list}
        for s in open_list:
            if f[s] > min(f.values()):
                continue
            if s in graph.goals:
                found.add((*taken, s))
                continue
            new_g, new_open = dict(g), set(open_list) - {s}
            for child, cost in graph.children(s):
                reached = new_g[s] + cost
                closed = child in new_g and child not in new_open
                if h[child] == math.inf or (closed and not reopen) or reached >= new_g.get(child, math.inf):
                    continue
                new_g[child] = reached
                new_open.add(child)
            todo.append((new_g, frozenset(new_open), (*taken, s)))
        if not open_list:
            found.add(taken)
    return found


def is_optimal_path(graph: Graph, sequence) -> bool:
    return bool(sequence) and sequence[-1] in graph.goals and graph.cost(sequence) == graph.optimal_cost()


class EntryTable:
    """Knows q of every edge from every node, in parts: v of the node, and u of the edge; infinite is u alone."""

    def __init__(self, task: Task, of_node, of_edge):
        self.nodes = Nodes(task)
        self.of_node = np.asarray(of_node, np.float32)
        self.of_edge = np.asarray(of_edge, np.float32)
        self.edges = np.array([int(name.split()[1][1:]) for name in task.names("operators")])

    def values(self, states: np.ndarray) -> np.ndarray:
        return self.of_node[self.nodes.of(states)]

    def values_and_scores(self, states: np.ndarray, actions) -> tuple[np.ndarray, np.ndarray]:
        return self.values(states), self.of_edge[self.edges[actions.values]]

    def q(self, graph: Graph) -> list[float]:
        return [float(self.of_node[a] + self.of_edge[e]) for e, (a, _, _) in enumerate(graph.edges)]


def entry_sequences(graph: Graph, q, alpha: float, beta: float, reopen: bool) -> set[tuple[tuple[int, int], ...]]:
    """The states that the textbook search over entries takes, each with its cost, in every way of breaking ties.

    A state is open while none of its entries was taken; when it is reached at a lower cost, then all are open again.
    """
    out = {n: frozenset(e for e, edge in enumerate(graph.edges) if edge[0] == n and q[e] < math.inf) for n in range(8)}
    found, seen = set(), set()
    begin = ({graph.start: 0}, out[graph.start], frozenset({graph.start}), ((graph.start, 0),))
    todo = [begin]
    while todo:
        g, entries, untouched, taken = todo.pop()
        if (key := (entries, untouched, taken)) in seen:
            continue
        seen.add(key)
        if not entries:
            found.add(taken)
        f = {e: alpha * (g[graph.edges[e][0]] + graph.edges[e][2]) + beta * q[e] for e in entries}
        for e in entries:
            if f[e] > min(f.values()):
                continue
            state, child, cost = graph.edges[e]
            reached = g[state] + cost
            new = (g, entries - {e}, untouched - {state}, taken)
            may_change = child not in g or (bool(out[child]) and (reopen or child in new[2]))
            if reached < g.get(child, math.inf) and may_change:
                new = ({**g, child: reached}, new[1] | out[child], new[2] | {child}, (*taken, (child, reached)))
                if child in graph.goals:
                    found.add(new[3])
                    continue
            todo.append(new)
    return found


def is_optimal_entry_path(graph: Graph, sequence) -> bool:
    """The states one after the other, at the costs that they have on this path."""
    nodes = [node for node, _ in sequence]
    costs = [graph.cost(nodes[: i + 1]) for i in range(len(nodes))]
    return is_optimal_path(graph, nodes) and costs == [g for _, g in sequence]


def reduced(terms: list, reduction: str, steps: list[int] | None = None, length: int = 1):
    """The terms of a sum made one number; `steps` says to which of `length` steps each belongs, if to one."""
    if reduction == "sum":
        return sum(terms)
    if reduction == "mean" or steps is None:
        return sum(terms) / len(terms)
    own = Counter(steps)
    return sum(term / own[step] for term, step in zip(terms, steps, strict=True)) / length
