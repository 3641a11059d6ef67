"""Fast Downward under the clock of `planrank evaluate --cold`: a fresh process for each run, all of it counted."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from planrank.datasets import Instance
from planrank.errors import PlanrankError
from planrank.evaluation import answered, key_of, sha
from planrank.journal import Journal, read_rows
from planrank.workers import Starter, end

# Options before the files, and after them.
CONFIGURATIONS = {
    "FD GBFS-hFF": ([], ["--search", "eager_greedy([ff()])"]),
    "FD A*-lmcut": ([], ["--search", "astar(lmcut())"]),
    "LAMA-first": (["--alias", "lama-first"], []),
}
# Of Fast Downward: no plan, because there is none or the search space or a limit is used up.
WITHOUT_PLAN = {10: "unsolvable", 11: "unsolvable", 12: "gave up", 22: "out of memory", 23: "out of time"}


def driver() -> Path:
    spec = importlib.util.find_spec("up_fast_downward")
    if spec is None or not spec.submodule_search_locations:
        raise PlanrankError("Fast Downward is missing: pip install up-fast-downward fast-downward.translate")
    return Path(spec.submodule_search_locations[0]) / "downward/fast-downward.py"


class FastDownward(Starter):
    """Answers a run as `planrank.workers.ColdWorker` does. Its plans are taken as valid."""

    def answer(self, run: dict) -> dict:
        before, after = CONFIGURATIONS[run["guide"]]
        with tempfile.TemporaryDirectory(prefix="planrank-") as folder:
            files = ["--sas-file", str(Path(folder, "sas")), "--plan-file", str(Path(folder, "plan"))]
            command = [sys.executable, str(driver()), *files, *before, run["domain"], run["problem"], *after]
            started = time.monotonic()
            options = {"stdin": subprocess.DEVNULL, "stderr": subprocess.PIPE, "cwd": folder}
            self.start(command, **options)
            try:
                log, errors = self.process.communicate(timeout=run["time_limit"])
            except subprocess.TimeoutExpired:
                end(self.process)
                return {"status": "out of time", "reason": "the process was ended at the time limit"}
            seconds = time.monotonic() - started
        code = self.process.returncode
        if code != 0:
            last = (errors or log).strip().splitlines()[-1:]
            return {"status": WITHOUT_PLAN.get(code, "error"), "reason": f"exit code {code}: {''.join(last)}"}
        found = {"plan_length": r"Plan length: (\d+) step", "plan_cost": r"Plan cost: (\d+)"}
        found |= {name: rf"{name.capitalize()} (\d+) state" for name in ("expanded", "evaluated", "generated")}
        counted = {name: int(re.findall(pattern, log)[-1]) for name, pattern in found.items()}
        return {"status": "solved", "reason": "", "total_seconds": seconds} | counted


def peer_runs(instances: Sequence[Instance], names: Sequence[str], time_limit: float) -> list[dict]:
    """Everything to be run, as the first part of a row of `planrank.evaluate`."""
    settings = {"search": "peer", "model": None, "model_sha": None, "batch": None, "memory_limit": None, "cold": True}
    found = []
    for one in instances:
        place = {"domain": str(one.domain), "problem": str(one.problem), "instance_sha": sha(one.domain, one.problem)}
        found += [place | settings | {"guide": n, "heuristic": n, "time_limit": time_limit} for n in names]
    return found


def run_peers(runs: Sequence[dict], jobs: int, out: Path, progress: Callable[[dict, int, int], None]) -> None:
    """Add the rows that the file does not have yet."""
    done = {key_of(row) for row in read_rows(out)}
    missing = [run for run in runs if key_of(run) not in done]
    journal = Journal(out)
    driver()  # if it is missing, that is said now
    with closing(answered(missing, FastDownward, jobs)) as rows:
        for row in rows:
            journal.add(row)
            progress(row, len(runs) - len(missing) + journal.added, len(runs))
