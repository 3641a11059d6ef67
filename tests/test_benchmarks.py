"""Every benchmark script has help and runs with --quick: on tiny problems, from any folder, writing nothing."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from conftest import REPOSITORY

BENCHMARKS = REPOSITORY / "benchmarks"
SCRIPTS = sorted(file.name for file in BENCHMARKS.glob("*.py") if "script.run(main)" in file.read_text())

needs_fast_downward = pytest.mark.skipif(find_spec("up_fast_downward") is None, reason="needs up-fast-downward")


def run(script: str, folder: Path, *options: str) -> str:
    """What the script prints."""
    command = [sys.executable, str(BENCHMARKS / script), *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


Table = list[list[str]]


def quick(script: str, folder: Path, *options: str) -> list[Table]:
    """The tables that the script prints with --quick; nothing is left behind."""
    results = {file: file.read_bytes() for file in (BENCHMARKS / "results").iterdir()}
    printed = run(script, folder, "--quick", *options)
    assert {file: file.read_bytes() for file in (BENCHMARKS / "results").iterdir()} == results
    assert not list(folder.iterdir())
    blocks = [block.strip().splitlines() for block in printed.split("\n\n")]
    return [[cells(line) for line in block if line[:1] == "|"] for block in blocks if block and block[0][:1] == "|"]


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def columns(tables: list[Table], *names: str) -> list[tuple[str, ...]]:
    """These columns, line by line, of the table that has them all."""
    header, _, *rows = next(table for table in tables if set(names) <= set(table[0]))
    return [tuple(row[header.index(name)] for name in names) for row in rows]


@pytest.mark.parametrize("script", SCRIPTS)
def test_help(script, tmp_path):
    assert f"usage: {script}" in (told := run(script, tmp_path, "--help"))
    assert "--quick" in told


def test_separable(tmp_path):
    ((domain, pairs, share),) = columns(
        quick("separable.py", tmp_path), "domain", "pairs", "objects, 3 layers, distances, relaxed plan"
    )
    assert domain == "ferry" and int(pairs.replace(",", "")) > 0 and 0 <= float(share) < 100


def test_merging(tmp_path):
    rows = columns(quick("merging.py", tmp_path), "domain", "guide", "merged", "solved", "actions at first")
    assert [row[:4] for row in rows] == [("ferry", "lazy, hFF", merged, "1") for merged in ("yes", "no")]
    assert 0 < int(rows[0][4]) <= int(rows[1][4])


def test_defaults(tmp_path):
    tables = quick("defaults.py", tmp_path)
    found = columns(tables, "choice", "trainings", "problems", "solved", "dim 32's")
    assert [row[:3] for row in found] == [("dim 32", "1", "1"), ("layers 1", "1", "1")]
    assert all(0 <= float(share) <= 1 for row in found for share in row[3:])
    assert [row[0] for row in columns(tables, "domain", "dim 32", "layers 1")] == ["track/ferry"]


def test_batch(tmp_path):
    found = columns(quick("batch.py", tmp_path), "Domain", "K", "solved")
    assert found == [(domain, k, "2 of 2") for domain in ("blocksworld", "spanner") for k in ("1", "2", "4", "8", "16")]


@needs_fast_downward
@pytest.mark.parametrize("search", ["gbfs", "lazy"])
def test_classical(search, tmp_path):
    found = columns(quick("classical.py", tmp_path, "--search", search), "domain", "planner", "solved")
    planners = ("planrank", "Fast Downward")
    assert found == [(domain, planner, "2 of 2") for domain in ("blocksworld", "ferry") for planner in planners]


def test_grids(tmp_path):
    found = columns(quick("grids.py", tmp_path), "problems", "search", "guide", "solved")
    assert found == [
        ("Sokoban 1 box", "gbfs", "sokoban, shipped", "2 of 2"),
        ("Sokoban 1 box", "dive", "sokoban, shipped", "2 of 2"),
        ("tiles 2x2", "gbfs", "tiles, shipped", "2 of 2"),
        ("tiles 2x2", "gbfs", "table", "2 of 2"),
        ("tiles 2x2", "dive", "tiles, shipped", "2 of 2"),
        ("maze 9", "gbfs", "maze, shipped", "2 of 2"),
        ("maze 9", "dive", "maze, shipped", "2 of 2"),
    ]


@needs_fast_downward
@pytest.mark.slow
def test_coverage(tmp_path):
    rows = quick("coverage.py", tmp_path)
    guides = ["GBFS, L*", "GBFS, L2", "A*, L*", "A*, L2", "FD GBFS-hFF", "FD lazy-hFF", "FD A*-lmcut", "LAMA-first"]
    assert [guide for guide, solved in columns(rows, "guide", "solved") if solved == "100.0 %"] == guides
    assert columns(rows, "loss", "network", "steps") == [("L*", "2x32, effects", "20"), ("L2", "2x32, effects", "20")]
    assert [search for search, _ in columns(rows, "search", "solved, L*")] == ["GBFS", "A*"]


def test_grounding(tmp_path):
    rows = quick("grounding.py", tmp_path)
    measured = columns(rows, "Instance", "actions", "planrank")
    assert ("ferry/p0001-locations2-cars1.pddl", "6") in [row[:2] for row in measured]
    assert all(float(seconds) > 0 for _, _, seconds in measured)
    for peer, count, ratio in columns(rows, "Peer", "Instances both ground", "planrank / peer, geometric mean"):
        assert peer in ("translator", "pymimir") and count == "4" and float(ratio) > 0


def test_model(tmp_path):
    found = columns(quick("model.py", tmp_path), "what", "on", "planrank", "plain")
    steps = [row for row in found if row[0] == "a training step"]
    assert [on for _, on, _, _ in steps] == ["blocks 5, 29 states", "elevators s3, 38 states", "geometric mean"]
    assert all(ours.endswith(" ms") and float(ratio) > 0 for _, _, ours, ratio in steps)
    assert [on for _, on, ours, _ in found if ours.endswith(" states/s")] == ["blocks 5", "blocks 5", "elevators s3"]


def test_models(tmp_path):
    (found,) = columns(quick("models.py", tmp_path), "domain", "plans", "proved optimal", "validation solved")
    assert found == ("gripper", "6", "6", "1 of 1")


def test_readme(tmp_path):
    rows = quick("readme.py", tmp_path)
    assert "Fast Downward" in [peer for peer, _ in columns(rows, "against", "ratio")]


@needs_fast_downward
def test_search(tmp_path):
    rows = quick("search.py", tmp_path)
    for title in ("blind: generated states/s", "ff: evaluated states/s", "lmcut: evaluated states/s"):
        (_, *rates), (last, *_) = columns(rows, title, "planrank", "Fast Downward")
        assert last == "planrank / this, geometric mean"
        assert all(int(rate.replace(",", "")) > 0 for rate in rates)


def test_scoring(tmp_path):
    rows = quick("scoring.py", tmp_path)
    ((task, network, rate),) = columns(rows, "task", "network", "planrank")
    assert (task, network) == ("blocks 15 in one batch", "states, effects") and float(rate.replace(",", "")) > 0
    assert [task for task, _ in columns(rows, "task", "planrank, µs")] == ["ferry 20 x 10", "ferry 40 x 20"]
    assert [task for task, _ in columns(rows, "task", "64")] == ["blocks 15"]


@needs_fast_downward
def test_track(tmp_path):
    found = columns(quick("track.py", tmp_path), "domain", "problems", "planrank", "LAMA-first")
    assert found == [("ferry", "1", "1", "1"), ("all", "1", "1", "1")]


def test_training_speed(tmp_path):
    found = columns(quick("training_speed.py", tmp_path), "domain", "examples", "all states", "32 states")
    ((domain, count, *rates),) = found
    assert domain == "ferry" and int(count) > 1 and all(float(rate) > 0 for rate in rates)


def test_startup(tmp_path):
    found = dict(columns(quick("startup.py", tmp_path), "what", "measured"))
    assert list(found)[:3] == ["doctor / import torch", "--help minus empty Python", "solve minus --help"]
    assert found["start of Julia"].endswith(" s") and found["a call without arguments"].endswith(" µs")


def test_limits(tmp_path):
    found = columns(quick("limits.py", tmp_path), "limit", "ended as", "kept")
    assert found == [("60 s", "solved", "yes"), ("4000 MB", "solved", "yes")]


@needs_fast_downward
def test_actions(tmp_path):
    found = columns(quick("actions.py", tmp_path), "domain", "guide", "solved")
    assert found == [("ferry", guide, "100.0 %") for guide in ("actions", "levin", "states", "LAMA-first")]
