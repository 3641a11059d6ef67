"""Policy-guided search through Python: PHS* and LevinTS against their definitions, and what they refuse."""

import random

import numpy as np
import pytest
from scorers import Classical, Distinct, expansions, log_policy, textbook_expansions

from planrank import Heuristic, PlanrankError, Search, load, paths, solve
from planrank.choices import POLICY_SEARCHES
from planrank.models.hypergraph.architecture import Architecture
from planrank.models.hypergraph.signature import signature_of
from planrank.models.model import Model
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


def test_other_searches_do_not_ask_for_a_policy(files):
    task = load(*files)
    search = Search(task, "gbfs")
    while search.step(Classical(task)):
        pass
    assert search.status == "solved"
