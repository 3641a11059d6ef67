"""Runs jobs in worker processes. A job is a function's name and plain values, so that it can run anywhere.

`Pool` has its workers on this machine, `planrank.parallel.cluster.ClusterPool` on those of a Ray cluster.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from planrank.errors import PlanrankError
from planrank.parallel.processes import Process, ending

# For workers that call Julia: what it has to compile must not count against their first jobs.
REHEARSAL = "planrank.runtime.rehearsal:rehearse"
START_SECONDS = 600.0  # until a worker is ready; without a system image Julia compiles first


@dataclass(frozen=True)
class Job:
    """Call `function`, written module:name, with these arguments; all are what JSON can say, and so is the answer.

    A worker that has not answered after `seconds` is ended. `reads` and `writes` are those of its arguments that name
    files or folders: where the machine that runs it does not share them, they are sent there and back.
    """

    function: str
    arguments: dict[str, Any]
    seconds: float | None = None
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Answer:
    """What the function returned, or the error it ended with. `lost`: its process died or had to be ended."""

    value: Any = None
    error: PlanrankError | None = None
    lost: bool = False


def pool_of(jobs: int | None = None, prepare: str | None = None, cluster: str | None = None) -> Pool:
    """So many workers, by default one. With `cluster`, an address, they are there, and by default as many as fit."""
    if cluster is None:
        return Pool(jobs or 1, prepare)
    from planrank.parallel.cluster import ClusterPool

    return ClusterPool(cluster, jobs, prepare)


class Pool:
    """`prepare`, a function without arguments written module:name, is called by every worker before its first job."""

    def __init__(self, processes: int = 1, prepare: str | None = None):
        self.processes = processes
        self.prepare = prepare

    def map(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Answer]]:
        """The number of each job and its answer, as they come. Whatever happens, no worker is left behind."""
        waiting = deque(enumerate(jobs))
        workers = [Worker(self.prepare) for _ in range(min(self.processes, len(jobs)))]
        try:
            with selectors.DefaultSelector() as selector:
                while waiting or any(worker.is_busy for worker in workers):
                    for worker in workers:
                        if waiting and not worker.is_busy:
                            worker.give(*waiting.popleft(), selector)
                    soonest = min(worker.deadline for worker in workers if worker.is_busy)
                    patience = max(0.0, min(soonest - time.monotonic(), 3600.0))
                    ready = {key.data for key, _ in selector.select(patience)}
                    for worker in workers:
                        if worker.is_busy and (worker in ready or time.monotonic() >= worker.deadline):
                            answer = worker.answer(worker in ready, selector)
                            if answer is not None:
                                yield worker.number, answer
        finally:
            for worker in workers:
                worker.end()


class Worker:
    """One process at a time, started when first needed and again after it was lost."""

    def __init__(self, prepare: str | None):
        self.prepare = prepare
        self.running: Process | None = None
        self.received = b""
        self.number = -1
        self.job: Job | None = None
        self.preparing = False
        self.deadline = float("inf")

    @property
    def is_busy(self) -> bool:
        return self.job is not None

    def run(self, job: Job) -> Answer:
        """Have one job done, and wait for it."""
        with selectors.DefaultSelector() as selector:
            if self.running is not None:
                selector.register(self.output, selectors.EVENT_READ, self)
            self.give(0, job, selector)
            while True:
                readable = bool(selector.select(max(0.0, min(self.deadline - time.monotonic(), 3600.0))))
                if readable or time.monotonic() >= self.deadline:
                    answer = self.answer(readable, selector)
                    if answer is not None:
                        return answer

    def give(self, number: int, job: Job, selector: selectors.BaseSelector) -> None:
        self.number, self.job = number, job
        if self.running is None:
            self.start(selector)
        else:
            self.send(job)

    def start(self, selector: selectors.BaseSelector) -> None:
        # What this process can import, a worker can import too.
        path = {"PYTHONPATH": os.pathsep.join(part for part in sys.path if part)}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        command = [sys.executable, "-m", "planrank.parallel.worker"]
        self.running = Process(command, environment=path, **pipes)
        self.received = b""
        os.set_blocking(self.output, False)
        selector.register(self.output, selectors.EVENT_READ, self)
        self.preparing = True
        self.send(Job(self.prepare or "planrank.parallel.worker:nothing", {}, START_SECONDS))

    @property
    def output(self) -> int:
        assert self.running is not None and self.running.process.stdout is not None
        return self.running.process.stdout.fileno()

    def send(self, job: Job) -> None:
        assert self.running is not None and self.running.process.stdin is not None
        line = json.dumps({"function": job.function, "arguments": job.arguments}) + "\n"
        self.deadline = float("inf") if job.seconds is None else time.monotonic() + job.seconds
        try:
            self.running.process.stdin.write(line.encode())
            self.running.process.stdin.flush()
        except BrokenPipeError:
            pass  # its death is noticed where its answer is read

    def answer(self, readable: bool, selector: selectors.BaseSelector) -> Answer | None:
        """What came of the job; None if there is more to wait for."""
        if not readable:
            return self.lost("gave no answer in time", selector)
        piece = os.read(self.output, 1 << 20)
        self.received += piece
        if not piece:
            return self.lost("ended", selector)
        if not self.received.endswith(b"\n"):
            return None
        reply, self.received = json.loads(self.received), b""
        error = PlanrankError(**reply["error"]) if "error" in reply else None
        if self.preparing:
            self.preparing = False
            if error is None and self.job is not None:
                self.send(self.job)
                return None
        self.job = None
        if reply["retires"]:
            selector.unregister(self.output)
            self.end()
        return Answer(reply.get("value"), error)

    def lost(self, what: str, selector: selectors.BaseSelector) -> Answer:
        selector.unregister(self.output)
        self.job = None
        code = self.end()
        return Answer(error=PlanrankError(f"the worker process {what} ({ending(code)})", "internal"), lost=True)

    def end(self) -> int:
        running, self.running = self.running, None
        return 0 if running is None else running.end()
