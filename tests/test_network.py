"""Deduplication changes nothing: numbers and gradients equal those of the network over everything, in every shape."""

import itertools
import random
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_search import generate

from planrank import Search, julia, load, solve
from planrank.choices import RANKS
from planrank.learning.examples import build_example
from planrank.models.hypergraph.architecture import RECEIVERS, VALUES, Architecture
from planrank.models.hypergraph.distinct_parts import PartsFinder
from planrank.models.hypergraph.family import HYPERGRAPH
from planrank.models.hypergraph.network import forward
from planrank.models.hypergraph.signature import signature_of
from planrank.models.model import Model
from planrank.problems.random_problems import GENERATORS
from planrank.task import Rows

julia.module()  # before torch

import torch  # noqa: E402
from plain_network import PlainGraph, plain_forward  # noqa: E402

from planrank.learning.trainable import Trainable  # noqa: E402
from planrank.models.hypergraph.torch_arithmetic import TorchArithmetic, prepare  # noqa: E402

POOLS = [kinds for n in (1, 2, 3) for kinds in itertools.combinations(("sum", "mean", "max"), n)]

layers_of = st.one_of(
    st.fixed_dictionaries(
        {"residual": st.booleans(), "mixing": st.booleans(), "value": st.sampled_from(("sum", "pooled"))}
    ),
    st.fixed_dictionaries({"mixing": st.booleans(), "value": st.just("held")}),
    st.fixed_dictionaries({"shared": st.just(True), "value": st.sampled_from(VALUES)}),
)
shapes = st.builds(
    lambda layers_of, **options: Architecture(**layers_of, **options),
    layers_of=layers_of,
    layers=st.integers(1, 3),
    dim=st.sampled_from([2, 4]),
    messages=st.sampled_from(POOLS),
    pooling=st.sampled_from(POOLS),
    context=st.sampled_from(POOLS),
    receivers=st.sampled_from(RECEIVERS),
    distances=st.booleans(),
    relaxed=st.just(False),  # what a relaxed plan makes true is Julia's to find, and tested there
    rank=st.sampled_from(RANKS),
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


def applicable(task, states, seed=0) -> Rows:
    """The operators that can be taken in each state, by the definition and in any order."""
    rng, rows = random.Random(seed), []
    for state in states:
        facts = set(task.facts_in(state).tolist())
        usable = [
            o for o in range(task.operator_count)
            if set(task.pre[o].tolist()) <= facts and not set(task.neg[o].tolist()) & facts
        ]  # fmt: skip
        rows.append(rng.sample(usable, len(usable)))
    return Rows(np.cumsum([0, *map(len, rows)], dtype=np.int32), np.array([o for row in rows for o in row], np.int32))


def gradients(values, scores, parameter, seed):
    rng = np.random.default_rng(seed)
    total = (values * torch.tensor(rng.normal(size=len(values)))).sum()
    if scores is not None:
        total = total + (scores * torch.tensor(rng.normal(size=len(scores)))).sum()
    (gradient,) = torch.autograd.grad(total, parameter)
    return gradient


def deduplicated(net: Trainable, parts):
    """Values, and the score of every action, of (task, states, actions)."""
    shape, finder = net.start.architecture, PartsFinder(parts[0][0], net.start.architecture)
    for task, states, actions in parts:
        finder.add(task, states, actions if shape.scores_actions else None)
    found = finder.take()
    ready = prepare(found, shape, torch.float64)
    values, scores = forward(TorchArithmetic(torch.float64), net.weights(), net.start.signature, shape, ready)
    return values, None if scores is None else scores[torch.from_numpy(found.actions.scored.places.astype(np.int64))]


@settings(max_examples=60, deadline=None)
@given(shape=shapes, name=st.sampled_from([*sorted(GENERATORS), "rooms"]), seed=st.integers(0, 5))
def test_values_scores_and_gradients_equal_those_of_the_plain_network(all_tasks, shape, name, seed):
    task = all_tasks[name]
    states = some_states(task, 30, seed)
    actions = applicable(task, states, seed)
    net = trainable(task, shape, seed)
    values, scores = deduplicated(net, [(task, states, actions)])
    graph = PlainGraph(task, net.start.signature, shape)
    plain_values, plain_scores = plain_forward(graph, net.weights(), states, actions)
    torch.testing.assert_close(values, plain_values)
    assert (scores is None) == (plain_scores is None) == (shape.rank == "states")
    if scores is not None:
        assert len(scores) == len(actions.values)
        torch.testing.assert_close(scores, plain_scores)
    ours = gradients(values, scores, net.parameter, seed)
    plain = gradients(plain_values, plain_scores, net.parameter, seed)
    torch.testing.assert_close(ours, plain, rtol=1e-6, atol=1e-8)
    assert plain.abs().max() > 0


def test_a_conditional_effect_counts_only_where_it_fires(all_tasks):
    """States that differ in nothing but a condition: the plain network must have both cases to be compared in."""
    task = all_tasks["rooms"]
    states = some_states(task, 30)
    graph = PlainGraph(task, signature_of(task), Architecture(rank="actions"))
    firing = set()
    for state in states:
        facts = set(task.facts_in(state).tolist())
        for operator in applicable(task, state[None]).values.tolist():
            edge = graph.signature.edges[int(graph.kind_of_operator[operator])]
            seen = len(list(graph.literals.of(operator, edge, facts)))
            firing.add((task.names("operators")[operator], seen))
    assert len(firing) > len({name for name, _ in firing})


@pytest.mark.parametrize("name", [*sorted(GENERATORS), "rooms"])
@pytest.mark.parametrize("rank", RANKS)
def test_search_scores_equal_training_values_in_any_portions(all_tasks, name, rank):
    task = all_tasks[name]
    states = some_states(task, 40)
    actions = applicable(task, states)
    model = Model.fresh(signature_of(task), Architecture(layers=3, rank=rank), seed=3)
    expected, scores = deduplicated(Trainable(model, torch.float64), [(task, states, actions)])
    close = {"rtol": 1e-4, "atol": 1e-4}
    for portion in (1, 7, len(states)):
        starts = range(0, len(states), portion)
        scorer = model.scorer(task)
        values = np.concatenate([scorer.values(states[i : i + portion]) for i in starts])
        np.testing.assert_allclose(values, expected.detach().numpy(), **close)
        if scores is None:
            continue
        for either in (scorer, model.scorer(task)):  # one that knows the states, and one that does not
            both = [
                either.values_and_scores(states[i : i + portion], actions.part(i, min(i + portion, len(states))))
                for i in starts
            ]
            found_values, found_scores = (np.concatenate(column) for column in zip(*both, strict=True))
            np.testing.assert_allclose(found_values, expected.detach().numpy(), **close)
            np.testing.assert_allclose(found_scores, scores.detach().numpy(), **close)


@settings(max_examples=40, deadline=None)
@given(shape=shapes, name=st.sampled_from([*sorted(GENERATORS), "rooms"]), seed=st.integers(0, 5))
def test_search_computes_the_network_that_was_trained_in_every_shape(all_tasks, shape, name, seed):
    task = all_tasks[name]
    states = some_states(task, 20, seed)
    actions = applicable(task, states, seed)
    model = Model.fresh(signature_of(task), shape, seed)
    expected, scores = deduplicated(Trainable(model, torch.float64), [(task, states, actions)])
    scorer, close = model.scorer(task), {"rtol": 1e-4, "atol": 1e-4}
    n = len(states)
    for first, last in ((0, n // 3), (n // 3, n), (0, n)):
        chosen = actions.part(first, last)
        if scores is None:
            values = scorer.values(states[first:last])
        else:
            values, found = scorer.values_and_scores(states[first:last], chosen)
            wanted = scores.detach().numpy()[actions.offsets[first] : actions.offsets[last]]
            np.testing.assert_allclose(found, wanted, **close)
        np.testing.assert_allclose(values, expected.detach().numpy()[first:last], **close)


@pytest.mark.parametrize("rank", RANKS)
def test_a_scorer_that_runs_out_of_room_forgets_and_gives_the_same_values(all_tasks, rank):
    task = all_tasks["blocksworld"]
    states = some_states(task, 40)
    model = Model.fresh(signature_of(task), Architecture(rank=rank), seed=3)
    remembers, forgets = model.scorer(task), model.scorer(task)
    forgets.most_bytes = 1
    for i in range(0, len(states), 5):
        portion = states[i : i + 5]
        np.testing.assert_allclose(forgets.values(portion), remembers.values(portion), rtol=1e-4, atol=1e-4)
    assert forgets.bytes_kept < remembers.bytes_kept


@pytest.mark.parametrize("rank", ["actions", "states"])
def test_a_batch_may_mix_tasks(tmp_path, rank):
    """Indices are offset right: values do not depend on what else is in the batch."""
    for name in ("blocksworld", "spanner", "ferry"):
        parts = []
        for seed in (1, 2, 3):
            task = load(*generate(tmp_path, name, seed))
            states = some_states(task, 15, seed)
            parts.append((task, states, applicable(task, states, seed)))
        net = trainable(parts[0][0], Architecture(layers=2, rank=rank))
        mixed, scores = deduplicated(net, parts)
        alone = [deduplicated(net, [part]) for part in parts]
        torch.testing.assert_close(mixed, torch.cat([values for values, _ in alone]))
        if rank == "actions":
            torch.testing.assert_close(scores, torch.cat([own for _, own in alone]))


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
    model = Model.fresh(signature_of(one), Architecture(layers=3, rank="actions", relaxed=False), seed)
    values = [model.scorer(task).values(task.packed(task.init)[None])[0] for task in (one, two)]
    assert values[0] == pytest.approx(values[1], rel=1e-4, abs=1e-5)
    best = [np.sort(model.scorer(task).values(children_of_init(task))) for task in (one, two)]
    np.testing.assert_allclose(*best, rtol=1e-4, atol=1e-4)
    scores = [scores_by_schema(model, task) for task in (one, two)]
    assert [schema for schema, _ in scores[0]] == [schema for schema, _ in scores[1]]
    np.testing.assert_allclose(*[[score for _, score in found] for found in scores], rtol=1e-4, atol=1e-5)


def scores_by_schema(model, task) -> list[tuple[str, float]]:
    """Of the actions in the initial state, without their objects."""
    state = task.packed(task.init)[None]
    actions = applicable(task, state)
    _, scores = model.scorer(task).values_and_scores(state, actions)
    names = task.names("operators")
    return sorted((names[o].strip("()").split()[0], u) for o, u in zip(actions.values, scores.tolist(), strict=True))


def children_of_init(task) -> np.ndarray:
    search = Search(task, "bfs")
    search.expand(1)
    search.insert(np.zeros(1))
    return search.expand(1).copy()


@pytest.mark.parametrize("rank", ["actions", "policy"])
def test_examples_carry_the_scores_in_the_order_of_the_ranking(tmp_path, rank):
    files = generate(tmp_path, "blocksworld", 1)
    task, plan = load(*files), solve(*files, heuristic="ff").plan
    shape = Architecture(rank=rank)
    example = build_example(task, plan, shape)
    model = Model.fresh(signature_of(task), shape)
    seen, ranking = Trainable(model)(example), example.ranking
    scored = HYPERGRAPH.parts(example.encoded, shape).actions.scored
    assert len(seen.values) == len(ranking.states) == len(plan) + 1 == len(scored.lengths)
    assert len(scored.places) == len(ranking.action) and scored.lengths[-1] == 0
    assert len(seen.scores) == len(scored.counts) == scored.lengths.sum() and scored.counts.sum() == len(ranking.action)
    values, scores = model.scorer(task).values_and_scores(ranking.states, ranking.actions)
    np.testing.assert_allclose(seen.values.detach(), values, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(seen.scores.detach()[scored.places.astype(np.int64)], scores, rtol=1e-4, atol=1e-5)


def test_deduplication_merges_much(all_tasks):
    """Not a timing: how many distinct vertices there are among all."""
    task = all_tasks["gripper"]
    states = some_states(task, 30)
    finder = PartsFinder(task, Architecture(layers=1, receivers="adds"))
    finder.add(task, states)
    distinct = sum(len(group.ids) for group in finder.take().layers[0].vertices)
    assert distinct < len(states) * task.fact_count / 10
