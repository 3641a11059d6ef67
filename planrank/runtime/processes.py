"""Runs a program for set-up and turns its failure into one sentence."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence

from planrank.errors import PlanrankError

NAMES_AN_ERROR = re.compile(r"ERROR: |[\w.]+(Error|Exception): ")


def run(doing: str, command: Sequence[str], environment: dict[str, str] | None = None) -> str:
    """Run to the end and return standard output."""
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise PlanrankError(f"{doing} failed: {reason(done.stderr)}", "runtime")
    return done.stdout


def reason(stderr: str) -> str:
    """The line that names the error. A Julia stack trace has it first, a Python one last, unless it is of an exception
    with a message of many lines, as those that come from Julia are."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    telling = [line for line in lines if NAMES_AN_ERROR.match(line)] or lines[-1:] or ["no message"]
    return telling[-1].removeprefix("ERROR: ")
