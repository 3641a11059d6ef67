"""The interface of the IPC's learning track: ipc/learn and ipc/plan."""

import os
import random
import signal
import subprocess
import sys
import time
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from itertools import pairwise
from pathlib import Path

import pytest
from conftest import REPOSITORY

from planrank import Model, paths, validate
from planrank.errors import Exit
from planrank.problems.random_problems import GENERATORS

IPC = REPOSITORY / "ipc"
GRIPPER = paths.shared() / "domains/gripper"


def start(program: str, *arguments: object, **variables: str) -> subprocess.Popen:
    environment = os.environ | {"PYTHON": sys.executable} | variables
    command = [str(IPC / program), *map(str, arguments)]
    if program == "learn":  # whatever python3 is on the path
        command.insert(0, sys.executable)
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(program: str, *arguments: object, **variables: str) -> tuple[int, str]:
    process = start(program, *arguments, **variables)
    output, error = process.communicate(timeout=300)
    return process.returncode, output + error


def tasks(folder: Path, *balls: int) -> list[Path]:
    files = [folder / f"task{count}.pddl" for count in balls]
    for file, count in zip(files, balls, strict=True):
        file.write_text(GENERATORS["gripper"](random.Random(count), "gripper", balls=count))
    return files


def check_plans(folder: Path, task: Path) -> int:
    """How many there are, each valid and cheaper than the one before."""
    costs = [validate(GRIPPER / "domain.pddl", task, file)[1] for file in sorted(folder.glob("plan.*"))]
    assert costs and all(a > b for a, b in pairwise(costs))
    return len(costs)


def test_planning_with_knowledge_and_without(tmp_path):
    (task,) = tasks(tmp_path, 3)
    knowledge = tmp_path / "dk"
    code, said = run("plan", knowledge, GRIPPER / "domain.pddl", task, tmp_path / "plan")
    assert code == 0 and "there is no knowledge here" in said
    check_plans(tmp_path, task)
    Model.load(GRIPPER / "model.json").save(knowledge)
    code, said = run("plan", knowledge, GRIPPER / "domain.pddl", task, tmp_path / "plan")
    assert code == 0 and "by dive with model:dk" in said
    check_plans(tmp_path, task)


def test_wrong_usage():
    for program in ("learn", "plan"):
        code, said = run(program, "dk", "domain.pddl")
        assert code == Exit.USAGE and f"usage: ipc/{program} DK DOMAIN TASK" in said
    assert os.access(IPC / "learn", os.X_OK) and os.access(IPC / "plan", os.X_OK)
    code, said = run("learn", "dk", "no.pddl", "task.pddl", PLANRANK_LEARN_ROUNDS="many")
    assert code == Exit.USAGE and "expected STEPS:SECONDS of each round" in said


def test_a_planner_keeps_the_limits_of_the_track(tmp_path):
    knowledge = tmp_path / "dk"
    asked = ("domain.pddl", "task.pddl", "plan")
    options = {"PYTHON": "echo", "PLANRANK_PLAN_OPTIONS": "--fallback 9"}
    knowledge.touch()  # a learner that was stopped too early for more
    code, said = run("plan", knowledge, *asked, **options)
    assert code == 0 and "there is no knowledge here" in said and "--heuristic ff --fallback 9" in said
    knowledge.write_text("a model")
    code, said = run("plan", knowledge, *asked, **options)
    assert code == 0 and "--memory-limit 7500" in said
    assert f"--model {knowledge} --search dive --fallback 150 --fallback 9" in said, "the last one counts"


def test_what_an_earlier_learner_has_left(tmp_path):
    """The plans of the same tasks stay, whatever belongs to other tasks or another domain goes."""
    loader = SourceFileLoader("learner", str(IPC / "learn"))
    learner = module_from_spec(spec_from_loader("learner", loader))
    loader.exec_module(learner)
    folder, domain, three = tmp_path / "dk.learning", GRIPPER / "domain.pddl", tasks(tmp_path, 1, 2, 3)
    assert not learner.gather(folder, domain, three)
    plan = folder / "training/001-task1.plan"
    plan.write_text("(move rooma roomb)")
    assert learner.gather(folder, domain, three) and plan.exists()
    other = tmp_path / "other.pddl"
    other.write_text("; the same but for this\n" + domain.read_text())
    for file, asked in ((domain, three[:2]), (other, three[:2])):
        plan.write_text("(move rooma roomb)")
        learner.gather(folder, file, asked)
        assert not plan.exists() and (folder / "domain.pddl").read_text() == file.read_text()
        found = {str(one.relative_to(folder)) for one in folder.glob("*/*")}
        assert found == {"training/001-task1.pddl", "validation/002-task2.pddl"}
    for name in ("dk", "dk.1", "dk.12", "dk.old"):
        (tmp_path / name).write_text("knowledge")
    learner.remove_numbered(tmp_path / "dk")
    assert {one.name for one in tmp_path.glob("dk*")} == {"dk", "dk.old", "dk.learning"}
    assert learner.take_up(tmp_path / "dk") is None and not (tmp_path / "dk.1").exists(), "no model"
    model = Model.load(GRIPPER / "model.json")
    model.save(tmp_path / "dk")
    assert learner.take_up(tmp_path / "dk").solved == model.metadata["figures"]["validation_solved"]
    assert (tmp_path / "dk.1").read_bytes() == (tmp_path / "dk").read_bytes()


@pytest.mark.slow
def test_learning_writes_knowledge_that_planning_uses(tmp_path):
    knowledge, (*small, large) = tmp_path / "dk", tasks(tmp_path, 1, 2, 3, 4)
    code, said = run("learn", knowledge, GRIPPER / "domain.pddl", *small, PLANRANK_LEARN_ROUNDS="20:5 40:5")
    assert code == 0, said
    assert Model.load(tmp_path / "dk.1").metadata["training"]["steps"] == 20
    newest = max(tmp_path.glob("dk.[0-9]"))
    assert knowledge.read_bytes() == newest.read_bytes()
    limit = {"PLANRANK_PLAN_OPTIONS": "--time-limit 20"}
    code, said = run("plan", knowledge, GRIPPER / "domain.pddl", large, tmp_path / "plan", **limit)
    assert code == 0, said
    check_plans(tmp_path, large)


@pytest.mark.slow
def test_a_learner_that_is_stopped_leaves_its_knowledge(tmp_path):
    knowledge, small = tmp_path / "dk", tasks(tmp_path, 1, 2, 3)
    process = start("learn", knowledge, GRIPPER / "domain.pddl", *small, PLANRANK_LEARN_ROUNDS="20:5 1000000:5")
    try:
        deadline = time.monotonic() + 200
        while not knowledge.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(1)
        process.send_signal(signal.SIGTERM)
        _, error = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0, error
    assert Model.load(knowledge).metadata["training"]["steps"] == 20
