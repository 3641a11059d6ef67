"""Searches whose open list holds entries (state, action): the order of evaluations against the textbook, and limits."""

import json
import math
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from graphs import random_graph
from hypothesis import given, settings
from hypothesis import strategies as st
from scorers import Classical, Distinct, evaluations, textbook_evaluations
from test_phs import SIZES

from planrank import Architecture, Model, PlanrankError, Search, load, paths, solve
from planrank.errors import Exit
from planrank.limits import Limits
from planrank.models.hypergraph.signature import signature_of
from planrank.problems.random_problems import GENERATORS
from planrank.search import forward

DOMAINS = paths.shared() / "domains"
SEARCHES = ["gbfs", "astar", "wastar"]


def problem_of(name: str, folder, **size):
    problem = folder / "problem.pddl"
    problem.write_text(GENERATORS[name](random.Random(4), "small", **size))
    return DOMAINS / name / "domain.pddl", problem


@pytest.fixture(params=sorted(SIZES))
def files(request, tmp_path):
    return problem_of(request.param, tmp_path, **SIZES[request.param])


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("spread", [1.0, 30.0])
@pytest.mark.parametrize("reopen", [None, True, False])
def test_one_entry_at_a_time_is_the_textbook_algorithm(files, search, spread, reopen):
    task = load(*files)
    scorer = Distinct(task, spread)
    expected, cost, reopened = textbook_evaluations(task, scorer, search, reopen=reopen)
    by_hand = Search(task, search, rank="actions", reopen=reopen)
    assert evaluations(by_hand, scorer) == expected and len(expected) > 5
    driven = Search(task, search, rank="actions", reopen=reopen)
    while driven.step(scorer):
        pass
    for found in (by_hand, driven):
        counters = found.statistics()
        assert found.status == "solved" and counters.reopened == reopened
        assert counters.evaluated == len(expected) == counters.expanded + counters.dead_ends
        number = {name: o for o, name in enumerate(task.names("operators"))}
        assert sum(task.costs[number[step]] for step in found.plan()) == cost
    assert driven.plan() == by_hand.plan() and driven.statistics() == by_hand.statistics()


def test_diving_finds_plans_and_evaluates_each_state_once(files):
    task = load(*files)
    search = Search(task, "dive", rank="actions")
    order = evaluations(search, Distinct(task, 1.0))
    assert search.status == "solved" and len(set(order)) == len(order) > 5
    assert order != evaluations(Search(task, "gbfs", rank="actions"), Distinct(task, 1.0))
    result = solve(*files, "dive", model=fresh_model(task))
    assert (result.status, result.search) == ("solved", "dive")


def test_of_actions_that_are_alike_one_is_looked_at(tmp_path):
    files = problem_of("gripper", tmp_path, balls=6)
    task = load(*files)

    def first_actions(merge):
        search = Search(task, "gbfs", rank="actions", merge=merge)
        search.expand()
        names = task.names("operators")
        return {names[o] for o in search.applicable().values}

    assert first_actions(True) < first_actions(False)
    assert "left" in str(first_actions(True)) and "right" not in str(first_actions(True))
    model = fresh_model(task)
    merged, whole = (solve(*files, "dive", model=model, merge=merge) for merge in (True, False))
    assert merged.status == whole.status == "solved" and merged.statistics.expanded <= whole.statistics.expanded
    lazy = [solve(*files, "lazy", "ff", merge=merge) for merge in (True, False)]
    assert [one.status for one in lazy] == ["solved", "solved"]
    assert lazy[0].statistics.evaluated <= lazy[1].statistics.evaluated
    optimal = [solve(*files, "astar", model=model, merge=merge).status for merge in (True, False)]
    assert optimal == ["solved", "solved"]


def fresh_model(task):
    return Model.fresh(signature_of(task), Architecture(relaxed=False))


def with_dear_ways(graph, seed: int):
    """In half of all graphs to all nodes, so that cheaper ones are found later."""
    nodes = sorted({node for edge in graph.edges for node in edge[:2]} - graph.goals)
    dear = tuple((graph.start, node, 5) for node in nodes)
    return graph if seed % 2 else replace(graph, edges=graph.edges + dear)


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    search=st.sampled_from(SEARCHES),
    reopen=st.sampled_from([None, True, False]),
    weight=st.sampled_from([0.0, 0.5, 3.0]),
    spread=st.sampled_from([0.5, 5.0, 40.0]),
    costs=st.sampled_from([(1,), (0, 1, 2, 9), (0.5, 1.25, 7)]),
)
def test_general_costs_and_reopening(seed, search, reopen, weight, spread, costs):
    graph = with_dear_ways(random_graph(random.Random(seed), costs), seed)
    task = graph.task()
    scorer = Distinct(task, spread)
    if search == "wastar" and weight == 0:
        weight = 0.25  # without the values there are ties
    expected, cost, reopened = textbook_evaluations(task, scorer, search, weight, reopen)
    found = Search(task, search, rank="actions", weight=weight, reopen=reopen)
    assert evaluations(found, scorer) == expected
    counters = found.statistics()
    assert found.status == "solved" and counters.reopened == reopened and counters.evaluated == len(expected)
    steps = [int(step.split()[1][1:]) for step in found.plan()]
    assert sum(graph.edges[e][2] for e in steps) == pytest.approx(cost)


def test_the_graphs_have_reopenings():
    found = 0
    for seed in range(0, 150, 2):
        task = with_dear_ways(random_graph(random.Random(seed)), seed).task()
        for spread, search in [(0.5, "wastar"), (40.0, "astar")]:
            found += textbook_evaluations(task, Distinct(task, spread), search)[2] > 0
    assert found > 5


def test_a_model_makes_one_evaluation_an_expansion(files):
    task = load(*files)
    model = Model.fresh(signature_of(task), Architecture(rank="actions"), seed=1)
    by_actions = solve(*files, model=model).statistics
    assert by_actions.evaluated == by_actions.expanded + by_actions.dead_ends
    states = Model.fresh(signature_of(task), Architecture(rank="states"), seed=1)
    by_states = solve(*files, model=states).statistics
    assert by_states.evaluated > by_states.expanded


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("batch", [2, 5])
def test_a_batch_of_entries_gives_as_many_children(files, search, batch):
    """At most: an entry may lead to a state that is known."""
    task = load(*files)
    scorer, searching = Distinct(task), Search(task, search, rank="actions", batch=batch)
    while searching.step(scorer):
        pass
    assert searching.status == "solved" and scorer.batches[0] == 1 and 1 < max(scorer.batches) <= batch
    assert searching.statistics().evaluated == sum(scorer.batches)


def test_a_batch_is_full_where_there_are_enough_entries(tmp_path):
    task = load(*problem_of("blocksworld", tmp_path, blocks=20))
    scorer, searching = Distinct(task), Search(task, "gbfs", rank="actions", batch=8)
    for _ in range(20):
        searching.step(scorer)
    assert max(scorer.batches) == 8 and sum(scorer.batches) > 5 * 20


@pytest.mark.parametrize("search", SEARCHES)
def test_scoring_in_portions_changes_nothing(files, search, monkeypatch):
    task = load(*files)
    whole, parts = (Search(task, search, rank="actions", batch=50) for _ in range(2))
    scorer, careful = Distinct(task), Distinct(task)
    while whole.step(scorer):
        pass
    monkeypatch.setattr(forward, "WORK_IN_A_PORTION", 1)
    while parts.step(careful):
        pass
    assert careful.largest_batch == min(16, scorer.largest_batch)
    assert parts.statistics() == whole.statistics() and parts.plan() == whole.plan()


def test_entries_of_infinite_value_are_never_taken(files):
    """Where all but the plan's actions lead nowhere nothing else is tried; where all do, the search has no more."""
    task = load(*files)
    names = {name: o for o, name in enumerate(task.names("operators"))}
    state, chosen = frozenset(task.init.tolist()), {}
    plan = solve(*files, "astar", "ff").plan
    for step in plan:
        operator = names[step]
        chosen[state] = operator
        state = frozenset(state - set(task.delete[operator].tolist()) | set(task.add[operator].tolist()))

    class Knowing(Distinct):
        def scores(self, state):
            return {o: u if chosen.get(state) == o else math.inf for o, u in super().scores(state).items()}

    searching = Search(task, "gbfs", rank="actions")
    while searching.step(Knowing(task)):
        pass
    assert searching.plan() == plan and searching.expanded == len(plan)
    chosen.clear()
    searching = Search(task, "gbfs", rank="actions")
    while searching.step(Knowing(task)):
        pass
    counters = searching.statistics()
    assert searching.status == "exhausted" and (counters.evaluated, counters.dead_ends, counters.expanded) == (1, 1, 0)


def test_lazy_evaluates_as_often_as_it_expands(files):
    task = load(*files)
    for scorer in (Classical(task), Distinct(task)):
        searching = Search(task, "lazy")
        while searching.step(scorer):
            pass
        counters = searching.statistics()
        assert searching.status == "solved" and counters.evaluated == counters.expanded + counters.dead_ends
    result = solve(*files, "lazy", "ff")
    assert (result.status, result.search) == ("solved", "lazy")


def test_values_of_another_number_are_refused(files):
    task = load(*files)
    searching = Search(task, "gbfs", rank="actions")
    searching.expand()
    count = len(searching.applicable().values)
    for values, said in [
        (np.zeros(0), f"0 numbers for {count} applicable operators"),
        (np.zeros(count + 1), f"{count + 1} numbers for {count} applicable operators"),
        (np.full(count, np.nan), "the value of an operator is not a number"),
    ]:
        with pytest.raises(PlanrankError, match=said) as error:
            searching.insert_actions(values)
        assert error.value.exit_code == Exit.USAGE and "\n" not in str(error.value)
    searching.insert_actions(np.zeros(count))
    states = Search(task, "gbfs")
    states.expand()
    with pytest.raises(PlanrankError, match="this search ranks states: it takes a value for each"):
        states.insert_actions(np.zeros(count))


def test_searches_that_rank_no_actions(files):
    task = load(*files)
    for name in ("bfs", "ucs", "phs", "levints"):
        with pytest.raises(PlanrankError, match=f"`{name}` ranks no actions; astar, gbfs, wastar and dive do"):
            Search(task, name, rank="actions")
    with pytest.raises(PlanrankError, match="unknown rank `sideways`; known: actions, states"):
        Search(task, "gbfs", rank="sideways")
    with pytest.raises(PlanrankError, match="ranks states and does not ask for the operators"):
        searching = Search(task, "gbfs")
        searching.expand()
        searching.applicable()


@pytest.fixture
def endless(tmp_path):
    """A large task, and a model that knows nothing of it."""
    files = problem_of("blocksworld", tmp_path, blocks=30)
    Model.fresh(signature_of(load(*files)), Architecture(rank="actions")).save(tmp_path / "mine.safetensors")
    return files


@pytest.mark.parametrize("batch", [1, 64])
def test_the_time_limit_is_kept(endless, tmp_path, batch):
    result = solve(*endless, "astar", model=tmp_path / "mine.safetensors", batch=batch, time_limit=3)
    assert result.status == "out of time" and result.heuristic == "model:mine"
    assert result.statistics.expanded > 0 and result.total_seconds < 6


def test_the_memory_limit_ends_the_search(endless):
    """Entries are counted among what a search holds."""
    task = load(*endless)

    class Worthless(Distinct):
        def values_and_scores(self, states, actions):
            rng = np.random.default_rng(len(actions.values))
            return rng.random(len(states), np.float32), rng.random(len(actions.values), np.float32)

    resident = 4096 * int(Path("/proc/self/statm").read_text().split()[1])
    searching = Search(task, "astar", rank="actions", batch=64, limits=Limits(memory=resident + 10 * 2**20))
    scorer = Worthless(task)
    for _ in range(5000):
        if not searching.step(scorer):
            break
    assert searching.status == "memory" and searching.statistics().states > 1000


def test_the_command_and_its_json(planrank, tmp_path):
    files = problem_of("blocksworld", tmp_path, blocks=5)
    for rank in ("actions", "states"):
        Model.fresh(signature_of(load(*files)), Architecture(rank=rank)).save(tmp_path / f"{rank}.safetensors")
    found = {}
    for rank in ("actions", "states"):
        arguments = ("--model", tmp_path / f"{rank}.safetensors", "--rank", rank, "--json", "-")
        done = planrank("solve", *files, *arguments, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        found[rank] = json.loads(done.stdout)
        assert found[rank]["status"] == "solved" and found[rank]["heuristic"] == f"model:{rank}"
        assert planrank("validate", *files, tmp_path / "sas_plan").returncode == 0
    assert found["actions"]["evaluated"] == found["actions"]["expanded"] + found["actions"]["dead_ends"]
    assert found["states"]["evaluated"] > found["states"]["expanded"]
