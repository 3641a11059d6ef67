"""`planrank solve` as users type it: output, files, limits, exit codes."""

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import interrupt, start_python

from planrank import PlanrankError, Search, julia, load, paths, solve, validate
from planrank.errors import Exit
from planrank.limits import Limits
from planrank.problems.random_problems import GENERATORS
from planrank.search.solve import is_full

DOMAINS = paths.shared() / "domains"
BLOCKS = DOMAINS / "blocksworld/domain.pddl"


@pytest.fixture
def problem(tmp_path):
    file = tmp_path / "problem.pddl"
    file.write_text(GENERATORS["blocksworld"](random.Random(2), "five", blocks=5))
    return file


@pytest.fixture
def endless(tmp_path):
    """A task whose space is far too large for a blind search."""
    file = tmp_path / "endless.pddl"
    file.write_text(GENERATORS["blocksworld"](random.Random(0), "many", blocks=30))
    return file


def test_a_plan_is_found_written_and_valid(planrank, problem, tmp_path):
    done = planrank("solve", BLOCKS, problem, "--search", "gbfs", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    plan = (tmp_path / "sas_plan").read_text()
    steps = plan.splitlines()
    assert steps[-1] == f"; cost = {len(steps) - 1} (unit cost)"
    for line in (f"Plan length: {len(steps) - 1} step(s).", f"Plan cost: {len(steps) - 1}", "Expanded ", "Evaluated ",
                 "Generated ", "Search time: ", "Peak memory: "):  # fmt: skip
        assert line in done.stdout
    assert planrank("validate", BLOCKS, problem, tmp_path / "sas_plan").returncode == 0


def test_steps_that_the_goal_does_not_need_are_left_out(planrank, problem, tmp_path):
    """A blind greedy search goes in great detours."""
    lengths = {}
    for option in ("--shorten", "--no-shorten"):
        plan = tmp_path / f"plan{option}"
        found = planrank("solve", BLOCKS, problem, "--heuristic", "blind", option, "--plan-file", plan, "--json", "-")
        lengths[option] = json.loads(found.stdout)["plan_length"]
        assert planrank("validate", BLOCKS, problem, plan).returncode == 0
    assert lengths["--shorten"] < lengths["--no-shorten"]


def test_leaving_steps_out_leaves_time_to_validate_and_write_the_plan(problem, monkeypatch):
    seconds = []

    def needed_plan(search, limits):
        seconds.append(limits.seconds_left())
        return search.plan()

    monkeypatch.setattr(Search, "needed_plan", needed_plan)
    for limit in (8.0, 1000.0, None):
        assert solve(BLOCKS, problem, "gbfs", "ff", time_limit=limit).status == "solved"
    assert 2 < seconds[0] <= 4 and 8 < seconds[1] <= 10 and 8 < seconds[2] <= 10


def test_garbage_is_not_memory_that_is_spent(monkeypatch):
    resident = [200]
    monkeypatch.setattr(julia, "resident_bytes", lambda: resident[-1])
    monkeypatch.setattr(julia, "collect_garbage", lambda: resident.append(50))
    assert not is_full(Limits(memory=100))
    assert is_full(Limits(memory=40))


def test_preferred_operators(planrank, problem):
    ours = ("solve", BLOCKS, problem, "--heuristic", "ff", "--plan-file", "-")
    assert planrank(*ours, "--search", "lazy", "--preferred").returncode == 0
    done = planrank(*ours, "--preferred")
    assert done.returncode == Exit.USAGE
    assert "preferred operators are for the search lazy with the heuristic ff, not for gbfs" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_json_has_the_promised_keys(planrank, problem, tmp_path):
    done = planrank("solve", BLOCKS, problem, "--search", "astar", "--heuristic", "lmcut", "--json", "-", cwd=tmp_path)
    found = json.loads(done.stdout)
    promised = {"status", "plan", "plan_length", "plan_cost", "expanded", "evaluated", "generated", "reopened",
                "search_seconds", "total_seconds", "peak_kb", "heuristic", "search"}  # fmt: skip
    assert promised <= set(found)
    assert (found["status"], found["search"], found["heuristic"]) == ("solved", "astar", "lmcut")
    assert len(found["plan"]) == found["plan_length"] == found["plan_cost"]


def test_a_plan_on_standard_output_is_alone_there(planrank, problem, tmp_path):
    done = planrank("solve", BLOCKS, problem, "--plan-file", "-", cwd=tmp_path)
    assert all(line.startswith(("(", "; cost")) for line in done.stdout.splitlines())
    assert "Plan length" in done.stderr and not (tmp_path / "sas_plan").exists()


def test_torch_is_not_imported(problem, tmp_path):
    script = """
import sys
from planrank.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit as stop:
    assert stop.code == 0
assert "torch" not in sys.modules
"""
    command = [sys.executable, "-c", script, "solve", BLOCKS, problem, "--plan-file", "-"]
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path)


UNREACHABLE = "(define (problem p) (:domain blocksworld) (:objects a - block) (:init (on-table a)) (:goal (holding a)))"
EXHAUSTED = """(define (problem p) (:domain blocksworld) (:objects a b - block)
  (:init (on-table a) (on-table b) (clear a) (clear b) (handempty)) (:goal (and (on a b) (on b a))))"""


@pytest.mark.parametrize("text, said", [(UNREACHABLE, "cannot be reached"), (EXHAUSTED, "all states that can be")])
@pytest.mark.parametrize("search", ["gbfs", "astar", "bfs"])
def test_unsolvable(planrank, tmp_path, text, said, search):
    file = tmp_path / "p.pddl"
    file.write_text(text)
    done = planrank("solve", BLOCKS, file, "--search", search, cwd=tmp_path)
    assert done.returncode == Exit.UNSOLVABLE, done.stdout + done.stderr
    assert said in done.stdout and not (tmp_path / "sas_plan").exists()


def test_the_initial_state_may_be_a_goal(planrank, tmp_path):
    file = tmp_path / "p.pddl"
    file.write_text(EXHAUSTED.replace("(and (on a b) (on b a))", "(clear a)"))
    done = planrank("solve", BLOCKS, file, "--plan-file", "-", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "; cost = 0 (unit cost)\n")


@pytest.mark.parametrize("heuristic", ["blind", "lmcut"])
def test_the_time_limit_is_kept(planrank, endless, tmp_path, heuristic):
    started = time.monotonic()
    options = ("--search", "astar", "--heuristic", heuristic, "--time-limit", 4)
    done = planrank("solve", BLOCKS, endless, *options, cwd=tmp_path)
    assert done.returncode == Exit.OUT_OF_TIME, done.stdout + done.stderr
    assert "out of time" in done.stdout
    assert time.monotonic() - started < 4 + 3


def test_the_memory_limit_is_kept(planrank, endless, tmp_path):
    done = planrank("solve", BLOCKS, endless, "--search", "bfs", "--memory-limit", 700, "--json", "-", cwd=tmp_path)
    assert done.returncode == Exit.OUT_OF_MEMORY, done.stdout + done.stderr
    assert json.loads(done.stdout)["peak_kb"] < 1.05 * 700 * 1024


def test_ctrl_c_stops_a_search(endless, tmp_path):
    script = "import sys; from planrank.cli.main import main; main(sys.argv[1:])"
    process = start_python(script, "solve", str(BLOCKS), str(endless), "--search", "bfs", cwd=tmp_path)
    time.sleep(4)
    _, errors = interrupt(process)
    assert process.returncode == Exit.INTERRUPTED
    assert "planrank: interrupted" in errors and "Traceback" not in errors


def test_a_plan_file_that_cannot_be_written_is_said_before_the_search(planrank, endless, tmp_path):
    done = planrank("solve", BLOCKS, endless, "--plan-file", tmp_path / "no/such/folder/plan", cwd=tmp_path)
    assert done.returncode == Exit.USAGE
    assert "its folder does not exist" in done.stderr and done.stdout == ""
    assert planrank("solve", BLOCKS, endless, "--plan-file", tmp_path, cwd=tmp_path).returncode == Exit.USAGE


@pytest.mark.parametrize("which", ["missing", "swapped", "other domain"])
def test_wrong_files(planrank, problem, tmp_path, which):
    files = {
        "missing": (BLOCKS, tmp_path / "nothing.pddl"),
        "swapped": (problem, BLOCKS),
        "other domain": (DOMAINS / "ferry/domain.pddl", problem),
    }[which]
    done = planrank("solve", *files, cwd=tmp_path)
    assert done.returncode == (Exit.USAGE if which == "missing" else Exit.BAD_PDDL)
    assert done.stderr.count("\n") == 1 and os.listdir(tmp_path) == [problem.name]


def test_lmcut_refuses_conditional_effects_by_name(planrank, tmp_path):
    (tmp_path / "d.pddl").write_text("""(define (domain d) (:requirements :adl) (:predicates (p) (q))
        (:action a :parameters () :effect (and (p) (when (p) (q)))))""")
    (tmp_path / "p.pddl").write_text("(define (problem x) (:domain d) (:init) (:goal (q)))")
    files = (tmp_path / "d.pddl", tmp_path / "p.pddl")
    done = planrank("solve", *files, "--heuristic", "lmcut", cwd=tmp_path)
    assert done.returncode == Exit.UNSUPPORTED and "conditional effects" in done.stderr
    done = planrank("solve", *files, "--plan-file", "-", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.startswith("(a)\n(a)\n")


def test_pddl_may_be_text(problem):
    texts = BLOCKS.read_text(), problem.read_text()
    found = solve(*texts)
    assert found.plan == solve(BLOCKS, problem).plan and solve(BLOCKS, texts[1]).plan == found.plan
    assert validate(*texts, "\n".join(found.plan)) == (found.plan_length, found.plan_cost)
    assert load(*texts).digest()["facts_sha"] == load(BLOCKS, problem).digest()["facts_sha"]
    with pytest.raises(PlanrankError, match=r"^problem:1:") as error:
        load(texts[0], "(define (problm x))")
    assert (error.value.file, error.value.line) == ("problem", 1)
    with pytest.raises(PlanrankError, match="no such file"):
        load(texts[0], "nowhere.pddl")


@pytest.mark.parametrize("kind", ["device", "pipe", "link", "mode"])
def test_what_a_plan_is_written_to_stays_what_it_was(planrank, problem, tmp_path, kind):
    target = tmp_path / "target"
    expected = planrank("solve", BLOCKS, problem, "--plan-file", "-").stdout
    if kind == "device":
        target = Path("/dev/null")
    elif kind == "pipe":
        os.mkfifo(target)
        reader = subprocess.Popen(["cat", target], stdout=subprocess.PIPE, text=True)
    elif kind == "link":
        (tmp_path / "real").write_text("old")
        target.symlink_to(tmp_path / "real")
    else:
        target.write_text("old")
        target.chmod(0o600)
    before = target.lstat()
    done = planrank("solve", BLOCKS, problem, "--plan-file", target)
    assert done.returncode == 0, done.stderr
    after = target.lstat()
    assert (before.st_mode, before.st_rdev) == (after.st_mode, after.st_rdev)
    if kind == "pipe":
        assert reader.communicate(timeout=10)[0] == expected
    elif kind != "device":
        assert target.read_text() == expected
