"""Better and better plans: `planrank solve --anytime` and `planrank.solve_anytime`."""

import json
import random
import signal
import time
from itertools import pairwise
from unittest.mock import DEFAULT, Mock

import pytest
from conftest import start_python

from planrank import PlanrankError, paths, solve, solve_anytime, validate
from planrank.errors import Exit
from planrank.problems.random_problems import GENERATORS
from planrank.search import anytime

DOMAINS = paths.shared() / "domains"
BLOCKS = DOMAINS / "blocksworld/domain.pddl"

# The way by a is short in steps, the way by b and c is cheap. Conditional effects keep LM-cut away.
CARRY = """(define (domain carry) (:requirements :adl :action-costs)
  (:constants home end)
  (:predicates (at ?x) (road ?a ?b) (loaded) (delivered) (worn))
  (:functions (total-cost) - number (length ?a ?b) - number)
  (:action drive :parameters (?a ?b) :precondition (and (at ?a) (road ?a ?b))
    :effect (and (not (at ?a)) (at ?b) (when (loaded) (worn)) (increase (total-cost) (length ?a ?b))))
  (:action load :parameters () :precondition (at home) :effect (and (loaded) (increase (total-cost) 0.5)))
  (:action drop :parameters () :precondition (and (at end) (loaded))
    :effect (and (not (loaded)) (delivered) (increase (total-cost) 0.25))))"""
ROADS = {"home a": 7.5, "home b": 1.25, "b c": 1.25, "c a": 1.25, "a end": 1, "b end": 9}
ON_THE_ROADS = f"""(define (problem p) (:domain carry) (:objects a b c)
  (:init (at home) (= (total-cost) 0)
    {" ".join(f"(road {ends}) (= (length {ends}) {cost})" for ends, cost in ROADS.items())})
  (:goal (delivered)) (:metric minimize (total-cost)))"""


def blocks(count: int, seed: int = 2) -> str:
    return GENERATORS["blocksworld"](random.Random(seed), "blocks", blocks=count)


@pytest.mark.parametrize("search, heuristic", [("gbfs", "blind"), ("lazy", "ff"), ("wastar", "hadd"), ("bfs", None)])
def test_plans_become_cheaper_until_the_last_is_proved_optimal(search, heuristic):
    problem = blocks(5)
    run = solve_anytime(BLOCKS, problem, search, heuristic)
    plans = list(run)
    assert plans == run.plans and plans
    assert all(a.cost > b.cost and a.seconds <= b.seconds for a, b in pairwise(plans))
    for plan in plans:
        assert validate(BLOCKS, problem, "; a plan\n" + "\n".join(plan.steps)) == (len(plan.steps), plan.cost)
    found = run.result()
    assert found.ended == "optimal" and found.optimal and found.status == "solved"
    assert (found.plan, found.plan_cost) == (plans[-1].steps, plans[-1].cost)
    assert found.plan_cost == solve(BLOCKS, problem, "astar", "lmcut").plan_cost
    assert found.as_json()["plans"][0]["by"].startswith(search)


def test_costs_with_decimals_and_conditional_effects():
    run = solve_anytime(CARRY, ON_THE_ROADS, "bfs")
    costs = [plan.cost for plan in run]
    assert costs[0] > costs[-1] == 0.5 + 3 * 1.25 + 1 + 0.25
    assert run.result().optimal


def test_a_first_plan_that_is_optimal_is_the_last():
    run = solve_anytime(BLOCKS, blocks(4), "astar", "lmcut")
    assert len(list(run)) == 1 and run.result().optimal


def test_an_interruption_while_the_first_plan_is_validated_keeps_it(monkeypatch):
    validated = anytime.validated_cost
    monkeypatch.setattr(anytime, "validated_cost", Mock(side_effect=[KeyboardInterrupt, DEFAULT], wraps=validated))
    problem = blocks(5)
    run = solve_anytime(BLOCKS, problem, heuristic="ff")
    with pytest.raises(KeyboardInterrupt):
        next(run)
    (plan,) = run.plans
    assert validate(BLOCKS, problem, "\n".join(plan.steps)) == (len(plan.steps), plan.cost)
    assert run.result().status == "solved"


def test_a_plan_of_the_turn_that_is_interrupted_is_kept(monkeypatch):
    run_windows = anytime.Windows.run

    def interrupted(windows, seconds):
        if run_windows(windows, seconds) == "cheaper":
            raise KeyboardInterrupt  # as after a call of Julia in which a signal has come
        return "running"

    monkeypatch.setattr(anytime.Windows, "run", interrupted)
    problem, plans = blocks(7), []
    run = solve_anytime(BLOCKS, problem, heuristic="blind")
    with pytest.raises(KeyboardInterrupt):
        for plan in run:
            plans.append(plan)
    assert plans == run.plans and len(plans) > 1 and plans[-1].by == "windows" and plans[-2].cost > plans[-1].cost
    assert validate(BLOCKS, problem, "\n".join(plans[-1].steps))[1] == plans[-1].cost


def test_without_a_plan():
    run = solve_anytime(BLOCKS, blocks(5), time_limit=0)
    assert list(run) == []
    assert (run.result().status, run.result().plan, run.result().ended) == ("out of time", None, "out of time")
    lamp = "(define (domain d) (:predicates (on) (off)) (:action a :parameters () :precondition (off) :effect (on)))"
    run = solve_anytime(lamp, "(define (problem p) (:domain d) (:init) (:goal (on)))")
    assert list(run) == [] and run.result().status == "unsolvable"
    with pytest.raises(PlanrankError, match="unknown heuristic"):
        solve_anytime(BLOCKS, blocks(4), heuristic="guess")


def test_every_plan_has_its_file(planrank, tmp_path):
    problem, old = tmp_path / "problem.pddl", [tmp_path / f"sas_plan.{i}" for i in range(1, 60)]
    problem.write_text(blocks(6))
    for file in old:
        file.write_text("of an earlier run")
    done = planrank("solve", BLOCKS, problem, "--anytime", "--heuristic", "blind", "--json", "found.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "found.json").read_text())
    costs = [plan["cost"] for plan in found["plans"]]
    assert len(costs) > 1 and costs == sorted(costs, reverse=True) and found["plan_cost"] == costs[-1]
    assert found["ended"] == "optimal" and found["optimal"] is True
    written = sorted(tmp_path.glob("sas_plan*"))
    assert len(written) == len(costs)
    for number, cost in enumerate(costs, 1):
        assert validate(BLOCKS, problem, tmp_path / f"sas_plan.{number}") == (cost, cost)
        assert f"Plan {number}: cost {cost}, {cost} step(s), " in done.stdout
    assert f"Plans: {len(costs)}, the last is proved optimal." in done.stdout
    assert f"Plan cost: {costs[-1]}" in done.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_keeps_what_was_found(number, tmp_path):
    problem, first = tmp_path / "problem.pddl", tmp_path / "plan.1"
    problem.write_text(blocks(20))
    arguments = ("solve", BLOCKS, problem, "--anytime", "--heuristic", "ff", "--plan-file", tmp_path / "plan")
    process = start_python("from planrank.cli.main import run; run()", *map(str, arguments))
    try:
        deadline = time.monotonic() + 120
        while not first.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(number)
        output, error = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == Exit.OK, error
    assert "none cheaper was found before the interruption" in output
    files = list(tmp_path.glob("plan.*"))
    assert len(files) == output.count("\nPlan ") + output.startswith("Plan ") - 2  # of the log: length and cost
    assert all(validate(BLOCKS, problem, file)[0] > 0 for file in files)


@pytest.mark.parametrize(
    "options, said",
    [
        (["--plan-file", "-"], "--anytime writes a file for each plan, so --plan-file must name one, not '-'."),
        (["--no-shorten"], "--anytime makes plans cheaper, first by leaving steps out: --no-shorten forbids that."),
        (["--plan-file", "nowhere/plan"], "its folder does not exist"),
    ],
)
def test_what_makes_no_sense_is_refused(planrank, tmp_path, options, said):
    problem = tmp_path / "problem.pddl"
    problem.write_text(blocks(4))
    done = planrank("solve", BLOCKS, problem, "--anytime", *options, cwd=tmp_path)
    assert done.returncode == Exit.USAGE
    assert said in done.stderr and done.stdout == ""
