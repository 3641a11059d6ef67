"""Networks over objects: against their definition written out in loops, over both arithmetics, and end to end."""

import random
import re

import numpy as np
import pytest

from planrank import Model, PlanrankError, Search, TrainConfig, certify, generate, label, load, paths, solve, train
from planrank.models.relational import merging, numpy_arithmetic
from planrank.models.relational.architecture import RelationalArchitecture, weight_shapes
from planrank.models.relational.family import RELATIONAL
from planrank.problems.folders import find_instances
from planrank.problems.problem_sets import Group
from planrank.problems.random_problems import GENERATORS

DOMAINS = paths.shared() / "domains"
SIZES = {
    "blocksworld": {"blocks": 5},
    "ferry": {"locations": 3, "cars": 3},
    "spanner": {"spanners": 3, "nuts": 2, "locations": 3},
    "elevators": {"passengers": 3},
}
# Conditional and quantified effects, negative preconditions and goals, a predicate of no objects.
ADL = """(define (domain lamps) (:requirements :adl)
 (:types lamp room) (:predicates (lit ?l - lamp) (in ?l - lamp ?r - room) (at ?r - room) (power))
 (:action walk :parameters (?a ?b - room) :precondition (at ?a) :effect (and (at ?b) (not (at ?a))))
 (:action flip :parameters (?r - room) :precondition (and (at ?r) (power))
  :effect (forall (?l - lamp) (when (in ?l ?r) (and (when (lit ?l) (not (lit ?l))) (when (not (lit ?l)) (lit ?l))))))
 (:action cut :parameters () :precondition (power) :effect (not (power))))"""
LAMPS = """(define (problem two) (:domain lamps) (:objects a b c - lamp r s - room)
 (:init (at r) (power) (in a r) (in b s) (in c s) (lit b)) (:goal (and (lit a) (not (lit b)) (lit c) (not (power)))))"""


def task_of(name: str):
    if name == "lamps":
        return load(ADL, LAMPS)
    sizes = SIZES[name]
    return load((DOMAINS / name / "domain.pddl").read_text(), GENERATORS[name](random.Random(3), "small", **sizes))


def some_states(task, count: int = 6):
    """States with their applicable operators, together and each alone."""
    search = Search(task, "gbfs", rank="actions")
    found = []
    while len(found) < count and len(states := search.expand(1)):
        actions = search.applicable()
        found.append((states.copy(), actions.part(0, len(states))))
        search.insert_actions(np.arange(len(actions.values), dtype=np.float32))
    return found


@pytest.mark.parametrize("name", ["ferry", "elevators", "spanner"])
def test_atoms_that_never_change_may_be_put_together(name, monkeypatch):
    """However many objects look alike: none do in the last layers of some states, and most in the first."""
    sizes = {"ferry": {"locations": 9, "cars": 3}, "elevators": {"passengers": 6}, "spanner": SIZES["spanner"]}[name]
    task = load((DOMAINS / name / "domain.pddl").read_text(), GENERATORS[name](random.Random(3), "alike", **sizes))
    model, found = fresh(task, layers=3), some_states(task, 12)
    found.append(joined(found))
    plain = [model.scorer(task).values_and_scores(*one) for one in found]
    pays = []

    def together(senders, links, vertices):
        merged = merging.together(senders, links, vertices)
        pays.append(sum(len(objects) for _, objects in merged[0]) < sum(len(objects) for _, objects in senders))
        return merged

    monkeypatch.setattr(merging, "MANY", 0)
    monkeypatch.setattr(numpy_arithmetic, "together", together)
    scorer = model.scorer(task)
    for one, expected in zip(found, plain, strict=True):
        for mine, theirs in zip(scorer.values_and_scores(*one), expected, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-4)
    assert any(pays)


def test_rows_that_are_alike_are_found():
    rows = np.array([[1, 2], [0, 2], [1, 2], [0, 2], [2, 0]], np.float32)
    kind, example = merging.alike(rows)
    assert kind[0] == kind[2] and kind[1] == kind[3] and len(set(kind)) == 3
    assert (rows[example][kind] == rows).all()


def joined(found):
    from planrank.task import Rows

    lengths = np.concatenate([np.diff(actions.offsets) for _, actions in found])
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return np.concatenate([s for s, _ in found]), Rows(offsets, np.concatenate([a.values for _, a in found]))


def fresh(task, **options) -> Model:
    return Model.fresh(RELATIONAL.signature(task), RelationalArchitecture(**options), seed=5)


@pytest.mark.parametrize("relaxed", [True, False])
@pytest.mark.parametrize("name", [*SIZES, "lamps"])
def test_numpy_and_torch_batches_and_single_states_agree(name, relaxed):
    task = task_of(name)
    import torch

    model = fresh(task, relaxed=relaxed, layers=3)
    found = some_states(task)
    states, actions = joined(found)
    scorer = model.scorer(task)
    values, scores = scorer.values_and_scores(states, actions)
    alone = [scorer.values_and_scores(*one) for one in found]
    np.testing.assert_allclose(np.concatenate([v for v, _ in alone]), values, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(np.concatenate([s for _, s in alone]), scores, rtol=1e-4, atol=1e-4)
    inputs = RELATIONAL.prepare(RELATIONAL.encode(task, states, model.architecture, actions), None, torch.float32)
    weights = {key: torch.from_numpy(array) for key, array in model.weights.items()}
    torch_values, torch_scores = RELATIONAL.forward(model, weights, inputs)
    np.testing.assert_allclose(torch_values.numpy(), values, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(torch_scores.numpy(), scores, rtol=1e-4, atol=1e-4)
    assert len(np.unique(values.round(4))) > 1, "states that differ have different values"


def words_of(atom: str) -> list[str]:
    return re.findall(r"[^\s()]+", atom)


def defined_values(task, model: Model, state: np.ndarray, operators) -> tuple[float, list[float]]:
    """The network without distances and relaxed plans, object by object and atom by atom."""
    weights, shape, signature = model.weights, model.architecture, model.signature

    def dense(name, inputs):
        return (
            np.concatenate([np.float32(part).ravel() for part in inputs]) @ weights[f"{name}.map"]
            + weights[f"{name}.bias"]
        )

    facts = [words_of(name) for name in task.names("facts")]
    held = {tuple(facts[f]) for f in task.facts_in(state)}
    goal, other = ({tuple(facts[f]) for f in rows} for rows in (task.goal[0], task._rows("goal_neg")[0]))

    def flags(atom):
        return [atom in held, atom in goal, atom in other, 0, 0, 0]

    atoms = sorted(held | goal | other)
    nothing = sorted(name for name, arity in signature.fluents.items() if arity == 0)
    there = {name: flags((name,)) if (name,) in atoms else [0] * 6 for name in nothing}
    start = np.float32([1, *(number for name in signature.propositions for number in there[name])])
    names = task.names("objects")
    vertices = {name: start for name in names}
    predicates, rows = task.static_atoms
    static = [(task.names("predicates")[p], [names[o] for o in rows[i]]) for i, p in enumerate(predicates)]
    for layer in range(shape.layers):
        heard = {kind: {name: [] for name in names} for kind in ("fluent", "static")}
        sent = [("fluent", a[0], list(a[1:]), flags(a)) for a in atoms if len(a) > 1]
        sent += [("static", name, objects, []) for name, objects in static if objects] if shape.statics else []
        for kind, name, objects, known in sent:
            out = np.maximum(dense(f"layer{layer}.{name}", [*(vertices[o] for o in objects), known]), 0)
            for i, o in enumerate(objects):
                heard[kind][o].append(out[i * shape.dim : (i + 1) * shape.dim])
        kinds = ["fluent", "static"] if shape.statics and signature.statics else ["fluent"]

        def pooled(messages):
            return [np.mean(messages, axis=0), np.max(messages, axis=0)] if messages else [np.zeros(2 * shape.dim)]

        vertices = {
            o: np.maximum(
                dense(f"layer{layer}.objects", [vertices[o], *(part for k in kinds for part in pooled(heard[k][o]))]), 0
            )
            for o in names
        }
    value = 0.0
    for atom in atoms:
        row = np.maximum(dense(f"value.{atom[0]}", [*(vertices[o] for o in atom[1:]), flags(atom)]), 0)
        value += (row @ weights[f"value.{atom[0]}.worth"]).item()
    stacked = np.stack([vertices[o] for o in names])
    context = np.maximum(dense("actions.context", [stacked.mean(axis=0), stacked.max(axis=0)]), 0)
    context = context @ weights["actions.state.map"]
    scores = []
    for o in operators:
        name, *objects = words_of(task.names("operators")[o])
        effects = [flags(tuple(facts[f])) for kind in (task.add, task.delete) for f in kind[o]]
        row = dense(f"action.{name}", [*(vertices[a] for a in objects), *effects, [0]]) + context
        scores.append((np.maximum(row, 0) @ weights["actions.score.map"]).item())
    return value, scores


@pytest.mark.parametrize("statics", [True, False])
@pytest.mark.parametrize("name", sorted(SIZES))
def test_values_and_scores_are_what_the_definition_says(name, statics):
    task = task_of(name)
    model = fresh(task, relaxed=False, distances=False, statics=statics)
    for states, actions in some_states(task, 3):
        values, scores = model.scorer(task).values_and_scores(states, actions)
        value, expected = defined_values(task, model, states[0], actions.values)
        assert values[0] == pytest.approx(value, rel=1e-3, abs=1e-3)
        np.testing.assert_allclose(scores, expected, rtol=1e-3, atol=1e-3)


def test_what_objects_are_called_does_not_matter():
    text = GENERATORS["blocksworld"](random.Random(3), "small", blocks=5)
    blocks = sorted(set(re.findall(r"\bb\d+\b", text)))
    renamed = re.sub(r"\bb\d+\b", lambda m: f"z{len(blocks) - blocks.index(m[0])}", text)
    assert renamed != text
    domain = (DOMAINS / "blocksworld" / "domain.pddl").read_text()
    tasks = [load(domain, one) for one in (text, renamed)]
    model = fresh(tasks[0], relaxed=False)
    values, scores = [], []
    for task in tasks:
        state = task.packed(task.init)[None]
        search = Search(task, "gbfs", rank="actions")
        search.expand(1)
        found = model.scorer(task).values_and_scores(state, search.applicable())
        values.append(found[0])
        scores.append(np.sort(found[1]))
    np.testing.assert_allclose(*values, rtol=1e-4)
    np.testing.assert_allclose(*scores, rtol=1e-4, atol=1e-5)


def test_a_dead_end_has_a_value_too():
    """hFF finds no relaxed plan there, and nothing is needed."""
    domain = """(define (domain d) (:predicates (p) (q) (r ?x))
     (:action a :parameters (?x) :precondition (p) :effect (and (q) (r ?x)))
     (:action b :parameters () :precondition (p) :effect (not (p))))"""
    task = load(domain, "(define (problem e) (:domain d) (:objects o) (:init (p)) (:goal (q)))")
    assert np.isfinite(fresh(task).scorer(task).values(task.packed([])[None])).all()


def test_a_task_without_objects_has_values_too():
    domain = """(define (domain d) (:predicates (p) (q))
     (:action a :parameters () :precondition (p) :effect (q)))"""
    files = domain, "(define (problem e) (:domain d) (:init (p)) (:goal (q)))"
    assert solve(*files, model=fresh(load(*files))).plan == ["(a)"]


def test_trained_saved_solved_and_certified(tmp_path):
    folder = tmp_path / "gripper"
    generate("gripper", [Group(10, 0, {"balls": (2, 5)})], folder)
    label(find_instances(folder))
    out = tmp_path / "gripper.safetensors"
    config = TrainConfig(domain=str(folder), family="relational", steps=300, out=str(out))
    said: list[str] = []
    train(config, say=said.append)
    assert any("objects-layers2-dim32-statics-relaxed" in text for text in said)
    model = Model.load(out)
    assert model.architecture == config.architecture and model.metadata["figures"]["validation_solved"] == 3
    expected = weight_shapes(model.signature, model.architecture)
    assert {name: array.shape for name, array in model.weights.items()} == expected

    generate("gripper", [Group(1, 1, {"balls": (12, 12)})], tmp_path / "larger")
    (instance,) = find_instances(tmp_path / "larger")
    for search in ("gbfs", "dive"):
        result = solve(instance.domain, instance.problem, search, model=out)
        assert result.status == "solved" and result.statistics.expanded < 100
    task = load(*((one := find_instances(folder)[0]).domain, one.problem))
    assert certify(task, model.scorer(task), "gbfs").perfect is not None


def test_a_model_of_another_domain_is_refused():
    model, task = fresh(task_of("ferry")), task_of("blocksworld")
    with pytest.raises(PlanrankError, match="was made for the domain 'ferry' and cannot read 'blocksworld'"):
        model.scorer(task)


def test_a_model_that_ranks_states(tmp_path):
    task = task_of("ferry")
    model = fresh(task, rank="states")
    assert model.scorer(task).values(task.packed(task.init)[None]).shape == (1,)
    assert solve(
        DOMAINS / "ferry" / "domain.pddl",
        GENERATORS["ferry"](random.Random(3), "small", **SIZES["ferry"]),
        "gbfs",
        model=model,
    ).status == "solved"  # fmt: skip
