"""Fast Downward under the clock of `planrank evaluate --cold`: a fresh process for each run, all of it counted."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from planrank.evaluation.jobs import solve_cold
from planrank.evaluation.runs import Row
from planrank.files import digest
from planrank.problems import fast_downward
from planrank.problems.folders import Instance

# Options before the files, and after them.
CONFIGURATIONS = {
    "FD GBFS-hFF": ([], ["--search", "eager_greedy([ff()])"]),
    "FD lazy-hFF": ([], ["--search", "let(h, ff(), lazy_greedy([h], preferred=[h]))"]),
    "FD A*-lmcut": ([], ["--search", "astar(lmcut())"]),
    "LAMA-first": (["--alias", "lama-first"], []),
}
PATTERNS = {"plan_length": r"Plan length: (\d+) step", "plan_cost": r"Plan cost: (\d+)"}
PATTERNS |= {name: rf"{name.capitalize()} (\d+) state" for name in ("expanded", "evaluated", "generated")}
STATUSES = {"no plan found": "gave up"} | {word: word for word in ("unsolvable", "out of memory", "out of time")}

ANSWER = "peers:answer"  # the job of `planrank.evaluation.runs.run_missing`


def peer_runs(instances: Sequence[Instance], names: Sequence[str], time_limit: float) -> list[Row]:
    """Everything to be run, as the first part of a row of `planrank.evaluate`."""
    settings: Row = {"search": "peer", "model": None, "model_sha": None, "batch": None, "memory_limit": None}
    settings |= {"cold": True, "time_limit": time_limit}
    found = []
    for one in instances:
        files = {"domain": str(one.domain), "problem": str(one.problem)}
        place = files | {"instance_sha": digest(one.domain, one.problem)}
        found += [place | settings | {"guide": name, "heuristic": name} for name in names]
    return found


def answer(run: Row) -> dict[str, Any]:
    """A job: the run of a peer, or of planrank, in a fresh process."""
    return run_peer(run) if run["guide"] in CONFIGURATIONS else solve_cold(run)


def run_peer(run: Row) -> dict[str, Any]:
    """Its plans are taken as valid."""
    before, after = CONFIGURATIONS[run["guide"]]
    files = [Path(run["domain"]).resolve(), Path(run["problem"]).resolve()]
    with tempfile.TemporaryDirectory(prefix="planrank-") as folder:
        options = ["--sas-file", "sas", "--plan-file", "plan", *before, *files, *after]
        done = fast_downward.run(options, run["time_limit"], folder=Path(folder))
    if done.code != 0:
        reason = fast_downward.failure(done)
        return {"status": STATUSES.get(reason, "error"), "reason": reason}
    counted = {name: done.count(pattern) for name, pattern in PATTERNS.items()}
    return {"status": "solved", "reason": "", "total_seconds": done.seconds} | counted
