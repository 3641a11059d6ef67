"""What a plan gives to learn from, against the definition, and what plans that are none get."""

import math
import random

import numpy as np
import pytest
from graphs import EntryTable, Graph, Nodes, Table, open_lists, random_graph

from planrank import PlanrankError, Search, load, paths, solve
from planrank.learning.ranking import entry_ranking_of_plan, ranking_of_plan
from planrank.problems.folders import own_domain_file
from planrank.problems.random_problems import GENERATORS

SIZES = {
    "blocksworld": {"blocks": 5}, "elevators": {"passengers": 2}, "ferry": {"locations": 3, "cars": 2},
    "gripper": {"balls": 3}, "npuzzle": {"side": 2}, "spanner": {"spanners": 3, "nuts": 2, "locations": 3},
    "maze": {"side": 7}, "sokoban": {"boxes": 1, "side": 7, "pulls": 6}, "tiles": {"side": 2},
}  # fmt: skip
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


def applicable(task, facts: frozenset[int]) -> list[int]:
    """The operators whose preconditions hold, by the definition."""
    return [
        o for o in range(task.operator_count)
        if set(task.pre[o].tolist()) <= facts and not set(task.neg[o].tolist()) & facts
    ]  # fmt: skip


def successor(task, facts: frozenset[int], operator: int) -> frozenset[int]:
    """By the definition, conditional effects included: adding wins."""
    added, deleted = set(task.add[operator].tolist()), set(task.delete[operator].tolist())
    pre, neg, add, delete = (task._rows(f"cond_{name}") for name in ("pre", "neg", "add", "del"))
    offsets = task._column("cond_offsets")
    for effect in range(offsets[operator], offsets[operator + 1]):
        if set(pre[effect].tolist()) <= facts and not set(neg[effect].tolist()) & facts:
            added |= set(add[effect].tolist())
            deleted |= set(delete[effect].tolist())
    return frozenset(facts - deleted | added)


class PlanEntries:
    """A plan's states as sets of facts, its operators, and of every state but the last (operator, cost, child)."""

    def __init__(self, task, plan: list[str]):
        number = {name: o for o, name in enumerate(task.names("operators"))}
        self.operators = [number[step] for step in plan]
        self.states = [frozenset(task.init.tolist())]
        self.rows = []
        self.task = task
        for operator in self.operators:
            self.rows.append(self.entries(self.states[-1]))
            self.states.append(successor(task, self.states[-1], operator))
        costs = [float(task.costs[o]) for o in self.operators]
        self.g = [sum(costs[:i]) for i in range(len(plan) + 1)]
        self.to_goal = [sum(costs[i:]) for i in range(len(plan) + 1)]

    def entries(self, facts: frozenset[int]) -> list[tuple[int, float, frozenset[int]]]:
        task = self.task
        return [(o, float(task.costs[o]), successor(task, facts, o)) for o in applicable(task, facts)]

    def entries_of(self, packed: np.ndarray) -> list[tuple[int, float, frozenset[int]]]:
        """Of any state; a goal, where a search ends, has none."""
        facts = frozenset(self.task.facts_in(packed).tolist())
        is_goal = any(set(self.task.goal[i].tolist()) <= facts for i in range(len(self.task.goal)))
        return [] if is_goal else self.entries(facts)


def gone_astray(task, graph: Graph, rng: random.Random, rank: str = "actions") -> Search:
    """A search that was led by numbers made by chance, for a while or to its end."""
    values = [rng.gauss(0, 3) for _ in range(8)]
    search = Search(task, "gbfs", rank=rank)
    scorer = EntryTable(task, values, [rng.gauss(0, 3) for _ in graph.edges])
    search.run(scorer if rank == "actions" else Table(task, values), 10.0, rng.choice((2, 5, 100)))
    return search


def strays_by_hand(graph: Graph, path: list[int], strays: list[str]) -> list[tuple[int, float, int]]:
    """Node, cost of the way and step at which the path was left."""
    numbers = {f"e{e}": edge for e, edge in enumerate(graph.edges)}
    found = [(node, graph.cost(path[: i + 1]), i + 1) for i, node in enumerate(path)]
    for line in strays:
        parent, action = line.split(" ", 1)
        before, after, cost = numbers[action.split()[1]]
        node, g, step = found[int(parent)]
        assert node == before
        found.append((after, g + cost, step))
    return found[len(path) :]


@pytest.mark.parametrize("rank", ["actions", "states"])
def test_what_a_search_expanded_off_a_plan_can_be_learned_from(rank):
    met = 0
    for seed in range(120):
        rng = random.Random(seed)
        graph = random_graph(rng, costs=(0, 1, 2, 9) if seed % 2 else (0.5, 1.25, 7))
        path, task = any_path(graph, rng), graph.task()
        plan, length = graph.steps(path), len(path) - 1
        strays = gone_astray(task, graph, rng, rank).strays(plan, 20)
        expected = strays_by_hand(graph, path, strays)
        assert not {node for node, _, _ in expected} & set(path)
        entries, states = entry_ranking_of_plan(task, plan, 0, strays), ranking_of_plan(task, plan, strays)
        node = Nodes(task).of(entries.states)[length + 1 :]
        columns = (entries.g[length + 1 :].tolist(), entries.first_step[length + 1 :].tolist())
        assert list(zip(node.tolist(), *columns, strict=True)) == expected
        # The same states, expanded: what they generate is open from the step on at which the plan was left.
        node, there = Nodes(task).of(states.states), states.in_open_list()
        for i in range(1, length + 1):
            cheapest: dict[int, float] = {}
            for j in range(i):
                kept = [(s, g) for s, g, step in expected if step == j + 1 and s not in graph.goals]
                for s, g in [(path[j], graph.cost(path[: j + 1])), *kept]:
                    for child, cost in graph.children(s):
                        if child not in path[: i + 1]:
                            cheapest[child] = min(cheapest.get(child, math.inf), g + cost)
            found = np.flatnonzero(there[i - 1])
            assert {node[states.open_state[k]]: states.open_g[k] for k in found} == cheapest
        met += bool(strays)
    assert met > 15


@pytest.mark.parametrize("made", [ranking_of_plan, entry_ranking_of_plan])
def test_states_off_a_plan_that_are_none_are_refused(made):
    graph = Graph(((0, 1, 1), (1, 2, 1), (0, 3, 1), (3, 1, 1)), 0, frozenset({2}))
    steps, task = graph.steps([0, 1, 2]), graph.task()
    for line, said in (("0 (go e1 n1 n2)", "is not applicable"), ("0 (go e0 n0 n1)", "leads to a state"),
                       ("3 (go e3 n3 n1)", "not before it"), ("what", "expected NUMBER")):  # fmt: skip
        with pytest.raises(PlanrankError, match=f"state 1 off the plan: .*{said}"):
            made(task, steps, strays=[line])


def check_entries(task, plan):
    ranking, expected = entry_ranking_of_plan(task, plan), PlanEntries(task, plan)
    length = len(plan)
    assert ranking.length == length and len(ranking.states) == length + 1
    assert [frozenset(task.facts_in(state).tolist()) for state in ranking.states] == expected.states
    assert ranking.path_g.tolist() == expected.g and ranking.cost_to_goal.tolist() == expected.to_goal
    assert len(ranking.action_offsets) == length + 2 and ranking.action_offsets[0] == 0
    assert ranking.first_step.tolist() == list(range(1, length + 2)) and ranking.g.tolist() == expected.g
    assert len(ranking.action) == len(ranking.action_cost) == len(ranking.leads_to) == ranking.action_offsets[-1]
    for i, row in enumerate(expected.rows):
        part = slice(*ranking.action_offsets[i : i + 2])
        places = {state: number for number, state in enumerate(expected.states)}
        wanted = {o: (cost, places.get(child, -1)) for o, cost, child in row}
        columns = (ranking.action_cost[part].tolist(), ranking.leads_to[part].tolist())
        found = dict(zip(ranking.action[part].tolist(), zip(*columns, strict=True), strict=True))
        assert found == wanted and len(found) == part.stop - part.start
        assert ranking.action[part][ranking.chosen[i]] == expected.operators[i]
        assert ranking.leads_to[part][ranking.chosen[i]] == i + 1
    rows = ranking.actions
    assert len(rows) == length + 1 and len(rows[length]) == 0
    assert all(sorted(rows[i].tolist()) == [o for o, _, _ in row] for i, row in enumerate(expected.rows))
    return ranking


@pytest.mark.parametrize("seed", range(60))
def test_entries_are_those_of_the_definition(seed):
    rng = random.Random(seed)
    graph = random_graph(rng, costs=(0, 1, 2, 9) if seed % 2 else (0.5, 1.25, 7))
    path = any_path(graph, rng)
    task = graph.task()
    ranking = check_entries(task, graph.steps(path))
    node = Nodes(task).of(ranking.states)
    assert node.tolist() == path
    for i, state in enumerate(path[:-1]):  # once more, by the graph alone
        part = slice(*ranking.action_offsets[i : i + 2])
        to = [path.index(child) if child in path else -1 for child, _ in graph.children(state)]
        assert sorted(ranking.leads_to[part].tolist()) == sorted(to)


def test_graphs_have_actions_that_lead_to_other_states_of_the_plan():
    kinds = set()
    for seed in range(60):
        rng = random.Random(seed)
        graph = random_graph(rng)
        path = any_path(graph, rng)
        ranking = entry_ranking_of_plan(graph.task(), graph.steps(path))
        here = np.repeat(np.arange(ranking.length + 1), np.diff(ranking.action_offsets))
        to = ranking.leads_to
        kinds |= set(
            np.select([to < 0, to < here, to == here, to == here + 1], ["off", "back", "stay", "next"], "skip")
        )
    assert kinds == {"off", "back", "stay", "next", "skip"}


@pytest.mark.parametrize("name", sorted(GENERATORS))
def test_entries_of_real_plans(tmp_path, name):
    problem = tmp_path / "p.pddl"
    problem.write_text(GENERATORS[name](random.Random(2), "p", **SIZES[name]))
    domain = own_domain_file(name)
    check_entries(load(domain, problem), solve(domain, problem, "gbfs", "ff").plan)


def test_entries_where_effects_have_conditions():
    from test_network import ADL_DOMAIN, ADL_PROBLEM

    plan = solve(ADL_DOMAIN, ADL_PROBLEM, "astar", "blind").plan
    ranking = check_entries(load(ADL_DOMAIN, ADL_PROBLEM), plan)
    assert len(set(ranking.action_cost.tolist())) > 1


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
@pytest.mark.parametrize("made", [ranking_of_plan, entry_ranking_of_plan])
def test_what_is_no_plan_is_refused(steps, said, made):
    with pytest.raises(PlanrankError, match=said) as found:
        made(GRAPH.task(), steps)
    assert found.value.kind == "meaning" and "\n" not in str(found.value)


@pytest.mark.parametrize("made", [ranking_of_plan, entry_ranking_of_plan])
def test_an_initial_state_that_is_a_goal_has_nothing_to_teach(made):
    graph = Graph(((0, 1, 1), (1, 2, 1)), 0, frozenset({0}))
    with pytest.raises(PlanrankError, match="the initial state is a goal"):
        made(graph.task(), [])


@pytest.mark.parametrize("made", [ranking_of_plan, entry_ranking_of_plan])
def test_the_ranking_outlives_its_task(made):
    graph = Graph(((0, 1, 1), (1, 2, 1), (0, 2, 5)), 0, frozenset({2}))
    ranking = made(graph.task(), graph.steps([0, 1, 2]))
    before = ranking.states.copy()
    for _ in range(20):
        Search(graph.task()).release()
    assert (ranking.states == before).all()
