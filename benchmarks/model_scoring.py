"""The scoring half of benchmarks/model.py: values of the states of a search, without gradients."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from model import NETWORK
from model_baselines import Indices, baselines
from model_timing import (
    PROBLEMS,
    Timing,
    check_equal,
    domain_file,
    interleaved,
    problem_text,
    spent,
    task_of,
    timed,
)

from planrank import Architecture, Heuristic, Model, Search
from planrank.errors import PlanrankError
from planrank.models.family import Scorer
from planrank.models.hypergraph.signature import signature_of
from planrank.parallel.processes import Process
from planrank.task import Task

Seconds = Callable[[], float]


def expansions(task: Task, states: int, count: int) -> tuple[str, list[np.ndarray]]:
    """New states of each expansion of A*, and its heuristic: the best informed that needs so many of both."""
    for name in ("ff", "hmax", "blind"):
        search, guide, found, seen = Search(task, "astar"), Heuristic(task, name), [], 0
        while (seen <= states or len(found) <= count) and len(batch := search.expand(1).copy()):
            search.insert(guide.values(batch))
            found.append(batch)
            seen += len(batch)
        search.release()
        if seen > states and len(found) > count:
            return name, found[1:]  # the first is the initial state alone
    raise PlanrankError(f"{task.domain}: too small for {states} states and {count} expansions")


class Scored:
    """A task, a network, and the ways to score states with it."""

    def __init__(self, task: Task, layers: int):
        self.task = task
        self.model = Model.fresh(signature_of(task), Architecture(layers=layers, **NETWORK))
        self.weights = {name: torch.from_numpy(array) for name, array in self.model.weights.items()}
        self.forms = baselines(Indices(task, self.model.signature, self.model.architecture))

    def fresh_scorer(self) -> Scorer:
        scorer = self.model.scorer(self.task)
        scorer.values(self.task.packed(self.task.init)[None])  # prepares the task, as is done for the others
        return scorer

    def planrank(self, batches: list[np.ndarray], before: np.ndarray | None = None) -> Seconds:
        """With a scorer that knows only the states `before`."""

        def seconds() -> float:
            scorer = self.fresh_scorer()
            if before is not None:
                scorer.values(before)
            return spent(lambda: [scorer.values(batch) for batch in batches])

        return seconds

    def baseline(self, form: str, batches: list[np.ndarray]) -> Seconds:
        network = self.forms[form]

        def values(batch: np.ndarray) -> torch.Tensor:
            with torch.inference_mode():
                return network.values(self.weights, network.prepare(batch))

        check_equal(form, torch.from_numpy(self.fresh_scorer().values(batches[0])), values(batches[0]))
        return timed(lambda: [values(batch).numpy() for batch in batches])


def measure_expansions(name: str, layers: int, count: int, repeats: int, seconds: float) -> dict:
    """A job: states a second, for the new states of one expansion after another."""
    task = task_of(name)
    scored = Scored(task, layers)
    guide, batches = expansions(task, 0, count)
    few = batches[:count]
    methods = {"planrank": scored.planrank(few)} | {form: scored.baseline(form, few) for form in scored.forms}
    return row(name, layers, "expansions", guide, few, methods, Timing(repeats, seconds))


def measure_batch(name: str, layers: int, size: int, repeats: int, seconds: float, wlplan: str | None) -> dict:
    """A job: states a second, for one batch of states that were not met before, and for the same after others."""
    task = task_of(name)
    scored = Scored(task, layers)
    guide, batches = expansions(task, 5 * size, 0)
    states = np.concatenate(batches)[: 5 * size]
    before, last = states[:-size], states[-size:]
    methods = {"planrank": scored.planrank([last]), "planrank, after others": scored.planrank([last], before)}
    methods |= {form: scored.baseline(form, [last]) for form in scored.forms}
    timing = Timing(repeats, seconds)
    if wlplan is None:
        return row(name, layers, "batch", guide, [last], methods, timing)
    with tempfile.TemporaryDirectory() as folder, Wlplan(wlplan, Path(folder), name, last) as peer:
        return row(name, layers, "batch", guide, [last], methods | {"wlplan": peer.seconds}, timing)


def row(
    name: str, layers: int, way: str, guide: str, batches: list[np.ndarray], methods: dict[str, Seconds], timing: Timing
) -> dict:
    states = sum(map(len, batches))
    rates = {form: states / taken for form, taken in interleaved(methods, timing).items()}
    return {"task": name, "layers": layers, "way": way, "guide": guide, "states": states, "rates": rates}


class Wlplan:
    """Another Python that scores the states of one task with wlplan."""

    def __init__(self, python: str, folder: Path, name: str, states: np.ndarray):
        task = task_of(name)
        kind, size = PROBLEMS[name]
        problem = folder / "problem.pddl"
        problem.write_text(problem_text(kind, size))
        facts = [fact.strip("()").split() for fact in task.names("facts")]
        asked = {"domain": str(domain_file(kind)), "problem": str(problem)}
        asked |= {"fluent": list(signature_of(task).predicates)}
        asked |= {"states": [[facts[fact] for fact in task.facts_in(state)] for state in states]}
        file = folder / "wlplan.json"
        file.write_text(json.dumps(asked))
        command = [python, str(Path(__file__).with_name("model_wlplan.py")), str(file)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        # What this process can import must not shadow what the other Python has.
        self.running = Process(command, environment={"PYTHONPATH": ""}, **pipes)
        while (line := self.running.process.stdout.readline()) != "ready\n":
            if not line:
                self.running.end()
                raise PlanrankError("wlplan did not start", file=python)

    def seconds(self) -> float:
        self.running.process.stdin.write("\n")
        self.running.process.stdin.flush()
        return float(self.running.process.stdout.readline())

    def __enter__(self) -> Wlplan:
        return self

    def __exit__(self, *_: object) -> None:
        self.running.end()
