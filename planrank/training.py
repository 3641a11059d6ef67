"""Training a model: gather what to learn from, run the loop for each candidate, keep the best by validation."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from planrank import julia
from planrank.config import GRID_DIMS, GRID_LAYERS, TrainConfig
from planrank.errors import PlanrankError
from planrank.plans import check_writable

if TYPE_CHECKING:
    from planrank.examples import Example
    from planrank.models import Architecture, Model
    from planrank.trainset import Trainset


def tell(text: str) -> None:
    print(f"planrank: {text}", file=sys.stderr)


def train(config: TrainConfig, *, resume: bool = False, say: Callable[[str], None] = tell) -> Model:
    """Train as configured and write the model to `config.out`.

    Checkpoints, logs and curves go into a folder beside it; `resume` goes on from them as if nothing had happened.
    `say` is told what a user may want to know on the way.
    """
    from planrank.trainset import check_domain, gather

    if config.tensorboard is not None and find_spec("tensorboard") is None:
        raise PlanrankError("TensorBoard is not installed; run `pip install tensorboard`")
    check_domain(config)
    julia.module()  # before torch
    from planrank import loop
    from planrank.task import load

    out = Path(config.out)
    folder = out.with_name(out.name.removesuffix(".safetensors") + ".training")
    make_folder(folder)
    check_writable(out)
    with alone_in(folder):
        trainset = gather(config, say)
        digest = trainset.digest()
        signature = trainset.signature()
        tasks = [load(one.domain, one.problem) for one in progress(trainset.validation, "validation tasks")]
        best, architecture = None, None
        for candidate in candidates(config):
            if loop.architecture_of(candidate) != architecture:
                architecture = loop.architecture_of(candidate)
                examples = examples_of(trainset, architecture, config.loss, say)
            place = folder / name_of(candidate)
            make_folder(place)
            if not resume:
                (place / loop.CHECKPOINT).unlink(missing_ok=True)
            outcome = loop.run(candidate, signature, examples, tasks, digest, place, resume)
            if outcome.figures is not None:
                say(f"{name_of(candidate)}: {outcome.figures}")
            if best is None or (outcome.figures is not None and outcome.figures.better_than(best.figures)):
                best = outcome
        best.model.save(out)
    return best.model


def examples_of(
    trainset: Trainset, architecture: Architecture, loss: str, say: Callable[[str], None]
) -> dict[str, Example]:
    """By the name of the problem. A plan that goes in a circle or on after the goal teaches nothing and is left out."""
    from planrank.examples import cached_example
    from planrank.losses import PATH_LOSSES

    found = {}
    for instance, plan in progress(trainset.training, "examples"):
        try:
            example = cached_example(instance.domain, instance.problem, plan.steps, architecture, loss in PATH_LOSSES)
        except PlanrankError as e:
            say(f"{instance.plan_file}: {e.message}; left out")
            continue
        found[str(instance.problem)] = example
    if not found:
        raise PlanrankError("no plan can be learned from", file=str(trainset.training[0][0].problem.parent))
    return found


def candidates(config: TrainConfig) -> list[TrainConfig]:
    """A configuration for each network and seed that is tried."""
    shapes = [{}]
    if config.grid:
        shapes = [
            {"layers": layers, "dim": dim, "residual": residual}
            for layers in GRID_LAYERS
            for dim in GRID_DIMS
            for residual in (True, False)
        ]
    seeds = range(config.seed, config.seed + config.seeds)
    return [replace(config, grid=False, seeds=1, seed=seed, **shape) for shape in shapes for seed in seeds]


def name_of(config: TrainConfig) -> str:
    residual = "residual" if config.residual else "plain"
    return f"layers{config.layers}-dim{config.dim}-{residual}-seed{config.seed}"


def make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise PlanrankError(f"this folder cannot be made: {e.strerror}", file=str(folder)) from None


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Two runs that write the same files would spoil both. What a killed run has half written is cleared away."""
    from filelock import FileLock, Timeout

    try:
        with FileLock(folder / "lock", timeout=0):
            for scratch in folder.rglob(".*.safetensors.*"):
                scratch.unlink()
            yield
    except Timeout:
        raise PlanrankError("another run is training here; choose another --out", file=str(folder)) from None


def progress(items: Iterable, name: str) -> Iterable:
    """A bar on standard error if that is a terminal."""
    from tqdm import tqdm

    return tqdm(items, desc=name, disable=None, leave=False)
