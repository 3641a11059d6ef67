"""What a round learns: plans and the states off them that searches went to. Julia must run before this is imported."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from planrank import console
from planrank.choices import PATH_LOSSES, RANKING_LOSSES
from planrank.errors import PlanrankError
from planrank.improving.choice import weighted_sample
from planrank.improving.config import ImproveConfig
from planrank.improving.state import Known
from planrank.learning.config import FAMILY_DEFAULTS, TrainConfig
from planrank.learning.examples import Example, build_example
from planrank.learning.trainer import TrainingState
from planrank.models.model import Model
from planrank.problems.labelled_plans import read_plan
from planrank.search.plans import read_steps
from planrank.task import load

# Of the learning rate of training: what is known already must not be lost in the first steps.
GENTLE = 1 / 3
STATES_PER_STEP = 64  # of networks that look at all states of an instance in training: here plans are long
MOST_BYTES = 8e8  # of what the examples of a round are made of; PyTorch takes three times as much beside it


@dataclass(frozen=True)
class Lesson:
    """The example of a plan, and how often it is to be looked at."""

    name: str
    example: Example
    weight: float
    is_new: bool


def train_config(config: ImproveConfig, start: Model) -> TrainConfig:
    """How a round learns, with the network that `start` has."""
    training = start.metadata.get("training") or {}
    is_fresh = not training and "improving" not in start.metadata
    loss = config.loss or training.get("loss") or ("levin" if start.rank == "policy" else "lstar")
    family = start.family.name
    usual: dict[str, Any] = FAMILY_DEFAULTS.get(family, FAMILY_DEFAULTS["hypergraph"])
    rate, states = usual["learning_rate"], config.states_per_step
    options: dict[str, Any] = asdict(start.architecture) | {"domain": config.domain, "family": family, "loss": loss}
    options |= {"steps": config.steps, "seed": config.seed, "detours": config.detours}
    options["states_per_step"] = (usual["states_per_step"] or STATES_PER_STEP) if states is None else states
    options["learning_rate"] = config.learning_rate or (rate if is_fresh else GENTLE * rate)
    made = TrainConfig(**options)
    if made.architecture != start.architecture:
        raise PlanrankError(
            f"the loss {loss} trains a policy, and this model ranks {start.rank}; expected another loss"
        )
    return made


class Learner:
    """Makes lessons of plans, and learns from them. Examples are kept while they are needed from round to round."""

    def __init__(self, config: ImproveConfig, start: Model):
        self.config, self.training = config, train_config(config, start)
        self.plans = config.folder / "plans"
        self.examples: dict[tuple[str, int], Example] = {}

    def choose(self, known: Sequence[Known], new: set[str], round: int) -> list[Known]:
        """The plans that a round learns from: those it found, and between them some of earlier rounds, rather those
        that cost many wasted expansions."""
        usable = [one for one in known if one.plan_by]
        found = [one for one in usable if one.problem.name in new]
        old = [one for one in usable if one.problem.name not in new]
        rng = random.Random(f"replay {self.config.seed}/{round}")
        rng.shuffle(found)
        replayed = weighted_sample(rng, old, [1 + one.waste for one in old], self.config.replay)
        return [one for pair in zip_longest(found, replayed) for one in pair if one is not None]

    def lessons(self, chosen: Sequence[Known], new: set[str], say: Callable[[str], None]) -> list[Lesson]:
        """Of as many of the plans, in this order, as there is memory for."""
        kept, self.examples = self.examples, {}
        found: list[Lesson] = []
        size = 0
        for one in console.track(chosen, "examples"):
            name, key = one.problem.name, (one.problem.name, one.round)
            try:
                example = self.examples[key] = kept.get(key) or self.build(one)
            except PlanrankError as e:
                say(f"{one.problem.problem}: {e.message}; left out")
                continue
            found.append(Lesson(name, example, 1 + one.waste, name in new))
            size += sum(array.nbytes for array in example.encoded.values())
            if size > MOST_BYTES:
                break
        return found

    def build(self, one: Known) -> Example:
        training, place = self.training, self.plans / f"{one.round:03}" / one.problem.name
        compares = training.loss in RANKING_LOSSES
        return build_example(
            load(one.problem.domain, one.problem.problem),
            read_plan(Path(f"{place}.plan")).steps,
            training.architecture,
            path_only=training.loss in PATH_LOSSES,
            detours=training.detours if compares else 0,
            strays=read_steps(Path(f"{place}.strays")) if compares else (),
        )

    def learn(
        self, present: Model, lessons: Sequence[Lesson], round: int, check_time: Callable[[], None]
    ) -> tuple[Model, float]:
        """Go on from the present weights; the model then, and the mean loss."""
        rng = random.Random(f"learning {self.config.seed}/{round}")
        steps = self.training.steps
        training = replace(self.training, seed=self.config.seed + round)  # by which states are drawn
        state = TrainingState(
            training, present.signature, "", self.config.folder / "checkpoint", len(lessons), start=present
        )
        groups = [group for is_new in (True, False) if (group := [one for one in lessons if one.is_new == is_new])]
        total = 0.0
        with console.Progress(f"round {round}: learning from {len(lessons)} plans", steps) as progress:
            for _ in range(steps):
                check_time()
                group = rng.choice(groups)
                (lesson,) = rng.choices(group, [one.weight for one in group])
                _, loss = state.take_step(lesson.example, lesson.name)
                total += loss
                progress.advance()
        return state.network.model(present.metadata), total / steps
