"""The pool's second back end: the same worker processes, on the machines of a Ray cluster.

On each machine an actor starts a worker as `planrank.parallel.pool` does and hands it one job after the other, so that
a job runs just as it would here. What a job reads is sent unless it lies in the same place there; what it writes is
brought back. A machine that is lost costs the time of its jobs: others do them again.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from planrank.errors import PlanrankError
from planrank.parallel import transfer
from planrank.parallel.pool import Answer, Job, Pool, Worker
from planrank.parallel.processes import Process
from planrank.runtime import image, record

MOST_ATTEMPTS = 3  # at a job whose machine is lost, and at starting a worker
SECONDS_TO_REACH = 5.0
SECONDS_TO_SET_UP = 1800.0
SECONDS_BETWEEN_LOOKS = 30.0  # whether there are machines at all


def check_ray() -> None:
    """Whether Ray is there at all, which can be said at once."""
    if find_spec("ray") is None:
        raise PlanrankError("--cluster needs Ray, which is not installed; `pip install planrank[cluster]` brings it")


def connect(address: str) -> Any:
    """Ray, connected; PlanrankError says in a sentence what is missing."""
    check_ray()
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    if ray.is_initialized():
        return ray
    unreached = f"no Ray cluster was reached at {address}; `ray start --head` starts one"
    if address != "auto" and not answers(address):
        raise PlanrankError(unreached)
    heeded = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, RuntimeError, ValueError, TimeoutError) as e:
        raise PlanrankError(f"{unreached} ({str(e).splitlines()[0]})") from None
    for number, handler in heeded.items():  # Ray puts its own there
        signal.signal(number, handler)
    return ray


def answers(address: str) -> bool:
    """Whether anybody listens there; Ray itself would wait for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        with socket.create_connection((host or "127.0.0.1", int(port)), SECONDS_TO_REACH):
            return True
    except (OSError, ValueError, OverflowError):
        return False


class ClusterPool(Pool):
    """As `Pool`. `processes` is how many workers there are in the whole cluster, by default one for each processor."""

    def __init__(self, address: str, processes: int | None = None, prepare: str | None = None):
        self.ray = connect(address)
        room = int(self.ray.cluster_resources().get("CPU", 0))
        super().__init__(processes or max(room, 1), prepare)

    def map(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Answer]]:
        work = Work(self.ray, self.prepare, jobs)
        try:
            yield from work.done(min(self.processes, len(jobs)))
        finally:
            for seat in work.seats.values():
                self.ray.kill(seat.actor)


@dataclass
class Seat:
    """An actor and the number of the job it does; None while it gets ready."""

    actor: Any
    number: int | None = None


class Work:
    """One call of `map`: what waits, who does what, how often a job was tried."""

    def __init__(self, ray: Any, prepare: str | None, jobs: Sequence[Job]):
        from planrank import __version__

        self.ray, self.jobs = ray, jobs
        self.waiting = deque(range(len(jobs)))
        self.seats: dict[Any, Seat] = {}  # by what the actor has promised
        self.attempts = [0] * len(jobs)
        self.failed_starts = 0
        self.tokens: dict[str, Any] = {}  # of contents by digest: each goes into the cluster once
        options = {"num_cpus": 1, "max_restarts": 0, "scheduling_strategy": "SPREAD"}
        path = [os.path.abspath(part) for part in sys.path if part]
        self.new_actor = lambda: ray.remote(**options)(Runner).remote(prepare, path, __version__)

    def done(self, count: int) -> Iterator[tuple[int, Answer]]:
        for _ in range(count):
            self.sit_down()
        left = len(self.jobs)
        while left:
            promises, _ = self.ray.wait(list(self.seats), num_returns=1, timeout=SECONDS_BETWEEN_LOOKS)
            if not promises and not self.ray.cluster_resources().get("CPU"):
                raise PlanrankError("the cluster has no machine left to work on", "runtime")
            for promise in promises:
                seat = self.seats.pop(promise)
                answer = self.kept(promise, seat)
                if answer is not None and seat.number is not None:
                    left -= 1
                    yield seat.number, answer

    def sit_down(self) -> None:
        actor = self.new_actor()
        self.seats[actor.ready.remote()] = Seat(actor)

    def kept(self, promise: Any, seat: Seat) -> Answer | None:
        """What came of a promise: an answer, or nothing yet. The seat has its next job then, if there is one."""
        errors = self.ray.exceptions
        try:
            reply = self.ray.get(promise)
        except (errors.RayActorError, errors.ObjectLostError, errors.WorkerCrashedError) as e:
            return self.lost(seat, e)
        except errors.RayTaskError as e:
            raise PlanrankError(f"a machine of the cluster cannot run planrank: {last_line(e)}", "runtime") from None
        answer = None
        if seat.number is not None:
            for path, content in reply["written"].items():
                transfer.bring_back(path, content)
            answer = reply["answer"]
        self.give(seat.actor)
        return answer

    def give(self, actor: Any) -> None:
        if not self.waiting:
            self.ray.kill(actor)
            return
        number = self.waiting.popleft()
        job = self.jobs[number]
        things = {path: transfer.sent(path, self.token) for path in dict.fromkeys((*job.reads, *job.writes))}
        self.seats[actor.run.remote(job, things)] = Seat(actor, number)

    def token(self, sha: str, file: Path) -> Any:
        if sha not in self.tokens:
            self.tokens[sha] = [self.ray.put(file.read_bytes())]  # in a list Ray leaves it to whoever wants the content
        return self.tokens[sha]

    def lost(self, seat: Seat, why: Exception) -> Answer | None:
        """The machine is gone or its actor was ended. Another one takes its place, and the job waits again."""
        answer = None
        if seat.number is None:
            self.failed_starts += 1
            if self.failed_starts >= MOST_ATTEMPTS * max(1, len(self.seats)):
                raise PlanrankError(f"no worker starts in the cluster: {last_line(why)}", "runtime")
        else:
            self.attempts[seat.number] += 1
            if self.attempts[seat.number] < MOST_ATTEMPTS:
                self.waiting.appendleft(seat.number)
            else:
                message = f"the machine of this job was lost {MOST_ATTEMPTS} times ({last_line(why)})"
                answer = Answer(error=PlanrankError(message, "internal"), lost=True)
        self.sit_down()
        return answer


def last_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[-1].strip()


def needs_set_up() -> bool:
    """Told without a process, because every worker asks."""
    runtime = record.load()
    if runtime is None:
        return not record.users_own()
    return runtime.road == "wheel" and not image.file().exists()


class Runner:
    """The actor: on some machine of the cluster, one worker process and its jobs."""

    def __init__(self, prepare: str | None, path: list[str], version: str):
        from planrank import __version__

        if version != __version__:
            message = f"the machine {socket.gethostname()} has planrank {__version__}, expected {version}"
            raise PlanrankError(message, "runtime")
        # What the caller can import, a worker can import too, where it is there.
        sys.path += [part for part in path if part not in sys.path and os.path.exists(part)]
        self.prepare = prepare
        self.worker = Worker(prepare)

    def ready(self) -> None:
        """Get Julia ready on this machine: jobs that start processes of their own need it too. The first one here does
        it, the others wait."""
        if needs_set_up():
            with Process([sys.executable, "-m", "planrank", "setup", "--quiet"]) as process:
                code = process.wait(SECONDS_TO_SET_UP)
            if code != 0:
                where = socket.gethostname()
                raise PlanrankError(f"Julia could not be set up on {where}; `planrank setup` says why", "runtime")

    def run(self, job: Job, things: dict[str, transfer.Sent]) -> dict[str, Any]:
        """The answer, and the contents of what the job wrote."""
        import ray

        def fetch(token: Any) -> bytes:
            return ray.get(token[0])

        with tempfile.TemporaryDirectory(prefix="planrank-") as scratch:
            places = {}
            for number, (path, thing) in enumerate(things.items()):
                if path in job.writes:
                    folder = Path(scratch, str(number))
                    folder.mkdir()
                    places[path] = transfer.copied(thing, folder, fetch)
                else:
                    places[path] = transfer.at_hand(thing, fetch)
            moved = Job(job.function, transfer.elsewhere(job.arguments, places), job.seconds)
            answer = self.worker.run(moved)
            back = {place: path for path, place in places.items()}
            written = {} if answer.error else {path: transfer.contents(Path(places[path])) for path in job.writes}
        return {"answer": Answer(transfer.elsewhere(answer.value, back), named(answer.error, back), answer.lost),
                "written": written}  # fmt: skip


def named(error: PlanrankError | None, back: dict[str, str]) -> PlanrankError | None:
    """The error with the names that the caller knows."""
    if error is None:
        return None
    message = error.message
    for place, path in back.items():
        message = message.replace(place, path)
    return PlanrankError(message, error.kind, transfer.elsewhere(error.file, back), error.line, error.column)
