"""The program of a worker process: answers jobs, a line of JSON each, until there are no more."""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from planrank.errors import PlanrankError

MOST_LEFT_BEHIND = 100.0  # megabytes


def nothing() -> None:
    """What a worker without preparations is asked first."""


def answer(function: str, arguments: dict[str, Any]) -> dict[str, Any]:
    module, _, name = function.partition(":")
    try:
        return {"value": getattr(import_module(module), name)(**arguments)}
    except PlanrankError as e:
        error = e
    except Exception as e:  # a bug, or memory: this job is lost, the others are not
        error = PlanrankError(f"{type(e).__name__}: {e}", "internal")
    fields = {name: getattr(error, name) for name in ("message", "kind", "file", "line", "column")}
    return {"error": fields}


def resident_megabytes() -> float:
    """Of this process; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    except OSError:
        return 0.0


def work() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else is printed must not look like an answer
    at_first = 0.0
    for line in sys.stdin:
        reply = answer(**json.loads(line))
        now = resident_megabytes()
        at_first = at_first or now
        # What one job leaves behind must not count against the memory limit of the next.
        reply["retires"] = now > at_first + MOST_LEFT_BEHIND
        print(json.dumps(reply), file=answers, flush=True)


if __name__ == "__main__":
    work()
