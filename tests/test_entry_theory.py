"""The definition of a perfect ranking and its theorem where actions are ranked, tried on the search that users run."""

from __future__ import annotations

import dataclasses
import math
import random

import numpy as np
import pytest
from graphs import EntryTable, Graph, entry_sequences, is_optimal_entry_path, random_graph
from test_ranking import any_path
from test_theory import WAYS

from planrank import Search, julia
from planrank.learning.certificate import certify, check_plan, merit, score_of

SEARCHES = [("astar", 1), ("gbfs", 1), ("wastar", 2), ("wastar", 0.5)]


def taken(task, table: EntryTable, search: str, **options) -> tuple[tuple[int, ...], int]:
    """The nodes that the real search takes, in order, the first and the goal included; how many are evaluated."""
    forward = Search(task, search, rank="actions", **options)
    node_of_id, order = [], [1]
    states = forward.expand(1)
    while forward.status == "running":
        if len(states):
            node_of_id += table.nodes.of(states).tolist()
            values, scores = table.values_and_scores(states, actions := forward.applicable())
            forward.insert_actions(np.repeat(values, np.diff(actions.offsets)) + scores)
        number, waiting = julia.call("take_best", forward.handle)
        order += [number] if number else []
        states = julia.view(julia.call("new_words", forward.handle)).reshape(waiting, -1) if waiting else states[:0]
    node_of_id += table.nodes.of(states).tolist()
    return tuple(node_of_id[number - 1] for number in order), forward.statistics().evaluated


def counters(task, table: EntryTable, search: str, **options):
    """As users run it."""
    forward = Search(task, search, rank="actions", **options)
    while forward.step(table):
        pass
    return forward.statistics()


def cost_to_goal(graph: Graph) -> list[float]:
    backwards = Graph(tuple((b, a, cost) for a, b, cost in graph.edges), -1, frozenset())
    each = [dataclasses.replace(backwards, start=goal).distances() for goal in graph.goals]
    return [min(distances.get(node, 9) for distances in each) for node in range(8)]


def random_table(task, graph: Graph, rng: random.Random) -> EntryTable:
    """By chance with many ties, by chance without, near the cost to the goal, with actions that lead nowhere."""
    to_goal, kind = cost_to_goal(graph), rng.randrange(5)
    of_node = [rng.randint(-3, 3) for _ in range(8)]

    def q(child: int) -> float:
        if kind == 0:
            return rng.randint(0, 3)
        if kind == 1:
            return rng.gauss(0, 3)
        if kind == 2:
            return to_goal[child] + rng.choice((0, 0, 1))
        if kind == 3:
            return 3 * to_goal[child] + rng.randint(-2, 2)
        return math.inf if rng.random() < 0.2 else 2 * to_goal[child] + rng.randint(0, 1)

    return EntryTable(task, of_node, [q(b) - of_node[a] for a, b, _ in graph.edges])


@pytest.mark.parametrize("search, weight", SEARCHES)
def test_perfect_means_one_optimal_path_however_ties_are_broken(search, weight):
    """The theorem: the states in the order they are taken, with their costs."""
    rng = random.Random(f"{search} {weight}")
    alpha, beta = merit(search, weight)
    verdicts, lucky, steps = {True: 0, False: 0}, 0, 0
    for _ in range(150):
        graph = random_graph(rng)
        task = graph.task()
        for _ in range(6):
            table = random_table(task, graph, rng)
            q = table.q(graph)
            every_way = entry_sequences(graph, q, alpha, beta, reopen=search != "gbfs")
            perfect = len(every_way) == 1 and is_optimal_entry_path(graph, *every_way)
            found = certify(task, table, search, rank="actions", weight=weight)
            assert found.perfect is perfect, (graph, q)
            real = [taken(task, table, search, weight=weight, **way) for way in WAYS]
            assert {nodes for nodes, _ in real} <= {tuple(node for node, _ in way) for way in every_way}, (graph, q)
            assert found.expanded == counters(task, table, search, weight=weight).expanded
            if perfect:
                length = len(found.check.steps)
                assert {evaluated for _, evaluated in real} == {length} == {found.expanded}
                assert {len(nodes) for nodes, _ in real} == {length + 1}
                steps = max(steps, length)
            else:
                assert found.check.violations or found.check.dead_ends
                lucky += any(is_optimal_entry_path(graph, way) for way in every_way)
            # Asked for one plan, the answer is yes just for the path that is taken.
            path = tuple(any_path(graph, rng))
            for_plan = certify(task, table, search, rank="actions", weight=weight, plan=graph.steps(path))
            assert for_plan.perfect is (perfect and [node for node, _ in next(iter(every_way))] == [*path])
            verdicts[perfect] += 1
    print(verdicts, lucky, steps)
    assert sum(verdicts.values()) == 900 and min(verdicts.values()) > 100 and lucky > 10 and steps >= 4
