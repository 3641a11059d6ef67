"""Processes that search for others: long-lived ones that have Julia started, or a fresh `planrank solve` for every job.

A job is a dictionary of strings and numbers, the answer another; that a process died or did not answer is one too.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from planrank.limits import ONE_THREAD

# A worker that keeps to its limits answers soon after them; one that does not is ended.
GRACE_SECONDS = 10.0
START_SECONDS = 600.0
COUNTERS = ("plan_length", "plan_cost", "expanded", "evaluated", "generated", "reopened", "dead_ends")


class Starter:
    """Has at most one process at a time. `stop` may come from another thread, and nothing is started after it."""

    def __init__(self) -> None:
        self.process: subprocess.Popen | None = None
        self.stopped = False

    def start(self, command: list[str], **options) -> None:
        """In a session of its own, so that Ctrl-C reaches only the process that ends the others."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL} | options
        environment = ONE_THREAD | os.environ
        self.process = subprocess.Popen(command, start_new_session=True, text=True, env=environment, **pipes)
        if self.stopped:
            end(self.process)

    def stop(self) -> None:
        self.stopped = True
        end(self.process)


class Worker(Starter):
    """A long-lived process, started when first needed and again after it had to be ended."""

    def answer(self, job: dict) -> dict:
        if self.process is None:
            self.start([sys.executable, "-m", "planrank.workers"], stdin=subprocess.PIPE)
            if not self._line(START_SECONDS):
                return self._lost("could not be started")
        seconds = None if job["time_limit"] is None else job["time_limit"] + GRACE_SECONDS
        try:
            self.process.stdin.write(json.dumps(job) + "\n")
            self.process.stdin.flush()
            line = self._line(seconds)
        except BrokenPipeError:
            line = ""
        return self._lost(f"gave no answer within {seconds:g} s") if line is None else self._read(line)

    def _line(self, seconds: float | None) -> str | None:
        """What the process writes next; None if it does not in time, empty if it has ended."""
        ready, _, _ = select.select([self.process.stdout], [], [], seconds)
        return self.process.stdout.readline() if ready else None

    def _read(self, line: str) -> dict:
        return json.loads(line) if line.endswith("\n") else self._lost("ended")

    def _lost(self, what: str) -> dict:
        process, self.process = self.process, None
        code = end(process)
        return {"status": "killed", "reason": f"the worker process {what} ({ending(code)})"}


class ColdWorker(Starter):
    """Runs the command for every job; the whole process counts."""

    def answer(self, job: dict) -> dict:
        with tempfile.TemporaryDirectory(prefix="planrank-") as folder:
            command = [sys.executable, "-m", "planrank", "solve", job["domain"], job["problem"]]
            for name in ("search", "batch", "heuristic", "model", "time_limit", "memory_limit"):
                if job[name] is not None:
                    command += [f"--{name.replace('_', '-')}", str(job[name])]
            command += ["--plan-file", str(Path(folder, "plan")), "--json", "-"]
            started = time.monotonic()
            self.start(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
            try:
                out, errors = self.process.communicate(timeout=job["time_limit"])
            except subprocess.TimeoutExpired:
                end(self.process)
                return {"status": "out of time", "reason": "the process was ended at the time limit"}
            seconds = time.monotonic() - started
        if not out:
            last = (errors.strip().splitlines() or [ending(self.process.returncode)])[-1]
            status = "error" if self.process.returncode >= 0 else "killed"
            return {"status": status, "reason": last.removeprefix("planrank: ")}
        return trimmed(json.loads(out)) | {"total_seconds": seconds}


def end(process: subprocess.Popen | None) -> int:
    """End a process and what it has started; the exit code."""
    if process is None:
        return 0
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    return process.wait()


def ending(code: int) -> str:
    return f"exit code {code}" if code >= 0 else signal.Signals(-code).name


def trimmed(result: dict) -> dict:
    """What an evaluation keeps of the JSON of `planrank solve`."""
    kept = ("status", "reason", *COUNTERS, "search_seconds", "total_seconds", "peak_kb")
    return {name: result[name] for name in kept}


def solved_here(job: dict, models: dict) -> dict:
    """The answer to a job, in this process. `models` keeps those that were loaded."""
    from planrank.errors import PlanrankError
    from planrank.search import solve

    options = {name: job[name] for name in ("search", "batch", "heuristic", "time_limit", "memory_limit")}
    try:
        if job["model"] is not None and job["model"] not in models:
            from planrank.models import Model

            models[job["model"]] = Model.load(job["model"])
        result = solve(job["domain"], job["problem"], model=models.get(job["model"]), **options)
    except PlanrankError as e:
        return {"status": "error", "reason": str(e)}
    except Exception as e:  # a bug, or memory: this run is lost, the others are not
        return {"status": "error", "reason": f"{type(e).__name__}: {e}"}
    return trimmed(result.as_json())


def work() -> None:
    """Answer jobs line by line until there are no more. Whatever else is printed goes to standard error."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    from planrank.runtime.rehearsal import rehearse

    rehearse()  # what Julia has to compile must not count against the first runs
    print("ready", file=answers, flush=True)
    models: dict = {}
    for line in sys.stdin:
        print(json.dumps(solved_here(json.loads(line), models)), file=answers, flush=True)


if __name__ == "__main__":
    work()
