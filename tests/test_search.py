"""Heuristics and search through the Python API, against pyperplan, Fast Downward and the definitions."""

import importlib.util
import random
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from planrank import Heuristic, PlanrankError, Search, load, solve
from planrank.choices import CLASSICAL_SEARCHES, HEURISTICS
from planrank.problems.folders import own_domain_file
from planrank.problems.random_problems import GENERATORS

SMALL = {
    "blocksworld": {"blocks": 4}, "elevators": {"passengers": 2}, "ferry": {"locations": 3, "cars": 2},
    "gripper": {"balls": 3}, "npuzzle": {"side": 2}, "spanner": {"spanners": 2, "nuts": 1, "locations": 3},
    "maze": {"side": 7}, "sokoban": {"boxes": 1, "side": 7, "pulls": 6}, "tiles": {"side": 2},
}  # fmt: skip


def generate(folder: Path, name: str, seed: int) -> tuple[Path, Path]:
    problem = folder / f"{name}-{seed}.pddl"
    problem.write_text(GENERATORS[name](random.Random(seed), f"{name}-{seed}", **SMALL[name]))
    return own_domain_file(name), problem


@pytest.fixture(params=sorted(GENERATORS))
def files(request, tmp_path):
    return generate(tmp_path, request.param, 1)


def random_states(task, count: int, seed: int) -> list[set[int]]:
    """States seen on random walks from the initial one."""
    rng = random.Random(seed)
    found = []
    while len(found) < count:
        state = set(task.init.tolist())
        for _ in range(rng.randrange(20)):
            usable = [o for o in range(task.operator_count) if set(task.pre[o].tolist()) <= state]
            if not usable:
                break
            chosen = rng.choice(usable)
            state = state - set(task.delete[chosen].tolist()) | set(task.add[chosen].tolist())
        found.append(state)
    return found


def test_packing_and_unpacking(files):
    task = load(*files)
    for state in random_states(task, 5, 0):
        assert set(task.facts_in(task.packed(state)).tolist()) == state


@pytest.mark.parametrize("name, theirs", [("hmax", "hmax"), ("hadd", "hadd")])
def test_pyperplan_has_the_same_values(files, name, theirs):
    pytest.importorskip("pyperplan")
    from pyperplan.grounding import ground
    from pyperplan.pddl.parser import Parser
    from pyperplan.planner import HEURISTICS as THEIRS
    from pyperplan.search.searchspace import make_root_node

    parser = Parser(*map(str, files))
    their_task = ground(parser.parse_problem(parser.parse_domain()))
    estimate = THEIRS[theirs](their_task)
    task = load(*files)
    names = task.names("facts")
    states = random_states(task, 25, 3)
    ours = Heuristic(task, name).values(np.stack([task.packed(s) for s in states]))
    for state, value in zip(states, ours, strict=True):
        node = make_root_node(frozenset(names[f] for f in state) & frozenset(their_task.facts))
        assert estimate(node) == value


def test_order_of_heuristics(files):
    """blind and hmax bound LM-cut from below, all bound the true cost; hFF and hadd see the same dead ends."""
    task = load(*files)
    states = np.stack([task.packed(s) for s in random_states(task, 40, 5)])
    value = {name: Heuristic(task, name).values(states) for name in HEURISTICS}
    assert (value["blind"] <= value["hmax"]).all() and value["blind"].max() > 0
    assert (value["hmax"] <= value["lmcut"] + 1e-6).all()
    assert (value["hmax"] <= value["hadd"]).all()
    for name in ("hadd", "ff", "lmcut"):
        assert (np.isinf(value[name]) == np.isinf(value["hmax"])).all()


def test_states_of_another_task_are_refused(files):
    task = load(*files)
    with pytest.raises(PlanrankError, match="expected states of"):
        Heuristic(task, "ff").values(np.zeros((3, task.words + 1), np.uint64))


@pytest.mark.parametrize("search", CLASSICAL_SEARCHES)
def test_all_searches_find_valid_plans_and_optimal_ones_agree(files, search):
    costs = {}
    for heuristic in HEURISTICS:
        result = solve(*files, search, heuristic)
        assert result.status == "solved" and result.plan_length == len(result.plan)
        costs[heuristic] = result.plan_cost
    best = solve(*files, "ucs").plan_cost
    assert min(costs.values()) >= best
    if search in ("ucs", "bfs"):
        assert set(costs.values()) == {best}
    if search == "astar":
        assert costs["blind"] == costs["hmax"] == costs["lmcut"] == best


@pytest.mark.parametrize("search", CLASSICAL_SEARCHES)
@pytest.mark.parametrize("batch", [1, 4])
def test_values_from_python_lead_the_same_way(files, search, batch):
    """The loop with a model in it: values handed in by Python against the same heuristic inside Julia."""
    task = load(*files)
    goal_count = Heuristic(task, "goalcount")
    inside = Search(task, search, batch=batch)
    while inside.run(goal_count) == "running":
        pass
    outside = Search(task, search, batch=batch)
    while len(states := outside.expand(batch)):
        outside.insert(goal_count.values(np.ascontiguousarray(states)))
    assert outside.status == inside.status == "solved"
    assert outside.statistics() == inside.statistics()
    assert outside.plan() == inside.plan()


def test_helpful_actions_lead_lazy_search_another_way(files):
    plain, helped, default = (solve(*files, "lazy", "ff", preferred=choice) for choice in (False, True, None))
    assert plain.status == helped.status == "solved"
    assert default.plan == helped.plan and default.statistics == helped.statistics
    assert solve(*files, "lazy", "hadd").status == "solved"


@pytest.mark.parametrize(
    "search, heuristic, found", [("gbfs", "ff", "gbfs"), ("lazy", "hadd", "lazy with hadd"), ("bfs", None, "bfs")]
)
def test_preferred_operators_need_lazy_search_and_hff(files, search, heuristic, found):
    with pytest.raises(PlanrankError, match=f"lazy with the heuristic ff, not for {found}$"):
        solve(*files, search, heuristic, preferred=True)


COSTLY_DOMAIN = """(define (domain costly) (:requirements :strips :action-costs)
  (:predicates (at ?x) (next ?x ?y))
  (:functions (total-cost) - number (toll ?x) - number)
  (:action go :parameters (?x ?y) :precondition (and (at ?x) (next ?x ?y))
    :effect (and (at ?y) (not (at ?x)) (increase (total-cost) (toll ?y)))))"""


def road(*tolls: str) -> str:
    """A problem with one way only, where each next place costs its toll."""
    places = [f"x{i}" for i in range(len(tolls) + 1)]
    steps = " ".join(f"(next x{i} x{i + 1}) (= (toll x{i + 1}) {toll})" for i, toll in enumerate(tolls))
    return (
        f"(define (problem road) (:domain costly) (:objects {' '.join(places)}) (:init (at x0) (= (toll x0) 0) {steps})"
        f" (:goal (at {places[-1]})) (:metric minimize (total-cost)))"
    )


@pytest.mark.parametrize("search, heuristic", [("gbfs", h) for h in HEURISTICS] + [("astar", "hmax"), ("ucs", "blind")])
@pytest.mark.parametrize(
    "tolls, cost",
    [
        (["0.6", "1.1", "0.000000001"], 1.700000001),
        (["1073741823"] * 3, 3221225469),
        (["0.123456789"] * 30, 3.70370367),
    ],
)
def test_a_plan_may_cost_more_than_32_bits_hold(search, heuristic, tolls, cost):
    result = solve(COSTLY_DOMAIN, road(*tolls), search=search, heuristic=heuristic)
    assert (result.status, len(result.plan)) == ("solved", len(tolls))
    assert result.plan_cost == pytest.approx(cost, rel=1e-12)


def test_wrong_names_are_refused(files):
    task = load(*files)
    with pytest.raises(PlanrankError, match="unknown search `sideways`"):
        Search(task, "sideways")
    with pytest.raises(PlanrankError, match="unknown heuristic `clairvoyant`"):
        Heuristic(task, "clairvoyant")
    with pytest.raises(PlanrankError, match="0 values for 1 states"):
        search = Search(task)
        search.expand()
        search.insert(np.zeros(0))


def small_instances(shared: Path) -> list[tuple[Path, Path]]:
    """Small tasks of many domains, those that A* with LM-cut solves at once."""
    folders = {
        "blocksworld": ["blocks0[3-7]-task0[1-5]*"], "ferry": ["ferry-l[23]-*", "ferry-l4-c[2-4]*"],
        "elevators": ["s0[1-5]-*"], "npuzzle": ["n-puzzle-2x2-*"],
    }  # fmt: skip
    found = []
    for folder, patterns in folders.items():
        home = shared / "instances/paper" / folder
        found += [(home / "domain.pddl", p) for pattern in patterns for p in sorted(home.glob(pattern))[:24]]
    return found


def test_lmcut_finds_the_costs_that_fast_downward_finds(shared, tmp_path):
    spec = importlib.util.find_spec("up_fast_downward")
    if spec is None:
        pytest.skip("needs up-fast-downward")
    driver = Path(spec.origin).parent / "downward/fast-downward.py"
    instances = small_instances(shared)
    ipc = shared / "instances/ipc"
    for folder in ("gripper", "movie", "driverlog", "elevators-opt08-strips"):
        domain = ipc / folder / "domain.pddl"
        instances += [(domain, p) for p in sorted(domain.parent.glob("p*.pddl"))[:1] if domain.exists()]
    compared = 0
    for domain, problem in instances:
        ours = solve(domain, problem, "astar", "lmcut", time_limit=2)
        if ours.status != "solved":
            continue
        search = [sys.executable, driver, "--sas-file", tmp_path / "sas", "--plan-file", tmp_path / "plan"]
        done = subprocess.run([*search, domain, problem, "--search", "astar(lmcut())"], capture_output=True, text=True)
        cost = re.search(r"Plan cost: (\d+)", done.stdout)
        assert cost is not None, done.stdout[-500:] + done.stderr
        assert ours.plan_cost == int(cost[1]), problem
        compared += 1
    assert compared >= 60
