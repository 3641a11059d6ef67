"""`planrank evaluate` and its Python side: rows, resuming, workers that die, Ctrl-C, the table."""

import json
import os
import random
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import interrupt, start_python
from scorers import Distinct

from planrank import PlanrankError, TrainConfig, generate, load, paths
from planrank.cli.evaluate import chosen_instances
from planrank.errors import Exit
from planrank.evaluation.runs import evaluate, finished, runs
from planrank.evaluation.tables import report, short
from planrank.journal import Journal, alone_with, read_rows
from planrank.learning.selection import searched
from planrank.learning.training_data import gather
from planrank.models.hypergraph.architecture import Architecture
from planrank.models.hypergraph.signature import signature_of
from planrank.models.model import Model
from planrank.parallel.pool import Answer
from planrank.problems.problem_sets import Group
from planrank.problems.random_problems import GENERATORS
from planrank.search.guides import Guide

BLOCKS = paths.shared() / "domains/blocksworld/domain.pddl"
FF, BLIND = Guide.of_heuristic("ff"), Guide.of_heuristic("blind")


@dataclass(frozen=True)
class Instance:
    domain: Path
    problem: Path


def make(folder: Path, name: str, blocks: int) -> Instance:
    problem = folder / f"{name}.pddl"
    problem.write_text(GENERATORS["blocksworld"](random.Random(blocks), name, blocks=blocks))
    return Instance(BLOCKS, problem)


@pytest.fixture
def instances(tmp_path):
    folder = tmp_path / "problems"
    folder.mkdir()
    (folder / "domain.pddl").write_bytes(BLOCKS.read_bytes())
    return [make(folder, f"b{blocks}", blocks) for blocks in (3, 4, 5)]


@pytest.fixture
def model(tmp_path, instances) -> Path:
    file = tmp_path / "mine.safetensors"
    task = load(instances[0].domain, instances[0].problem)
    Model.fresh(signature_of(task), Architecture(rank="states")).save(file)
    return file


def test_rows_resuming_errors_and_a_worker_that_is_killed(instances, model, tmp_path):
    """One worker serves all, because starting one is what takes time."""
    broken = tmp_path / "broken.pddl"
    broken.write_text("(define (problem")
    instances.append(Instance(BLOCKS, broken))
    guides = [Guide.of_model(model), FF, BLIND]
    out, seen = tmp_path / "rows.jsonl", []
    options = {"time_limit": 60, "out": out, "progress": lambda row, done, count: seen.append((done, count))}
    rows = evaluate(instances, guides, ["gbfs", "bfs"], **options)
    assert [(row["search"], row["guide"]) for row in rows[:4]] == [
        ("gbfs", "model:mine"), ("gbfs", "ff"), ("gbfs", "blind"), ("bfs", "blind")]  # fmt: skip
    assert seen == [(i + 1, 16) for i in range(16)] and len(rows) == len(read_rows(out)) == 16
    for row in rows[:12]:
        assert row["status"] == "solved" and row["plan_length"] == row["plan_cost"] > 0
        assert row["expansions_per_step"] == row["expanded"] / row["plan_length"] >= 1
        assert 0 < row["search_seconds"] <= row["total_seconds"] < 60
    for row in rows[12:]:
        assert row["status"] == "error" and "broken.pddl:1" in row["reason"] and row["expanded"] is None

    seen.clear()
    assert evaluate(instances, guides, ["gbfs", "bfs"], **options) == rows and seen == []
    cut = out.read_bytes()[:-30]  # as a kill in the middle of a line leaves it
    out.write_bytes(cut)
    again = evaluate(instances, guides, ["gbfs", "bfs"], **options)
    assert seen == [(16, 16)] and len(read_rows(out)) == 16
    assert [row["status"] for row in again] == [row["status"] for row in rows]
    assert (
        "4/16" not in report(again)
        and "3/4" in report(again)
        and "75 %" in report(again)
        and "1 error" in report(again)
    )


def limits(**changed) -> dict:
    return {"time_limit": 5.0, "memory_limit": None, "batch": 1, "cold": False} | changed


def test_a_plan_after_the_time_limit_does_not_count(instances):
    [run] = runs(instances[:1], [FF], ["gbfs"], limits())
    solved = {"status": "solved", "reason": "", "plan_length": 2, "expanded": 3}
    late, early = (finished(run, Answer(solved | {"total_seconds": seconds})) for seconds in (6, 1))
    assert late["status"] == "out of time" and late["expansions_per_step"] is None
    assert early["status"] == "solved" and early["expansions_per_step"] == 1.5


def test_a_worker_that_was_lost_is_told_from_an_error(instances):
    [run] = runs(instances[:1], [FF], ["gbfs"], limits())
    error = PlanrankError("a reason")
    assert finished(run, Answer(error=error, lost=True))["status"] == "killed"
    wrong = finished(run, Answer(error=error))
    assert wrong["status"] == "error" and wrong["reason"] == "a reason" and wrong["plan_length"] is None


def test_runs_are_the_same_only_if_nothing_that_matters_differs(instances, model, tmp_path):
    from planrank.evaluation.runs import key_of

    [run] = runs(instances[:1], [Guide.of_model(model)], ["gbfs"], limits())
    moved = tmp_path / "elsewhere.pddl"
    moved.write_bytes(instances[0].problem.read_bytes())
    [same] = runs([Instance(BLOCKS, moved)], [Guide.of_model(model)], ["gbfs"], limits())
    assert key_of(run) == key_of(same)
    task = load(BLOCKS, moved)
    Model.fresh(signature_of(task), Architecture(rank="states"), seed=1).save(model)
    others = [runs(instances[:1], [Guide.of_model(model)], ["gbfs"], limits())[0]]
    others += [run | changed for changed in ({"search": "astar"}, {"time_limit": 6.0}, {"cold": True}, {"batch": 2})]
    others += [runs(instances[1:2], [Guide.of_model(model)], ["gbfs"], limits())[0]]
    assert len({key_of(other) for other in others} | {key_of(run)}) == 7


def test_what_cannot_be_run_is_said_first(instances, model, tmp_path):
    for guides, searches, said in (
        ([FF], ["sideways"], "unknown search 'sideways'"),
        ([Guide.of_model(model), FF], ["phs"], "phs needs a model with a policy"),
        ([FF], ["bfs"], "bfs needs the heuristic blind"),
    ):
        with pytest.raises(PlanrankError, match=said):
            evaluate(instances, guides, searches)
    with pytest.raises(PlanrankError, match="unknown heuristic 'h2'"):
        Guide.of_heuristic("h2")
    with pytest.raises(PlanrankError, match="no instances"):
        evaluate([], [FF])
    with pytest.raises(PlanrankError, match="cannot be read"):
        evaluate([Instance(BLOCKS, tmp_path / "none.pddl")], [FF])
    with pytest.raises(PlanrankError, match="no file of an evaluation"):
        evaluate(instances, [FF], out=instances[0].problem)
    with pytest.raises(PlanrankError, match="cannot be read or written"):
        evaluate(instances, [FF], out=tmp_path / "no/such/folder/rows.jsonl")


def test_models_of_the_same_name_are_told_apart(instances, model, tmp_path):
    (tmp_path / "other").mkdir()
    twin = tmp_path / "other" / model.name
    twin.write_bytes(model.read_bytes())
    found = runs(instances[:1], [Guide.of_model(model), Guide.of_model(twin), FF], ["gbfs"], limits())
    assert [run["guide"] for run in found] == [f"model:{model}", f"model:{twin}", "ff"]


def row(search, guide, sha, status="solved", expanded=10, steps=5, **more) -> dict:
    counters = {"evaluated": 2 * expanded, "plan_length": steps, "plan_cost": steps, "total_seconds": 0.5}
    names = {"search": search, "guide": guide, "instance_sha": sha, "problem": f"{sha}.pddl", "reason": "why"}
    return names | {"status": status, "expanded": expanded} | counters | more


def test_the_table():
    rows = [row("gbfs", "ff", "a", expanded=10), row("gbfs", "ff", "b", expanded=50, steps=15),
            row("gbfs", "model:m", "a", expanded=5), row("gbfs", "model:m", "b", "out of time"),
            row("gbfs", "blind", "a", expanded=1000), row("gbfs", "blind", "b", "killed")]  # fmt: skip
    text = report(rows)
    first, second = text.split("\n\n")
    assert [line.split() for line in first.splitlines()[3:]] == [
        ["gbfs", "ff", "2/2", "100", "%", "30.0", "60.0", "10.0", "10.0", "0.50", "3.00"],
        ["gbfs", "model:m", "1/2", "50", "%", "5.00", "10.0", "5.00", "5.00", "0.50", "1.00"],
        ["gbfs", "blind", "1/2", "50", "%", "1,000", "2,000", "5.00", "5.00", "0.50", "200"],
    ]
    assert "the 1 that all of them solve" in second and "10.0" in second
    assert second.splitlines()[-1] == "gbfs with blind: 1 killed, the first on b.pddl: why"
    nothing = report([row("gbfs", "ff", "a", "out of time")])
    assert "0/1" in nothing and " - " in nothing and "all of them" not in nothing
    assert [short(number) for number in (None, 0.123, 12.34, 1234.5)] == ["-", "0.12", "12.3", "1,234"]


def test_a_journal_goes_on_after_half_a_line(tmp_path):
    file = tmp_path / "rows.jsonl"
    Journal(file).add({"a": 1})
    file.write_bytes(file.read_bytes() + b'{"a": 2')
    Journal(file).add({"a": 3})
    assert read_rows(file) == [{"a": 1}, {"a": 3}]
    assert read_rows(tmp_path / "none.jsonl") == []
    file.write_bytes(b'{"a": 1, "b')  # killed at the very first row
    assert read_rows(file) == []
    Journal(file).add({"a": 4})
    assert read_rows(file) == [{"a": 4}]


def test_rows_that_say_too_little_are_run_again(instances, tmp_path):
    out = tmp_path / "rows.jsonl"
    out.write_text('{"a": 1}\n{"instance_sha": "x", "guide": "ff"}\n')
    [found] = evaluate(instances[:1], [FF], ["gbfs"], 60, out=out)
    assert found["status"] == "solved" and len(read_rows(out)) == 3


def test_two_evaluations_do_not_write_into_one_file(instances, tmp_path):
    out = tmp_path / "rows.jsonl"
    with alone_with(out), pytest.raises(PlanrankError, match="another evaluation is writing to this file"):
        evaluate(instances[:1], [FF], ["gbfs"], 60, out=out)
    evaluate(instances[:1], [FF], ["gbfs"], 60, out=out)
    assert [file.name for file in tmp_path.glob("*rows*")] + [f.name for f in tmp_path.glob(".*")] == ["rows.jsonl"]


def test_a_cold_run_is_a_whole_process(instances, tmp_path):
    [found] = evaluate(instances[:1], [FF], ["gbfs"], 120, cold=True)
    assert found["status"] == "solved" and found["search_seconds"] < found["total_seconds"]
    [found] = evaluate(instances[:1], [FF], ["gbfs"], 0.05, cold=True)
    assert found["status"] == "out of time"


def test_in_process_tallies_are_the_same_every_time(instances):
    tasks = [load(one.domain, one.problem) for one in instances]
    full = searched(tasks, Distinct, "astar", max_expansions=100_000)
    assert full.solved == 3 and full.expansions > full.plan_steps > 0
    capped = [searched(tasks, Distinct, "astar", max_expansions=20) for _ in range(2)]
    assert capped[0] == capped[1] and capped[0].solved < 3 and capped[0].expansions <= 3 * 20
    assert searched(tasks, Distinct, "phs", max_expansions=100_000).solved == 3
    assert searched(tasks, Distinct, seconds=0).solved == 0


def marked_processes(mark: str) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks at /proc")
@pytest.mark.parametrize("cold", [False, True])
def test_ctrl_c_ends_the_workers(tmp_path, cold):
    """An endless evaluation, interrupted, leaves neither a process nor a row."""
    problem = make(tmp_path, "many", 40).problem
    script = f"""
from pathlib import Path
from types import SimpleNamespace
from planrank.cli.main import cli, main

@cli.command()
def endless():
    from planrank.search.guides import Guide
    from planrank.evaluation.runs import evaluate
    instance = SimpleNamespace(domain=Path({str(BLOCKS)!r}), problem=Path({str(problem)!r}))
    evaluate([instance], [Guide.of_heuristic("blind")], ["astar", "bfs"], 500, jobs=2, cold={cold}, out="rows.jsonl")

main(["endless"])
"""
    mark = f"PLANRANK_TEST_MARK={tmp_path}-{cold}"
    name, _, value = mark.partition("=")
    process = start_python(script, cwd=tmp_path, env=os.environ | {name: value})
    deadline = time.monotonic() + 60
    while len(marked_processes(mark)) < 3 and time.monotonic() < deadline:
        time.sleep(0.2)
    assert len(marked_processes(mark)) >= 3
    time.sleep(2)
    _, errors = interrupt(process)
    assert process.returncode == Exit.INTERRUPTED, errors
    assert "Traceback" not in errors and marked_processes(mark) == []
    assert read_rows(tmp_path / "rows.jsonl") == []


def test_the_command(planrank, instances, model, tmp_path):
    folder = instances[0].problem.parent
    arguments = ("--domain", folder, "--model", model, "--search", "gbfs,astar", "--heuristics", "ff", "--split", "all")
    done = planrank("evaluate", *arguments, "--time-limit", 60, "--limit", 2, "--out", "rows.jsonl", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("2/2   100 %") == 4 and "model:mine" in done.stdout
    assert len([json.loads(line) for line in (tmp_path / "rows.jsonl").open()]) == 8


def test_names_that_are_not_known_are_refused_at_once(planrank, tmp_path):
    done = planrank("evaluate", "--domain", "x", "--search", "gbfs,sideways", cwd=tmp_path)
    assert done.returncode == Exit.USAGE and "sideways" in done.stderr and "Traceback" not in done.stderr


def test_evaluation_and_training_split_a_folder_alike(tmp_path):
    """By the folder's own sets.toml: what was trained on is never reported as test."""
    generate("blocksworld", [Group(16, 0, {"blocks": (3, 6)})], tmp_path)
    (tmp_path / "sets.toml").write_text("[split]\nseed = 7\nfractions = [0.25, 0.25, 0.5]\n")
    tested = chosen_instances(str(tmp_path), None, "test", None)
    assert len(tested) == 8 and chosen_instances(str(tmp_path), None, "test", 1) != tested
    data = gather(TrainConfig(domain=str(tmp_path)), say=lambda text: None)
    seen = [instance for instance, _ in data.training] + data.validation
    assert len(seen) == 8 and not {one.problem for one in seen} & {one.problem for one in tested}


@pytest.mark.parametrize("cold", [False, True])
def test_models_fall_back_on_hff_where_that_is_asked_for(instances, model, tmp_path, cold):
    """At once, here: what is expanded is what lazy search with hFF expands."""
    (lazy,) = evaluate(instances[2:], [FF], ["lazy"])
    rows = evaluate(instances[2:], [Guide.of_model(model)], fallback=0.0, cold=cold, out=tmp_path / "rows")
    assert rows[0]["status"] == "solved" and rows[0]["plan_length"] == lazy["plan_length"]
    evaluate(instances[2:], [Guide.of_model(model)], cold=cold, out=tmp_path / "rows")
    assert [row["fallback"] for row in read_rows(tmp_path / "rows")] == [0.0, None], "both were run"
