"""Runs a program for set-up and turns its failure into one sentence."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from planrank.errors import PlanrankError


def run(doing: str, command: Sequence[str], environment: dict[str, str] | None = None) -> str:
    """Run to the end and return standard output."""
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise PlanrankError(f"{doing} failed: {reason(done.stderr)}", "runtime")
    return done.stdout


def reason(stderr: str) -> str:
    """The line that names the error; a Julia stack trace has it first, a Python one last."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    telling = [line for line in lines if line.startswith("ERROR")] or lines[-1:] or ["no message"]
    return telling[-1].removeprefix("ERROR: ")
