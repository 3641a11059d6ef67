"""What a plan gives to learn from, against the definition, and what plans that are none get."""

import random

import numpy as np
import pytest
from graphs import Graph, Nodes, open_lists, random_graph

from planrank import PlanrankError, Search, load, paths, solve
from planrank.learning.ranking import ranking_of_plan
from planrank.problems.random_problems import GENERATORS

BLOCKS = paths.shared() / "domains/blocksworld/domain.pddl"


def any_path(graph: Graph, rng: random.Random) -> list[int]:
    """From the start to a goal without coming back: the longest of a few found by chance."""
    found = []
    while len(found) < 8:
        path = [graph.start]
        while path[-1] not in graph.goals:
            further = [child for child, _ in graph.children(path[-1]) if child not in path]
            if not further:
                break
            path.append(rng.choice(further))
        else:
            found.append(path)
    return max(found, key=len)


@pytest.mark.parametrize("seed", range(60))
def test_open_lists_are_those_of_the_definition(seed):
    rng = random.Random(seed)
    graph = random_graph(rng)
    path = any_path(graph, rng)
    task = graph.task()
    ranking = ranking_of_plan(task, graph.steps(path))
    node = Nodes(task).of(ranking.states)
    length = len(path) - 1
    assert ranking.length == length and node[: length + 1].tolist() == path and len(set(node)) == len(node)
    assert ranking.path_g.tolist() == [graph.cost(path[: i + 1]) for i in range(length + 1)]
    assert ranking.cost_to_goal.tolist() == [graph.cost(path[i:]) for i in range(length + 1)]
    there = ranking.in_open_list()
    for i, expected in enumerate(open_lists(graph, path)):
        found = np.flatnonzero(there[i])
        assert len(found) == len(expected)
        assert {node[ranking.open_state[k]]: ranking.open_g[k] for k in found} == expected
    assert ranking.open_later_on_path.tolist() == [node[s] in path for s in ranking.open_state]
    assert (ranking.in_open_list(later_on_path=False) == there & ~ranking.open_later_on_path).all()
    for i in range(length):
        row = slice(*ranking.child_offsets[i : i + 2])
        found = zip(node[ranking.child_state[row]].tolist(), ranking.child_cost[row].tolist(), strict=True)
        assert sorted(found) == sorted(graph.children(path[i]))


def test_actions_and_the_chosen_one(tmp_path):
    problem = tmp_path / "p.pddl"
    problem.write_text(GENERATORS["blocksworld"](random.Random(1), "p", blocks=5))
    task, plan = load(BLOCKS, problem), solve(BLOCKS, problem, "astar", "lmcut").plan
    ranking = ranking_of_plan(task, [step.upper() + " ; a comment" for step in plan])
    names = task.names("operators")
    rows = [ranking.action[slice(*ranking.action_offsets[i : i + 2])] for i in range(ranking.length)]
    assert [names[row[k]] for row, k in zip(rows, ranking.chosen, strict=True)] == plan
    for state, row in zip(ranking.states, rows, strict=False):
        facts = set(task.facts_in(state).tolist())
        usable = [o for o in range(task.operator_count) if set(task.pre[o].tolist()) <= facts]
        assert sorted(row.tolist()) == usable


def test_costs_are_those_the_user_wrote():
    graph = Graph(((0, 1, 0.5), (1, 2, 1.25), (0, 2, 7)), 0, frozenset({2}))
    ranking = ranking_of_plan(graph.task(), graph.steps([0, 1, 2]))
    assert ranking.path_g.tolist() == [0, 0.5, 1.75] and ranking.cost_to_goal.tolist() == [1.75, 1.25, 0]
    assert ranking.open_g.tolist() == [7] and sorted(ranking.child_cost.tolist()) == [0.5, 1.25, 7]


GRAPH = Graph(((0, 1, 1), (1, 0, 1), (1, 2, 1), (2, 3, 1), (3, 2, 1)), 0, frozenset({2}))


@pytest.mark.parametrize(
    "steps, said",
    [
        ([], "the plan is empty"),
        (["; only a comment"], "the plan is empty"),
        (["(go e0 n0 n1)"], r"after 1 step\(s\) \(at n2\) does not hold"),
        (["(go e2 n1 n2)"], r"step 1: \(go e2 n1 n2\) needs \(at n1\), which does not hold"),
        (["(go e0 n0 n1)", "(go e0 n1 n2)"], r"step 2: \(go e0 n1 n2\) is no action"),
        (["(go e0 n0 n1)", "(go e1 n1 n0)"], "step 2: .* leads back to a state"),
        (["(go e0 n0 n1)", "(go e2 n1 n2)", "(go e3 n2 n3)"], "reached after step 2 already, but the plan has 3"),
    ],
)
def test_what_is_no_plan_is_refused(steps, said):
    with pytest.raises(PlanrankError, match=said) as found:
        ranking_of_plan(GRAPH.task(), steps)
    assert found.value.kind == "meaning" and "\n" not in str(found.value)


def test_an_initial_state_that_is_a_goal_has_nothing_to_teach():
    graph = Graph(((0, 1, 1), (1, 2, 1)), 0, frozenset({0}))
    with pytest.raises(PlanrankError, match="the initial state is a goal"):
        ranking_of_plan(graph.task(), [])


def test_the_ranking_outlives_its_task():
    graph = Graph(((0, 1, 1), (1, 2, 1), (0, 2, 5)), 0, frozenset({2}))
    ranking = ranking_of_plan(graph.task(), graph.steps([0, 1, 2]))
    before = ranking.states.copy()
    for _ in range(20):
        Search(graph.task()).release()
    assert (ranking.states == before).all()
