"""The losses of networks that rank actions against their definitions written out pair by pair."""

import math
import random

import numpy as np
import pytest
from graphs import Graph, random_graph, reduced
from hypothesis import given, settings
from hypothesis import strategies as st
from test_ranking import SIZES, PlanEntries, any_path, gone_astray

from planrank import Architecture, Model, PlanrankError, julia, load, solve
from planrank.choices import LOSSES, REDUCTIONS, SURROGATES
from planrank.learning.examples import Example
from planrank.learning.ranking import entry_ranking_of_plan
from planrank.models.family import ScoredActions
from planrank.models.hypergraph.signature import signature_of
from planrank.problems.folders import own_domain_file
from planrank.problems.random_problems import GENERATORS

julia.module()  # before torch

import torch  # noqa: E402

from planrank.learning import entry_losses  # noqa: E402
from planrank.learning.entry_losses import EntryTables, entry_loss, entry_violations  # noqa: E402
from planrank.learning.trainable import Trainable  # noqa: E402


def grouped(ranking, rng: random.Random, kinds: int) -> ScoredActions:
    """Some actions of a state that cost the same have one score together, as those that a network cannot tell apart."""
    lengths, counts, places = [], [], []
    for first, last in zip(ranking.action_offsets, ranking.action_offsets[1:], strict=False):
        before, met = len(counts), {}
        for k in range(first, last):
            place = met.setdefault((float(ranking.action_cost[k]), rng.randrange(kinds)), before + len(met))
            counts += [0] * (place + 1 - len(counts))
            counts[place] += 1
            places.append(place)
        lengths.append(len(met))
    return ScoredActions(*(np.array(part, np.int32) for part in (lengths, counts, places)))


class Case:
    """A plan, v of its states and u of what is scored: at random, or a network's own."""

    def __init__(
        self, task, plan, seed=0, dtype=torch.float64, scored=None, values=None, scores=None, detours=0, strays=()
    ):
        rng = random.Random(seed)
        self.ranking = entry_ranking_of_plan(task, plan, detours, strays)
        self.scored = scored or grouped(self.ranking, rng, rng.choice([1, 2, 50]))
        self.plan = PlanEntries(task, plan)
        place = {}  # of (step, operator)
        for i, (first, last) in enumerate(
            zip(self.ranking.action_offsets, self.ranking.action_offsets[1:], strict=False)
        ):
            place |= {(i, int(self.ranking.action[k])): int(self.scored.places[k]) for k in range(first, last)}
        self.place = place

        def numbers(given, count):
            if given is None:
                given = torch.tensor([rng.gauss(0, 3) for _ in range(count)], dtype=dtype)
            return given.detach().clone().requires_grad_()

        self.v = numbers(values, len(self.ranking.states))
        self.u = numbers(scores, len(self.scored.counts))
        self.tables = EntryTables(self.ranking, self.scored, self.v.dtype)

    @classmethod
    def of_graph(cls, seed: int, dtype=torch.float64, detours=0, strays=0):
        rng = random.Random(seed)
        graph = random_graph(rng, costs=(0, 1, 2, 9) if seed % 3 else (0.5, 1.25, 7))
        task, plan = graph.task(), graph.steps(any_path(graph, rng))
        more = {"detours": detours, "strays": gone_astray(task, graph, rng).strays(plan, strays)}
        return cls(task, plan, seed, dtype, **more)

    def loss(self, name, **options):
        return entry_loss(name, self.v, self.u, self.tables, **options)

    @property
    def length(self) -> int:
        return len(self.plan.operators)

    def q(self, i: int, operator: int):
        """Of an operator in s_i."""
        return self.v[i] + self.u[self.place[i, operator]]

    def chosen(self, i: int):
        """q of the plan's action that leads to s_i."""
        return self.q(i - 1, self.plan.operators[i - 1])

    def pairs(self):
        """(i, j, operator, cost): at step i the plan's action against those of s_j, j < i, that lead off the plan, and
        then against those of detours and strays begun at step i or before."""
        for i in range(1, self.length + 1):
            for j in range(i):
                for operator, cost, child in self.plan.rows[j]:
                    if child not in self.plan.states:
                        yield i, j, operator, cost
            for d in range(self.length + 1, len(self.ranking.states)):
                if self.ranking.first_step[d] <= i:
                    for operator, cost, child in self.plan.entries_of(self.ranking.states[d]):
                        if child not in self.plan.states:
                            yield i, d, operator, cost

    @property
    def g(self) -> list[float]:
        return self.ranking.g.tolist()


def surrogate(name, r):
    return torch.clamp(1 + r, min=0) if name == "hinge" else torch.log1p(torch.exp(r))


def definition(case: Case, name: str, kind: str) -> list[list]:
    """The terms of each sum."""
    g, to_goal, steps = case.g, case.plan.to_goal, range(1, case.length + 1)
    if name in ("lstar", "lgbfs"):
        alpha = 1 if name == "lstar" else 0
        return [[
            surrogate(kind, alpha * (g[i] - (g[j] + cost)) + case.chosen(i) - case.q(j, operator))
            for i, j, operator, cost in case.pairs()
        ]]  # fmt: skip
    if name == "lrt":
        return [[surrogate(kind, case.chosen(i + 1) - case.chosen(i)) for i in steps[:-1]]]
    if name == "l2":
        return [[(case.chosen(i) - to_goal[i]) ** 2 for i in steps]]
    if name == "lbe":
        best = [
            min((cost + case.q(i, o) for o, cost, _ in case.plan.rows[i]), key=lambda value: value.item())
            for i in steps[:-1]
        ]
        return [
            [torch.clamp(b - case.chosen(i), min=0) for i, b in zip(steps[:-1], best, strict=True)],
            [torch.clamp(to_goal[i] - case.chosen(i), min=0) for i in steps],
            [torch.clamp(case.chosen(i) - 2 * to_goal[i], min=0) for i in steps],
        ]
    minus_logs = []
    for i in range(case.length):
        logits = torch.stack([-case.u[case.place[i, o]] for o, _, _ in case.plan.rows[i]])
        minus_logs.append(torch.logsumexp(logits, 0) + case.u[case.place[i, case.plan.operators[i]]])
    return [minus_logs, [(case.v[i] - to_goal[i]) ** 2 for i in range(case.length + 1)]]


def check(case: Case, name: str, kind: str, reduction: str) -> None:
    """Value and gradients are those of the definition."""
    found = case.loss(name, surrogate=kind, reduction=reduction)
    expected = 0 * case.v.sum() + 0 * case.u.sum()
    steps = [i for i, *_ in case.pairs()] if name in ("lstar", "lgbfs") else None
    for terms in definition(case, name, kind):
        if terms:
            expected = expected + reduced(terms, reduction, steps, case.length)
    assert found.shape == () and float(found.detach()) == pytest.approx(float(expected.detach()), rel=1e-9, abs=1e-9)
    mine = torch.autograd.grad(found, (case.v, case.u), allow_unused=True)
    for ours, theirs in zip(mine, torch.autograd.grad(expected, (case.v, case.u)), strict=True):
        torch.testing.assert_close(torch.zeros_like(theirs) if ours is None else ours, theirs, rtol=1e-8, atol=1e-9)


@settings(max_examples=120, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    name=st.sampled_from(LOSSES),
    kind=st.sampled_from(SURROGATES),
    reduction=st.sampled_from(REDUCTIONS),
    detours=st.integers(0, 3),
    strays=st.sampled_from((0, 3, 20)),
)
def test_value_and_gradient_are_those_of_the_definition(seed, name, kind, reduction, detours, strays):
    check(Case.of_graph(seed, detours=detours, strays=strays), name, kind, reduction)


def test_the_cases_have_what_they_should_test():
    cases = [Case.of_graph(seed) for seed in range(40)]
    assert sum(bool(list(case.pairs())) for case in cases) > 15
    assert any(case.scored.counts.max(initial=0) > 1 for case in cases)
    shared = [
        {case.place[i, case.plan.operators[i]] for i in range(case.length)}
        & {case.place[j, o] for _, j, o, _ in case.pairs()}
        for case in cases
    ]
    assert any(shared), "the plan's action has the score of one that leads off the plan"
    assert any((case.ranking.leads_to[: case.ranking.action_offsets[1]] > 1).any() for case in cases)
    assert any(case.length == 1 for case in cases) and any(case.length > 3 for case in cases)
    astray = [Case.of_graph(seed, detours=2) for seed in range(40)]
    assert sum(any(j > case.length for _, j, *_ in case.pairs()) for case in astray) > 5


@pytest.fixture(scope="module")
def real_cases(tmp_path_factory):
    """Plans of real domains, with what a network says of them."""
    folder, found = tmp_path_factory.mktemp("real"), {}
    for name in sorted(GENERATORS):
        problem, domain = folder / f"{name}.pddl", own_domain_file(name)
        problem.write_text(GENERATORS[name](random.Random(2), "p", **SIZES[name]))
        task, plan = load(domain, problem), solve(domain, problem, "gbfs", "ff").plan
        shape = Architecture(layers=1, dim=4, rank="actions", value="pooled", relaxed=False)  # without ties
        net = Trainable(Model.fresh(signature_of(task), shape), torch.float64)
        entries, family = entry_ranking_of_plan(task, plan), net.start.family
        example = Example(entries, family.encode(task, entries.states, shape, entries.actions))
        seen, scored = net(example), family.scored_actions(net.inputs(example))
        found[name] = Case(task, plan, scored=scored, values=seen.values, scores=seen.scores), seen
    return found


@pytest.mark.parametrize("domain", sorted(GENERATORS))
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("kind", SURROGATES)
def test_losses_of_a_network_on_real_plans(real_cases, domain, name, kind):
    case, seen = real_cases[domain]
    check(case, name, kind, "mean")
    assert seen.loss(name, surrogate=kind).item() == pytest.approx(case.loss(name, surrogate=kind).item(), rel=1e-12)


def test_real_domains_have_actions_that_share_a_score(real_cases):
    assert sum(case.scored.counts.max() > 1 for case, _ in real_cases.values()) >= 3


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), size=st.integers(1, 12), kind=st.sampled_from(SURROGATES))
def test_blocks_of_any_size_give_the_same(seed, size, kind):
    case = Case.of_graph(seed)

    def all_numbers():
        found = []
        for name in ("lstar", "lgbfs"):
            loss = case.loss(name, surrogate=kind, reduction="sum")
            found += [loss, *torch.autograd.grad(loss, (case.v, case.u))]
        return found, entry_violations(case.v, case.u, case.tables, 1, 1)

    with pytest.MonkeyPatch.context() as patch:
        whole = all_numbers()
        patch.setattr(entry_losses, "PAIRS_IN_A_BLOCK", size)
        blocks = [(range(case.length)[steps], end) for steps, end, _ in case.tables.blocks()]
        assert [step for steps, _ in blocks for step in steps] == list(range(case.length))
        assert all(len(steps) == 1 or len(steps) * end <= size for steps, end in blocks)
        parts = all_numbers()
    assert parts[1] == whole[1]
    for ours, theirs in zip(parts[0], whole[0], strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("size", [1, 100])
@pytest.mark.parametrize("name", ["lstar", "lgbfs"])
def test_blocks_on_real_plans(real_cases, monkeypatch, name, size):
    monkeypatch.setattr(entry_losses, "PAIRS_IN_A_BLOCK", size)
    for case, _ in real_cases.values():
        check(case, name, "logistic", "mean")


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), merit=st.sampled_from([(1, 1), (0, 1), (1, 3), (1, 0)]))
def test_violations_are_counted(seed, merit):
    case, (alpha, beta) = Case.of_graph(seed, detours=seed % 3), merit
    with torch.no_grad():
        case.v.round_()
        case.u.round_()  # so that there are ties
    g, pairs = case.g, list(case.pairs())
    wrong = sum(
        alpha * g[i] + beta * case.chosen(i).item() >= alpha * (g[j] + cost) + beta * case.q(j, o).item()
        for i, j, o, cost in pairs
    )
    assert entry_violations(case.v, case.u, case.tables, alpha, beta) == (wrong, len(pairs))


@pytest.mark.parametrize("name", LOSSES)
def test_the_type_of_the_values_is_kept(name):
    single, double = Case.of_graph(3, torch.float32), Case.of_graph(3, torch.float64)
    results = single.loss(name), double.loss(name)
    assert [r.dtype for r in results] == [torch.float32, torch.float64]
    assert results[0].item() == pytest.approx(results[1].item(), rel=1e-5)


# Two steps; in both states there is an action that leads off the plan.
GRAPH = Graph(((0, 1, 1), (1, 2, 1), (0, 3, 1), (1, 4, 1), (3, 2, 5)), 0, frozenset({2}))


def on_graph(u, v=(0.0, 0.0, 0.0)) -> Case:
    """u of the edges 0 to 3 in this order."""
    task = GRAPH.task()
    ranking = entry_ranking_of_plan(task, GRAPH.steps([0, 1, 2]))
    edges = [int(task.names("operators")[o].split()[1][1:]) for o in ranking.action]
    places = np.arange(len(edges), dtype=np.int32)
    scored = ScoredActions(np.array([2, 2, 0], np.int32), np.ones(4, np.int32), places)
    scores = torch.tensor([u[edge] for edge in edges], dtype=torch.float64)
    case = Case(task, GRAPH.steps([0, 1, 2]), scored=scored, values=torch.tensor(v, dtype=torch.float64), scores=scores)
    case.edges = edges
    return case


@pytest.mark.parametrize("name", ["lstar", "lgbfs"])
@pytest.mark.parametrize("kind", SURROGATES)
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_a_perfect_ranking_is_cheaper_than_a_reversed_one(name, kind, reduction):
    perfect, options = [1.0, 0.0, 4.0, 4.0], {"surrogate": kind, "reduction": reduction}
    for scale in (0.1, 1, 30):
        good, bad = (on_graph([sign * scale * u for u in perfect]).loss(name, **options) for sign in (1, -1))
        assert good.item() < bad.item()


@pytest.mark.parametrize("name", ["lstar", "lgbfs"])
@pytest.mark.parametrize("kind", SURROGATES)
def test_the_gradient_at_a_violated_pair_points_the_right_way(name, kind):
    """A step against the gradient lowers the plan's actions and raises those that lead off it."""
    case = on_graph([3.0, 2.0, 1.0, 0.5])
    assert entry_violations(case.v, case.u, case.tables, 1.0 if name == "lstar" else 0.0, 1.0) == (3, 3)
    (gradient,) = torch.autograd.grad(case.loss(name, surrogate=kind), case.u)
    assert all((slope > 0) == (edge < 2) for edge, slope in zip(case.edges, gradient.tolist(), strict=True))


def test_large_differences_neither_overflow_nor_vanish():
    for scale in (1e3, 1e30):
        for name in ("lstar", "lgbfs"):
            case = on_graph([scale, scale, 0.0, 0.0])
            found = case.loss(name)
            (gradient,) = torch.autograd.grad(found, case.u)
            assert math.isfinite(found.item()) and torch.isfinite(gradient).all() and gradient.abs().max() > 0


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("steps", [1, 2])
def test_a_plan_without_alternatives(name, steps):
    """Nothing to compare: the ranking losses are zero, and still have a gradient, which is zero too."""
    chain = Graph(tuple((i, i + 1, 1) for i in range(steps)), 0, frozenset({steps}))
    case = Case(chain.task(), chain.steps(range(steps + 1)))
    found = case.loss(name)
    found.backward()
    if name in ("lstar", "lgbfs") or (name == "lrt" and steps == 1):
        assert found.item() == 0 and all((x.grad == 0).all() for x in (case.v, case.u) if x.grad is not None)
    assert torch.isfinite(found) and entry_violations(case.v, case.u, case.tables, 1, 1) == (0, 0)
    check(Case(chain.task(), chain.steps(range(steps + 1))), name, "logistic", "sum")


@pytest.mark.parametrize("name", LOSSES)
def test_a_plan_of_one_step_with_alternatives(name):
    graph = Graph(((0, 1, 1), (0, 2, 3), (0, 0, 1), (0, 1, 2)), 0, frozenset({1}))
    for kind in SURROGATES:
        check(Case(graph.task(), graph.steps([0, 1]), seed=1), name, kind, "mean")


def test_wrong_names_and_shapes_are_refused():
    case = on_graph([0.0] * 4)
    for message, arguments, options in [
        ("unknown loss `l3`; known: lstar", ("l3", case.v, case.u), {}),
        ("unknown surrogate `exp`", ("lstar", case.v, case.u), {"surrogate": "exp"}),
        ("unknown reduction `max`", ("lstar", case.v, case.u), {"reduction": "max"}),
        ("found 2 values and 4 scores, expected 3 and 4", ("lstar", case.v[1:], case.u), {}),
        ("found 3 values and 3 scores, expected 3 and 4", ("levin", case.v, case.u[1:]), {}),
        ("found 3 values and 4 scores", ("l2", case.v, case.u[:, None]), {}),
    ]:
        with pytest.raises(PlanrankError, match=message):
            entry_loss(*arguments, case.tables, **options)
