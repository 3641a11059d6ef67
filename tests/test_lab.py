"""A real experiment with lab: its parsers and reports, unchanged, read planrank's log."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from conftest import REPOSITORY

pytest.importorskip("lab")

UNSOLVABLE = """
(define (problem never) (:domain blocksworld) (:objects a b - block)
  (:init (clear a) (clear b) (on-table a) (on-table b) (handempty))
  (:goal (and (on a b) (on b a))))
"""


@pytest.fixture(scope="module")
def properties(tmp_path_factory) -> dict:
    """What lab found out about three problems, the second of which has no solution and the third bad PDDL."""
    folder = tmp_path_factory.mktemp("lab")
    problems = folder / "problems/blocks"
    problems.mkdir(parents=True)
    for name in ("domain.pddl", "example.pddl"):
        shutil.copy(REPOSITORY / "domains/blocksworld" / name, problems)
    (problems / "never.pddl").write_text(UNSOLVABLE)
    (problems / "other.pddl").write_text("(define (problem p) (:domain other))")
    environment = os.environ | {
        "PLANRANK_LAB": str(folder / "experiment"),
        "DOWNWARD_BENCHMARKS": str(folder / "problems"),
        "PLANRANK_LAB_SUITE": "blocks",
    }
    command = [sys.executable, REPOSITORY / "benchmarks/lab_experiment.py", "--all"]
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    report = (folder / "experiment-eval/report.html").read_text()
    assert "score_expansions" in report and "gbfs-model" in report
    return json.loads((folder / "experiment-eval/properties").read_text())


def test_runs_that_found_a_plan(properties):
    for name in ("astar-lmcut", "lazy-ff", "gbfs-model"):
        run = properties[f"{name}-blocks-example.pddl"]
        assert (run["coverage"], run["error"], run["unsolvable"]) == (1, "success", 0)
        assert run["plan_length"] == run["cost"] >= 8 and "unexplained_errors" not in run
        for attribute in ("expansions", "evaluations", "generated", "search_time", "total_time", "memory"):
            assert run[attribute] > 0, attribute
        assert run["planner_time"] == pytest.approx(run["total_time"])
        assert (run["limit_search_time"], run["limit_search_memory"]) == (60, 4000)
        assert 0 < run["score_total_time"] <= 1 and 0 < run["score_planner_time"] <= 1
    assert properties["astar-lmcut-blocks-example.pddl"]["cost"] == 8


def test_runs_that_proved_that_there_is_none(properties):
    for name in ("astar-lmcut", "lazy-ff", "gbfs-model"):
        run = properties[f"{name}-blocks-never.pddl"]
        assert (run["coverage"], run["error"], run["unsolvable"]) == (0, "search-unsolvable", 1)
        assert "unexplained_errors" not in run


def test_what_went_wrong_is_told(properties):
    run = properties["lazy-ff-blocks-other.pddl"]
    assert run["coverage"] == 0 and run["error"] == "exitcode-31"
    assert any("planrank: " in error for error in run["unexplained_errors"])
