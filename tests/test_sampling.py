"""Samples of an example's states: on average nothing is left out, and a network sees in them what it sees in all."""

import itertools
import random

import numpy as np
import pytest
import test_entry_losses
from graphs import Graph

from planrank import Architecture, Model, julia, load, solve
from planrank.choices import LOSSES, RANKING_LOSSES, REDUCTIONS, STATE_LOSSES, SURROGATES
from planrank.learning.examples import build_example
from planrank.learning.ranking import entry_ranking_of_plan, ranking_of_plan
from planrank.learning.sampling import draw
from planrank.models import families
from planrank.models.grid.architecture import GridArchitecture
from planrank.models.hypergraph.distinct_parts import Actions, EdgeGroup
from planrank.models.hypergraph.parts_of_states import actions_of_states
from planrank.problems.folders import own_domain_file
from planrank.problems.random_problems import GENERATORS

julia.module()  # before torch

import torch  # noqa: E402

from planrank.learning.entry_losses import EntryTables, entry_loss, entry_violations  # noqa: E402
from planrank.learning.losses import loss, violations  # noqa: E402
from planrank.learning.trainable import Trainable  # noqa: E402


class EveryOutcome:
    """Stands in for a random generator. Each time it is run through, other choices are made, until all were."""

    def __init__(self):
        self.choices, self.at = [], 0

    def pick(self, options):
        if self.at == len(self.choices):
            self.choices.append([0, len(options)])
        self.at += 1
        return options[self.choices[self.at - 1][0]]

    def choice(self, n, k, replace, shuffle):
        assert not replace
        return np.array(self.pick(list(itertools.combinations(range(n), k))), np.int64)

    def integers(self, low, high):
        return self.pick(range(low, high))

    def go_on(self):
        """Whether there are further outcomes."""
        self.at = 0
        while self.choices and self.choices[-1][0] + 1 == self.choices[-1][1]:
            self.choices.pop()
        if self.choices:
            self.choices[-1][0] += 1
        return bool(self.choices)


def all_samples(ranking, name, most):
    """Every sample that can be drawn, all as likely."""
    outcomes = EveryOutcome()
    found = [draw(ranking, name, most, outcomes)]
    while outcomes.go_on():
        found.append(draw(ranking, name, most, outcomes))
    return found


def check_means(whole, parts, inputs):
    """Value and gradients of the whole loss are the means of those of its parts."""
    mean = torch.stack(parts).mean()
    assert mean.item() == pytest.approx(whole.item(), rel=1e-9, abs=1e-9)
    options = {"allow_unused": True, "materialize_grads": True, "retain_graph": True}
    both = (torch.autograd.grad(total, inputs, **options) for total in (mean, whole))
    for ours, theirs in zip(*both, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-8, atol=1e-9)


def of_entries(case, sample):
    """Values, scores and tables of a sample of a case of test_entry_losses."""
    ids = np.arange(1, len(case.scored.counts) + 1)
    group = EdgeGroup(0, ids, ids, ids[:, None], None)
    parts = actions_of_states(Actions([group], ids, np.empty(0), case.scored), sample.states)
    values, scores = case.v[torch.from_numpy(sample.states)], case.u[torch.from_numpy(parts.ids - 1)]
    return values, scores, EntryTables(case.ranking, parts.scored, case.v.dtype, sample)


@pytest.fixture(scope="module", params=[1, 2])
def graph(request):
    """A plan of six steps, and ways off it: to few nodes, some of them cheaper later; one leads on along the plan."""
    rng = random.Random(request.param)
    chain = [(i, i + 1, rng.randint(1, 5)) for i in range(6)]
    astray = [(i, rng.randint(7, 10), rng.randint(1, 9)) for i in range(6) for _ in range(2)]
    on = [(node, rng.randint(7, 10), 1) for node in range(7, 11)]
    return Graph((*chain, *astray, *on, (1, 4, 20)), 0, frozenset({6}))


@pytest.mark.parametrize("name", LOSSES)
def test_the_mean_over_all_samples_is_the_loss_of_actions(graph, name):
    task, steps = graph.task(), graph.steps(range(7))
    case = test_entry_losses.Case(task, steps, seed=1, detours=1 if name in RANKING_LOSSES else 0)
    samples = all_samples(case.ranking, name, 4)
    assert len(samples) > 5
    seen = [of_entries(case, sample) for sample in samples]
    for reduction, kind in zip(REDUCTIONS, itertools.cycle(SURROGATES), strict=False):
        options = {"surrogate": kind, "reduction": reduction}
        check_means(case.loss(name, **options), [entry_loss(name, *one, **options) for one in seen], (case.v, case.u))
    if name in RANKING_LOSSES:
        found = [entry_violations(*one, 1, 1) for one in seen]
        wrong, pairs = entry_violations(case.v, case.u, case.tables, 1, 1)
        assert {pairs} == {of for _, of in found} and 0 < wrong < pairs
        assert np.mean([violated for violated, _ in found]) == pytest.approx(wrong, abs=0.5)  # each is rounded


@pytest.mark.parametrize("name", STATE_LOSSES)
def test_the_mean_over_all_samples_is_the_loss_of_states(graph, name):
    ranking, rng = ranking_of_plan(graph.task(), graph.steps(range(7))), np.random.default_rng(1)
    values = torch.tensor(rng.normal(0, 3, len(ranking.states)), requires_grad=True)
    for most in (4, 6):
        samples = all_samples(ranking, name, most)
        assert len(samples) > 5
        for reduction, kind in zip(REDUCTIONS, itertools.cycle(SURROGATES), strict=False):
            options = {"surrogate": kind, "reduction": reduction}
            seen = [(values[torch.from_numpy(sample.states)], sample) for sample in samples]
            parts = [loss(name, own, ranking, sample=sample, **options) for own, sample in seen]
            check_means(loss(name, values, ranking, **options), parts, (values,))


def test_a_sample_has_as_many_states_as_were_asked_for(graph):
    rng, task, steps = np.random.default_rng(0), graph.task(), graph.steps(range(7))
    entries, states = entry_ranking_of_plan(task, steps, 1), ranking_of_plan(task, steps)
    for most in range(4, 20):
        sample = draw(entries, "lstar", most, rng)
        if sample is None:
            assert len(entries.states) <= most + 1  # the goal has no actions
        else:
            assert len(sample.states) == len({*sample.states.tolist()}) == most and len(sample.path) >= 2
        sample = draw(states, "lstar", most, rng)
        if sample is not None:
            values = torch.arange(len(sample.states), dtype=torch.float64)
            wrong, pairs = violations(values, states, 1, 1, sample=sample)
            assert wrong <= pairs <= states.in_open_list(later_on_path=False).sum()


@pytest.fixture(scope="module")
def plans(tmp_path_factory):
    folder, found = tmp_path_factory.mktemp("plans"), {}
    sizes = {"blocksworld": {"blocks": 4}, "spanner": {}, "elevators": {}, "sokoban": {}, "maze": {}}
    for name, size in sizes.items():
        problem = folder / f"{name}.pddl"
        problem.write_text(GENERATORS[name](random.Random(3), "p", **(size or test_entry_losses.SIZES[name])))
        found[name] = load(own_domain_file(name), problem), solve(own_domain_file(name), problem, "gbfs", "ff").plan
    return found


SHAPES = [
    Architecture(dim=4),
    Architecture(layers=3, dim=4, shared=True),
    Architecture(layers=1, dim=4, rank="states", residual=False, value="pooled", receivers="adds"),
    Architecture(dim=2, mixing=False, messages=("sum", "max"), rank="policy"),
]


@pytest.mark.parametrize(
    "name, shape", [*(("blocksworld", shape) for shape in SHAPES), ("spanner", SHAPES[0]), ("elevators", SHAPES[2])]
)
def test_a_network_sees_in_some_states_what_it_sees_in_all(plans, name, shape):
    check_part(*plans[name], shape)


@pytest.mark.parametrize("rank", ["actions", "states"])
@pytest.mark.parametrize("name, network", [("sokoban", "small"), ("maze", "map")])
def test_so_does_a_network_that_sees_grids(plans, name, network, rank):
    check_part(*plans[name], GridArchitecture(network=network, rank=rank))


def check_part(task, plan, shape):
    family = families.get(shape.family_name)
    example = build_example(task, plan, shape)
    net = Trainable(Model.fresh(family.signature(task), shape, 1), torch.float64)
    rng = np.random.default_rng(0)
    for number in range(2):
        count = len(example.ranking.states)
        states = rng.permutation(count)[: max(1, count // 2)]
        whole = family.varied(net.inputs(example), number)
        part = family.prepare_part(example.encoded, shape, torch.float64, states, number)
        results = []
        for inputs, chosen in ((whole, states), (part, np.arange(len(states)))):
            values, scores = family.forward(net.start, net.weights(), inputs)
            found = [values[torch.from_numpy(chosen)]]
            if scores is not None:
                scored = family.scored_actions(inputs)
                rows = example.ranking.rows_of(states)[1] if inputs is whole else np.arange(len(scored.places))
                found.append(scores[torch.from_numpy(scored.places[rows].astype(np.int64))])
            results.append(torch.cat(found))
        torch.testing.assert_close(*results)
        direction = torch.from_numpy(rng.normal(size=len(results[0])))
        gradients = [torch.autograd.grad((result * direction).sum(), net.parameter)[0] for result in results]
        torch.testing.assert_close(*gradients, rtol=1e-7, atol=1e-9)
        assert gradients[0].abs().max() > 0
