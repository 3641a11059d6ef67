"""`planrank certify` as users type it, and the certificate through the Python API."""

import json
import random

import numpy as np
import pytest
from graphs import DOMAIN, EntryTable, Graph, Table

from planrank import Heuristic, PlanrankError, load, paths, solve
from planrank.errors import Exit
from planrank.learning.certificate import certify, merit
from planrank.learning.ranking import ranking_of_plan
from planrank.limits import Limits
from planrank.models.hypergraph.architecture import Architecture
from planrank.models.hypergraph.signature import signature_of
from planrank.models.model import Model
from planrank.problems.random_problems import GENERATORS

BLOCKS = paths.shared() / "domains/blocksworld/domain.pddl"

# 0 to 3 over 1 costs 2, over 2 costs 3; 4 leads nowhere.
GRAPH = Graph(((0, 1, 1), (1, 3, 1), (0, 2, 1), (2, 3, 2), (1, 4, 1)), 0, frozenset({3}))


@pytest.fixture
def files(tmp_path):
    domain, problem = tmp_path / "domain.pddl", tmp_path / "graph.pddl"
    domain.write_text(DOMAIN)
    problem.write_text(GRAPH.problem())
    return domain, problem


@pytest.fixture
def blocks(tmp_path):
    file = tmp_path / "problem.pddl"
    file.write_text(GENERATORS["blocksworld"](random.Random(3), "six", blocks=6))
    return BLOCKS, file


def test_a_perfect_ranking(planrank, files, tmp_path):
    """hmax is the true cost here, and no other state ties with it."""
    done = planrank("certify", *files, "--heuristic", "hmax", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "perfect: the search takes the states of an optimal plan of cost 2 and no others",
        "Expanded 2 state(s), ranking states.",
    ]


def test_violated_pairs_are_shown_with_their_states(planrank, files, tmp_path):
    done = planrank("certify", *files, "--heuristic", "blind", "--json", tmp_path / "c.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert said[0].startswith("not perfect: ") and "pairs are violated for an optimal plan, of cost 2" in said[0]
    assert said[1] == "  step 1 (go e0 n0 n1): f = 2 is not below f = 2 of a state with (at n2) but without (at n1)"
    assert said[-1].startswith("Expanded ")
    found = json.loads((tmp_path / "c.json").read_text())
    assert (found["perfect"], found["search"], found["heuristic"]) == (False, "astar", "blind")
    assert found["rank"] == "states"
    assert found["violations"][0] == {
        "step": 1, "f": 2, "other_f": 2, "state": ["(at n1)"], "other": ["(at n2)"], "other_step": None,
        "other_action": None, "other_after": None,
    }  # fmt: skip
    assert found["violated"] == len(found["violations"]) == len(said) - 2
    assert found["plan"] == ["(go e0 n0 n1)", "(go e1 n1 n3)"] and found["plan_cost"] == found["optimal_cost"] == 2


@pytest.mark.parametrize(
    "search, rank", [("astar", "actions"), ("gbfs", "actions"), ("astar", "states"), ("gbfs", "policy")]
)
def test_a_model(planrank, blocks, tmp_path, search, rank):
    file = tmp_path / "model.safetensors"
    Model.fresh(signature_of(load(*blocks)), Architecture(rank=rank), seed=1).save(file)
    done = planrank("certify", *blocks, "--model", file, "--search", search, "--json", "-", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["perfect"] is False and found["model_file"] == str(file) and found["violated"] > 0
    assert found["rank"] == ("actions" if rank == "actions" else "states")
    assert found["expanded"] == solve(*blocks, search, model=file).statistics.expanded


def test_violated_pairs_of_actions_are_shown_by_name(planrank, blocks, tmp_path):
    file, task = tmp_path / "model.safetensors", load(*blocks)
    Model.fresh(signature_of(task), Architecture(rank="actions"), seed=1).save(file)
    done = planrank("certify", *blocks, "--model", file, "--all", "--json", tmp_path / "c.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said, found = done.stdout.splitlines(), json.loads((tmp_path / "c.json").read_text())
    assert said[-1] == f"Expanded {found['expanded']} state(s), ranking actions."
    shown = [line for line in said if line.startswith("  step ")]
    assert len(shown) == found["violated"] == len(found["violations"]) > 0
    ranking = ranking_of_plan(task, found["plan"])
    names = task.names("facts")
    along = [[names[f] for f in task.facts_in(state)] for state in ranking.states[: ranking.length]]
    for line, wrong in zip(shown, found["violations"], strict=True):
        step, after = wrong["step"], wrong["other_after"]
        where = f"after step {after}" if after else "at the start"
        assert line.startswith(f"  step {step} {found['plan'][step - 1]}: f = ")
        assert f" of {wrong['other_action']} {where}" in line
        assert (wrong["state"], wrong["other"]) == (along[step - 1], along[after])
        assert wrong["f"] >= wrong["other_f"] and after < step


@pytest.mark.parametrize("rank", ["actions", "states"])
def test_where_there_is_nothing_to_choose_every_model_is_perfect(planrank, tmp_path, rank):
    domain, problem, file = tmp_path / "d.pddl", tmp_path / "p.pddl", tmp_path / "model.safetensors"
    chain = Graph(((0, 1, 1), (1, 2, 0), (2, 3, 1)), 0, frozenset({3}))
    domain.write_text(DOMAIN)
    problem.write_text(chain.problem())
    Model.fresh(signature_of(chain.task()), Architecture(rank=rank)).save(file)
    done = planrank("certify", domain, problem, "--model", file, cwd=tmp_path)
    assert done.stdout.splitlines() == [
        "perfect: the search takes the states of an optimal plan of cost 2 and no others",
        f"Expanded 3 state(s), ranking {rank}.",
    ]


def test_a_model_of_another_domain_is_refused(planrank, blocks, files, tmp_path):
    file = tmp_path / "model.safetensors"
    Model.fresh(signature_of(GRAPH.task()), Architecture()).save(file)
    done = planrank("certify", *blocks, "--model", file, cwd=tmp_path)
    assert done.returncode == Exit.USAGE and "graph" in done.stderr and "blocksworld" in done.stderr


@pytest.mark.parametrize("search", ["astar", "gbfs"])
def test_expansions_are_those_of_solve(planrank, blocks, tmp_path, search):
    for heuristic in ("ff", "goalcount"):
        options = ("--heuristic", heuristic, "--search", search, "--json", "-")
        found = json.loads(planrank("certify", *blocks, *options, cwd=tmp_path).stdout)
        assert found["expanded"] == solve(*blocks, search, heuristic).statistics.expanded
        assert found["perfect"] == (found["violated"] == 0)
        assert not found["perfect"] or found["expanded"] == len(found["plan"])


def test_long_lists_are_cut_unless_asked_for(planrank, blocks, tmp_path):
    few = planrank("certify", *blocks, "--heuristic", "blind", cwd=tmp_path).stdout.splitlines()
    every = planrank("certify", *blocks, "--heuristic", "blind", "--all", cwd=tmp_path).stdout.splitlines()
    assert len(few) == 1 + 10 + 1 + 1 and "--all shows them" in few[-2] and len(every) > len(few)
    assert few[:11] == every[:11]
    found = json.loads(planrank("certify", *blocks, "--heuristic", "blind", "--json", "-", cwd=tmp_path).stdout)
    assert len(found["violations"]) == 10 and found["violated"] == len(every) - 2


def test_a_plan_that_is_not_optimal_is_no_proof(planrank, files, tmp_path):
    """Perfectly ranked, but for the wrong plan."""
    plan = tmp_path / "plan"
    plan.write_text("\n".join([*GRAPH.steps([0, 2, 3]), "; cost = 3 (general cost)", ""]))
    task = GRAPH.task()
    found = certify(task, Table(task, [0, 9, 0, 0, 9]), plan=plan.read_text().splitlines())
    assert found.perfect is False and found.check.holds
    assert found.reason == "every pair is in order, but the plan given costs 3 and an optimal one 2"
    done = planrank("certify", *files, "--heuristic", "hmax", "--plan", plan, cwd=tmp_path)
    assert done.returncode == 0
    assert "violated for the plan given, of cost 3, which is not optimal: 2 is enough" in done.stdout
    plan.write_text("\n".join(GRAPH.steps([0, 1, 3])))
    assert planrank("certify", *files, "--heuristic", "hmax", "--plan", plan).stdout.startswith("perfect: ")


def test_costs_with_decimals():
    """The search counts in tenths; the values of a model are in whole costs."""
    graph = Graph(((0, 1, 0.5), (1, 3, 0.5), (0, 2, 0.2), (2, 3, 1.1)), 0, frozenset({3}))
    task = graph.task()
    assert task.cost_scale == 10
    for values, perfect in [([0, 0.5, 1.1, 0], True), ([0, 0.5, 0.8, 0], False), ([0, 0.5, 0.75, 0], False)]:
        found = certify(task, Table(task, values))
        assert found.perfect is perfect
        assert perfect or found.check.violations[0].f == pytest.approx(1)
    assert found.expanded == 3


def test_a_dead_end_on_the_path():
    task = GRAPH.task()
    found = certify(task, Table(task, [0, np.inf, 5, 0, 0]))
    assert found.perfect is False and found.check.dead_ends == [1] and "taken for dead ends" in found.reason
    chain = Graph(((0, 1, 1), (1, 2, 1)), 0, frozenset({2}))
    task = chain.task()
    found = certify(task, Table(task, [0, np.inf, 0]))  # nothing to compare with, and still not perfect
    assert found.perfect is False and found.check.pairs == 0 and (found.status, found.expanded) == ("gave up", 1)


def test_an_action_of_the_path_that_is_valued_infinite():
    task = GRAPH.task()
    found = certify(task, EntryTable(task, [0] * 5, [0, np.inf, 5, 0, 0]), rank="actions")
    assert found.perfect is False and found.check.dead_ends == [2] and "taken for dead ends" in found.reason
    assert (found.status, found.expanded) == ("solved", 3)


def test_who_ranks_no_actions_says_so(blocks):
    task = load(*blocks)
    with pytest.raises(PlanrankError, match="a classical heuristic ranks states"):
        certify(task, Heuristic(task, "ff"), rank="actions")
    model = Model.fresh(signature_of(task), Architecture(rank="states"))
    with pytest.raises(PlanrankError, match="this model ranks states and scores no actions"):
        certify(task, model.scorer(task), rank="actions")
    with pytest.raises(PlanrankError, match="`ucs` ranks no actions"):
        certify(task, model.scorer(task), "ucs", rank="actions")


class Follow:
    """Values that lead along one plan, whatever it is worth."""

    def __init__(self, task, steps):
        ranking = ranking_of_plan(task, steps)
        self.rank = {state.tobytes(): -i for i, state in enumerate(ranking.states[: ranking.length + 1])}

    def values(self, states):
        return np.array([self.rank.get(state.tobytes(), 1.0) for state in states], np.float32)


def test_without_a_proof_there_is_no_verdict(planrank, tmp_path):
    problem = tmp_path / "p.pddl"
    problem.write_text(GENERATORS["blocksworld"](random.Random(0), "many", blocks=16))
    done = planrank("certify", BLOCKS, problem, "--heuristic", "ff", "--time-limit", 0, cwd=tmp_path)
    assert done.returncode == Exit.OUT_OF_TIME and done.stderr.count("\n") == 1
    task, plan = load(BLOCKS, problem), solve(BLOCKS, problem, "gbfs", "ff").plan
    for given in (plan, None):
        found = certify(task, Follow(task, plan), "gbfs", plan=given, limits=Limits.of(2))
        assert found.perfect is None and found.check.steps == plan and found.expanded == len(plan)
        assert found.proof == "out of time" and "whether it is optimal is not known" in found.reason


def test_conditional_effects(tmp_path):
    domain, problem = tmp_path / "d.pddl", tmp_path / "p.pddl"
    domain.write_text("""(define (domain d) (:requirements :adl) (:predicates (p) (q))
        (:action a :parameters () :effect (and (p) (when (p) (q)))))""")
    problem.write_text("(define (problem x) (:domain d) (:init) (:goal (q)))")
    task = load(domain, problem)
    found = certify(task, Heuristic(task, "ff"))
    assert found.perfect and found.check.steps == ["(a)", "(a)"]


@pytest.mark.parametrize("reachable", [True, False])
def test_a_task_without_a_plan(planrank, tmp_path, reachable):
    problem = tmp_path / "p.pddl"
    goal = "(and (on a b) (on b a))" if reachable else "(holding a)"
    init = "(on-table a) (on-table b)" + " (clear a) (clear b) (handempty)" * reachable
    problem.write_text(
        f"(define (problem p) (:domain blocksworld) (:objects a b - block) (:init {init}) (:goal {goal}))"
    )
    done = planrank("certify", BLOCKS, problem, "--heuristic", "ff", cwd=tmp_path)
    assert done.returncode == Exit.UNSOLVABLE and "the task has no plan" in done.stdout


@pytest.mark.parametrize(
    "arguments, code, said",
    [
        ([], Exit.USAGE, "Give either --model or --heuristic."),
        (["--heuristic", "ff", "--model", "m"], Exit.USAGE, "Give either --model or --heuristic."),
        (["--heuristic", "ff", "--search", "bfs"], Exit.USAGE, "'bfs' is not one of"),
        (["--heuristic", "ff", "--plan", "nowhere"], Exit.USAGE, "nowhere: this file cannot be read"),
        (["--heuristic", "ff", "--plan", "wrong"], Exit.BAD_PDDL, "wrong: step 1: (go e1 n1 n3) needs (at n1)"),
        (["--heuristic", "ff", "--plan", "empty"], Exit.BAD_PDDL, "empty: the plan is empty"),
        (["--heuristic", "ff", "--json", "no/folder/c.json"], Exit.USAGE, "its folder does not exist"),
    ],
)
def test_what_is_wrong_is_said(planrank, files, tmp_path, arguments, code, said):
    (tmp_path / "wrong").write_text("(go e1 n1 n3)\n")
    (tmp_path / "empty").write_text("; nothing\n")
    done = planrank("certify", *files, *arguments, cwd=tmp_path)
    assert done.returncode == code and said in done.stderr and done.stdout == ""
    assert "Traceback" not in done.stderr


def test_an_initial_state_that_is_a_goal(planrank, tmp_path):
    problem = tmp_path / "p.pddl"
    problem.write_text(Graph(((0, 1, 1), (1, 2, 1)), 0, frozenset({0})).problem())
    (tmp_path / "d.pddl").write_text(DOMAIN)
    done = planrank("certify", tmp_path / "d.pddl", problem, "--heuristic", "blind", cwd=tmp_path)
    assert done.returncode == Exit.BAD_PDDL and "the initial state is a goal" in done.stderr


def test_other_searches_are_refused_by_name():
    with pytest.raises(PlanrankError, match="cannot be certified for the search `bfs`"):
        merit("bfs")
