"""The training half of benchmarks/model.py: a step of training with planrank's network and with the same, plainly."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path

import numpy as np
from model import NETWORK
from model_baselines import Geometric, Indices, Plain, baselines
from model_timing import (
    SEED,
    Timing,
    check_equal,
    domain_file,
    interleaved,
    plan_for,
    plan_of,
    problem_text,
    spent,
    task_of,
    timed,
)

from planrank import TrainConfig, load
from planrank.learning.examples import Example, build_example
from planrank.learning.trainable import Evaluated, Trainable
from planrank.learning.trainer import TrainingState
from planrank.models.hypergraph.signature import signature_of
from planrank.task import Task


class Baseline:
    """Stands in for a `Trainable` in a step of training; what depends on the example alone is made once."""

    def __init__(self, trainable: Trainable, form: Plain | Geometric, states: np.ndarray):
        self.trainable, self.form, self.prepared = trainable, form, form.prepare(states)

    def __call__(self, example: Example, number: int = 0, sample: object = None) -> Evaluated:
        return Evaluated(self.form.values(self.trainable.weights(), self.prepared), example.ranking)


def fresh_state(task: Task, layers: int) -> TrainingState:
    """Weights and optimiser as training begins with; always the same weights."""
    config = TrainConfig(domain="any", layers=layers, **NETWORK)
    return TrainingState(config, signature_of(task), "", Path("none"))


def built(task: Task, plan: tuple[str, ...], state: TrainingState) -> Example:
    """All that is done once for an example: ranking, deduplication, index arrays for PyTorch."""
    example = build_example(task, list(plan), state.config.architecture)
    state.network.inputs(example)
    return example


def measure(name: str, layers: int, repeats: int, seconds: float) -> dict:
    """A job: seconds of a training step in every form, and of building the example."""
    task, plan, ours = task_of(name), plan_of(name), fresh_state(task_of(name), layers)
    example = built(task, plan, ours)
    states = example.ranking.states
    methods = {"planrank": timed(partial(ours.take_step, example, name))}
    forms = baselines(Indices(task, signature_of(task), ours.config.architecture))
    expected = ours.network(example).values.detach()
    for form, network in forms.items():
        state = fresh_state(task, layers)  # so that no form changes the weights of another
        state.network = Baseline(state.network, network, states)
        check_equal(form, expected, state.network(example).values.detach())
        methods[form] = timed(partial(state.take_step, example, name))
    methods["building"] = timed(partial(built, task, plan, ours))
    taken = interleaved(methods, Timing(repeats, seconds))
    return {"example": name, "layers": layers, "states": len(states), "steps": example.ranking.length, "seconds": taken}


def measure_mixed(instances: int, passes: int) -> dict:
    """A job: passes over blocks problems of sizes 3 to 10 with the default network; the plain form takes turns."""
    problems = mixed_problems(instances)
    first, layers = problems[0][0], TrainConfig(domain="any").layers
    ours, theirs = fresh_state(first, layers), fresh_state(first, layers)
    trainable, examples = theirs.network, []
    building = spent(lambda: examples.extend(built(task, plan, ours) for task, plan in problems))
    pairs = []
    for (task, _), example in zip(problems, examples, strict=True):
        form = Plain(Indices(task, signature_of(task), ours.config.architecture))
        pairs.append((example, Baseline(trainable, form, example.ranking.states)))
    seconds = passes_over(pairs, passes, ours, theirs)
    steps = passes * instances
    minutes = {form: 10_000 * total / steps / 60 for form, total in seconds.items()}
    minutes["planrank"] += building / 60
    return {"instances": instances, "steps": steps, "building_seconds": building, "minutes": minutes}


def mixed_problems(count: int) -> list[tuple[Task, tuple[str, ...]]]:
    found: list[tuple[Task, tuple[str, ...]]] = []
    seed = 1000
    while len(found) < count:
        seed += 1
        text = problem_text("blocksworld", {"blocks": 3 + len(found) % 8}, seed)
        task = load(domain_file("blocksworld"), text)
        if not set(task.goal[0].tolist()) <= set(task.init.tolist()):  # small ones may be solved already
            found.append((task, plan_for("blocksworld", text)))
    return found


def passes_over(
    pairs: list[tuple[Example, Baseline]], passes: int, ours: TrainingState, theirs: TrainingState
) -> dict[str, float]:
    """Seconds of all steps with each form, after one pass that is not counted."""
    rng, seconds = random.Random(SEED), {"planrank": 0.0, "plain": 0.0}
    for turn in range(passes + 1):
        rng.shuffle(pairs)
        taken = {"planrank": 0.0, "plain": 0.0}
        for example, _ in pairs:
            taken["planrank"] += spent(partial(ours.take_step, example, "mixed"))
        for example, theirs.network in pairs:
            taken["plain"] += spent(partial(theirs.take_step, example, "mixed"))
        if turn > 0:
            seconds = {form: seconds[form] + taken[form] for form in seconds}
    return seconds
