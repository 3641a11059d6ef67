"""How long do 10,000 steps of training take, whole examples, samples of their states, and examples read from disk?

    python benchmarks/training_speed.py --instances FOLDER [--domains ferry,rovers] [--steps 200] [--work FOLDER]

FOLDER has a folder for each domain of the learning track, with plans beside the problems of training/. The default
configuration; seconds of the processor, on one core. Whole epochs are timed, at least so many steps, after one that is
not counted; building the examples is timed apart, and counts. Nothing is validated. Rows are kept in the folder --work
and not measured again. Writes results/training_speed.{md,json}.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path
from typing import Any

import script
from tables import machine, markdown, write
from toy import toy_training_data
from track import DOMAINS

from planrank import TrainConfig, load
from planrank.console import Progress
from planrank.journal import Journal, read_rows
from planrank.parallel.pool import REHEARSAL, Job, Pool

STEPS = 10_000
BAR = 15  # minutes
WAYS: dict[str, dict[str, Any]] = {
    "all states": {"states_per_step": 0},
    "32 states": {"states_per_step": 32},
    "from disk": {"states_per_step": 0, "examples_memory": 0},
}
HEADER = ["domain", "examples", "states", "building"]


def main() -> None:
    parser = script.parser(__doc__)
    parser.add_argument("--instances", type=Path, metavar="FOLDER")
    parser.add_argument("--domains", type=script.names(DOMAINS), default=list(DOMAINS), metavar="NAME,…")
    parser.add_argument("--ways", type=script.names(list(WAYS)), default=list(WAYS), metavar="NAME,…")
    parser.add_argument("--steps", type=int, default=200, help="that are timed, at least")
    parser.add_argument("--work", type=Path, metavar="FOLDER", help="rows are kept here")
    options = script.parse(parser, "instances", quick={"steps": 4, "domains": ["ferry"]})
    with script.folder_for(options.work) as work:
        folder = toy_training_data(work / "toy") / "paper" if options.quick else options.instances.resolve()
        rows = measured(folder, options, work / "training_speed.jsonl")
    write(options.results, "training_speed", report(rows, options.steps), rows)


def measured(folder: Path, options: argparse.Namespace, file: Path) -> list[dict]:
    """The rows of the file, and those that are missing in it."""
    asked = [
        {"domain": domain, "way": way, "steps_asked": options.steps}
        for way in options.ways
        for domain in options.domains
    ]
    done = {(row["domain"], row["way"], row["steps_asked"]): row for row in read_rows(file)}
    missing = [row for row in asked if tuple(row.values()) not in done]
    jobs = [Job("training_speed:measure", {"folder": str(folder / row["domain"])} | row) for row in missing]
    journal = Journal(file)
    with Progress("measurements", len(asked), done=len(asked) - len(missing)) as progress:
        for number, answer in Pool(1, REHEARSAL).map(jobs):
            if answer.error is not None:
                raise answer.error
            row = missing[number] | answer.value
            journal.add(row)
            done[tuple(missing[number].values())] = row
            progress.advance()
    return [done[tuple(row.values())] for row in asked]


def measure(folder: str, domain: str, way: str, steps_asked: int) -> dict:
    """A job: seconds of building all examples, and of so many steps in whole epochs."""
    from planrank.learning.examples import build_example
    from planrank.learning.trainer import TrainingState, instance_at
    from planrank.learning.training_data import example_options, examples_of, gather

    config = TrainConfig(domain=folder, teacher="none", allow_suboptimal=True, **WAYS[way])
    data = gather(config, say=quiet)
    building = 0.0
    for instance, plan in data.training:
        task = load(instance.domain, instance.problem)
        started = time.process_time()
        build_example(task, plan.steps, config.architecture, **example_options(config))
        building += time.process_time() - started
    examples = examples_of(data, config, say=quiet)
    names, states = list(examples), 0
    state = TrainingState(config, data.signature(config.family), "", Path("none"), len(names))
    epochs = -(-steps_asked // len(names))
    for step in range((epochs + 1) * len(names)):
        if step == len(names):
            started = time.process_time()
        name = names[instance_at(step, len(names), config.seed)]
        states += len(state.take_step(examples[name], name)[0].values)
    seconds = time.process_time() - started
    found = {"examples": len(names), "states": states / (step + 1), "building": building}
    return found | {"steps": epochs * len(names), "seconds": seconds}


def quiet(text: str) -> None:
    pass


def report(rows: list[dict], steps: int) -> list[str]:
    found, ways = {(row["domain"], row["way"]): row for row in rows}, list(dict.fromkeys(row["way"] for row in rows))
    lines = []
    for domain in dict.fromkeys(row["domain"] for row in rows):
        first, rates = found[domain, ways[0]], [f"{rate(found[domain, way]):.1f}" for way in ways]
        about = [str(first["examples"]), f"{first['states']:.0f}", f"{first['building']:.1f} s"]
        lines.append([domain, *about, *rates, f"{minutes(first):.1f}"])
    whole = [row for row in rows if row["way"] == ways[0]]
    slowest = max(whole, key=minutes)
    return [
        "# Steps of training a second",
        "",
        f"The default configuration, one core, seconds of the processor, whole epochs of at least {steps} steps; "
        f"{machine()}. The last column: minutes for {STEPS:,} steps with {ways[0]} and building. The slowest, "
        f"{slowest['domain']}, takes {minutes(slowest):.1f}; the bar is {BAR}. Geometric mean: "
        f"{statistics.geometric_mean(rate(row) for row in whole):.1f} steps a second.",
        "",
        *markdown([*HEADER, *ways, f"{STEPS:,} steps, min"], lines),
    ]


def rate(row: dict) -> float:
    return row["steps"] / row["seconds"]


def minutes(row: dict) -> float:
    return (row["building"] + STEPS / rate(row)) / 60


if __name__ == "__main__":
    script.run(main)
