"""Trains models for benchmarks: several at a time, none that is there already."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from planrank import PlanrankError, TrainConfig, load
from planrank.console import Progress, say
from planrank.files import make_folder, read_toml
from planrank.learning.config import OPTIONS
from planrank.learning.train import trainings
from planrank.models.model import Model
from planrank.parallel.pool import Job, pool_of
from planrank.problems import splits
from planrank.problems.folders import Instance
from planrank.problems.labelled_plans import read_plan

DOMAINS = {
    "blocksworld": "paper/blocksworld",
    "ferry": "paper/ferry",
    "npuzzle": "paper/npuzzle",
    "spanner": "spanner",
    "elevators": "paper/elevators",
}
# For --quick: a few steps, hardly any validation.
QUICK = {"steps": 20, "validate_every": 20, "validation_instances": 1}
TRAIN = "planrank.learning.train:train_job"

Settings = dict[str, Any]


def settings_of(file: Path, domain: str | None = None) -> Settings:
    """What a file such as coverage.toml says of all domains and, if one is named, of this one."""
    found = read_toml(file)
    settings = found.get("all", {}) | (found.get(domain, {}) if domain else {})
    unknown = [key for key in settings if key not in OPTIONS]
    if unknown or not found:
        message = f"unknown key {unknown[0]}" if unknown else "there is no such file, or nothing in it"
        raise PlanrankError(message, file=str(file))
    return settings


def parts_of(folder: Path, settings: Settings) -> dict[str, list[Instance]]:
    """The split that training makes of the folder."""
    return splits.parts_of(folder, seed=settings.get("split_seed"))


def training_plans(folder: Path, settings: Settings) -> tuple[int, int]:
    """How many plans there are to train on, and how many of them are not proved optimal."""
    chosen = splits.in_rounds(parts_of(folder, settings)["train"])[: settings.get("max_instances") or None]
    plans = [read_plan(instance.plan) for instance in chosen if instance.plan]
    return len(plans), sum(not plan.proved_optimal for plan in plans)


def repeated(tested: Sequence[Instance], seen: Sequence[Instance]) -> int:
    """How many problems that are tested on say the same, names of objects included, as one that was seen."""
    known = {content_of(instance) for instance in seen}
    return sum(content_of(instance) in known for instance in tested)


def content_of(instance: Instance) -> tuple:
    """The ground task: what holds at first, the goals, and the actions, in which facts that never change show."""
    task = load(instance.domain, instance.problem)
    facts = task.names("facts")
    goals = frozenset(frozenset(facts[fact] for fact in task.goal[i]) for i in range(len(task.goal)))
    return frozenset(facts[fact] for fact in task.init), goals, frozenset(task.names("operators"))


def configuration(out: Path, folder: Path, settings: Settings) -> Settings:
    """Of a model to be trained; settings that `planrank train` would refuse are refused now."""
    return TrainConfig(**settings | {"domain": str(folder), "out": str(out)}).as_json()


def train_all(configurations: Sequence[Settings], processes: int, cluster: str | None = None) -> None:
    """Train what is missing. If one fails, that is said, and the others go on."""
    waiting = [config for config in configurations if not is_trained(config)]
    for config in waiting:
        make_folder(Path(config["out"]).parent)
    with Progress("trainings", len(waiting)) as progress:
        for number, answer in pool_of(processes, None, cluster).map([training_job(config) for config in waiting]):
            progress.advance()
            if answer.error is not None:
                say(f"{waiting[number]['out']} was not trained: {answer.error}")


def training_job(config: Settings) -> Job:
    out = Path(config["out"])
    return Job(
        TRAIN, {"config": config}, reads=(config["domain"],), writes=(str(out), str(out.with_suffix(".training")))
    )


def is_trained(config: Settings) -> bool:
    """Whether the model is there; one that was trained with other settings is in the way."""
    file = Path(config["out"])
    if not file.is_file():
        return False
    before = Model.load(file).metadata["training"]
    differences = [one.differing(before) for one in trainings(TrainConfig(**config))]
    if all(differences):
        told = ", ".join(f"{name} {before.get(name)}, now {config[name]}" for name in min(differences, key=len))
        raise PlanrankError(f"trained with {told}; remove it or choose another --work", file=str(file))
    return True
