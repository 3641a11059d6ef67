"""The training loop: one network, one seed, one instance a step. Julia must be running before this is imported."""

from __future__ import annotations

import functools
import math
import platform
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pytorch_optimizer import AdaBelief

from planrank import __version__, files
from planrank.choices import PATH_LOSSES
from planrank.console import Progress
from planrank.errors import PlanrankError
from planrank.learning import checkpoints, curves
from planrank.learning.config import TrainConfig
from planrank.learning.examples import Example
from planrank.learning.log import TrainingLog
from planrank.learning.losses import SEARCH_OF_LOSS
from planrank.learning.sampling import draw
from planrank.learning.selection import Figures, figures_of
from planrank.learning.trainable import Evaluated, Trainable
from planrank.models.model import Model
from planrank.models.signature import Signature
from planrank.task import Task

CHECKPOINT = "checkpoint.safetensors"

torch.set_num_threads(1)


@dataclass(frozen=True)
class Outcome:
    """The best weights of a run as a model, and what validation said of them, if there was anything to do it with."""

    model: Model
    figures: Figures | None


def run(
    config: TrainConfig,
    signature: Signature,
    examples: Mapping[str, Example],
    tasks: Sequence[Task],
    trainset_digest: str,
    folder: Path,
    resume: bool = False,
) -> Outcome:
    """Train on `examples`, by the names of their problems, and validate with `tasks`; all files go into `folder`."""
    names = list(examples)
    state = TrainingState(config, signature, trainset_digest, folder / CHECKPOINT, len(names))
    if resume:
        state.load()
    log = TrainingLog(folder / "log.jsonl", config.tensorboard, folder.name, keep_until=state.step)
    means = Means(config)
    with log, Progress(folder.name, config.steps, done=state.step) as progress:
        while state.step < config.steps:
            name = names[instance_at(state.step, len(names), config.seed)]
            seen, objective = state.take_step(examples[name], name)
            means.add(objective, seen)
            progress.advance()
            if tasks and is_due(state.step, config.validate_every, config.steps):
                with means.paused():
                    figures = figures_of(state.network.model(), tasks, config)
                log.write(state.step, state.seconds, **figures.as_json())
                state.keep_if_best(figures)
            if is_due(state.step, config.log_every, config.steps):
                if not tasks:
                    state.keep_if_best(None)
                row = means.take()
                log.write(state.step, state.seconds, **row)
                state.save()
                progress.show(in_words(row))
    files.write_text(folder / "curves.svg", curves.drawing(folder.name, log.rows))
    return state.outcome(len(examples))


def in_words(row: dict[str, float | None]) -> str:
    """A line of the log."""
    return ", ".join(f"{key.replace('_', ' ')} {value:.3g}" for key, value in row.items() if value is not None)


def is_due(step: int, every: int, last: int) -> bool:
    return step % every == 0 or step == last


class TrainingState:
    """All that changes while a network is trained, and how it is written down and read again."""

    def __init__(
        self,
        config: TrainConfig,
        signature: Signature,
        trainset_digest: str,
        file: Path,
        count: int = 1,
        start: Model | None = None,
    ):
        self.config, self.trainset_digest, self.file = config, trainset_digest, file
        self.count = count  # of the examples
        self.network = Trainable(start or Model.fresh(signature, config.architecture, config.seed))
        self.parameter = self.network.parameter
        options: dict[str, Any] = {"lr": config.learning_rate, "weight_decay": config.weight_decay, "foreach": False}
        self.optimizer = AdaBelief([self.parameter], **options)
        self.step, self.started = 0, time.time()
        self.best, self.best_step = self.parameter.detach().clone(), 0
        self.figures: Figures | None = None

    @property
    def gradient(self) -> torch.Tensor:
        assert self.parameter.grad is not None
        return self.parameter.grad

    @property
    def seconds(self) -> float:
        return time.time() - self.started

    def take_step(self, example: Example, name: str) -> tuple[Evaluated, float]:
        """Learn from one example; what the network saw in it and the loss before the step."""
        config, sample = self.config, None
        if config.states_per_step:
            rng = np.random.default_rng([config.seed, self.step])
            sample = draw(example.ranking, config.loss, config.states_per_step, rng)
        seen = self.network(example, variation_at(self.step, self.count), sample)
        objective = seen.loss(config.loss, surrogate=config.surrogate, reduction=config.reduction)
        self.optimizer.zero_grad()
        objective.backward()
        value = objective.item()
        # The sum is finite unless some gradient is not, or sums are too large; that is the cheaper question.
        if not (math.isfinite(value) and (self.gradient.sum().isfinite() or torch.isfinite(self.gradient).all())):
            raise self.not_finite(value, name)
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate_at(self.step, config)
        self.optimizer.step()
        self.step += 1
        return seen, value

    def keep_if_best(self, figures: Figures | None) -> None:
        """Of equals the later weights, which have seen more. A copy: the parameter goes on changing."""
        if self.figures is None or figures is None or not self.figures.better_than(figures):
            self.best, self.best_step, self.figures = self.parameter.detach().clone(), self.step, figures

    def save(self) -> None:
        moments = self.optimizer.state[self.parameter]
        tensors = {"parameter": self.parameter.detach(), "best": self.best}
        tensors |= {"mean": moments["exp_avg"], "variance": moments["exp_avg_var"]}
        state = {
            "config": self.config.as_json(),
            "trainset": self.trainset_digest,
            "versions": versions(),
            "step": self.step,
            "seconds": self.seconds,
            "best_step": self.best_step,
            "figures": None if self.figures is None else self.figures.as_json(),
        }
        checkpoints.save(self.file, {name: tensor.numpy() for name, tensor in tensors.items()}, state)

    def load(self) -> None:
        """Go on from the checkpoint as if nothing had happened; from the beginning where there is none."""
        if not self.file.exists():
            return
        arrays, state = checkpoints.load(self.file)
        check_same(self.config, self.trainset_digest, state, self.file)
        tensors = {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}
        with torch.no_grad():
            self.parameter.copy_(tensors["parameter"])
        self.optimizer.state[self.parameter] = {"exp_avg": tensors["mean"], "exp_avg_var": tensors["variance"]}
        for group in self.optimizer.param_groups:
            group["step"] = state["step"]
        self.step, self.started = state["step"], time.time() - state["seconds"]
        self.best, self.best_step = tensors["best"], state["best_step"]
        self.figures = None if state["figures"] is None else Figures(**state["figures"])

    def outcome(self, instances: int) -> Outcome:
        with torch.no_grad():
            self.parameter.copy_(self.best)
        reached = {"step": self.best_step, "seconds": round(self.seconds, 1), "training_instances": instances}
        if self.figures is not None:
            reached |= self.figures.as_metadata()
        metadata = {"training": self.config.as_json(), "versions": versions(), "figures": reached}
        return Outcome(self.network.model(metadata), self.figures)

    def not_finite(self, value: float, name: str) -> PlanrankError:
        what = "the gradient is not finite" if math.isfinite(value) else f"the loss became {value}"
        kept = "there is no checkpoint yet"
        if self.file.exists():
            kept = f"the last good checkpoint, of step {checkpoints.load(self.file)[1]['step']}, is kept"
        message = f"{what} at step {self.step + 1}, on {name}; {kept}; try a smaller learning rate"
        return PlanrankError(message, file=str(self.file))


class Means:
    """Of the loss, the 0-1 loss and the speed since the last line of the log."""

    def __init__(self, config: TrainConfig):
        path_only = config.rank == "states" and config.loss in PATH_LOSSES
        self.counts_violations = not path_only and config.loss != "levin"
        self.merit = SEARCH_OF_LOSS.get(config.loss, (float(config.validation_search == "astar"), 1.0))
        self.clear()

    def clear(self) -> None:
        self.loss, self.violated, self.pairs, self.steps, self.since = 0.0, 0, 0, 0, time.time()

    def add(self, objective: float, seen: Evaluated) -> None:
        self.loss, self.steps = self.loss + objective, self.steps + 1
        if self.counts_violations:
            wrong, compared = seen.violations(*self.merit)
            self.violated, self.pairs = self.violated + wrong, self.pairs + compared

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Validation does not count against the speed of training."""
        began = time.time()
        yield
        self.since += time.time() - began

    def take(self) -> dict[str, float | None]:
        speed = self.steps / max(time.time() - self.since, 1e-9)
        zero_one = self.violated / self.pairs if self.pairs else None
        row = {"loss": self.loss / self.steps, "zero_one": zero_one, "steps_per_second": speed}
        self.clear()
        return row


def instance_at(step: int, count: int, seed: int) -> int:
    epoch, place = divmod(step, count)
    return order_of(epoch, count, seed)[place]


def variation_at(step: int, count: int) -> int:
    """Another one for every instance in an epoch, and another one in every epoch."""
    epoch, place = divmod(step, count)
    return epoch + place


@functools.lru_cache(maxsize=1)
def order_of(epoch: int, count: int, seed: int) -> list[int]:
    """Every instance once; follows from seed and epoch alone, so that a checkpoint need not remember it."""
    order = list(range(count))
    random.Random(f"{seed}/{epoch}").shuffle(order)
    return order


def learning_rate_at(step: int, config: TrainConfig) -> float:
    return config.learning_rate * (1 - step / config.steps if config.anneal else 1)


def check_same(config: TrainConfig, trainset_digest: str, state: dict[str, Any], file: Path) -> None:
    names = config.differing(state["config"])
    if names:
        differences = ", ".join(f"{n} was {state['config'].get(n)}, now {getattr(config, n)}" for n in names)
        message = f"the checkpoint is of another configuration: {differences}"
    elif trainset_digest != state["trainset"]:
        message = "the checkpoint is of other instances or plans than there are now"
    else:
        return
    raise PlanrankError(f"{message}; train without --resume, or into another --out", file=str(file))


def versions() -> dict[str, str]:
    found = {"planrank": __version__, "torch": torch.__version__, "numpy": np.__version__}
    return found | {"python": platform.python_version()}
