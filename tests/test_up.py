"""The engine of unified-planning, on unified-planning's own test problems."""

import io
import multiprocessing
import warnings
from fractions import Fraction
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pytest
from conftest import REPOSITORY

pytest.importorskip("unified_planning")

import unified_planning
from unified_planning.engines import AnytimeGuarantee, OptimalityGuarantee
from unified_planning.engines import PlanGenerationResultStatus as Status
from unified_planning.exceptions import UPException, UPUsageError
from unified_planning.io import PDDLReader
from unified_planning.model.problem_kind import get_valid_features
from unified_planning.shortcuts import (
    AnytimePlanner,
    Fluent,
    InstantaneousAction,
    MinimizeActionCosts,
    Not,
    OneshotPlanner,
    PlanValidator,
    Problem,
    get_environment,
)  # fmt: skip
from unified_planning.test.examples import get_example_problems

from planrank.errors import EXIT_OF_KIND, Exit
from planrank.search.solve import EXIT_OF_STATUS
from planrank.up import STATUS_OF_EXIT, PlanrankEngine, PlanrankOptimalEngine

get_environment().credits_stream = None
CASES = get_example_problems()
OURS = {name: case for name, case in CASES.items() if PlanrankEngine.supports(case.problem.kind)}
OTHERS = {name: case for name, case in CASES.items() if name not in OURS}
PDDL = Path(unified_planning.__file__).parent / "test/pddl"


@pytest.fixture
def factory():
    """A factory that knows planrank, by the lines of the documentation."""
    found = get_environment().factory
    if "planrank" not in found.engines:
        found.add_engine("planrank", "planrank.up", "PlanrankEngine")
        found.add_engine("planrank-opt", "planrank.up", "PlanrankOptimalEngine")
    return found


def valid_cost(problem, plan) -> Fraction | int:
    """As unified-planning's validator sees it; the length where nothing is to be minimised."""
    with PlanValidator(problem_kind=problem.kind) as validator:
        found = validator.validate(problem, plan)
    assert bool(found), found
    return next(iter((found.metric_evaluations or {}).values()), len(plan.actions))


def test_the_examples_are_of_many_kinds():
    assert len(OURS) >= 20 and len(OTHERS) >= 40


@pytest.mark.parametrize("name", OURS)
def test_every_problem_of_a_supported_kind_is_solved(name):
    problem = OURS[name].problem
    found = PlanrankEngine().solve(problem)
    assert found.status == Status.SOLVED_SATISFICING
    assert {step.action for step in found.plan.actions} <= set(problem.actions)
    assert valid_cost(problem, found.plan) == float(found.metrics["plan_cost"])


@pytest.mark.parametrize("name", OURS)
def test_optimal_costs_are_those_of_fast_downward(name):
    problem = OURS[name].problem
    found = PlanrankOptimalEngine().solve(problem)
    assert found.status == (Status.SOLVED_OPTIMALLY if problem.quality_metrics else Status.SOLVED_SATISFICING)
    cost = valid_cost(problem, found.plan)
    assert OURS[name].optimum in (None, cost)
    if find_spec("up_fast_downward") is None:
        pytest.skip("needs up-fast-downward")
    from up_fast_downward import FastDownwardOptimalPDDLPlanner

    if FastDownwardOptimalPDDLPlanner.supports(problem.kind):
        theirs = FastDownwardOptimalPDDLPlanner().solve(problem)
        assert theirs.status == found.status and valid_cost(problem, theirs.plan) == cost


@pytest.mark.parametrize("name", OTHERS)
def test_every_other_problem_is_refused_even_without_checks(name):
    problem = OTHERS[name].problem
    with pytest.raises(UPUsageError, match="cannot establish"):
        PlanrankEngine().solve(problem)
    engine = PlanrankEngine()
    engine.skip_checks = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = engine.solve(problem)
    except UPUsageError as e:
        assert "expected" in str(e) or "found SchedulingProblem" in str(e)
        return
    if name == "basic_undef_bool":  # PDDL takes for false what has no value
        assert found.status == Status.SOLVED_SATISFICING
        return
    assert found.status == Status.UNSUPPORTED_PROBLEM and found.plan is None
    assert "not supported" in found.log_messages[0].message or "cannot write" in found.log_messages[0].message


@pytest.mark.parametrize("name", ["citycar", "depot", "miconic", "safe_road"])
def test_problems_from_files(name):
    problem = PDDLReader().parse_problem(str(PDDL / name / "domain.pddl"), str(PDDL / name / "problem.pddl"))
    found = PlanrankEngine().solve(problem, timeout=120)
    assert found.status == Status.SOLVED_SATISFICING
    valid_cost(problem, found.plan)


def test_a_model_that_fits_is_taken():
    folder = REPOSITORY / "domains/blocksworld"
    problem = PDDLReader().parse_problem(str(folder / "domain.pddl"), str(folder / "example.pddl"))
    log = io.StringIO()
    found = PlanrankEngine().solve(problem, output_stream=log)
    assert (found.metrics["search"], found.metrics["heuristic"]) == ("gbfs", "model:blocksworld")
    assert "Plan length: " in log.getvalue()
    asked = PlanrankEngine(model=folder / "model.json", search="astar").solve(problem)
    assert asked.metrics["search"] == "astar" and valid_cost(problem, asked.plan)
    classical = PlanrankEngine(heuristic="hff").solve(problem)
    assert classical.metrics["heuristic"] == "ff"


def test_the_kind_is_what_the_readme_reads():
    """Everything that unified-planning has a word for and planrank reads, and nothing else."""
    refused = get_valid_features(2) - PlanrankEngine.supported_kind().features
    assert {"INT_FLUENTS", "CONTINUOUS_TIME", "TRAJECTORY_CONSTRAINTS", "OBJECT_FLUENTS"} <= refused
    text = (REPOSITORY / "README.md").read_text()
    words = {
        ":equality": "EQUALITIES",
        ":negative-preconditions": "NEGATIVE_CONDITIONS",
        ":action-costs": "ACTIONS_COST",
        ":disjunctive-preconditions": "DISJUNCTIVE_CONDITIONS",
        ":existential-preconditions": "EXISTENTIAL_CONDITIONS",
        ":universal-preconditions": "UNIVERSAL_CONDITIONS",
        ":conditional-effects": "CONDITIONAL_EFFECTS",
    }
    for word, feature in words.items():
        assert word in text and feature in PlanrankEngine.supported_kind().features


def test_guarantees():
    optimal, satisficing = OptimalityGuarantee.SOLVED_OPTIMALLY, OptimalityGuarantee.SATISFICING
    assert PlanrankEngine.satisfies(satisficing) and not PlanrankEngine.satisfies(optimal)
    assert PlanrankOptimalEngine.satisfies(satisficing) and PlanrankOptimalEngine.satisfies(optimal)
    assert PlanrankEngine.ensures(AnytimeGuarantee.INCREASING_QUALITY)
    assert not PlanrankEngine.ensures(AnytimeGuarantee.OPTIMAL_PLANS)
    with pytest.raises(UPUsageError, match="ff is not admissible"):
        PlanrankOptimalEngine("ff")


def test_every_way_to_end_has_a_status_or_is_raised():
    raised = {Exit.USAGE, Exit.HUNG_UP, Exit.INTERRUPTED, Exit.TERMINATED}
    assert set(STATUS_OF_EXIT) == set(Exit) - raised
    assert set(EXIT_OF_STATUS.values()) | set(EXIT_OF_KIND.values()) <= set(STATUS_OF_EXIT) | raised


def lamp(*, can_be_lit: bool = True, cost: Fraction | int = 1) -> Problem:
    """A lamp that is to be lit, and three ways to do it; the dearest needs one step only."""
    lit, ready = Fluent("lit"), Fluent("ready")
    problem = Problem("Lamp")
    for fluent in (lit, ready):
        problem.add_fluent(fluent, default_initial_value=False)
    at_once, prepare, light = (InstantaneousAction(name) for name in ("At once", "Prepare", "Light"))
    at_once.add_effect(lit, True)
    prepare.add_effect(ready, True)
    light.add_precondition(ready)
    light.add_effect(lit, True)
    problem.add_actions([at_once, prepare, light] if can_be_lit else [prepare])
    problem.add_goal(lit)
    if can_be_lit:
        problem.add_quality_metric(MinimizeActionCosts({at_once: 10, prepare: cost, light: cost}))
    return problem


ROADS = """(define (domain roads) (:requirements :typing :action-costs) (:types place)
  (:predicates (at ?p - place) (road ?a ?b - place))
  (:functions (total-cost) - number (length ?a ?b - place) - number)
  (:action go :parameters (?a ?b - place) :precondition (and (at ?a) (road ?a ?b))
    :effect (and (not (at ?a)) (at ?b) (increase (total-cost) (length ?a ?b)))))"""
ROUTE = """(define (problem route) (:domain roads) (:objects a b c - place)
  (:init (at a) (road a b) (road b c) (road a c) (= (total-cost) 0)
    (= (length a b) 1) (= (length b c) 2) (= (length a c) 7))
  (:goal (at c)) (:metric minimize (total-cost)))"""


@pytest.mark.parametrize("left_out", ["", "(= (length a c) 7)"])
def test_costs_need_not_be_given_for_what_is_not_there(left_out):
    """As in many a domain with action costs: lengths of the roads there are. Without a value there is no action."""
    problem = PDDLReader().parse_problem_string(ROADS, ROUTE.replace(left_out, ""))
    assert "UNDEFINED_INITIAL_NUMERIC" in problem.kind.features
    found = PlanrankOptimalEngine().solve(problem)
    assert (found.status, found.metrics["plan_cost"]) == (Status.SOLVED_OPTIMALLY, "3")
    assert [str(step) for step in found.plan.actions] == ["go(a, b)", "go(b, c)"]


def test_unsolvable_problems_and_limits():
    assert PlanrankEngine().solve(lamp(can_be_lit=False)).status == Status.UNSOLVABLE_PROVEN
    assert PlanrankEngine().solve(lamp(), timeout=0).status == Status.TIMEOUT
    assert PlanrankEngine(memory_limit=1).solve(lamp()).status == Status.MEMOUT


def test_costs_may_be_fractions_and_names_anything():
    found = PlanrankOptimalEngine().solve(lamp(cost=Fraction(1, 4)))
    assert found.status == Status.SOLVED_OPTIMALLY and found.metrics["plan_cost"] == "0.5"
    assert [step.action.name for step in found.plan.actions] == ["Prepare", "Light"]
    with pytest.warns(UserWarning, match="cannot exactly represent"):
        rounded = PlanrankOptimalEngine().solve(lamp(cost=Fraction(50, 3)))
    assert rounded.status == Status.SOLVED_SATISFICING  # of the costs that were written


def test_plans_get_better_until_one_is_proved_best():
    problem = lamp()
    found = list(PlanrankEngine("gbfs", "blind").get_solutions(problem, timeout=300))
    costs = [valid_cost(problem, one.plan) for one in found]
    assert costs[-1] == 2 and all(a > b for a, b in pairwise(costs[:-1]))
    assert [one.status for one in found] == [Status.INTERMEDIATE] * (len(found) - 1) + [Status.SOLVED_OPTIMALLY]


def test_better_plans_from_a_process_apart():
    found = list(PlanrankEngine("gbfs", "blind", isolated=True).get_solutions(lamp(), timeout=300))
    assert [one.metrics["plan_cost"] for one in found] == ["10", "2", "2"]
    assert found[-1].status == Status.SOLVED_OPTIMALLY


def test_without_time_there_is_one_answer():
    assert [one.status for one in PlanrankEngine().get_solutions(lamp(), timeout=0)] == [Status.TIMEOUT]


@pytest.mark.parametrize(
    "options, said",
    [
        ({"search": "sideways"}, "unknown search 'sideways'"),
        ({"heuristic": "cea"}, "unknown heuristic 'cea'"),
        ({"model": "nowhere.safetensors"}, "nowhere.safetensors"),
        ({"search": "bfs", "model": "x"}, "takes no model"),
    ],
)
def test_wrong_usage_is_raised(options, said):
    with pytest.raises(UPUsageError, match=said):
        PlanrankEngine(**options).solve(lamp())


def test_a_heuristic_in_python_is_not_taken():
    with pytest.warns(UserWarning, match="no heuristic written in Python"):
        PlanrankEngine().solve(lamp(), heuristic=lambda state: 0.0)


def test_by_way_of_the_factory(factory):
    problem = lamp()
    with OneshotPlanner(name="planrank") as planner:
        assert planner.solve(problem).plan is not None
    with OneshotPlanner(name="planrank-opt", optimality_guarantee="SOLVED_OPTIMALLY") as planner:
        assert planner.solve(problem).status == Status.SOLVED_OPTIMALLY
    with AnytimePlanner(name="planrank", anytime_guarantee="INCREASING_QUALITY") as planner:
        assert list(planner.get_solutions(problem))[-1].status == Status.SOLVED_OPTIMALLY
    with OneshotPlanner(name="planrank", params={"search": "lazy", "isolated": True}) as planner:
        assert planner.solve(problem).metrics["search"] == "lazy"
    credits = factory.engine("planrank").get_credits()
    assert credits.name == "planrank" and credits.license == "MIT"


def test_by_way_of_up_ini(tmp_path):
    file = tmp_path / "up.ini"
    file.write_text("[engine ranker]\nmodule_name: planrank.up\nclass_name: PlanrankEngine\n")
    environment = unified_planning.environment.Environment()
    environment.factory.configure_from_file(str(file))
    assert environment.factory.engine("ranker") is PlanrankEngine


def solve_in_child(answers) -> None:
    try:
        answers.put(PlanrankEngine().solve(lamp()).status.name)
    except UPException as e:
        answers.put(str(e))


def test_a_forked_process_gets_a_julia_of_its_own():
    """As in unified-planning's parallel mode, where Julia may run already."""
    PlanrankEngine().solve(lamp())
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=solve_in_child, args=(answers,))
    child.start()
    try:
        assert answers.get(timeout=120) == "SOLVED_SATISFICING"
        child.join(30)
    finally:
        child.kill()


def test_names_that_pddl_has_for_itself():
    fluent = Fluent("not")
    problem = Problem("define")
    problem.add_fluent(fluent, default_initial_value=True)
    action = InstantaneousAction("action")
    action.add_effect(fluent, False)
    problem.add_action(action)
    problem.add_goal(Not(fluent))
    assert [step.action.name for step in PlanrankEngine().solve(problem).plan.actions] == ["action"]
