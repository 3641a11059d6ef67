"""The program of a worker process: answers jobs, a line of JSON each, until there are no more."""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from typing import Any

from planrank.errors import PlanrankError


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


def work() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else is printed must not look like an answer
    for line in sys.stdin:
        print(json.dumps(answer(**json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    work()
