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
from planrank.learning.ranking import entry_ranking_of_plan
from planrank.models.family import ScoredActions

julia.module()  # before torch

import torch  # noqa: E402

from planrank.learning.entry_losses import EntryTables, entry_loss, entry_violations  # noqa: E402

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
    assert sum(verdicts.values()) == 900 and min(verdicts.values()) > 100 and lucky > 10 and steps >= 4


def table_of_q(graph: Graph, q) -> tuple:
    task = graph.task()
    return task, EntryTable(task, np.zeros(8), q)


def test_any_entry_that_leads_to_the_next_state_at_its_cost_will_do():
    """An earlier one, dearer than the step before it, may be cheaper than the plan's own: the same states are taken.

    The search takes 1 and then 2, to which it comes from 0; the plan 0 1 2 4 goes there from 1, by an action of more f.
    """
    graph = Graph(((0, 1, 1), (1, 2, 1), (0, 2, 2), (0, 3, 1), (2, 4, 1)), 0, frozenset({4}))
    q = [-1, 3, -1, 2, -3]
    task, table = table_of_q(graph, q)
    assert entry_sequences(graph, q, 1, 1, reopen=True) == {((0, 0), (1, 1), (2, 2), (4, 3))}
    found = certify(task, table, rank="actions")
    assert found.perfect and found.check.steps == graph.steps([0, 1, 2, 4]) and found.expanded == 3
    task, table = table_of_q(graph, [-1, 3, 2, 2, -3])
    found = certify(task, table, rank="actions", plan=graph.steps([0, 1, 2, 4]))
    (wrong,) = found.check.violations
    assert not found.perfect and (wrong.step, wrong.f, wrong.other_f, wrong.other_step) == (2, 4, 3, None)
    assert (wrong.other_action, wrong.other_after) == ("(go e3 n0 n3)", 0)
    assert table.nodes.of(np.array([wrong.state, wrong.other])).tolist() == [1, 0]


def test_the_way_back_at_no_cost_is_no_way_there():
    """It leads to a state of the plan at that state's cost, but it is not yet in the open list."""
    graph = Graph(((0, 1, 1), (0, 2, 1), (1, 3, 0), (3, 1, 0), (3, 4, 1)), 0, frozenset({4}))
    task, table = table_of_q(graph, [5, 4, 0, -9, 0])
    found = certify(task, table, rank="actions")
    assert not found.perfect and [(v.step, v.f, v.other_f) for v in found.check.violations] == [(1, 6, 5)]


def test_a_dearer_way_to_the_next_state_and_one_past_it_are_compared():
    graph = Graph(((0, 1, 1), (0, 1, 2), (1, 2, 1), (0, 2, 9)), 0, frozenset({2}))
    task, table = table_of_q(graph, [1, 1, 1, 1])
    found = certify(task, table, "gbfs", rank="actions")
    wrong = {(v.step, v.other_action, v.other_step) for v in found.check.violations}
    assert wrong == {(1, "(go e1 n0 n1)", 1), (1, "(go e3 n0 n2)", 2), (2, "(go e3 n0 n2)", 2)}
    assert found.check.pairs == 3 and certify(task, table, "wastar", rank="actions", weight=0.5).perfect


def parts_of(table: EntryTable, task, graph: Graph, path):
    """What the losses are given: each action has a score of its own."""
    ranking = entry_ranking_of_plan(task, graph.steps(path))
    actions = ranking.actions
    lengths = np.diff(actions.offsets)
    scored = ScoredActions(lengths, np.ones(len(actions.values), int), np.arange(len(actions.values)))
    return EntryTables(ranking, scored, torch.float64), table.nodes.of(ranking.states), table.edges[actions.values]


def off_the_plan(check) -> int:
    return sum(violation.other_step is None for violation in check.violations)


@pytest.mark.parametrize("search, weight", SEARCHES)
def test_violations_are_those_of_the_losses(search, weight):
    """Which leave out entries that lead to states of the plan, and know no other way to its next state."""
    rng = random.Random(f"losses {search} {weight}")
    alpha, beta = merit(search, weight)
    same = other_way = 0
    for _ in range(80):
        graph = random_graph(rng, costs=(0, 1))
        task, path = graph.task(), any_path(graph, rng)
        g = [graph.cost(path[: i + 1]) for i in range(len(path))]
        ways = [
            sum((a, b, g[i] - g[j]) == edge for j, a in enumerate(path[:i]) for edge in graph.edges)
            for i, b in enumerate(path)
        ]
        for _ in range(5):
            table = random_table(task, graph, rng)
            tables, nodes, edges = parts_of(table, task, graph, path)
            parts = (torch.from_numpy(x.astype(float)) for x in (table.of_node[nodes], table.of_edge[edges]))
            violated, _ = entry_violations(*parts, tables, alpha, beta)
            check = check_plan(task, graph.steps(path), score_of(table), alpha, beta, rank="actions")
            if max(ways) == 1:
                assert violated == off_the_plan(check), (graph, path)
                same += violated > 0
            else:
                assert violated >= off_the_plan(check)
                other_way += violated > off_the_plan(check)
    assert same > 50 and other_way > 0


def test_lstar_can_be_driven_to_no_violations():
    """The certificate then finds none but with states of the plan, and where there are none of these, it is perfect."""
    rng = random.Random(8)
    perfect = 0
    for _ in range(30):
        graph = random_graph(rng)
        task = graph.task()
        table = EntryTable(task, np.zeros(8), np.zeros(len(graph.edges)))
        steps = certify(task, table, rank="actions").check.steps
        path = [graph.start, *(int(step.split()[-1][1:-1]) for step in steps)]
        tables, nodes, edges = parts_of(table, task, graph, path)
        of_node, of_edge = (torch.zeros(n, dtype=torch.float64, requires_grad=True) for n in (8, len(graph.edges)))
        optimizer = torch.optim.Adam([of_node, of_edge], lr=0.3)
        for _ in range(300):
            if entry_violations(of_node[nodes], of_edge[edges], tables, 1, 1)[0] == 0:
                break
            optimizer.zero_grad()
            entry_loss("lstar", of_node[nodes], of_edge[edges], tables).backward()
            optimizer.step()
        learned = EntryTable(task, of_node.detach(), of_edge.detach())
        found = certify(task, learned, rank="actions", plan=steps)
        assert entry_violations(of_node[nodes], of_edge[edges], tables, 1, 1)[0] == 0 == off_the_plan(found.check)
        assert found.perfect is (found.check.violated == 0)
        perfect += found.perfect
    assert perfect > 15
