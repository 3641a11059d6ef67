"""Deduplication changes nothing: values and gradients equal those of the network over everything, in every shape."""

import itertools
import random
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_search import generate

from planrank import Search, julia, load, solve
from planrank.learning.examples import build_example
from planrank.models.hypergraph.architecture import Architecture
from planrank.models.hypergraph.distinct_parts import PartsFinder
from planrank.models.hypergraph.family import HYPERGRAPH
from planrank.models.hypergraph.network import forward
from planrank.models.hypergraph.signature import signature_of
from planrank.models.model import Model
from planrank.problems.random_problems import GENERATORS

julia.module()  # before torch

import torch  # noqa: E402
from plain_network import PlainGraph, plain_forward  # noqa: E402

from planrank.learning.trainable import Trainable  # noqa: E402
from planrank.models.hypergraph.torch_arithmetic import TorchArithmetic, prepare  # noqa: E402

POOLS = [kinds for n in (1, 2, 3) for kinds in itertools.combinations(("sum", "mean", "max"), n)]

shapes = st.builds(
    Architecture,
    layers=st.integers(1, 3),
    dim=st.sampled_from([2, 4]),
    residual=st.booleans(),
    mixing=st.booleans(),
    messages=st.sampled_from(POOLS),
    pooling=st.sampled_from(POOLS),
    receivers=st.sampled_from(["adds", "effects"]),
    policy=st.booleans(),
)

# Negative preconditions, a conditional effect, a quantified precondition and effect, costs, a negative goal.
ADL_DOMAIN = """
(define (domain rooms) (:requirements :adl :action-costs)
  (:predicates (in ?t ?r) (lit ?r) (locked ?r) (room ?r) (thing ?t) (alarm) (seen ?t))
  (:functions (total-cost) - number (size ?r) - number)
  (:action carry :parameters (?t ?a ?b)
    :precondition (and (thing ?t) (room ?a) (room ?b) (in ?t ?a) (not (locked ?b)) (not (= ?a ?b)))
    :effect (and (in ?t ?b) (not (in ?t ?a)) (when (lit ?b) (seen ?t)) (increase (total-cost) (size ?b))))
  (:action switch :parameters (?r)
    :precondition (and (room ?r) (not (lit ?r)))
    :effect (and (lit ?r) (forall (?t) (when (in ?t ?r) (seen ?t))) (increase (total-cost) 1)))
  (:action lock :parameters (?r)
    :precondition (and (room ?r) (forall (?t) (imply (thing ?t) (not (in ?t ?r)))) (not (locked ?r)))
    :effect (and (locked ?r) (alarm) (increase (total-cost) 2))))
"""
ADL_PROBLEM = """
(define (problem p) (:domain rooms) (:objects a b c t u)
  (:init (room a) (room b) (room c) (thing t) (thing u) (in t a) (in u b) (= (total-cost) 0)
    (= (size a) 1) (= (size b) 2) (= (size c) 3))
  (:goal (and (seen t) (locked a) (not (in u b)))) (:metric minimize (total-cost)))
"""


def tasks(folder):
    found = {}
    for name in sorted(GENERATORS):
        found[name] = load(*generate(folder, name, 1))
    domain, problem = folder / "rooms.pddl", folder / "p.pddl"
    domain.write_text(ADL_DOMAIN)
    problem.write_text(ADL_PROBLEM)
    return found | {"rooms": load(domain, problem)}


@pytest.fixture(scope="module")
def all_tasks(tmp_path_factory):
    return tasks(tmp_path_factory.mktemp("tasks"))


def some_states(task, count: int, seed: int = 0) -> np.ndarray:
    """States of a search in random order."""
    rng = np.random.default_rng(seed)
    search = Search(task, "gbfs")
    found = [states for _ in range(count) if len(states := expand_and_insert(search, rng))]
    return np.concatenate(found)[:count]


def expand_and_insert(search, rng) -> np.ndarray:
    states = search.expand(1).copy()
    if len(states):
        search.insert(rng.random(len(states)))
    return states


def trainable(task, shape, seed=0) -> Trainable:
    return Trainable(Model.fresh(signature_of(task), shape, seed), torch.float64)


def gradients(values, logits, parameter, seed):
    weights = torch.tensor(np.random.default_rng(seed).normal(size=len(values)))
    total = (values * weights).sum()
    if logits is not None:
        total = total + logits.square().sum()
    (gradient,) = torch.autograd.grad(total, parameter)
    return gradient


def deduplicated(net: Trainable, parts):
    shape, finder = net.start.architecture, PartsFinder(parts[0][0], net.start.architecture)
    for task, states in parts:
        finder.add(task, states)
    found = finder.take()
    ready = prepare(found, shape, torch.float64)
    return *forward(TorchArithmetic(torch.float64), net.weights(), net.start.signature, shape, ready), found


@settings(max_examples=60, deadline=None)
@given(shape=shapes, name=st.sampled_from([*sorted(GENERATORS), "rooms"]), seed=st.integers(0, 5))
def test_values_and_gradients_equal_those_of_the_plain_network(all_tasks, shape, name, seed):
    task = all_tasks[name]
    states = some_states(task, 30, seed)
    net = trainable(task, shape, seed)
    values, logits, parts = deduplicated(net, [(task, states)])
    graph = PlainGraph(task, net.start.signature, shape)
    plain_values, plain_logits = plain_forward(graph, net.weights(), states)
    torch.testing.assert_close(values, plain_values)
    if shape.policy:
        rows = np.repeat(np.arange(len(states)), parts.actions.lengths)
        plain_logits = plain_logits[rows, parts.actions.operators.astype(np.int64)]
        torch.testing.assert_close(logits, plain_logits)
    ours = gradients(values, logits, net.parameter, seed)
    plain = gradients(plain_values, plain_logits, net.parameter, seed)
    torch.testing.assert_close(ours, plain, rtol=1e-6, atol=1e-8)
    assert plain.abs().max() > 0


@pytest.mark.parametrize("name", [*sorted(GENERATORS), "rooms"])
def test_search_scores_equal_training_values_in_any_portions(all_tasks, name):
    task = all_tasks[name]
    states = some_states(task, 40)
    model = Model.fresh(signature_of(task), Architecture(layers=3, policy=True), seed=3)
    expected, _, _ = deduplicated(Trainable(model, torch.float64), [(task, states)])
    for portion in (1, 7, len(states)):
        scorer = model.scorer(task)
        values = np.concatenate([scorer.values(states[i : i + portion]) for i in range(0, len(states), portion)])
        np.testing.assert_allclose(values, expected.detach().numpy(), rtol=1e-4, atol=1e-4)
    values, offsets, operators, log_probabilities = model.scorer(task).values_and_policy(states)
    assert offsets[-1] == len(operators) == len(log_probabilities)
    for i in range(len(states)):
        row = slice(offsets[i], offsets[i + 1])
        facts = set(task.facts_in(states[i]).tolist())
        usable = [
            o for o in range(task.operator_count)
            if set(task.pre[o].tolist()) <= facts and not set(task.neg[o].tolist()) & facts
        ]  # fmt: skip
        assert sorted(operators[row].tolist()) == usable
        assert not usable or abs(np.exp(log_probabilities[row]).sum() - 1) < 1e-5


def test_a_batch_may_mix_tasks(tmp_path):
    """Indices are offset right: values do not depend on what else is in the batch."""
    for name in ("blocksworld", "spanner", "ferry"):
        parts = []
        for seed in (1, 2, 3):
            task = load(*generate(tmp_path, name, seed))
            parts.append((task, some_states(task, 15, seed)))
        net = trainable(parts[0][0], Architecture(layers=2))
        mixed, _, _ = deduplicated(net, parts)
        alone = torch.cat([deduplicated(net, [part])[0] for part in parts])
        torch.testing.assert_close(mixed, alone)


def rewritten(problem: str, rng: random.Random) -> str:
    """The same problem with its objects renamed and everything in another order."""
    objects = sorted(set(re.findall(r"\b[a-z]+_?\d[\w]*\b", problem)))
    renamed = [f"x{i}" for i in range(len(objects))]
    rng.shuffle(renamed)
    names = dict(zip(objects, renamed, strict=True))
    problem = re.sub(r"\b[a-z]+_?\d[\w]*\b", lambda m: names.get(m[0], m[0]), problem)

    def shuffle_atoms(match):
        atoms = re.findall(r"\([^()]*\)", match[2])
        rng.shuffle(atoms)
        return match[1] + " ".join(atoms) + ")"

    return re.sub(r"(\(:init)((?:\s*\([^()]*\))*)\s*\)", shuffle_atoms, problem)


@pytest.mark.parametrize("name", sorted(GENERATORS))
@pytest.mark.parametrize("seed", range(3))
def test_values_do_not_depend_on_names_or_order(tmp_path, name, seed):
    domain, problem = generate(tmp_path, name, seed)
    other = tmp_path / "renamed.pddl"
    text = problem.read_text()
    before, _, after = text.partition("(:objects")
    other.write_text(before + "(:objects" + rewritten(after, random.Random(seed)))
    assert other.read_text() != text
    shuffled_domain = tmp_path / "shuffled.pddl"
    head, *actions = domain.read_text().split("(:action")
    actions[-1] = actions[-1].rstrip().removesuffix(")")
    random.Random(seed).shuffle(actions)
    shuffled_domain.write_text(head + "".join("(:action" + action.rstrip() + "\n" for action in actions) + ")")
    one, two = load(domain, problem), load(shuffled_domain, other)
    model = Model.fresh(signature_of(one), Architecture(layers=3), seed)
    values = [model.scorer(task).values(task.packed(task.init)[None])[0] for task in (one, two)]
    assert values[0] == pytest.approx(values[1], rel=1e-4)
    best = [np.sort(model.scorer(task).values(children_of_init(task))) for task in (one, two)]
    np.testing.assert_allclose(*best, rtol=1e-4)


def children_of_init(task) -> np.ndarray:
    search = Search(task, "bfs")
    search.expand(1)
    search.insert(np.zeros(1))
    return search.expand(1).copy()


def test_examples_carry_the_policy_in_the_order_of_the_ranking(tmp_path):
    files = generate(tmp_path, "blocksworld", 1)
    task, plan = load(*files), solve(*files, heuristic="ff").plan
    example = build_example(task, plan, Architecture(policy=True))
    count = len(example.ranking.action)
    actions = HYPERGRAPH.parts(example.encoded, Architecture(policy=True)).actions
    np.testing.assert_array_equal(actions.operators[:count], example.ranking.action)
    values, log_policy = Trainable(Model.fresh(signature_of(task), Architecture(policy=True)))(example)
    assert len(values) == len(example.ranking.states)
    rows = np.diff(example.ranking.action_offsets)
    first = log_policy[: rows[0]].exp().sum().item()
    assert first == pytest.approx(1, abs=1e-5)


def test_deduplication_merges_much(all_tasks):
    """Not a timing: how many distinct vertices there are among all."""
    task = all_tasks["gripper"]
    states = some_states(task, 30)
    finder = PartsFinder(task, Architecture(layers=1, receivers="adds"))
    finder.add(task, states)
    distinct = sum(len(group.ids) for group in finder.take().layers[0].vertices)
    assert distinct < len(states) * task.fact_count / 10
