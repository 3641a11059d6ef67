"""Training a model: gather what to learn from, run the loop for each candidate, keep the best by validation."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from planrank import console, julia
from planrank.errors import PlanrankError
from planrank.files import check_writable, make_folder
from planrank.learning.config import TrainConfig
from planrank.models import families
from planrank.models.model import Model

TORCH_SCRATCH = "TORCHINDUCTOR_CACHE_DIR"


def train(config: TrainConfig, *, resume: bool = False, say: Callable[[str], None] = console.say) -> Model:
    """Train as configured and write the model to `config.out`.

    Checkpoints, logs and curves go into a folder beside it; `resume` goes on from them as if nothing had happened.
    `say` gets sentences that a user may want to read on the way.
    """
    if config.tensorboard is not None and find_spec("tensorboard") is None:
        raise PlanrankError("TensorBoard is not installed; run `pip install tensorboard`")
    from planrank.learning.training_data import check_domain

    check_domain(config)
    julia.module()  # before torch
    with scratch_of_torch():
        return run(config, resume, say)


def run(config: TrainConfig, resume: bool, say: Callable[[str], None]) -> Model:
    from planrank.learning import trainer
    from planrank.learning.training_data import examples_of, gather
    from planrank.task import load

    out = Path(config.out)
    folder = out.with_name(out.name.removesuffix(".safetensors") + ".training")
    make_folder(folder)
    check_writable(out)
    with alone_in(folder):
        data = gather(config, say)
        digest, signature = data.digest(config.family), data.signature(config.family)
        tasks = [load(one.domain, one.problem) for one in console.track(data.validation, "validation tasks")]
        best, architecture = None, None
        for candidate in candidates(config):
            if candidate.architecture != architecture:
                architecture = candidate.architecture
                examples = examples_of(data, architecture, config.loss, say, config.window)
            place = folder / name_of(candidate)
            make_folder(place)
            if not resume:
                (place / trainer.CHECKPOINT).unlink(missing_ok=True)
            outcome = trainer.run(candidate, signature, examples, tasks, digest, place, resume)
            if outcome.figures is not None:
                say(f"{name_of(candidate)}: {outcome.figures}")
            if best is None or (outcome.figures and best.figures and outcome.figures.better_than(best.figures)):
                best = outcome
        assert best is not None
        best.model.save(out)
    return best.model


@contextlib.contextmanager
def scratch_of_torch() -> Iterator[None]:
    """PyTorch makes a folder for its compiler, which is not used here, and leaves it among the temporary files."""
    before = os.environ.get(TORCH_SCRATCH)
    with tempfile.TemporaryDirectory(prefix="planrank-") as folder:
        os.environ[TORCH_SCRATCH] = before or folder
        try:
            yield
        finally:
            os.environ.pop(TORCH_SCRATCH)
            if before is not None:
                os.environ[TORCH_SCRATCH] = before


def train_job(config: dict, resume: bool = True) -> dict:
    """A job: train as configured; what the model's file says of how it went."""
    return train(TrainConfig(**config), resume=resume, say=lambda text: None).metadata["figures"]


def candidates(config: TrainConfig) -> list[TrainConfig]:
    """A configuration for each network and seed that is tried."""
    shapes = families.get(config.family).grid if config.grid else [{}]
    seeds = range(config.seed, config.seed + config.seeds)
    return [replace(config, grid=False, seeds=1, seed=seed, **shape) for shape in shapes for seed in seeds]


def name_of(config: TrainConfig) -> str:
    return f"{config.architecture}-seed{config.seed}"


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
