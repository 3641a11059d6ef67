"""`planrank validate`: the independent replay of plans."""

import pytest

from planrank import paths
from planrank.errors import Exit

DOMAIN = paths.shared() / "domains/blocksworld/domain.pddl"
PROBLEM = """
(define (problem p) (:domain blocksworld) (:objects a b c - block)
  (:init (on-table a) (on-table b) (on c a) (clear c) (clear b) (handempty))
  (:goal (and (on a b) (on b c))))
"""
STEPS = ["(unstack c a)", "(put-down c)", "(pick-up b)", "(stack b c)", "(pick-up a)", "(stack a b)"]


@pytest.fixture
def replay(planrank, tmp_path):
    def run(steps, problem=PROBLEM, domain=None):
        (tmp_path / "problem.pddl").write_text(problem)
        (tmp_path / "plan").write_text("\n".join(steps))
        file = DOMAIN
        if domain is not None:
            file = tmp_path / "domain.pddl"
            file.write_text(domain)
        return planrank("validate", file, tmp_path / "problem.pddl", tmp_path / "plan")

    return run


@pytest.mark.parametrize("steps", [STEPS, [*STEPS, "; cost = 6 (unit cost)"], [s.upper() for s in STEPS], [*STEPS, ""]])
def test_good_plans(replay, steps):
    done = replay(steps)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "Plan valid.\nPlan length: 6 step(s).\nPlan cost: 6\n"


@pytest.mark.parametrize(
    "steps, said",
    [
        (["(fly c a)", *STEPS[1:]], "plan:1:2: unknown action 'fly'"),
        ([*STEPS[:2], "(pick-up d)", *STEPS[3:]], "plan:3:10: unknown object 'd'"),
        ([STEPS[1], STEPS[0], *STEPS[2:]], "plan:1:1: step 1: (holding c) does not hold"),
        ([*STEPS[:4], *STEPS[5:]], "plan:5:1: step 5: (holding a) does not hold"),
        (STEPS[:4], "plan: after 4 step(s) (on a b) does not hold"),
        ([], "plan: after 0 step(s) (on a b) does not hold"),
        (["(unstack c)", *STEPS[1:]], "plan:1:1: 'unstack' has 1 argument(s) here, expected 2"),
        (["(unstack c a b)", *STEPS[1:]], "'unstack' has 3 argument(s) here, expected 2"),
        (["unstack c a", *STEPS[1:]], "plan:1:1: found 'unstack', expected an action"),
        (["(unstack c a", *STEPS[1:]], "plan:1:1: found no ')' for the parenthesis opened here"),
        (["((unstack) c a)", *STEPS[1:]], "expected the name of an action"),
    ],
)
def test_broken_plans(replay, steps, said):
    done = replay(steps)
    assert done.returncode == Exit.BAD_PDDL
    assert said in done.stderr and done.stderr.count("\n") == 1 and done.stdout == ""


LAMPS = """
(define (domain lamps) (:requirements :adl :action-costs) (:types lamp switch) (:constants l1 l2 - lamp)
  (:predicates (lit ?l - lamp) (wired ?s - switch ?l - lamp))
  (:functions (total-cost) - number (price ?s - switch) - number)
  (:action press :parameters (?s - switch) :precondition (imply (lit l1) (not (lit l2)))
    :effect (and (forall (?l - lamp) (when (wired ?s ?l) (lit ?l))) (increase (total-cost) (price ?s)))))
"""
LAMP_PROBLEM = """
(define (problem q) (:domain lamps) (:objects s1 s2 - switch)
  (:init (wired s1 l1) (wired s2 l2) (= (total-cost) 0) (= (price s1) 2.5) (= (price s2) 1))
  (:goal (and (exists (?l - lamp) (lit ?l)) (forall (?l - lamp) (lit ?l)))) (:metric minimize (total-cost)))
"""


def test_adl_and_costs(replay):
    done = replay(["(press s1)", "(press s2)"], LAMP_PROBLEM, LAMPS)
    assert done.returncode == 0, done.stderr
    assert "Plan cost: 3.5" in done.stdout
    done = replay(["(press s1)", "(press s2)", "(press s1)"], LAMP_PROBLEM, LAMPS)
    assert done.returncode == Exit.BAD_PDDL and "step 3" in done.stderr
    done = replay(["(press l1)"], LAMP_PROBLEM, LAMPS)
    assert "'l1' has the wrong type, expected switch" in done.stderr
