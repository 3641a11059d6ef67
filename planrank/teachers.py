"""Teachers: planners that give each instance a plan to learn from, optimal where they can prove it.

A teacher runs in processes of its own, each in a process group that is ended as a whole, so that nothing outlives
Ctrl-C. The built-in one is this package's A* in a long-lived worker; the others are programs from the Python index.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from planrank.errors import PlanrankError

# What a worker may take beyond the time limit before it counts as stuck; starting Julia is in it.
GRACE_SECONDS = 60


@dataclass(frozen=True)
class Answer:
    """What a teacher found: a plan, or the reason why there is none."""

    steps: list[str] | None = None
    unit_cost: bool = True
    teacher: str = ""
    proved_optimal: bool = False
    reason: str = ""


class Stopped(Exception):
    """The teacher was told to stop."""


class Teacher:
    """Finds plans one after the other; `stop` may be called from another thread and ends what is running."""

    def __init__(self, memory_limit: float | None = None):
        self.memory_limit = memory_limit
        self.process: subprocess.Popen | None = None
        self.stopped = False
        self.lock = threading.Lock()

    def plan(self, domain: Path, problem: Path, seconds: float, allow_suboptimal: bool = False) -> Answer:
        raise NotImplementedError

    def start(self, command: list[str], **options) -> subprocess.Popen:
        with self.lock:
            if self.stopped:
                raise Stopped
            self.process = subprocess.Popen(command, start_new_session=True, text=True, **options)
            return self.process

    def stop(self) -> None:
        with self.lock:
            self.stopped = True
            end(self.process)


def end(process: subprocess.Popen | None) -> None:
    """End a process and all that it started."""
    if process is None:
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


class Builtin(Teacher):
    """A* with LM-cut; where allowed and needed, weighted A* and greedy search with hFF."""

    def plan(self, domain: Path, problem: Path, seconds: float, allow_suboptimal: bool = False) -> Answer:
        worker = self.process
        if worker is None or worker.poll() is not None:
            command = [sys.executable, "-m", "planrank.teachers"]
            worker = self.start(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        question = {"domain": str(domain), "problem": str(problem), "seconds": seconds}
        question |= {"allow_suboptimal": allow_suboptimal, "memory_limit": self.memory_limit}
        watch = threading.Timer(seconds + GRACE_SECONDS, end, [worker])
        watch.start()
        try:
            print(json.dumps(question), file=worker.stdin, flush=True)
            line = worker.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            watch.cancel()
        if line:
            return Answer(**json.loads(line))
        if self.stopped:
            raise Stopped
        end(worker)
        return Answer(reason=f"the worker ended unasked, code {worker.returncode}")


def work() -> None:
    """The worker of `Builtin`: answers questions, a line of JSON each, until there are no more."""
    for line in sys.stdin:
        try:
            answer = solve_here(**json.loads(line))
        except PlanrankError as e:
            answer = Answer(reason=str(e))
        print(json.dumps(asdict(answer)), flush=True)


def solve_here(domain: str, problem: str, seconds: float, allow_suboptimal: bool, memory_limit: float | None) -> Answer:
    from planrank.search import solve

    deadline = time.time() + seconds
    share = 0.7 if allow_suboptimal else 1.0

    def attempt(search: str, heuristic: str, until: float):
        return solve(domain, problem, search, heuristic, time_limit=until - time.time(), memory_limit=memory_limit)

    heuristic = "lmcut"
    until = deadline - (1 - share) * seconds
    try:
        result = attempt("astar", heuristic, until)
    except PlanrankError as e:
        if e.kind != "unsupported":
            raise
        heuristic = "hmax"  # also admissible, and takes the conditional effects that LM-cut refuses
        result = attempt("astar", heuristic, until)
    if result.plan is not None:
        return Answer(result.plan, result.unit_cost, f"builtin astar {heuristic}", True)
    reason = result.status
    if allow_suboptimal and result.status != "unsolvable":
        for search, until in (("wastar", (time.time() + deadline) / 2), ("gbfs", deadline)):
            result = attempt(search, "ff", until)
            if result.plan is not None:
                return Answer(result.plan, result.unit_cost, f"builtin {search} ff", False)
    return Answer(reason=reason)


class Program(Teacher):
    """A planner with Fast Downward's driver: it translates once, then searches in the ways of its schedule."""

    name = ""
    package = ""
    driver = ""
    # Searches that prove their plan optimal: name, the driver's option, share of the time.
    schedule: tuple[tuple[str, str, float], ...] = ()

    def __init__(self, memory_limit: float | None = None):
        super().__init__(memory_limit)
        module = self.package.replace("-", "_")
        spec = importlib.util.find_spec(module)
        if spec is None or not spec.submodule_search_locations:
            raise PlanrankError(f"the teacher {self.name} is not installed; run `pip install {self.package}`")
        self.file = Path(next(iter(spec.submodule_search_locations)), self.driver)

    def plan(self, domain: Path, problem: Path, seconds: float, allow_suboptimal: bool = False) -> Answer:
        deadline = time.monotonic() + seconds
        with tempfile.TemporaryDirectory(prefix="planrank-") as scratch:
            folder = Path(scratch)
            files = [str(domain.resolve()), str(problem.resolve())]
            code, log = self.run(folder, deadline, ["--translate", "--sas-file", "task.sas", *files])
            if code != 0:
                return Answer(reason=failure(code, log))
            bound, reason = -math.inf, "out of time"
            for how, search, share in self.proofs(allow_suboptimal):
                until = min(deadline, time.monotonic() + share * seconds)
                options = ["--plan-file", "plan", "task.sas", "--search", search.format(seconds=max(1, seconds / 5))]
                code, log = self.run(folder, until, options)
                if code == 0 and (found := read_complete(folder / "plan")):
                    return Answer(*found, f"{self.name} {how}", True)
                reason = failure(code, log)
                if reason == "unsolvable":
                    return Answer(reason=reason)
                bound = max([bound, *map(int, re.findall(r"\] f = (\d+),", log))])
            if allow_suboptimal:
                self.run(folder, deadline, ["--alias", "lama", "--plan-file", "good", "task.sas"])
                numbered = sorted(folder.glob("good.*"), key=lambda file: int(file.suffix[1:]), reverse=True)
                for file in numbered:
                    if found := read_complete(file):
                        # A* has shown that every plan costs at least `bound`, so one at that cost is optimal.
                        proved = stated_cost(file) <= bound
                        return Answer(*found, f"{self.name} lama{' at the bound of astar' if proved else ''}", proved)
        return Answer(reason=reason)

    def proofs(self, allow_suboptimal: bool) -> tuple[tuple[str, str, float], ...]:
        """The schedule; where a plan without proof will do, its last search leaves time to find one."""
        if allow_suboptimal:
            return self.schedule
        *first, (how, search, _) = self.schedule
        return (*first, (how, search, 1.0))

    def run(self, folder: Path, until: float, options: list[str]) -> tuple[int | None, str]:
        """Exit code and log of the driver; None if it had to be ended at the deadline."""
        seconds = until - time.monotonic()
        if seconds <= 0:
            return None, ""
        # The driver's own limit counts processor time; it matters only if nobody is left to end the driver.
        limits = ["--overall-time-limit", f"{math.ceil(seconds) + 1}s"]
        if self.memory_limit is not None:
            limits += ["--overall-memory-limit", f"{int(self.memory_limit)}M"]
        log = folder / "log"
        with log.open("w") as stream:
            command = [sys.executable, str(self.file), *limits, *options]
            process = self.start(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream)
            try:
                code = process.wait(seconds)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                end(process)
                self.process = None
        if self.stopped:
            raise Stopped
        return code, log.read_text(errors="replace")


class FastDownward(Program):
    """LM-cut is quick where it works, pattern databases get further; LAMA improves its plan until the time is up."""

    name, package, driver = "fast-downward", "up-fast-downward", "downward/fast-downward.py"
    schedule = (("astar lmcut", "astar(lmcut())", 0.15), ("astar ipdb", "astar(ipdb(max_time={seconds}))", 0.5))


class SymK(Program):
    """Symbolic search in both directions."""

    name, package, driver = "symk", "up-symk", "symk/fast-downward.py"
    schedule = (("sym_bd", "sym_bd()", 0.7),)


TEACHERS: dict[str, type[Teacher]] = {"builtin": Builtin, "fast-downward": FastDownward, "symk": SymK}


def make(name: str, memory_limit: float | None = None) -> Teacher:
    if name not in TEACHERS:
        raise PlanrankError(f"there is no teacher {name!r}; known are {', '.join(TEACHERS)}")
    return TEACHERS[name](memory_limit)


def failure(code: int | None, log: str) -> str:
    """Why the driver gave up, in a few words."""
    if code is None or code in (21, 23):
        return "out of time"
    if code in (20, 22, 24):
        return "out of memory"
    if code in (10, 11):
        return "unsolvable"
    if code == 12:
        return "no plan found"
    if code == 34:
        return "the planner does not support what this domain uses"
    lines = [line.strip() for line in log.splitlines() if line.strip() and not line.startswith(("INFO", "["))]
    return f"exit code {code}" + (f": {lines[-1][:100]}" if lines else "")


def read_complete(file: Path) -> tuple[list[str], bool] | None:
    """Steps of a plan file and whether costs are unit costs; None if it was not written to its end."""
    lines = file.read_text().splitlines() if file.is_file() else []
    if not lines or not lines[-1].startswith("; cost = "):
        return None
    return [line.strip() for line in lines[:-1]], "unit cost" in lines[-1]


def stated_cost(file: Path) -> int:
    return int(re.search(r"; cost = (\d+)", file.read_text()).group(1))


if __name__ == "__main__":
    work()
