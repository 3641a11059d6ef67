"""Training a model: gather what to learn from, run the loop for each candidate, keep the best by validation."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planrank import console, julia
from planrank.errors import PlanrankError
from planrank.files import check_writable, make_folder
from planrank.learning.config import SELECTION, TrainConfig
from planrank.learning.selection import Figures
from planrank.models import families
from planrank.models.model import Model
from planrank.parallel.pool import REHEARSAL, Job, pool_of
from planrank.paths import own_domains

if TYPE_CHECKING:
    from planrank.learning.trainer import Outcome
    from planrank.learning.training_data import TrainingData

MODEL = "model.safetensors"  # of a candidate that was trained apart
TRIAL = 4  # of the steps of a training, how many it takes to compare networks: one of so many
TRIALS = "trials"  # the folder of these
FINALISTS = 2  # so many of the networks compared are trained in full, and the first if it solves such a share
NOT_FAR_BEHIND = 0.5
TORCH_SCRATCH = "TORCHINDUCTOR_CACHE_DIR"


def train(config: TrainConfig, *, resume: bool = False, say: Callable[[str], None] = console.say) -> Model:
    """Train as configured and write the model to `config.out`.

    Checkpoints, logs and curves go into a folder beside it; `resume` goes on from them as if nothing had happened.
    `say` gets sentences that a user may want to read on the way.
    """
    if config.tensorboard is not None and find_spec("tensorboard") is None:
        raise PlanrankError("TensorBoard is not installed; run `pip install tensorboard`")
    from planrank.learning.training_data import check_domain
    from planrank.parallel.cluster import check_ray, connect

    check_domain(config)
    if config.cluster is not None:
        check_ray()
    julia.module()  # before torch
    if config.cluster is not None:
        connect(config.cluster)  # if it is not reached, that is said before anything is made
    with scratch_of_torch():
        return run(config, resume, say)


def run(config: TrainConfig, resume: bool, say: Callable[[str], None]) -> Model:
    from planrank.learning.training_data import gather

    out = Path(config.out)
    folder = out.with_name(out.name.removesuffix(".safetensors") + ".training")
    make_folder(folder)
    check_writable(out)
    with alone_in(folder):
        data = gather(config, say)
        several = (config.jobs or 1) > 1 or config.cluster is not None

        train_these = apart if several else one_by_one
        tried = candidates(config)
        is_better = Figures.better_than
        if config.select:
            trials = [trial_of(one) for one in tried]
            say(
                f"{len(trials)} trials of {trials[0].steps:,} steps, then the best in full, {config.steps:,} steps each"
            )
            short = list(train_these(config, trials, data, folder / TRIALS, resume, lambda text: say(f"trial: {text}")))
            tried = finalists([(tried[trials.index(trial)], outcome) for trial, outcome in short], say)
            is_better = Figures.clearly_better_than
        outcomes = train_these(config, tried, data, folder, resume, say)
        if config.select:
            # Longer trainings see more of the problems they learn from, and some do worse on larger ones.
            by_name = {name_of(one): (one, outcome) for one, outcome in short}
            outcomes = (chosen([whole, by_name[name_of(whole[0])]], Figures.better_than) for whole in outcomes)
        _, best = chosen(outcomes, is_better)
        best.model.save(out)
    return best.model


def chosen(
    outcomes: Iterable[tuple[TrainConfig, Outcome]], is_better: Callable[[Figures, Figures], bool]
) -> tuple[TrainConfig, Outcome]:
    """The best by validation, and how it was trained; of equals the first."""
    best, *others = outcomes
    for other in others:
        mine, theirs = best[1].figures, other[1].figures
        if mine and theirs and is_better(theirs, mine):
            best = other
    return best


def finalists(tried: list[tuple[TrainConfig, Outcome]], say: Callable[[str], None]) -> list[TrainConfig]:
    """Those whose trials went best, in the order they had, and the first if it is not far behind: it costs the least,
    in large problems many times less, and may catch up. The first too, where nothing tells how they went."""
    judged = [(outcome.figures, one) for one, outcome in tried if outcome.figures]
    judged.sort(key=lambda each: each[0].merit)
    best = [one for _, one in judged[:FINALISTS]]
    cheapest, outcome = tried[0]
    if outcome.figures and outcome.figures.solved >= NOT_FAR_BEHIND * judged[0][0].solved:
        best.append(cheapest)
    found = [(one, outcome) for one, outcome in tried if one in best] or tried[:1]
    seconds = TRIAL * sum(outcome.model.metadata["figures"]["seconds"] for _, outcome in found)
    say(f"{', '.join(name_of(one) for one, _ in found)}: now in full, about {seconds / 60:.0f} minutes")
    return [one for one, _ in found]


def one_by_one(
    config: TrainConfig,
    tried: list[TrainConfig],
    data: TrainingData,
    folder: Path,
    resume: bool,
    say: Callable[[str], None],
) -> Iterator[tuple[TrainConfig, Outcome]]:
    """Train these, in their order, in this process."""
    from planrank.learning import trainer
    from planrank.learning.training_data import examples_of
    from planrank.task import load

    tasks = [load(one.domain, one.problem) for one in console.track(data.validation, "validation tasks")]
    architecture = None
    for candidate in tried:
        if candidate.architecture != architecture:
            architecture = candidate.architecture
            examples = examples_of(data, candidate, say)
            digest, signature = data.digest(candidate.family), data.signature(candidate.family)
        place = place_of(candidate, folder, resume)
        outcome = trainer.run(candidate, signature, examples, tasks, digest, place, resume)
        if outcome.figures is not None:
            say(f"{name_of(candidate)}: {outcome.figures}")
        yield candidate, outcome


def apart(
    config: TrainConfig,
    tried: list[TrainConfig],
    data: TrainingData,
    folder: Path,
    resume: bool,
    say: Callable[[str], None],
) -> Iterator[tuple[TrainConfig, Outcome]]:
    """The same in several processes, here or in a cluster. One that fails is named, and the others go on."""
    from planrank.learning.example_store import most_bytes
    from planrank.learning.trainer import Outcome
    from planrank.learning.training_data import build_together

    memory = config.examples_memory
    if config.cluster is None:
        processes = config.jobs or 1
        build_together(data, tried, processes, say)
        memory = most_bytes(memory) // min(processes, len(tried)) // 2**20
    places = [place_of(candidate, folder, resume) for candidate in tried]
    source = config.data if config.domain in own_domains() else config.domain
    jobs = []
    for candidate, place in zip(tried, places, strict=True):
        told = candidate.as_json() | {"out": str(place / MODEL), "examples_memory": memory}
        arguments = {"config": told, "place": str(place), "resume": resume}
        jobs.append(Job(f"{__name__}:train_candidate", arguments, reads=(source,), writes=(str(place),)))
    figures: dict[int, Figures | None] = {}
    with console.Progress("trainings", len(jobs)) as progress:
        for number, answer in pool_of(config.jobs, REHEARSAL, config.cluster).map(jobs):
            progress.advance()
            name = name_of(tried[number])
            if answer.error is not None:
                say(f"{name} was not trained: {answer.error}")
                error = answer.error
                continue
            figures[number] = None if answer.value is None else Figures(**answer.value)
            if answer.value is not None:
                say(f"{name}: {figures[number]}")
    if not figures:
        raise error
    for number in sorted(figures):  # of equals the first, whichever came first
        model = Model.load(places[number] / MODEL)
        model.metadata["training"] = tried[number].as_json()
        yield tried[number], Outcome(model, figures[number])


def train_candidate(config: dict, place: str, resume: bool) -> dict | None:
    """A job: train one candidate into a folder, with its model; what validation said of it."""
    from planrank.learning.training_data import gather

    def quiet(_: str) -> None:
        """Who asked for the job gathers the same data, and has said all there is to say of it."""

    julia.module()  # before torch
    candidate = TrainConfig(**config)
    with scratch_of_torch():
        make_folder(Path(place))
        data = gather(candidate, quiet)
        ((_, outcome),) = one_by_one(candidate, [candidate], data, Path(place).parent, resume, quiet)
    outcome.model.save(Path(place, MODEL))
    return None if outcome.figures is None else outcome.figures.as_json()


def place_of(candidate: TrainConfig, folder: Path, resume: bool) -> Path:
    """The candidate's folder, in which an earlier run leaves no checkpoint unless this one goes on from it."""
    from planrank.learning.trainer import CHECKPOINT

    place = folder / name_of(candidate)
    make_folder(place)
    if not resume:
        (place / CHECKPOINT).unlink(missing_ok=True)
    return place


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
    shapes: list[dict[str, Any]] = [{}]
    if config.grid:
        shapes = families.get(config.family).grid
    elif config.select:
        shapes = SELECTION if config.family in {one["family"] for one in SELECTION} else [{}, *SELECTION]
    seeds = range(config.seed, config.seed + config.seeds)
    alone: dict[str, Any] = {"grid": False, "select": False, "seeds": 1, "jobs": None, "cluster": None}
    return [config.with_network(**alone, seed=seed, **shape) for shape in shapes for seed in seeds]


def trainings(config: TrainConfig) -> list[TrainConfig]:
    """All whose weights may be kept."""
    found = candidates(config)
    return found + [trial_of(one) for one in found] if config.select else found


def trial_of(candidate: TrainConfig) -> TrainConfig:
    """A short training that shows what to expect of a long one."""
    steps = max(1, candidate.steps // TRIAL)
    return replace(candidate, steps=steps, validate_every=max(1, steps // 2))


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
