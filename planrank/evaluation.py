"""Runs guides and searches on many instances and writes down what came of each, so that it can go on after a stop."""

from __future__ import annotations

import hashlib
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from planrank import shipped
from planrank.choices import HEURISTICS, POLICY_SEARCHES, SEARCHES
from planrank.errors import PlanrankError
from planrank.journal import Journal, read_rows
from planrank.workers import COUNTERS, ColdWorker, Worker

if TYPE_CHECKING:
    from planrank.datasets import Instance
    from planrank.search import Scorer
    from planrank.task import Task

# What makes two runs the same; the others of a row say how it went.
KEY = ("instance_sha", "heuristic", "model_sha", "search", "batch", "time_limit", "memory_limit", "cold")


@dataclass(frozen=True)
class Guide:
    """A classical heuristic by its name, or a model by its file. `name` is what tables call it."""

    name: str
    heuristic: str | None = None
    model: str | None = None
    model_sha: str | None = None
    policy: bool = False

    @classmethod
    def of_heuristic(cls, name: str) -> Guide:
        if name not in HEURISTICS:
            raise PlanrankError(f"unknown heuristic {name!r}; known: {', '.join(HEURISTICS)}")
        return cls(name, heuristic=name)

    @classmethod
    def of_model(cls, file: str | Path) -> Guide:
        """Loads the model once, so that one that cannot be read is known before anything runs."""
        from planrank.models import Model

        policy = Model.load(file).architecture.policy
        return cls(f"model:{shipped.model_name(Path(file))}", None, str(file), sha(Path(file)), policy)

    def suits(self, search: str) -> bool:
        if search in ("ucs", "bfs"):
            return self.heuristic == "blind"
        return self.policy or search not in POLICY_SEARCHES


def sha(*files: Path) -> str:
    digest = hashlib.sha256()
    for file in files:
        try:
            content = file.read_bytes()
        except OSError as e:
            raise PlanrankError(f"cannot be read: {e.strerror}", file=str(file)) from None
        digest.update(len(content).to_bytes(8, "little") + content)
    return digest.hexdigest()[:16]


def evaluate(
    instances: Iterable[Instance],
    guides: Sequence[Guide],
    searches: Sequence[str] = ("gbfs",),
    time_limit: float | None = 5.0,
    *,
    memory_limit: float | None = None,
    batch: int = 1,
    jobs: int = 1,
    cold: bool = False,
    out: str | Path | None = None,
    progress: Callable[[dict, int, int], None] | None = None,
) -> list[dict]:
    """A row for every instance, search and guide that suits it, in this order.

    Rows are added to the file `out` as they come, and those it has already are not run again. A run counts as solved
    only within its time limit, from parsing to the validated plan in a process that has Julia started, and with `cold`
    for a whole `planrank solve`. `progress` is given each new row, how many are done and how many there are.
    """
    settings = {"time_limit": time_limit, "memory_limit": memory_limit, "batch": batch, "cold": cold}
    wanted = runs(instances, guides, searches, settings)
    done = {key_of(row): row for row in read_rows(out)} if out is not None else {}
    missing = list({key_of(run): run for run in wanted if key_of(run) not in done}.values())
    journal = Journal(out)
    with closing(answered(missing, ColdWorker if cold else Worker, jobs)) as rows:
        for row in rows:
            journal.add(row)
            done[key_of(row)] = row
            if progress is not None:
                progress(row, len(wanted) - len(missing) + journal.added, len(wanted))
    # Names and places as they are now: a row may come from a file written elsewhere.
    return [done[key_of(run)] | run for run in wanted]


def runs(instances: Iterable[Instance], guides: Sequence[Guide], searches: Sequence[str], settings: dict) -> list[dict]:
    """Everything to be run, as the first part of its row."""
    for search in searches:
        if search not in SEARCHES:
            raise PlanrankError(f"unknown search {search!r}; known: {', '.join(SEARCHES)}")
        if not any(guide.suits(search) for guide in guides):
            needed = "a model with a policy" if search in POLICY_SEARCHES else "the heuristic blind"
            raise PlanrankError(f"{search} needs {needed}, and none was given")
    wanted = []
    for search in searches:
        for guide in uniquely_named(guides):
            if guide.suits(search):
                model = {"model": guide.model, "model_sha": guide.model_sha}
                wanted.append({"search": search, "guide": guide.name, "heuristic": guide.heuristic} | model)
    found = []
    for instance in instances:
        files = {"domain": str(instance.domain), "problem": str(instance.problem)}
        place = files | {"instance_sha": sha(instance.domain, instance.problem)}
        found += [place | one | settings for one in wanted]
    if not found:
        raise PlanrankError("there are no instances to evaluate on")
    return found


def uniquely_named(guides: Sequence[Guide]) -> list[Guide]:
    """Models of the same name are told apart by their files."""
    names = [guide.name for guide in guides]
    return [replace(g, name=f"model:{g.model}") if g.model and names.count(g.name) > 1 else g for g in guides]


def key_of(row: dict) -> tuple:
    return tuple(row.get(name) for name in KEY)


def answered(wanted: Sequence[dict], kind: type, jobs: int) -> Iterator[dict]:
    """The rows of the runs as they are done. Whatever happens, no worker is left behind."""
    waiting, rows = queue.SimpleQueue(), queue.SimpleQueue()
    for run in wanted:
        waiting.put(run)
    workers = [kind() for _ in range(min(jobs, len(wanted)))]
    stopping = threading.Event()

    def serve(worker) -> None:
        while not stopping.is_set():
            try:
                run = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                rows.put(finished(run, worker.answer(run)))
            except Exception as e:  # told in the main thread, which would wait for this row for ever
                rows.put(e)

    threads = [threading.Thread(target=serve, args=(worker,), daemon=True) for worker in workers]
    for thread in threads:
        thread.start()
    try:
        for _ in wanted:
            row = rows.get()
            if isinstance(row, Exception):
                raise row
            yield row
    finally:
        stopping.set()
        for worker in workers:
            worker.stop()
        for thread in threads:
            thread.join(timeout=5)


def finished(run: dict, answer: dict) -> dict:
    """A row: every key is there, None where the run did not get so far."""
    row = run | dict.fromkeys((*COUNTERS, "expansions_per_step", "search_seconds", "total_seconds", "peak_kb")) | answer
    if row["status"] == "solved" and run["time_limit"] is not None and row["total_seconds"] > run["time_limit"]:
        row |= {"status": "out of time", "reason": "the plan came after the time limit"}
    if row["status"] == "solved" and row["plan_length"]:
        row["expansions_per_step"] = row["expanded"] / row["plan_length"]
    return row


@dataclass(frozen=True)
class Tally:
    """How many tasks were solved, and all expansions, those of the unsolved ones too."""

    solved: int
    expansions: int
    plan_steps: int


def evaluate_in_process(
    tasks: Iterable[Task],
    scorer_of: Callable[[Task], Scorer],
    search: str = "gbfs",
    *,
    max_expansions: int = 1000,
    seconds: float | None = None,
    batch: int = 1,
) -> Tally:
    """Search every task in this process, with `scorer_of(task)` (a model's `scorer`), to compare models while training.

    With the cap on expansions alone the outcome is the same every time; with `seconds`, for each task, it may differ.
    """
    from planrank.search import Search

    solved = expansions = steps = 0
    for task in tasks:
        forward, scorer = Search(task, search, batch=batch), scorer_of(task)
        deadline = time.monotonic() + (float("inf") if seconds is None else seconds)
        while (left := deadline - time.monotonic()) > 0 and forward.step(scorer, left):
            if forward.expanded >= max_expansions:
                break
        if forward.status == "solved":
            solved += 1
            steps += len(forward.plan())
        expansions += forward.expanded
        forward.release()
    return Tally(solved, expansions, steps)
