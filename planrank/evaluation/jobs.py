"""What a worker does for an evaluation: one run, in its own process or in a fresh one."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

from planrank.models.model import Model
from planrank.parallel.processes import Process, ending

GRACE_SECONDS = 10.0
COUNTERS = ("plan_length", "plan_cost", "expanded", "evaluated", "generated", "reopened", "dead_ends")


def solve_here(run: dict[str, Any]) -> dict[str, Any]:
    """Solve in this process, which has Julia started."""
    from planrank.search.solve import solve

    options = {name: run[name] for name in ("search", "batch", "heuristic", "time_limit", "memory_limit")}
    model = None if run["model"] is None else loaded_model(run["model"])
    options["fallback"] = run.get("fallback")
    return trimmed(solve(run["domain"], run["problem"], model=model, **options).as_json())


@lru_cache(maxsize=8)
def loaded_model(file: str) -> Model:
    return Model.load(file)


def solve_cold(run: dict[str, Any]) -> dict[str, Any]:
    """Run the command; the whole process counts."""
    command = [sys.executable, "-m", "planrank", "solve", run["domain"], run["problem"], "--json", "-"]
    for name in ("search", "batch", "heuristic", "model", "time_limit", "memory_limit", "fallback"):
        if run.get(name) is not None:
            command += [f"--{name.replace('_', '-')}", str(run[name])]
    with tempfile.TemporaryDirectory(prefix="planrank-") as folder, tempfile.TemporaryFile("w+") as errors:
        command += ["--plan-file", str(Path(folder, "plan"))]
        result = Path(folder, "result")
        started = time.monotonic()
        streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stderr": errors}
        with result.open("w") as out, Process(command, stdout=out, **streams) as process:
            code = process.wait(run["time_limit"])
            seconds = time.monotonic() - started
        if code is None:
            return {"status": "out of time", "reason": "the process was ended at the time limit"}
        text = result.read_text()
        errors.seek(0)
        said = errors.read().strip().splitlines()
    if not text:
        status = "error" if code >= 0 else "killed"
        return {"status": status, "reason": (said or [ending(code)])[-1].removeprefix("planrank: ")}
    return trimmed(json.loads(text)) | {"total_seconds": seconds}


def trimmed(result: dict[str, Any]) -> dict[str, Any]:
    """What an evaluation keeps of the JSON of `planrank solve`."""
    kept = ("status", "reason", *COUNTERS, "search_seconds", "total_seconds", "peak_kb")
    return {name: result[name] for name in kept}
