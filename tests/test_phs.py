"""Policy-guided search through Python: PHS* and LevinTS against their definitions, and what they refuse."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scorers import Classical, Distinct, expansions, log_policy, textbook_expansions

from planrank import Heuristic, PlanrankError, Search, load, paths, solve
from planrank.choices import POLICY_SEARCHES
from planrank.models.hypergraph.architecture import Architecture
from planrank.models.hypergraph.signature import signature_of
from planrank.models.model import Model
from planrank.models.policy import FIRST_SHARE, favour_first, log_softmax
from planrank.problems.random_problems import GENERATORS

DOMAINS = paths.shared() / "domains"
SIZES = {"blocksworld": {"blocks": 4}, "gripper": {"balls": 5}, "spanner": {"spanners": 3, "nuts": 2, "locations": 3}}


@pytest.fixture(params=sorted(SIZES))
def files(request, tmp_path):
    problem = tmp_path / "problem.pddl"
    problem.write_text(GENERATORS[request.param](random.Random(4), "small", **SIZES[request.param]))
    return DOMAINS / request.param / "domain.pddl", problem


@pytest.mark.parametrize("name", POLICY_SEARCHES)
@pytest.mark.parametrize("spread", [2.0, 30.0])
def test_expansions_are_those_of_the_definition(files, name, spread):
    task = load(*files)
    scorer = Distinct(task, spread)
    expected = textbook_expansions(task, scorer, name)
    assert expansions(Search(task, name), scorer) == expected and len(expected) > 5


def test_a_policy_that_knows_the_way_leads_straight_to_the_goal(files):
    """All its weight on the steps of a plan: nothing else is expanded, whatever the values say."""
    task = load(*files)
    names = {name: o for o, name in enumerate(task.names("operators"))}
    plan = [names[step] for step in solve(*files, "astar", "ff").plan]
    state, chosen = set(task.init.tolist()), {}
    for operator in plan:
        chosen[frozenset(state)] = operator
        state = state - set(task.delete[operator].tolist()) | set(task.add[operator].tolist())

    class Knowing(Distinct):
        def scores(self, state):
            return {o: u - 50 * (chosen.get(state) == o) for o, u in super().scores(state).items()}

    for name in POLICY_SEARCHES:
        search = Search(task, name)
        while search.step(Knowing(task, 0.5)):
            pass
        assert search.expanded == len(search.plan()) == len(plan)


@pytest.mark.parametrize("name", POLICY_SEARCHES)
@pytest.mark.parametrize("batch", [1, 8])
@pytest.mark.parametrize("rank", ["policy", "actions"])
def test_a_model_with_a_policy_finds_plans(files, tmp_path, name, batch, rank):
    task = load(*files)
    file = tmp_path / "model.safetensors"
    Model.fresh(signature_of(task), Architecture(rank=rank)).save(file)
    result = solve(*files, name, model=file, batch=batch)
    assert (result.status, result.search, result.heuristic) == ("solved", name, "model:model")


@pytest.mark.parametrize("name", POLICY_SEARCHES)
def test_what_has_no_policy_is_refused(files, tmp_path, monkeypatch, name):
    task = load(*files)
    file = tmp_path / "model.safetensors"
    Model.fresh(signature_of(task), Architecture(rank="states")).save(file)
    with pytest.raises(PlanrankError, match="needs a policy, which this model has not") as error:
        solve(*files, name, model=file)
    assert str(file) in str(error.value)
    with pytest.raises(PlanrankError, match=f"{name} needs a model with a policy, not the heuristic ff"):
        solve(*files, name, "ff")
    with pytest.raises(PlanrankError, match="need a model with a policy"):
        Search(task, name).run(Heuristic(task, "ff"))
    search = Search(task, name)
    search.expand()
    with pytest.raises(PlanrankError, match="need a model with a policy"):
        search.insert(np.zeros(1))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(paths, "shared", lambda: tmp_path)
    with pytest.raises(PlanrankError, match="none was found for the domain"):
        solve(*files, name)


def test_policies_that_do_not_fit_are_refused(files):
    task = load(*files)

    def insert(logs, name="phs", values=(0.0,)):
        search = Search(task, name)
        search.expand()
        search.insert(np.array(values), np.array(logs))
        search.expand()

    search = Search(task, "phs")
    search.expand()
    count = len(search.applicable().values)
    insert([0.0] * count)
    for logs, said in [
        ([], f"0 numbers for {count} applicable operators"),
        ([0.0] * (count - 1), f"{count - 1} numbers for {count} applicable operators"),
        ([0.0] * (count + 1), f"{count + 1} numbers for {count} applicable operators"),
        ([np.nan] * count, "not a number"),
    ]:
        with pytest.raises(PlanrankError, match=said):
            insert(logs)
    with pytest.raises(PlanrankError, match="2 values for 1 states"):
        insert([0.0] * count, values=(0.0, 1.0))
    with pytest.raises(PlanrankError, match="takes no policy"):
        insert([0.0] * count, "gbfs")


def test_the_operators_asked_for_are_the_applicable_ones(files):
    task = load(*files)
    scorer, search = Distinct(task), Search(task, "phs", batch=5)
    seen = 0
    while len(states := search.expand()) and seen < 60:
        rows = search.applicable()
        for i, state in enumerate(states):
            assert sorted(rows[i].tolist()) == sorted(scorer.scores(scorer.facts(state)))
        seen += len(states)
        logs = log_policy(search, scorer, states)
        for i in range(len(states)):
            row = logs[rows.offsets[i] : rows.offsets[i + 1]]
            assert len(row) == 0 or abs(np.exp(row).sum() - 1) < 1e-5
        search.insert(scorer.values(states), logs)
    assert seen > 10


def test_one_of_equal_actions_gets_most_of_what_they_have():
    logs = np.log(np.array([0.2, 0.3, 0.2, 0.1, 0.2, 1.0, 0.5, 0.5], np.float32))
    found = np.exp(favour_first(logs, np.array([5, 0, 1, 2])))
    rest = 1 - FIRST_SHARE
    expected = [0.6 * FIRST_SHARE, 0.3, 0.3 * rest, 0.1, 0.3 * rest, 1.0, FIRST_SHARE, rest]
    assert found == pytest.approx(expected)
    assert favour_first(logs[:0], np.array([0, 0])).size == 0


@given(st.lists(st.lists(st.integers(-3, 3), max_size=6), max_size=5))
def test_a_policy_that_favours_the_first_is_one(rows):
    counts = np.array([len(row) for row in rows], int)
    logits = np.array([float(number) for row in rows for number in row], np.float32)
    before = log_softmax(logits, counts)
    after = favour_first(before, counts)
    for row, was, now in zip(rows, np.split(before, counts.cumsum()), np.split(after, counts.cumsum()), strict=False):
        assert not row or np.exp(now).sum() == pytest.approx(1, abs=1e-5)
        for number in set(row):
            same = np.array(row) == number
            assert np.exp(now[same]).sum() == pytest.approx(np.exp(was[same]).sum(), abs=1e-5)
            assert now[same].argmax() == 0


def test_equal_things_cost_a_policy_hardly_anything(tmp_path):
    """Ten nuts to tighten, one like the other, with a policy that knows what to do but not with which: a search that
    believed each of the orders as much as any other would be lost among them."""
    problem = tmp_path / "problem.pddl"
    problem.write_text(GENERATORS["spanner"](random.Random(1), "equals", spanners=10, nuts=10, locations=3))
    task = load(DOMAINS / "spanner/domain.pddl", problem)
    kinds = {"pickup_spanner": 0.0, "tighten_nut": 0.0, "walk": 5.0}
    scores = [kinds[name.strip("()").split()[0]] for name in task.names("operators")]

    class Equal(Distinct):
        def values(self, states):
            return np.zeros(len(states), np.float32)

        def scores(self, state):
            return {o: scores[o] for o in super().scores(state)}

    search = Search(task, "levints")
    while search.step(Equal(task)) and search.expanded < 5_000:
        pass
    assert search.status == "solved" and search.expanded < 500


def test_other_searches_do_not_ask_for_a_policy(files):
    task = load(*files)
    search = Search(task, "gbfs")
    while search.step(Classical(task)):
        pass
    assert search.status == "solved"
