"""`planrank label`: plans beside the problems, from three teachers, whatever goes wrong."""

import importlib.util
import os
import random
import signal
import time
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from conftest import start_python

from planrank import paths
from planrank.choices import TEACHERS
from planrank.errors import Exit, PlanrankError
from planrank.parallel.pool import Answer, Pool
from planrank.problems import fast_downward, labelling, teachers
from planrank.problems.folders import find_instances
from planrank.problems.labelled_plans import labelled_plan_text, read_plan
from planrank.problems.labelling import label
from planrank.problems.problem_sets import Group, generate
from planrank.problems.random_problems import GENERATORS
from planrank.problems.teachers import Question, TeacherAnswer
from planrank.search.plans import validate

PACKAGES = {"fast-downward": "up_fast_downward", "symk": "up_symk"}
UNSOLVABLE = """(define (problem p) (:domain blocksworld) (:objects a b - block)
  (:init (on-table a) (on-table b) (clear a) (clear b) (handempty)) (:goal (and (on a b) (on b a))))"""


@pytest.fixture
def needs(request):
    """Skips where the teacher is not installed."""

    def check(teacher: str) -> None:
        if teacher in PACKAGES and importlib.util.find_spec(PACKAGES[teacher]) is None:
            pytest.skip(f"needs the teacher {teacher}")

    return check


@pytest.fixture
def blocks(tmp_path) -> Path:
    generate("blocksworld", [Group(4, 0, {"blocks": (3, 6)})], tmp_path / "blocks")
    return tmp_path / "blocks"


@pytest.fixture
def hard(tmp_path) -> Path:
    """One task that is easy to solve and hard to solve optimally."""
    folder = tmp_path / "hard"
    folder.mkdir()
    (folder / "domain.pddl").write_text((paths.shared() / "domains/ferry/domain.pddl").read_text())
    (folder / "many.pddl").write_text(GENERATORS["ferry"](random.Random(0), "many", locations=10, cars=20))
    return folder


@pytest.mark.parametrize("teacher", TEACHERS)
def test_plans_lie_beside_the_problems(planrank, needs, blocks, teacher):
    needs(teacher)
    done = planrank("label", blocks, "--teacher", teacher, "--jobs", 2)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "4 of 4 instances have a plan (4 new); 4 proved optimal, 0 not.\n" and done.stderr == ""
    for instance in find_instances(blocks):
        plan = read_plan(instance.plan)
        assert plan.proved_optimal and plan.teacher.startswith(teacher)
        assert validate(instance.domain, instance.problem, instance.plan) == (len(plan.steps), plan.cost)
    assert not [file for file in blocks.iterdir() if file.suffix not in (".pddl", ".plan")]


@pytest.mark.parametrize("teacher", PACKAGES)
def test_teachers_agree_on_the_cost(needs, tmp_path, teacher):
    needs(teacher)
    generate("ferry", [Group(4, 1, {"locations": (2, 4), "cars": (1, 3)})], tmp_path)
    costs = {}
    for name in ("builtin", teacher):
        outcomes = label(find_instances(tmp_path), name, time_limit=60)
        costs[name] = [outcome.plan.cost for outcome in outcomes]
        for outcome in outcomes:
            outcome.instance.plan_file.unlink()
    assert costs["builtin"] == costs[teacher]


def test_work_goes_on_where_it_was(planrank, blocks):
    assert planrank("label", blocks).returncode == 0
    first, second, *_ = sorted(blocks.glob("*.plan"))
    second.unlink()
    before = first.stat().st_mtime_ns
    done = planrank("label", blocks)
    assert done.stdout.startswith("4 of 4 instances have a plan (1 new)") and first.stat().st_mtime_ns == before


def test_failures_are_told_at_the_end(planrank, blocks):
    (blocks / "bad.pddl").write_text("(define (problem bad) (:domain blocksworld")
    (blocks / "never.pddl").write_text(UNSOLVABLE)
    wrong = blocks / next(blocks.glob("p0001*.pddl")).with_suffix(".plan").name
    wrong.write_text("(pick-up nobody)\n")
    done = planrank("label", blocks)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "Without a plan:" and lines[-1].startswith("3 of 6 instances have a plan (3 new)")
    reasons = {line.split()[0]: line for line in lines[1:-1]}
    assert set(reasons) == {"bad.pddl", "never.pddl", wrong.with_suffix(".pddl").name}
    assert "bad.pddl:1:" in reasons["bad.pddl"] and "unsolvable" in reasons["never.pddl"]
    assert "the plan file there is wrong" in reasons[wrong.with_suffix(".pddl").name]
    assert wrong.read_text() == "(pick-up nobody)\n"


@pytest.mark.parametrize("teacher", TEACHERS)
def test_unsolvable_problems(needs, tmp_path, teacher):
    needs(teacher)
    (tmp_path / "domain.pddl").write_text((paths.shared() / "domains/blocksworld/domain.pddl").read_text())
    (tmp_path / "never.pddl").write_text(UNSOLVABLE)
    (outcome,) = label(find_instances(tmp_path), teacher, time_limit=60)
    # SymK does not say whether it looked at everything.
    assert (outcome.plan, outcome.reason) == (None, "no plan found" if teacher == "symk" else "unsolvable")


@pytest.mark.parametrize("teacher", ["builtin", "fast-downward"])
def test_a_plan_without_proof_only_if_allowed_and_marked(planrank, needs, hard, teacher):
    needs(teacher)
    options = ("label", hard, "--teacher", teacher, "--time-limit", 4)
    done = planrank(*options)
    assert done.returncode == Exit.GAVE_UP and "many.pddl  out of time" in done.stdout
    assert not list(hard.glob("*.plan"))
    done = planrank(*options, "--allow-suboptimal")
    assert done.returncode == 0 and "0 proved optimal, 1 not" in done.stdout, done.stdout + done.stderr
    assert "; proved optimal = no" in (hard / "many.plan").read_text()


def test_the_original_may_be_read_only(planrank, blocks, tmp_path):
    before = sorted(file.name for file in blocks.iterdir())
    done = planrank("label", blocks, "--out", tmp_path / "out/deep")
    assert done.returncode == 0, done.stderr
    assert sorted(file.name for file in blocks.iterdir()) == before
    assert len(list((tmp_path / "out/deep").glob("*.plan"))) == 4
    problem = next((tmp_path / "out/deep").glob("p*.pddl"))
    problem.write_text(problem.read_text() + "; changed")
    done = planrank("label", blocks, "--out", tmp_path / "out/deep")
    assert done.returncode == Exit.USAGE and "in the way of a copy" in done.stderr


def test_a_teacher_that_is_missing(blocks, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(PlanrankError, match="fast-downward is not installed; run `pip install up-fast-downward`"):
        label(find_instances(blocks), "fast-downward")
    with pytest.raises(PlanrankError, match="no teacher 'oracle'; known are builtin, fast-downward, symk"):
        label(find_instances(blocks), "oracle")


def test_a_folder_without_a_domain(planrank, tmp_path):
    done = planrank("label", tmp_path)
    assert done.returncode == Exit.USAGE and "no domain file in this folder" in done.stderr


def teachers_say(monkeypatch, said: TeacherAnswer) -> None:
    """Whatever is asked, every teacher gives this answer."""

    class OneAnswer(Pool):
        def map(self, jobs):
            return ((number, Answer(asdict(said))) for number in range(len(jobs)))

    monkeypatch.setattr(labelling, "pool_of", lambda *_: OneAnswer())


def test_an_invalid_plan_of_a_teacher_is_not_kept(blocks, monkeypatch):
    teachers_say(monkeypatch, TeacherAnswer(["(pick-up b1)"], True, "liar", True))
    outcomes = label(find_instances(blocks))
    assert all(o.plan is None and o.reason.startswith("the teacher's plan is not valid") for o in outcomes)
    assert not list(blocks.glob("*.plan"))


@pytest.mark.parametrize("answer", ["nothing", "worse", "proved"])
def test_retrying_never_makes_a_plan_worse(blocks, monkeypatch, answer):
    instance = find_instances(blocks)[0]
    (outcome,) = label([instance])
    steps = outcome.plan.steps
    undone = ["(pick-up b1)", "(put-down b1)"]
    if validates(instance, [*undone, *steps]) is None:
        undone = [steps[0], steps[0].replace("unstack", "stack")]
    longer = [*undone, *steps]
    unproved = outcome.plan.__class__(longer[2:], float(len(steps)), "old", False)
    instance.plan_file.write_text(labelled_plan_text(unproved, True))
    found = {
        "nothing": TeacherAnswer(reason="out of time"),
        "worse": TeacherAnswer(longer, True, "new", False),
        "proved": TeacherAnswer(steps, True, "new", True),
    }[answer]
    teachers_say(monkeypatch, found)
    (outcome,) = label([instance], retry_unproved=True)
    assert outcome.plan.teacher == read_plan(instance.plan_file).teacher == ("new" if answer == "proved" else "old")


def validates(instance, steps):
    try:
        return labelling.replayed_cost(instance, steps)
    except PlanrankError:
        return None


DRIVER = """
import sys
from pathlib import Path
words = sys.argv[1:]
if "--translate" in words:
    Path("task.sas").write_text("")
elif "--alias" in words:
    Path("good.1").write_text("(a)\\n(b)\\n(c)\\n(d)\\n; cost = 4 (unit cost)\\n")
    Path("good.2").write_text("(a)\\n(b)\\n(c)\\n; cost = 3 (unit cost)\\n")
    Path("good.10").write_text("(a)\\n(b)\\n")
    sys.exit(2)
else:
    print("[t=0.1s, 9 KB] f = 2, 5 evaluated, 3 expanded\\n[t=0.2s, 9 KB] f = BOUND, 9 evaluated, 8 expanded")
    sys.exit(23)
"""


@pytest.mark.parametrize("bound, proved", [(2, False), (3, True)])
def test_a_plan_at_the_lower_bound_is_optimal(needs, tmp_path, monkeypatch, bound, proved):
    needs("fast-downward")
    driver = tmp_path / "driver.py"
    driver.write_text(DRIVER.replace("BOUND", str(bound)))
    monkeypatch.setattr(fast_downward, "driver", lambda planner: driver)
    question = Question(str(tmp_path / "d"), str(tmp_path / "p"), 20)
    answer = teachers.program("fast-downward", replace(question, allow_suboptimal=True))
    assert (answer.steps, answer.proved_optimal) == (["(a)", "(b)", "(c)"], proved)
    assert teachers.program("fast-downward", question) == TeacherAnswer(reason="out of time")


def marked(mark: str) -> list[bytes]:
    """The command lines of processes with this variable in their environment."""
    found = []
    for file in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"PLANRANK_TEST_MARK={mark}".encode() in file.read_bytes().split(b"\0"):
                found.append(file.with_name("cmdline").read_bytes())
        except OSError:
            continue
    return found


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
@pytest.mark.parametrize(
    "teacher, program, how",
    [
        ("builtin", b"planrank.parallel.worker", "SIGINT"),
        ("builtin", b"planrank.parallel.worker", "SIGHUP"),
        ("fast-downward", b"fast-downward.py", "SIGINT"),
        ("fast-downward", b"fast-downward.py", "SIGTERM"),
        ("fast-downward", b"fast-downward.py", "SIGKILL"),
    ],
)
def test_nothing_is_left_whatever_ends_it(needs, hard, tmp_path, teacher, program, how):
    needs(teacher)
    mark = f"{os.getpid()}-{teacher}-{how}"
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    environment = {**os.environ, "PLANRANK_TEST_MARK": mark, "TMPDIR": str(scratch)}
    script = "import sys; from planrank.cli.main import main; main(sys.argv[1:])"
    options = ("label", str(hard), "--teacher", teacher, "--time-limit", "60", "--allow-suboptimal")
    process = start_python(script, *options, env=environment)
    try:
        while process.poll() is None and not any(program in command for command in marked(mark)):
            time.sleep(0.1)
        time.sleep(1)
        process.send_signal(getattr(signal, how))
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    expected = {"SIGINT": Exit.INTERRUPTED, "SIGTERM": Exit.TERMINATED, "SIGHUP": Exit.HUNG_UP, "SIGKILL": -9}
    assert process.returncode == expected[how]
    assert "Traceback" not in errors and (how == "SIGKILL" or "planrank: interrupted" in errors)
    deadline = time.monotonic() + 10  # guards that outlive a kill -9 need a moment
    while (marked(mark) or list(scratch.glob("planrank-*"))) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not marked(mark)
    assert sorted(file.name for file in hard.iterdir()) == ["domain.pddl", "many.pddl"]
    assert not list(scratch.glob("planrank-*"))


def test_conditional_effects_have_an_optimal_teacher_too(tmp_path):
    (tmp_path / "domain.pddl").write_text("""(define (domain d) (:requirements :adl) (:predicates (p) (q))
        (:action a :parameters () :effect (and (p) (when (p) (q)))))""")
    (tmp_path / "p.pddl").write_text("(define (problem x) (:domain d) (:init) (:goal (q)))")
    (outcome,) = label(find_instances(tmp_path))
    assert outcome.plan.steps == ["(a)", "(a)"] and outcome.plan.teacher == "builtin astar hmax", outcome.reason
