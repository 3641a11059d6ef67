"""Are limits of time and memory kept, on large problems, in every phase?

    python benchmarks/limits.py --instances FOLDER [--results FOLDER]

Runs `planrank solve` in fresh processes on large problems of the learning track and the IPC with limits that most of
them meet, by classical heuristics and by a model. A time limit counts as kept within 5 percent and half a second of the
clock, a memory limit within 5 percent of what the process held at most. FOLDER holds learning-track/ and large/. One
problem is made here: a hundred blocks, scored by the model that comes with planrank, a thousand states at a time.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import script
from tables import machine, markdown, write
from toy import toy_problems, toy_set

from planrank.console import track
from planrank.errors import PlanrankError
from planrank.parallel.processes import Process

TIME, MEMORY = "--time-limit", "--memory-limit"
# Where, which limit, what else the command is given.
RUNS = [
    ("learning-track/blocksworld/testing/hard/p30.pddl", TIME, 5, ["--heuristic", "ff"]),
    ("learning-track/sokoban/testing/hard/p30.pddl", TIME, 5, ["--search", "astar", "--heuristic", "lmcut"]),
    ("learning-track/childsnack/testing/medium/p30.pddl", TIME, 5, ["--heuristic", "ff"]),
    ("learning-track/childsnack/testing/hard/p30.pddl", TIME, 5, ["--heuristic", "hadd"]),
    ("learning-track/ferry/testing/hard/p30.pddl", TIME, 5, []),
    ("learning-track/spanner/testing/hard/p30.pddl", TIME, 5, []),
    ("learning-track/rovers/testing/hard/p29.pddl", TIME, 5, ["--heuristic", "ff"]),
    ("learning-track/satellite/testing/hard/p30.pddl", TIME, 5, ["--heuristic", "lmcut", "--search", "astar"]),
    ("learning-track/transport/testing/hard/p30.pddl", TIME, 5, ["--heuristic", "hmax", "--search", "astar"]),
    ("learning-track/miconic/testing/hard/p30.pddl", TIME, 5, ["--heuristic", "ff"]),
    ("learning-track/floortile/testing/hard/p30.pddl", TIME, 5, ["--heuristic", "blind"]),
    ("large/logistics98/prob28.pddl", TIME, 3, ["--heuristic", "lmcut", "--search", "astar"]),
    ("learning-track/blocksworld/testing/hard/p30.pddl", MEMORY, 2500, ["--heuristic", "ff", TIME, "60"]),
    ("learning-track/sokoban/testing/hard/p30.pddl", MEMORY, 1500, ["--search", "bfs", TIME, "60"]),
    ("learning-track/childsnack/testing/hard/p30.pddl", MEMORY, 2500, ["--heuristic", "ff", TIME, "60"]),
    ("learning-track/rovers/testing/hard/p29.pddl", MEMORY, 1000, ["--heuristic", "ff", TIME, "60"]),
    ("learning-track/transport/testing/hard/p30.pddl", MEMORY, 1500, ["--search", "bfs", TIME, "60"]),
    ("learning-track/satellite/testing/hard/p30.pddl", MEMORY, 1500, ["--heuristic", "ff", TIME, "60"]),
    ("learning-track/ferry/testing/hard/p30.pddl", MEMORY, 1000, [TIME, "60"]),
    ("large/logistics98/prob28.pddl", MEMORY, 1200, ["--search", "bfs", TIME, "60"]),
]
BLOCKS = (TIME, 5, ["--search", "astar", "--batch", "1000"])
HEADER = ["problem", "options", "limit", "measured", "ended as", "kept"]


def main() -> None:
    parser = script.parser(__doc__)
    parser.add_argument("--instances", type=Path, metavar="FOLDER")
    options = script.parse(parser, "instances")
    with tempfile.TemporaryDirectory(prefix="planrank-") as scratch:
        runs, folder = RUNS, options.instances
        if options.quick:
            folder = toy_problems(Path(scratch))
            problem = sorted((folder / "blocksworld").glob("p*.pddl"))[0]
            runs = [(str(problem.relative_to(folder)), *limit, []) for limit in ((TIME, 60), (MEMORY, 4000))]
        else:
            (blocks,) = toy_set("blocksworld", Path(scratch, "blocks"), 1, "blocks=100")
            runs = [*RUNS, (str(blocks.problem), *BLOCKS)]
        for problem, *_ in runs:
            if not (folder / problem).is_file():
                raise PlanrankError("there is no such file", file=str(folder / problem))
        rows = [measured(folder, *run, Path(scratch)) for run in track(runs, "runs")]
    kept = sum(row["kept"] for row in rows)
    lines = ["# Limits", "", f"{kept} of {len(rows)} kept; {machine()}.", ""]
    write(options.results, "limits", lines + markdown(HEADER, [line_of(row) for row in rows], left=2), rows)


def measured(folder: Path, problem: str, kind: str, limit: float, more: list[str], scratch: Path) -> dict:
    """One run: how long it took by the clock, or how much memory it had at most."""
    file = folder / problem
    domain = next(place / "domain.pddl" for place in file.parents if (place / "domain.pddl").is_file())
    result = scratch / "result.json"
    command = [sys.executable, "-m", "planrank", "solve", str(domain), str(file), kind, str(limit), *more]
    started = time.monotonic()
    with (scratch / "log").open("w") as log:
        files = ["--plan-file", str(scratch / "plan"), "--json", str(result)]
        with Process([*command, *files], stdout=log, stderr=log) as process:
            process.wait(20 * limit + 300)
            seconds = time.monotonic() - started
    found = json.loads(result.read_text()) if result.is_file() else {"status": "no result", "peak_kb": 0}
    result.unlink(missing_ok=True)
    value = seconds if kind == TIME else found["peak_kb"] / 1024
    most = 1.05 * limit + (0.5 if kind == TIME else 0)
    row = {"problem": problem, "options": more, "kind": kind, "limit": limit, "measured": value}
    return row | {"status": found["status"], "kept": value <= most and found["status"] != "no result"}


def line_of(row: dict) -> list[str]:
    unit = "s" if row["kind"] == TIME else "MB"
    sizes = [f"{row['limit']} {unit}", f"{row['measured']:,.1f} {unit}"]
    name = "a hundred blocks" if Path(row["problem"]).is_absolute() else row["problem"]
    return [name, " ".join(row["options"]), *sizes, row["status"], "yes" if row["kept"] else "**no**"]


if __name__ == "__main__":
    script.run(main)
