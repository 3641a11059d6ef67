"""What does it cost to score a state of a large task? planrank now, planrank before, and wlplan, on the same states.

    python benchmarks/scoring.py --instances FOLDER [--wlplan-python PYTHON] [--before FOLDER] [--only TASK,…]

FOLDER has the domains of the learning track. The states are those that greedy search meets with the network itself, in
its order and batches; each program scores them with what it remembers, after the initial state. Rates are states for a
second of processor time on one core. --before is a checkout of another version (with --before-cache, its
XDG_CACHE_HOME), measured in turn with this one; wlplan (WL features, two iterations) is run by another Python.
Also: how the cost of a state grows with a ferry task, and what --batch brings. Writes results/scoring.{md,json,svg}.
"""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from io import StringIO
from pathlib import Path

import numpy as np
import script
from tables import machine, markdown, write

from planrank import Architecture, Model, Search, load, paths
from planrank.console import Progress
from planrank.errors import PlanrankError
from planrank.files import write_text
from planrank.models.hypergraph.signature import signature_of
from planrank.parallel.processes import Process
from planrank.problems.random_problems import GENERATORS
from planrank.task import Task

# The task, and the name of its problem in the folder of the learning track; others are made here.
TASKS = {
    "ferry 306 x 153": None,
    "ferry hard p10": "ferry/testing/hard/p10",
    "blocksworld medium p30": "blocksworld/testing/medium/p30",
    "childsnack easy p30": "childsnack/testing/easy/p30",
    "spanner hard p10": "spanner/testing/hard/p10",
    "rovers medium p10": "rovers/testing/medium/p10",
    "miconic hard p10": "miconic/testing/hard/p10",
    "blocks 15 in one batch": None,
}
SMALL = {"layers": 2, "dim": 16, "rank": "states", "receivers": "effects", "value": "pooled", "relaxed": False}
NETWORKS: dict[str, dict] = {
    "states, effects": SMALL,
    "states, all": SMALL | {"receivers": "all"},
    "default": {"dim": 32},  # as when it was measured
}
FERRIES = [(20, 10), (40, 20), (80, 40), (150, 75), (300, 150)]
BATCHES = [1, 4, 16, 64]
SEED = 1
Seconds = Callable[[], float]


def main() -> None:
    parser = script.parser(__doc__)
    parser.add_argument("--instances", type=Path, metavar="FOLDER")
    parser.add_argument("--wlplan-python", metavar="PYTHON", help="interpreter that has wlplan")
    parser.add_argument("--before", type=Path, metavar="FOLDER", help="checkout of another version")
    parser.add_argument("--before-cache", type=Path, metavar="FOLDER", help="its XDG_CACHE_HOME")
    parser.add_argument("--only", type=script.names(TASKS), default=list(TASKS), metavar="TASK,…")
    parser.add_argument("--states", type=int, default=1000, help="for each task")
    parser.add_argument("--repeats", type=int, default=5)
    options = script.parse(parser, "instances", quick={"states": 30, "repeats": 1})
    with script.folder_for(None) as scratch:
        bench = Bench(scratch, options)
        rows = bench.rates()
        growth = bench.growth()
        batches = bench.batches()
    runs = f"medians of {options.repeats} interleaved turns, at least {options.states} states"
    lines = ["# Scoring states of large tasks", "", f"States a second, {runs}; {machine()}.", "", *rate_table(rows), ""]
    lines += ["The cost of a state of ferry, the first network:", "", *growth_table(growth), ""]
    lines += ["`--batch` with the default network, states a second in a search of its own:", "", *batch_table(batches)]
    if options.results is not None:
        write_text(options.results / "scoring.svg", drawing(growth))
    write(options.results, "scoring", lines, {"rates": rows, "growth": growth, "batches": batches})


class Bench:
    def __init__(self, scratch: Path, options) -> None:
        self.scratch = scratch
        self.options = options
        self.programs = ["planrank"] + ["before"] * (options.before is not None)

    def source(self, name: str) -> tuple[Path, Path]:
        """The files of domain and problem."""
        problem = self.scratch / f"{name.replace(' ', '-')}.pddl"
        if name.startswith("blocks 15"):
            blocks = 5 if self.options.quick else 15
            problem.write_text(GENERATORS["blocksworld"](random.Random(SEED), "benchmark", blocks=blocks))
            return paths.shared() / "domains/blocksworld/domain.pddl", problem
        if " x " in name:
            cars, places = map(int, name.removeprefix("ferry ").split(" x "))
            problem.write_text(ferry_problem(cars, places))
            domain = self.scratch / "ferry-domain.pddl"
            domain.write_text(FERRY_DOMAIN)
            return domain, problem
        found = self.options.instances / f"{TASKS[name]}.pddl"
        return found.parents[2] / "domain.pddl", found

    def rates(self) -> list[dict]:
        names = ["blocks 15 in one batch"] if self.options.quick else self.options.only
        pairs = [(name, network) for name in names for network in networks_for(name)]
        rows = []
        with Progress("scoring", len(pairs)) as progress:
            for name, network in pairs:
                rows.append(self.measure(name, network, wlplan=network != "default"))
                progress.advance()
        return rows

    def measure(self, name: str, network: str, wlplan: bool) -> dict:
        """A row: the task, the network, and of each program the states a second."""
        domain, problem = self.source(name)
        task = load(domain, problem)
        shape = architecture(name, network)
        count = self.options.states if task.fact_count < 50_000 else self.options.states // 2
        asked = self.record(task, shape, count, one_batch=name.endswith("one batch"))
        asked |= {"domain": str(domain), "problem": str(problem), "architecture": shape}
        states = np.load(asked["states"])["words"]
        with ExitStack() as stack:
            methods: dict[str, Seconds] = {}
            setup = {}
            for program in self.programs:
                replay = stack.enter_context(Replay(self.scratch, asked, program, self.options))
                methods[program], setup[program] = replay.seconds, replay.setup
            if wlplan and self.options.wlplan_python:
                methods["wlplan"] = stack.enter_context(self.wlplan(task, domain, problem, states)).seconds
            turns = interleaved(methods, self.options.repeats)
        rates = {program: len(states) / seconds for program, seconds in turns.items()}
        size = {"facts": task.fact_count, "operators": task.operator_count, "states": len(states)}
        return {"task": name, "network": network, **size, "rates": rates, "setup": setup}

    def record(self, task: Task, shape: dict, count: int, one_batch: bool = False) -> dict:
        """The states that a greedy search meets, in a file, in its batches."""
        model = Model.fresh(signature_of(task), Architecture(**shape))
        scorer, search = model.scorer(task), Search(task, "gbfs", rank="actions" if model.scores_actions else "states")
        words, ends, offsets, operators = [], [0], [0], []
        while ends[-1] < count and len(states := search.expand().copy()):
            words.append(states)
            ends.append(ends[-1] + len(states))
            if model.scores_actions:
                rows = search.applicable()
                operators.append(rows.values.copy())
                offsets += (rows.offsets[1:] + offsets[-1]).tolist()
                search.insert_actions(search.with_actions(*scorer.values_and_scores(states, rows), rows)[1])
            else:
                search.insert(scorer.values(states))
        search.release()
        file = self.scratch / "states.npz"
        ends = ends[-1:] if one_batch else ends[1:]
        arrays = {"words": np.concatenate(words), "ends": np.array(ends)}
        if model.scores_actions:
            arrays |= {"offsets": np.array(offsets, np.int32), "operators": np.concatenate(operators)}
        np.savez(file, **arrays)
        return {"states": str(file)}

    def wlplan(self, task: Task, domain: Path, problem: Path, states: np.ndarray) -> Answering:
        facts = [fact.strip("()").split() for fact in task.names("facts")]
        asked = {"domain": str(domain), "problem": str(problem), "fluent": list(signature_of(task).predicates)}
        asked |= {"states": [[facts[fact] for fact in task.facts_in(state)] for state in states]}
        file = self.scratch / "wlplan.json"
        file.write_text(json.dumps(asked))
        return Answering([self.options.wlplan_python, str(beside("model_wlplan.py")), str(file)], {"PYTHONPATH": ""})

    def growth(self) -> list[dict]:
        sizes = FERRIES[:2] if self.options.quick else FERRIES
        with Progress("growth", len(sizes)) as progress:
            rows = []
            for cars, places in sizes:
                rows.append(self.measure(f"ferry {cars} x {places}", "states, effects", wlplan=True))
                progress.advance()
        return rows

    def batches(self) -> list[dict]:
        """States a second of a whole search with the default network, by how many it expands for each call."""
        rows = []
        for name in ("blocks 15 in one batch",) if self.options.quick else BATCHED:
            task = load(*self.source(name))
            model = Model.fresh(signature_of(task), Architecture(**NETWORKS["default"]))
            turns: dict[int, list[float]] = {batch: [] for batch in BATCHES}
            for _ in range(self.options.repeats):
                for batch, rates in turns.items():
                    rates.append(self.search_rate(model, task, batch))
            row = {str(batch): statistics.median(rates) for batch, rates in turns.items()}
            rows.append({"task": name.removesuffix(" in one batch"), "rates": row})
        return rows

    def search_rate(self, model: Model, task: Task, batch: int) -> float:
        scorer, search = model.scorer(task), Search(task, "gbfs", rank="actions", batch=batch)
        search.step(scorer)
        started, before = time.process_time(), search.statistics().evaluated
        while (done := search.statistics().evaluated - before) < self.options.states and search.step(scorer):
            pass
        rate = done / (time.process_time() - started)
        search.release()
        return rate


BATCHED = ["spanner hard p10", "childsnack easy p30", "blocks 15 in one batch"]


def networks_for(name: str) -> list[str]:
    return ["states, effects"] if name.endswith("one batch") else list(NETWORKS)


def architecture(name: str, network: str) -> dict:
    return NETWORKS[network] | ({"dim": 8} if name.endswith("one batch") else {})


class Answering:
    """A program that answers each line with the seconds that something took."""

    def __init__(self, command: list[str], environment: dict[str, str]):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.command = command
        self.running = Process(command, environment=environment, **pipes)
        self.first = self.answer()
        while self.first != "ready" and not is_numbers(self.first):  # what it prints while it starts
            self.first = self.answer()

    def answer(self) -> str:
        line = self.running.process.stdout.readline()
        if not line:
            self.running.end()
            raise PlanrankError("did not answer", file=" ".join(self.command))
        return line.strip()

    def seconds(self) -> float:
        self.running.process.stdin.write("\n")
        self.running.process.stdin.flush()
        return float(self.answer())

    def __enter__(self) -> Answering:
        return self

    def __exit__(self, *_: object) -> None:
        self.running.end()


class Replay(Answering):
    """A version of planrank that scores recorded states."""

    def __init__(self, scratch: Path, asked: dict, program: str, options) -> None:
        file = scratch / "asked.json"
        file.write_text(json.dumps(asked))
        environment = {}
        if program == "before":
            environment = {"PYTHONPATH": str(options.before.resolve())}
            if options.before_cache:
                environment["XDG_CACHE_HOME"] = str(options.before_cache.resolve())
        super().__init__([sys.executable, str(beside("scoring_replay.py")), str(file)], environment)
        seconds, kilobytes = map(float, self.first.split())
        self.setup = {"seconds": seconds, "megabytes": kilobytes / 1024}


def beside(name: str) -> Path:
    return Path(__file__).with_name(name)


def is_numbers(line: str) -> bool:
    return bool(line) and all(word.replace(".", "", 1).replace("e-", "", 1).isdigit() for word in line.split())


def interleaved(methods: dict[str, Seconds], repeats: int) -> dict[str, float]:
    """Median seconds of each."""
    turns: dict[str, list[float]] = {name: [] for name in methods}
    for _ in range(repeats):
        for name, method in methods.items():
            turns[name].append(method())
    return {name: statistics.median(seconds) for name, seconds in turns.items()}


# As the learning track has it: wlplan sees the static facts too, and this one has none.
FERRY_DOMAIN = """(define (domain ferry)
  (:requirements :typing :strips :negative-preconditions)
  (:types car - object location - object)
  (:predicates (at-ferry ?l - location) (at ?c - car ?l - location) (empty-ferry) (on ?c - car))
  (:action sail
    :parameters (?from - location ?to - location)
    :precondition (and (at-ferry ?from) (not (at-ferry ?to)))
    :effect (and (at-ferry ?to) (not (at-ferry ?from))))
  (:action board
    :parameters (?car - car ?loc - location)
    :precondition (and (at ?car ?loc) (at-ferry ?loc) (empty-ferry))
    :effect (and (on ?car) (not (at ?car ?loc)) (not (empty-ferry))))
  (:action debark
    :parameters (?car - car ?loc - location)
    :precondition (and (on ?car) (at-ferry ?loc))
    :effect (and (at ?car ?loc) (empty-ferry) (not (on ?car)))))
"""


def ferry_problem(cars: int, places: int) -> str:
    rng = random.Random(SEED)
    place = [f"l{i}" for i in range(places)]
    car = [f"c{i}" for i in range(cars)]
    at = "".join(f" (at {c} {rng.choice(place)})" for c in car)
    goal = "".join(f" (at {c} {rng.choice(place)})" for c in car)
    objects = f"{' '.join(place)} - location {' '.join(car)} - car"
    init = f"(empty-ferry) (at-ferry {rng.choice(place)}){at}"
    return f"(define (problem f) (:domain ferry) (:objects {objects}) (:init {init}) (:goal (and{goal})))\n"


def ratio(rates: dict[str, float], peer: str) -> str:
    return f"{rates['planrank'] / rates[peer]:.2f}" if peer in rates else "-"


def rate_table(rows: list[dict]) -> list[str]:
    def cell(rates: dict[str, float], program: str) -> str:
        return f"{rates[program]:,.0f}" if program in rates else "-"

    header = ["task", "network", "facts", "operators", "planrank", "before", "wlplan", "/ before", "/ wlplan"]
    header += ["set-up", "memory"]
    lines = []
    for row in rows:
        rates, setup = row["rates"], row["setup"]["planrank"]
        cells = [row["task"], row["network"], f"{row['facts']:,}", f"{row['operators']:,}"]
        cells += [cell(rates, program) for program in ("planrank", "before", "wlplan")]
        cells += [ratio(rates, "before"), ratio(rates, "wlplan")]
        lines.append([*cells, f"{setup['seconds']:.2f} s", f"{setup['megabytes']:,.0f} MB"])
    return markdown(header, lines, left=2)


def growth_table(rows: list[dict]) -> list[str]:
    programs = list(rows[0]["rates"])
    header = ["task", "facts", *(f"{program}, µs" for program in programs)]
    lines = [
        [row["task"], f"{row['facts']:,}", *(f"{1e6 / row['rates'][program]:,.0f}" for program in programs)]
        for row in rows
    ]
    return markdown(header, lines)


def batch_table(rows: list[dict]) -> list[str]:
    header = ["task", *map(str, BATCHES)]
    return markdown(header, [[row["task"], *(f"{rate:,.0f}" for rate in row["rates"].values())] for row in rows])


def objects_of(row: dict) -> int:
    return sum(int(word) for word in row["task"].split() if word.isdigit())


def drawing(rows: list[dict]) -> str:
    """An SVG: microseconds of a state by the number of objects, with a line that grows as they do."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    objects = [objects_of(row) for row in rows]
    with rc_context({"svg.hashsalt": "planrank"}):
        figure = Figure(figsize=(6, 4), layout="constrained")
        axes = figure.subplots()
        for program in rows[0]["rates"]:
            axes.loglog(objects, [1e6 / row["rates"][program] for row in rows], marker="o", label=program)
        first = 1e6 / rows[0]["rates"]["planrank"]
        axes.loglog(objects, [first * n / objects[0] for n in objects], "k:", label="as the objects")
        axes.set_xlabel("objects")
        axes.set_ylabel("µs a state")
        axes.legend()
        out = StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()


if __name__ == "__main__":
    script.run(main)
