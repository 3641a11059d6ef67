"""How much faster is the deduplicated network than the same network written plainly, in training and in search?

    python benchmarks/model.py [--quick] [--repeats N] [--wlplan-python PYTHON] [--geometric FOLDER]

One core, one process, seconds of the processor rather than of the clock; whatever is compared takes turns, medians
count. Baselines (benchmarks/model_baselines.py), all with the same weights and the same values:
 - plain: the network over all facts and actions of all states, index tensors made once, tables by predicate and schema
   with the states in the second dimension, mostly the fastest of these;
 - wide: the same with a place for every pair of schema and head at every fact, mostly zeros;
 - reference: tests/plain_network.py as it is;
 - torch-geometric: HeteroConv of SAGEConv, where it is installed (`--geometric` names a folder that holds it).
The peer in scoring is wlplan, run by another Python (`--wlplan-python`). Results go to
benchmarks/results/model.{md,json}.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before NumPy is loaded

import numpy as np  # noqa: E402

from planrank import Heuristic, Search, julia, load, solve  # noqa: E402
from planrank.examples import build_example  # noqa: E402
from planrank.generators import GENERATORS  # noqa: E402
from planrank.models import Architecture, Model, signature_of  # noqa: E402
from planrank.task import Task  # noqa: E402

julia.module()  # before torch

import torch  # noqa: E402
from model_baselines import Indices, Wlplan, baselines  # noqa: E402
from model_report import report  # noqa: E402

from planrank.adabelief import AdaBelief  # noqa: E402
from planrank.losses import loss  # noqa: E402
from planrank.models.trainable import Trainable  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
EXAMPLES = {
    "blocks 10": ("blocksworld", {"blocks": 10}),
    "ferry l4-c4": ("ferry", {"locations": 4, "cars": 4}),
    "3x3 puzzle": ("npuzzle", {"side": 3}),
    "elevators s8": ("elevators", {"passengers": 8}),
    "spanner 10-10-10": ("spanner", {"nuts": 10, "locations": 10, "spanners": 10}),
}
SCORED = {"blocks 15": ("blocksworld", {"blocks": 15}), "elevators s10": ("elevators", {"passengers": 10})}
LAYERS = (1, 2, 3)
SEED = 1
RECEIVERS = "adds"  # as the paper has it; planrank's default sends messages along deletes too


@dataclass
class Settings:
    """How much is measured: turns, seconds of each method in a turn, and so on."""

    repeats: int
    seconds: float
    mixed: int  # instances of the mixed training set
    passes: int  # over it
    batch: int  # states scored at once
    expansions: int
    wlplan: str | None


class Trainer:
    """One set of weights and its optimizer; a step with any form of the network costs what it costs in training."""

    def __init__(self, model: Model):
        self.trainable = Trainable(model)
        self.optimizer = AdaBelief(self.trainable.parameter)

    def step(self, values: Callable[[], torch.Tensor], ranking) -> None:
        self.trainable.parameter.grad = None
        loss("lstar", values(), ranking).backward()
        self.optimizer.step()


def spent(call: Callable[[], object]) -> float:
    started = time.process_time()
    call()
    return time.process_time() - started


def interleaved(methods: dict[str, Callable[[], float]], settings: Settings) -> dict[str, float]:
    """Median seconds of each method, which itself says what a call took; one call of each warms up."""
    for method in methods.values():
        method()
    turns: dict[str, list[float]] = {name: [] for name in methods}
    for _ in range(settings.repeats):
        for name, method in methods.items():
            taken = [method()]
            while sum(taken) < settings.seconds:
                taken.append(method())
            turns[name].append(statistics.fmean(taken))
    return {name: statistics.median(values) for name, values in turns.items()}


def timed(call: Callable[[], object]) -> Callable[[], float]:
    return lambda: spent(call)


def write_problem(folder: Path, name: str, kind: str, size: dict, seed: int = SEED) -> tuple[Path, Path]:
    problem = folder / f"{name}-{seed}.pddl"
    problem.write_text(GENERATORS[kind](random.Random(seed), "benchmark", **size))
    return ROOT / "domains" / kind / "domain.pddl", problem


def plan_of(domain: Path, problem: Path, task: Task) -> list[str]:
    if task.domain == "spanner":
        return spanner_plan(task)
    found = solve(domain, problem, "astar", "lmcut", time_limit=120)
    if found.plan is None:
        raise SystemExit(f"{problem.name}: {found.reason}")
    return found.plan


def spanner_plan(task: Task) -> list[str]:
    """Pick up all there is on the way, then tighten nut after nut. A search with hFF, which ignores deletes, does not
    see that a spanner was left behind."""
    facts = [name.strip("()").split() for name in task.names("facts")]
    place = {facts[i][1]: facts[i][2] for i in task.init if facts[i][0] == "at"}
    nuts, tools = (sorted(thing for thing in place if thing.startswith(kind)) for kind in ("nut", "spanner"))
    between = {words[2] for words in facts if words[:2] == ["at", "bob"]} - {"shed", "gate"}
    way = ["shed", *sorted(between, key=lambda spot: int(spot.removeprefix("location"))), "gate"]
    steps = []
    for before, spot in pairwise(way):
        steps.append(f"(walk {before} {spot} bob)")
        steps += [f"(pickup_spanner {spot} {tool} bob)" for tool in tools if place[tool] == spot]
    return steps + [f"(tighten_nut gate {tool} bob {nut})" for tool, nut in zip(tools, nuts, strict=True)]


def check_equal(name: str, expected: torch.Tensor, found: torch.Tensor) -> None:
    scale = expected.abs().max().clamp(min=1)
    if not torch.allclose(expected / scale, found / scale, atol=1e-4):
        raise SystemExit(f"{name} computes other values than planrank: {(expected - found).abs().max():.3g} apart")


def forms(task: Task, model: Model) -> dict:
    return baselines(Indices(task, model.signature, model.architecture))


def training(folder: Path, settings: Settings) -> list[dict]:
    """Seconds of a training step in every form, and of building the example."""
    rows = []
    for name, (kind, size) in EXAMPLES.items():
        domain, problem = write_problem(folder, name, kind, size)
        task = load(domain, problem)
        plan = plan_of(domain, problem, task)
        for layers in LAYERS:
            shape = Architecture(layers=layers, dim=8, receivers=RECEIVERS)
            model = Model.fresh(signature_of(task), shape)
            example = build_example(task, plan, shape)
            ranking, trainer = example.ranking, Trainer(model)
            weights, expected = trainer.trainable.weights, trainer.trainable(example)[0].detach()
            methods = {"planrank": timed(lambda t=trainer, e=example: t.step(lambda: t.trainable(e)[0], e.ranking))}
            for form, baseline in forms(task, model).items():
                prepared = baseline.prepare(ranking.states)
                check_equal(form, expected, baseline.values(weights(), prepared).detach())
                own = Trainer(model)  # so that no form changes the weights of another
                methods[form] = timed(
                    lambda t=own, b=baseline, p=prepared, r=ranking: t.step(
                        lambda: b.values(t.trainable.weights(), p), r
                    )
                )
            methods["building"] = timed(lambda s=shape, t=task, p=plan: build(t, p, s))
            seconds = interleaved(methods, settings)
            sizes = {"states": len(ranking.states), "steps": ranking.length}
            rows.append({"example": name, "layers": layers, **sizes, "seconds": seconds})
            print(name, layers, {form: f"{1000 * s:.2f} ms" for form, s in seconds.items()}, file=sys.stderr)
    return rows


def build(task: Task, plan: list[str], shape: Architecture):
    """All that is done once for an example: ranking, deduplication, index arrays for PyTorch."""
    example = build_example(task, plan, shape)
    example.prepared(shape, torch.float32)
    return example


def mixed_training(folder: Path, settings: Settings) -> dict:
    """Passes over blocks problems of sizes 3 to 10 with 2 layers of 8; the plain form takes turns."""
    shape, examples = Architecture(layers=2, dim=8, receivers=RECEIVERS), []
    built, seed = 0.0, 1000
    while len(examples) < settings.mixed:
        seed += 1
        size = 3 + len(examples) % 8
        domain, problem = write_problem(folder, "mixed", "blocksworld", {"blocks": size}, seed)
        task = load(domain, problem)
        if all(fact in task.init for fact in task.goal[0]):
            continue  # small ones may be solved already
        plan = plan_of(domain, problem, task)
        started = time.process_time()
        example = build(task, plan, shape)
        built += time.process_time() - started
        model = Model.fresh(signature_of(task), shape)
        plain = forms(task, model)["plain"]
        examples.append((example, plain, plain.prepare(example.ranking.states)))
    ours, theirs = Trainer(model), Trainer(model)
    for example, plain, prepared in examples:  # warm up
        ours.step(lambda e=example: ours.trainable(e)[0], example.ranking)
        theirs.step(lambda b=plain, p=prepared: b.values(theirs.trainable.weights(), p), example.ranking)
    rng, seconds = random.Random(SEED), {"planrank": 0.0, "plain": 0.0}
    for _ in range(settings.passes):
        rng.shuffle(examples)
        for example, _, _ in examples:
            seconds["planrank"] += spent(lambda e=example: ours.step(lambda: ours.trainable(e)[0], e.ranking))
        for example, plain, prepared in examples:
            seconds["plain"] += spent(
                lambda e=example, b=plain, p=prepared: theirs.step(
                    lambda: b.values(theirs.trainable.weights(), p), e.ranking
                )
            )
    steps = settings.passes * len(examples)
    return {"instances": len(examples), "steps": steps, "building_seconds": built} | {
        f"{form}_minutes": (built * (form == "planrank") + 10_000 * total / steps) / 60
        for form, total in seconds.items()
    }


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
    raise SystemExit(f"{task.domain}: too small for {states} states and {count} expansions")


class Scored:
    """States of a search on one task and the ways to score them, each told in seconds."""

    def __init__(self, task: Task, layers: int, states: int, count: int):
        self.task, self.model = (
            task,
            Model.fresh(signature_of(task), Architecture(layers=layers, dim=8, receivers=RECEIVERS)),
        )
        self.guide, self.batches = expansions(task, states, count)
        self.weights = {name: torch.from_numpy(array) for name, array in self.model.weights.items()}
        self.forms = forms(task, self.model)

    def fresh_scorer(self):
        scorer = self.model.scorer(self.task)
        scorer.values(self.batches[0][:1])  # prepares the task, as index tensors are prepared for the others
        return scorer

    def planrank(self, batches: list[np.ndarray], before: np.ndarray | None = None) -> Callable[[], float]:
        """A scorer that knows only the states `before`."""

        def run() -> float:
            scorer = self.fresh_scorer()
            if before is not None:
                scorer.values(before)
            return spent(lambda: [scorer.values(batch) for batch in batches])

        return run

    def baseline(self, form: str, batches: list[np.ndarray]) -> Callable[[], float]:
        network = self.forms[form]

        def run() -> None:
            with torch.inference_mode():
                for batch in batches:
                    network.values(self.weights, network.prepare(batch)).numpy()

        expected = self.fresh_scorer().values(batches[0])
        with torch.inference_mode():
            found = network.values(self.weights, network.prepare(batches[0]))
        check_equal(form, torch.from_numpy(expected), found)
        return timed(run)


def scoring(folder: Path, settings: Settings) -> list[dict]:
    """States a second with 2 layers of 8: a batch of new states, the same after others, again, and by expansions."""
    rows = []
    for name, (kind, size) in SCORED.items():
        domain, problem = write_problem(folder, name, kind, size)
        scored = Scored(load(domain, problem), 2, 5 * settings.batch, settings.expansions)
        states = np.concatenate(scored.batches)[: 5 * settings.batch]
        before, last = states[: -settings.batch], states[-settings.batch :]
        few = scored.batches[: settings.expansions]
        fifteens = [states[i : i + 15] for i in range(0, min(15 * settings.expansions, len(states) - 14), 15)]
        again = scored.fresh_scorer()
        methods = {
            ("planrank", "batch, fresh"): scored.planrank([last]),
            ("planrank", "batch, after others"): scored.planrank([last], before),
            ("planrank", "batch, again"): timed(lambda a=again, b=last: a.values(b)),
            ("planrank", "expansions"): scored.planrank(few),
            ("planrank", "fifteens"): scored.planrank(fifteens),
        }
        for form in scored.forms:
            methods[form, "batch"] = scored.baseline(form, [last])
            methods[form, "expansions"] = scored.baseline(form, few)
            methods[form, "fifteens"] = scored.baseline(form, fifteens)
        peer = Wlplan(settings.wlplan, folder, domain, problem, scored.task, last) if settings.wlplan else None
        if peer:
            methods["wlplan", "one by one"] = peer.seconds
        counts = {"batch": len(last), "one by one": len(last), "fifteens": 15 * len(fifteens)}
        counts["expansions"] = sum(map(len, few))
        seconds = interleaved(methods, settings)
        if peer:
            peer.close()
        rates: dict[str, dict[str, float]] = {}
        for (form, way), taken in seconds.items():
            rates.setdefault(form, {})[way] = counts[way.split(",")[0]] / taken
        sizes = {"guide": scored.guide, "batch": len(last), "expansions": len(few), "fifteens": len(fifteens)}
        rows.append({"task": name, **sizes, "successors": counts["expansions"] / len(few), "rates": rates})
        print(name, {form: {w: round(r) for w, r in ways.items()} for form, ways in rates.items()}, file=sys.stderr)
    return rows


def paying(folder: Path, settings: Settings) -> list[dict]:
    """Plain over deduplicated seconds for the successors of one expansion after another, in every domain."""
    rows = []
    for name, (kind, size) in (EXAMPLES | SCORED).items():
        task = load(*write_problem(folder, name, kind, size))
        for layers in LAYERS:
            scored = Scored(task, layers, 0, settings.expansions)
            few = scored.batches[: settings.expansions]
            methods = {"planrank": scored.planrank(few), "plain": scored.baseline("plain", few)}
            seconds = interleaved(methods, settings)
            sizes = {"guide": scored.guide, "successors": sum(map(len, few)) / len(few)}
            rows.append({"task": name, "layers": layers, **sizes, "ratio": seconds["plain"] / seconds["planrank"]})
            print(name, layers, f"{rows[-1]['ratio']:.2f}", file=sys.stderr)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="tiny repetitions, nothing written: does it run?")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--wlplan-python", help="interpreter that has wlplan")
    parser.add_argument("--geometric", help="folder that holds torch_geometric, if this Python does not have it")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.geometric:
        sys.path.append(options.geometric)
    settings = Settings(options.repeats, 0.1, 60, 6, 1000, 200, options.wlplan_python)
    if options.quick:
        settings = Settings(1, 0.0, 8, 1, 100, 10, options.wlplan_python)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        figures = {
            "training": training(folder, settings),
            "mixed": mixed_training(folder, settings),
            "scoring": scoring(folder, settings),
            "paying": paying(folder, settings),
        }
    lines = report(figures, f"medians of {settings.repeats} turns")
    print("\n".join(lines))
    if not options.quick:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "model.md").write_text("\n".join(lines) + "\n")
        (RESULTS / "model.json").write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
