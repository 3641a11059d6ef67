"""Trains models for benchmarks: one `planrank train` process each, several at a time, none that is there already."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from planrank.config import FIELDS, TrainConfig
from planrank.datasets import (
    Instance,
    find_instances,
    in_rounds,
    read_plan,
    read_toml,
    split,
    split_settings,
    without_comments,
)
from planrank.errors import PlanrankError
from planrank.evaluation import answered
from planrank.models import Model
from planrank.workers import Starter

DOMAINS = {
    "blocksworld": "paper/blocksworld",
    "ferry": "paper/ferry",
    "npuzzle": "paper/npuzzle",
    "spanner": "spanner",
    "elevators": "paper/elevators",
}


def settings_of(file: Path, domain: str | None = None) -> dict[str, object]:
    """What a file such as coverage.toml says of all domains and, if one is named, of this one."""
    found = read_toml(file)
    settings = found.get("all", {}) | (found.get(domain, {}) if domain else {})
    unknown = [key for key in settings if key not in FIELDS]
    if unknown or not found:
        message = f"unknown key {unknown[0]}" if unknown else "there is no such file, or nothing in it"
        raise PlanrankError(message, file=str(file))
    return settings


def parts_of(folder: Path, settings: dict) -> dict[str, list[Instance]]:
    """The split that `planrank train` makes of the folder."""
    own = split_settings(folder)
    if settings.get("split_seed") is not None:
        own["seed"] = settings["split_seed"]
    return split(find_instances(folder), **own)


def training_plans(folder: Path, settings: dict) -> tuple[int, int]:
    """How many plans there are to train on, and how many of them are not proved optimal."""
    chosen = in_rounds(parts_of(folder, settings)["train"])[: settings.get("max_instances") or None]
    plans = [read_plan(instance.plan) for instance in chosen if instance.plan]
    return len(plans), sum(not plan.proved_optimal for plan in plans)


def repeated(tested: Sequence[Instance], seen: Sequence[Instance]) -> int:
    """How many problems that are tested on say the same, names of objects included, as one that was seen."""
    known = {content_of(instance.problem) for instance in seen}
    return sum(content_of(instance.problem) in known for instance in tested)


def content_of(problem: Path) -> tuple[frozenset[str], ...]:
    """Facts and goals in no order."""
    text = without_comments(problem.read_text()).lower()
    init, _, goal = text[text.index("(:init") + len("(:init") :].partition("(:goal")
    return tuple(frozenset(" ".join(a.split()) for a in re.findall(r"\([^()]+\)", part)) for part in (init, goal))


def job(out: Path, folder: Path, settings: dict) -> dict:
    """A model to be trained; settings that `planrank train` would refuse are refused now."""
    TrainConfig(domain=str(folder), out=str(out), **settings)
    return {"out": str(out), "domain": str(folder), "settings": settings}


class Trainer(Starter):
    """Runs the command for every job. An interrupted one goes on from its checkpoint the next time."""

    def answer(self, job: dict) -> dict:
        out = Path(job["out"])
        out.parent.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "planrank", "train", "--resume", "--domain", job["domain"], "--out", str(out)]
        log = out.with_suffix(".log")
        with log.open("w") as stream:
            options = {"stdin": subprocess.DEVNULL, "stdout": stream, "stderr": subprocess.STDOUT}
            self.start(command + arguments(job["settings"]), **options)
            code = self.process.wait()
        if code == 0:
            return {"status": "trained"}
        return {"status": "failed", "reason": (log.read_text().splitlines() or [f"exit code {code}"])[-1]}


def arguments(settings: dict[str, object]) -> list[str]:
    """Settings as options of the command."""
    found = []
    for name, value in settings.items():
        option = name.replace("_", "-")
        if isinstance(value, bool):
            found.append(f"--{option}" if value else f"--no-{option}")
        else:
            found += [f"--{option}", ",".join(value) if isinstance(value, list | tuple) else str(value)]
    return found


def train_all(jobs: Sequence[dict], at_a_time: int) -> None:
    """Train what is missing. One that fails is told, and the others go on."""
    waiting = [one for one in jobs if not trained(one)]
    with closing(answered(waiting, Trainer, at_a_time)) as rows:
        for done, row in enumerate(rows, 1):
            reason = f": {row['reason']}" if row["status"] == "failed" else ""
            print(f"{done} of {len(waiting)}  {row['out']} {row['status']}{reason}", flush=True)


def trained(job: dict) -> bool:
    """Whether the model is there; one that was trained with other settings is in the way."""
    if not Path(job["out"]).is_file():
        return False
    before = Model.load(job["out"]).metadata["training"]
    for name, value in job["settings"].items():
        value = list(value) if isinstance(value, tuple) else value
        if before.get(name) != value:
            message = f"trained with {name} {before.get(name)}, now {value}; remove it or choose another --work"
            raise PlanrankError(message, file=job["out"])
    return True
