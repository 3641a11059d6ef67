"""Fast Downward and planners with its driver, from the Python index: the one place that knows how to run them."""

from __future__ import annotations

import importlib.util
import math
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planrank.errors import PlanrankError
from planrank.parallel.processes import Process

# Package and driver of each planner.
PLANNERS = {
    "fast-downward": ("up-fast-downward", "downward/fast-downward.py"),
    "symk": ("up-symk", "symk/fast-downward.py"),
}


def driver(planner: str = "fast-downward") -> Path:
    package, file = PLANNERS[planner]
    spec = importlib.util.find_spec(package.replace("-", "_"))
    if spec is None or not spec.submodule_search_locations:
        raise PlanrankError(f"{planner} is not installed; run `pip install {package}`")
    return Path(next(iter(spec.submodule_search_locations)), file)


@dataclass(frozen=True)
class Run:
    """How a run of the driver ended; `code` is None if it had to be ended at its time limit."""

    code: int | None
    log: str
    seconds: float

    def count(self, pattern: str) -> int | None:
        """The last number that the log has in this place."""
        found = re.findall(pattern, self.log)
        return int(found[-1]) if found else None


def run(
    options: Sequence[str | Path],
    seconds: float | None,
    *,
    planner: str = "fast-downward",
    folder: Path | None = None,
    memory_limit: float | None = None,
) -> Run:
    """Run the driver with these options in `folder`; it ends when the time is up, by the clock, or when we do."""
    limits: list[str] = []
    if memory_limit is not None:
        limits += ["--overall-memory-limit", f"{int(memory_limit)}M"]
    command = [sys.executable, str(driver(planner)), *limits, *map(str, options)]
    started = time.monotonic()
    with tempfile.TemporaryFile("w+") as log:
        outputs: dict[str, Any] = {"stdout": log, "stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL}
        with Process(command, cwd=folder, **outputs) as process:
            code = process.wait(seconds)
            spent = time.monotonic() - started
        log.seek(0)
        return Run(code, log.read(), spent)


def failure(run: Run) -> str:
    """Why the driver gave up, in a few words."""
    known = {20: "out of memory", 21: "out of time", 22: "out of memory", 23: "out of time", 24: "out of memory"}
    known |= {10: "unsolvable", 11: "unsolvable", 12: "no plan found"}
    known |= {34: "the planner does not support what this domain uses"}
    if run.code is None:
        return "out of time"
    if run.code in known:
        return known[run.code]
    lines = [line.strip() for line in run.log.splitlines() if line.strip() and not line.startswith(("INFO", "["))]
    return f"exit code {run.code}" + (f": {lines[-1][:100]}" if lines else "")


@dataclass(frozen=True)
class PlanFile:
    """A plan as the planner wrote it."""

    steps: list[str]
    cost: int
    unit_cost: bool


def read_plan_file(file: Path) -> PlanFile | None:
    """None if the file was not written to its end."""
    lines = file.read_text().splitlines() if file.is_file() else []
    cost = re.match(r"; cost = (\d+)", lines[-1]) if lines else None
    if cost is None:
        return None
    return PlanFile([line.strip() for line in lines[:-1]], int(cost[1]), "unit cost" in lines[-1])


def best_plan_file(folder: Path, stem: str) -> PlanFile | None:
    """Of the plans that an anytime planner numbers, the last that is complete."""
    numbered = sorted(folder.glob(f"{stem}.*"), key=lambda file: int(file.suffix[1:]), reverse=True)
    return next((plan for file in numbered if (plan := read_plan_file(file))), None)


def proved_bound(log: str) -> float:
    """A* has shown that every plan costs at least this."""
    return max([-math.inf, *map(int, re.findall(r"\] f = (\d+),", log))])
