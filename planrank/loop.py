"""The training loop: one network, one seed, one instance a step. Julia must be running before this is imported."""

from __future__ import annotations

import functools
import math
import platform
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import torch
from tqdm import tqdm

from planrank import __version__, checkpoints, curves
from planrank.adabelief import AdaBelief
from planrank.config import TrainConfig
from planrank.errors import PlanrankError
from planrank.examples import Example
from planrank.losses import PATH_LOSSES, SEARCH_OF_LOSS, loss, violations
from planrank.models import Architecture, Model, Signature
from planrank.models.trainable import Trainable
from planrank.plans import write_atomically
from planrank.runlog import RunLog
from planrank.task import Task
from planrank.validation import Figures, validate

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
    examples: dict[str, Example],
    tasks: Sequence[Task],
    trainset_digest: str,
    folder: Path,
    resume: bool = False,
) -> Outcome:
    """Train on `examples`, by the names of their problems, and validate with `tasks`; all files go into `folder`."""
    names, lessons = list(examples), list(examples.values())
    network = Trainable(Model.fresh(signature, architecture_of(config), config.seed))
    parameter = network.parameter
    optimizer = AdaBelief(parameter, config.learning_rate, config.weight_decay)
    step, seconds = 0, 0.0
    best, best_step, figures = parameter.detach().clone(), 0, None

    checkpoint = folder / CHECKPOINT
    if resume and checkpoint.exists():
        tensors, state = checkpoints.load(checkpoint)
        check_same(config, trainset_digest, state, checkpoint)
        tensors = {name: torch.from_numpy(tensor.copy()) for name, tensor in tensors.items()}
        with torch.no_grad():
            parameter.copy_(tensors["parameter"])
        optimizer.mean, optimizer.variance, optimizer.count = tensors["mean"], tensors["variance"], state["step"]
        step, seconds = state["step"], state["seconds"]
        best, best_step = tensors["best"], state["best_step"]
        figures = None if state["figures"] is None else Figures(**state["figures"])

    alpha, beta = SEARCH_OF_LOSS.get(config.loss, (float(config.validation_search == "astar"), 1.0))
    started = time.time() - seconds
    total, violated, pairs, count, since = 0.0, 0, 0, 0, time.time()
    log = RunLog(folder / "log.jsonl", config.tensorboard, folder.name, keep_until=step)
    bar = tqdm(total=config.steps, initial=step, desc=folder.name, unit="step", disable=None, leave=False)
    with log, bar:
        while step < config.steps:
            i = instance_at(step, len(lessons), config.seed)
            ranking = lessons[i].ranking
            values, log_policy = network(lessons[i])
            options = {"surrogate": config.surrogate, "reduction": config.reduction, "log_policy": log_policy}
            objective = loss(config.loss, values, ranking, **options)
            parameter.grad = None
            objective.backward()
            value = objective.item()
            if not (math.isfinite(value) and torch.isfinite(parameter.grad).all()):
                raise not_finite(value, step + 1, names[i], checkpoint)
            optimizer.learning_rate = learning_rate_at(step, config)
            optimizer.step()
            step += 1

            if config.loss not in PATH_LOSSES:
                wrong, compared = violations(values, ranking, alpha, beta)
                violated, pairs = violated + wrong, pairs + compared
            total, count = total + value, count + 1
            bar.update()

            if tasks and (step % config.validate_every == 0 or step == config.steps):
                paused = time.time()
                found = validate(network.model({}), tasks, config)
                since += time.time() - paused
                log.write(step, time.time() - started, **found.as_json())
                # Of equals the later one, which has seen more. A copy: the parameter goes on changing.
                if figures is None or not figures.better_than(found):
                    best, best_step, figures = parameter.detach().clone(), step, found

            if step % config.log_every == 0 or step == config.steps:
                if not tasks:
                    best, best_step = parameter.detach().clone(), step
                row = {"loss": total / count, "zero_one": violated / pairs if pairs else None}
                row["steps_per_second"] = count / max(time.time() - since, 1e-9)
                seconds = time.time() - started
                log.write(step, seconds, **row)
                shown = {} if row["zero_one"] is None else {"0-1": f"{row['zero_one']:.3f}"}
                bar.set_postfix({"loss": f"{row['loss']:.3g}"} | shown)
                tensors = {"parameter": parameter.detach(), "best": best}
                tensors |= {"mean": optimizer.mean, "variance": optimizer.variance}
                state = {"config": config.as_json(), "trainset": trainset_digest, "versions": versions()}
                state |= {"step": step, "seconds": seconds, "best_step": best_step}
                state |= {"figures": None if figures is None else figures.as_json()}
                checkpoints.save(checkpoint, {name: tensor.numpy() for name, tensor in tensors.items()}, state)
                total, violated, pairs, count, since = 0.0, 0, 0, 0, time.time()
    write_atomically(folder / "curves.svg", curves.drawing(folder.name, log.rows))

    with torch.no_grad():
        parameter.copy_(best)
    reached = {"step": best_step, "seconds": round(seconds, 1), "training_instances": len(examples)}
    if figures is not None:
        reached |= {f"validation_{name}": value for name, value in figures.as_json().items()}
    metadata = {"training": config.as_json(), "versions": versions(), "figures": reached}
    return Outcome(network.model(metadata), figures)


def instance_at(step: int, count: int, seed: int) -> int:
    epoch, place = divmod(step, count)
    return order_of(epoch, count, seed)[place]


@functools.lru_cache(maxsize=1)
def order_of(epoch: int, count: int, seed: int) -> list[int]:
    """Every instance once; follows from seed and epoch alone, so that a checkpoint need not remember it."""
    order = list(range(count))
    random.Random(f"{seed}/{epoch}").shuffle(order)
    return order


def learning_rate_at(step: int, config: TrainConfig) -> float:
    return config.learning_rate * (1 - step / config.steps if config.anneal else 1)


def architecture_of(config: TrainConfig) -> Architecture:
    return Architecture(**{one.name: getattr(config, one.name) for one in fields(Architecture)})


def check_same(config: TrainConfig, trainset_digest: str, state: dict, file: Path) -> None:
    names = config.differing(state["config"])
    if names:
        differences = ", ".join(f"{n} was {state['config'].get(n)}, now {getattr(config, n)}" for n in names)
        message = f"the checkpoint is of another configuration: {differences}"
    elif trainset_digest != state["trainset"]:
        message = "the checkpoint is of other instances or plans than there are now"
    else:
        return
    raise PlanrankError(f"{message}; train without --resume, or into another --out", file=str(file))


def not_finite(value: float, step: int, name: str, checkpoint: Path) -> PlanrankError:
    what = "the gradient is not finite" if math.isfinite(value) else f"the loss became {value}"
    kept = "there is no checkpoint yet"
    if checkpoint.exists():
        kept = f"the last good checkpoint, of step {checkpoints.load(checkpoint)[1]['step']}, is kept"
    return PlanrankError(f"{what} at step {step}, on {name}; {kept}; try a smaller learning rate", file=str(checkpoint))


def versions() -> dict[str, str]:
    found = {"planrank": __version__, "torch": torch.__version__, "numpy": np.__version__}
    return found | {"python": platform.python_version()}
