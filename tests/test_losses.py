"""The losses against their equations written out pair by pair, on random graphs with action costs."""

import dataclasses
import math
import random
from itertools import pairwise

import pytest
from graphs import Graph, Nodes, open_lists, random_graph, reduced
from test_ranking import any_path

from planrank import PlanrankError, julia
from planrank.choices import REDUCTIONS, STATE_LOSSES, SURROGATES
from planrank.learning.ranking import ranking_of_plan

julia.module()  # before torch

import torch  # noqa: E402

from planrank.learning.losses import loss, violations  # noqa: E402

RANKING_LOSSES = ("lstar", "lgbfs", "lrt")


class Case:
    """A random path in a random graph, its ranking, and a value for every node."""

    def __init__(self, seed: int, dtype=torch.float64):
        rng = random.Random(seed)
        self.graph = random_graph(rng)
        if seed % 3 == 0:  # dear ways to all nodes, so that cheaper ones are found later
            nodes = {node for edge in self.graph.edges for node in edge[:2]} - self.graph.goals
            dear = tuple((self.graph.start, node, 20) for node in sorted(nodes))
            self.graph = dataclasses.replace(self.graph, edges=self.graph.edges + dear)
        self.path = any_path(self.graph, rng)
        task = self.graph.task()
        self.ranking = ranking_of_plan(task, self.graph.steps(self.path))
        self.node = Nodes(task).of(self.ranking.states)
        self.table = torch.tensor([rng.gauss(0, 3) for _ in range(8)], dtype=dtype, requires_grad=True)

    @property
    def values(self):
        return self.table[torch.from_numpy(self.node)]

    def loss(self, name, **options):
        return loss(name, self.values, self.ranking, **options)

    def g(self, i):
        return self.graph.cost(self.path[: i + 1])

    def pairs(self, later_on_path=False):
        """(i, state, g of the state): at step i the path's s_i against every state of O_i off the path."""
        for i, open_list in enumerate(open_lists(self.graph, self.path), 1):
            for state, g in open_list.items():
                if later_on_path or state not in self.path:
                    yield i, state, g


def surrogate(name, r):
    return torch.clamp(1 + r, min=0) if name == "hinge" else torch.log1p(torch.exp(r))


def equation(case: Case, name: str, kind: str) -> list[list]:
    """The terms of each sum in the paper's equation."""
    h, path, graph = case.table, case.path, case.graph
    to_goal = [graph.cost(path[i:]) for i in range(len(path))]
    if name in ("lstar", "lgbfs"):
        alpha = 1 if name == "lstar" else 0
        return [[surrogate(kind, alpha * (case.g(i) - g) + h[path[i]] - h[s]) for i, s, g in case.pairs()]]
    if name == "lrt":
        return [[surrogate(kind, h[b] - h[a]) for a, b in pairwise(path)]]
    if name == "l2":
        return [[(h[s] - c) ** 2 for s, c in zip(path, to_goal, strict=True)]]
    assert name == "lbe"
    best = [
        min((cost + h[child] for child, cost in graph.children(s)), key=lambda value: value.item()) for s in path[:-1]
    ]
    return [
        [torch.clamp(b - h[s], min=0) for s, b in zip(path, best, strict=False)],
        [torch.clamp(c - h[s], min=0) for s, c in zip(path, to_goal, strict=True)],
        [torch.clamp(h[s] - 2 * c, min=0) for s, c in zip(path, to_goal, strict=True)],
    ]


@pytest.mark.parametrize("name", STATE_LOSSES)
@pytest.mark.parametrize("kind", SURROGATES)
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_value_and_gradient_are_those_of_the_equation(name, kind, reduction):
    for seed in range(40):
        case = Case(seed)
        found = case.loss(name, surrogate=kind, reduction=reduction)
        expected = torch.zeros((), dtype=torch.float64) + 0 * case.table.sum()
        steps = [i for i, *_ in case.pairs()] if name in ("lstar", "lgbfs") else None
        for terms in equation(case, name, kind):
            if terms:
                expected = expected + reduced(terms, reduction, steps, len(case.path) - 1)
        assert float(found.detach()) == pytest.approx(float(expected.detach()), rel=1e-9, abs=1e-9)
        (mine,), (theirs,) = (torch.autograd.grad(total, case.table) for total in (found, expected))
        assert torch.allclose(mine, theirs, rtol=1e-9, atol=1e-9)


def test_the_cases_have_what_they_should_test():
    cases = [Case(seed) for seed in range(40)]
    assert sum(bool(list(case.pairs())) for case in cases) > 15
    assert any(len(list(case.pairs())) < len(list(case.pairs(True))) for case in cases)
    assert sum(len(set(case.ranking.open_state)) < len(case.ranking.open_state) for case in cases) > 3
    assert any(len({cost for _, _, cost in case.graph.edges}) > 2 for case in cases)


@pytest.mark.parametrize("alpha, beta", [(1, 1), (0, 1), (1, 3), (1, 0)])
@pytest.mark.parametrize("later", [False, True])
def test_violations_are_counted(alpha, beta, later):
    for seed in range(40):
        case = Case(seed)
        values = torch.round(case.values)  # so that there are ties
        h = dict(zip(case.node.tolist(), values.tolist(), strict=True))
        pairs = list(case.pairs(later))
        wrong = sum(alpha * case.g(i) + beta * h[case.path[i]] >= alpha * g + beta * h[s] for i, s, g in pairs)
        assert violations(values, case.ranking, alpha, beta, later) == (wrong, len(pairs))


@pytest.mark.parametrize("name", STATE_LOSSES)
def test_the_type_of_the_values_is_kept(name):
    single, double = Case(3, torch.float32), Case(3, torch.float64)
    results = single.loss(name), double.loss(name)
    assert [r.dtype for r in results] == [torch.float32, torch.float64] and all(r.shape == () for r in results)
    assert results[0].item() == pytest.approx(results[1].item(), rel=1e-5)


# Two steps; at both, states off the path are open.
GRAPH = Graph(((0, 1, 1), (1, 2, 1), (0, 3, 1), (1, 4, 1), (3, 2, 5)), 0, frozenset({2}))


def on_graph(values):
    task = GRAPH.task()
    ranking = ranking_of_plan(task, GRAPH.steps([0, 1, 2]))
    table = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    return table[torch.from_numpy(Nodes(task).of(ranking.states))], ranking


@pytest.mark.parametrize("name", RANKING_LOSSES)
@pytest.mark.parametrize("kind", SURROGATES)
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_a_perfect_ranking_is_cheaper_than_a_reversed_one(name, kind, reduction):
    perfect = [2.0, 1.0, 0.0, 4.0, 4.0]
    options = {"surrogate": kind, "reduction": reduction}
    for scale in (0.1, 1, 30):
        good, bad = (loss(name, *on_graph([sign * scale * v for v in perfect]), **options) for sign in (1, -1))
        assert good.item() < bad.item()


@pytest.mark.parametrize("name", ["lstar", "lgbfs"])
@pytest.mark.parametrize("kind", SURROGATES)
def test_the_gradient_at_a_violated_pair_points_the_right_way(name, kind):
    """A step against the gradient lowers the state on the path and raises the one in the open list."""
    table = torch.tensor([0.0, 3.0, 2.0, 1.0, 0.5], dtype=torch.float64, requires_grad=True)
    task = GRAPH.task()
    ranking = ranking_of_plan(task, GRAPH.steps([0, 1, 2]))
    node = torch.from_numpy(Nodes(task).of(ranking.states))
    violated, pairs = violations(table[node], ranking, 1 if name == "lstar" else 0, 1)
    assert violated == pairs == 3
    (gradient,) = torch.autograd.grad(loss(name, table[node], ranking, surrogate=kind), table)
    assert gradient[0] == 0 and (gradient[1:3] > 0).all() and (gradient[3:] < 0).all()


def test_gradient_of_the_consecutive_ranking():
    values, ranking = on_graph([0.0, 1.0, 2.0, 0.0, 0.0])
    (gradient,) = torch.autograd.grad(loss("lrt", values, ranking), values)
    assert gradient[0] < 0 < gradient[2] and (gradient[3:] == 0).all()


def test_large_differences_neither_overflow_nor_vanish():
    for scale in (1e3, 1e30):
        values, ranking = on_graph([0.0, scale, scale, 0.0, 0.0])
        for name in ("lstar", "lgbfs"):
            found = loss(name, values, ranking)
            (gradient,) = torch.autograd.grad(found, values)
            assert math.isfinite(found.item()) and torch.isfinite(gradient).all() and gradient[1] > 0


@pytest.mark.parametrize("name", STATE_LOSSES)
def test_a_plan_without_alternatives(name):
    """Nothing to compare: the ranking losses are zero, and still have a gradient, which is zero too."""
    chain = Graph(((0, 1, 1), (1, 2, 1)), 0, frozenset({2}))
    ranking = ranking_of_plan(chain.task(), chain.steps([0, 1, 2]))
    values = torch.zeros(3, requires_grad=True)
    found = loss(name, values, ranking)
    found.backward()
    if name in ("lstar", "lgbfs"):
        assert found.item() == 0 and (values.grad == 0).all()
    assert torch.isfinite(found)


def test_wrong_names_and_shapes_are_refused():
    values, ranking = on_graph([0.0] * 5)
    for message, arguments, options in [
        ("unknown loss of states `l3`; known: lstar", ("l3", values), {}),
        ("unknown loss of states `levin`; known: lstar, lgbfs, lrt, l2, lbe$", ("levin", values), {}),
        ("unknown surrogate `exp`", ("lstar", values), {"surrogate": "exp"}),
        ("unknown reduction `max`", ("lstar", values), {"reduction": "max"}),
        ("expected one for each of 5 states", ("lstar", values[:, None]), {}),
    ]:
        with pytest.raises(PlanrankError, match=message):
            loss(*arguments, ranking, **options)
