"""What would the full tables of the paper, and 10,000 trainings, cost on 100 machines, and what would hold them up?

    python benchmarks/paper_cost.py [--machines 100] [--processors 2] [--jobs-measured N]

On paper, with measured inputs. What a step of training takes is that of the models in domains/; how many PDDL problems
are tested that of results/coverage.json; a run counts as if it met its limit. What handing out a job takes of the one
processor that does it is measured here, on a Ray cluster that is started for it: a run reads three files, a training a
folder of 365 problems with their plans. What is computed is the time of four things, of which the slowest decides: the
work itself on all processors, whoever hands out the jobs, the network of that machine, and the longest job. Writes
results/paper_cost.{md,json}; needs planrank[cluster].
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import script
from tables import RESULTS, machine, markdown, write

from planrank import paths
from planrank.console import Progress
from planrank.files import read_toml
from planrank.models.model import Model
from planrank.parallel.cluster import check_ray
from planrank.parallel.pool import Job, pool_of
from planrank.problems.problem_sets import standard_set

MEGABYTES_BACK = 1.5  # of a training: its model, checkpoint, log and curves
MEGABYTES_A_SECOND = 100.0  # of the network of the machine that hands out the jobs
SET_UP_SECONDS = 240.0  # once for each machine: the system image
PROBLEMS_OF_A_TRAINING = 365
TRAININGS, STEPS = 10_000, 10_000


@dataclass(frozen=True)
class Work:
    """Jobs of one kind, and seconds of each of them."""

    name: str
    count: int
    seconds: float
    is_training: bool


def full_tables() -> list[Work]:
    told = read_toml(Path(__file__).with_name("paper.toml"))
    budget = told["budgets"]["full"]
    tested = json.loads((RESULTS / "coverage.json").read_text())["test"]
    # Levin's policy is trained once for all rankings, and searched with by PHS* only; all else in A* and GBFS.
    models = budget["seeds"] * (len(budget["ranks"]) * (len(budget["losses"]) - 1) + 1)
    searches = 2 * models - budget["seeds"]
    found = []
    for domain, about in told["domains"].items():
        is_grid = about.get("grid", False)
        networks = 1 if is_grid else len(budget["networks"])
        seconds = budget["training"]["steps"] * step_seconds(domain)
        found.append(Work(f"trainings of {domain}", models * networks, seconds, True))
        problems = (
            sum(group.count for group in standard_set(domain, "paper")) if is_grid else tested[domain]["problems"]
        )
        limit = budget["grid_seconds" if is_grid else "seconds"]
        found.append(Work(f"runs of {domain}", searches * problems, limit, False))
    return found


def sweep() -> list[Work]:
    """As many trainings of each domain."""
    domains = list(read_toml(Path(__file__).with_name("paper.toml"))["domains"])
    return [Work(f"trainings of {one}", TRAININGS // len(domains), STEPS * step_seconds(one), True) for one in domains]


def step_seconds(domain: str) -> float:
    """Of a training, with its validation."""
    (file,) = (paths.shared() / "domains" / domain).glob("model.*")
    told = Model.load(file).metadata
    return told["figures"]["seconds"] / told["training"]["steps"]


def handing_out_seconds(jobs: int, files: int) -> float:
    """Of the processor of whoever hands out jobs that read so many files, for each of them."""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(files):
            Path(folder, f"p{number:04}.pddl").write_text(f"(define (problem p{number})" + " " * 2000 + ")")
        asked = [Job("builtins:dict", {"folder": folder, "number": number}, reads=(folder,)) for number in range(jobs)]
        pool = pool_of(1, None, "auto")
        began = 0.0
        for done, (_, answer) in enumerate(pool.map(asked)):
            if answer.error is not None:
                raise answer.error
            if done == 0:
                began = time.process_time()  # by now the worker runs, and the files are in the cluster
        return (time.process_time() - began) / (jobs - 1)


def measured(jobs: int) -> dict[str, float]:
    check_ray()
    import ray
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        ray.init(address=cluster.address, log_to_driver=False)
        with Progress("kinds of jobs", 2) as progress:
            found = {}
            for name, files in (("run", 3), ("training", 2 * PROBLEMS_OF_A_TRAINING)):
                found[name] = handing_out_seconds(jobs, files)
                progress.advance()
    finally:
        ray.shutdown()
        cluster.shutdown()
    return found


def hours_of(work: list[Work], handing: dict[str, float], options: argparse.Namespace) -> dict[str, float]:
    """Of each thing that might hold all up."""
    trainings = sum(one.count for one in work if one.is_training)
    others = sum(one.count for one in work if not one.is_training)
    spent = sum(one.count * one.seconds for one in work)
    seconds = {
        "the work": spent / (options.machines * options.processors),
        "handing out jobs": trainings * handing["training"] + others * handing["run"],
        "the network": trainings * MEGABYTES_BACK / MEGABYTES_A_SECOND,
        "the longest job": max(one.seconds for one in work),
    }
    return {name: value / 3600 for name, value in seconds.items()}


def main() -> None:
    parser = script.parser(__doc__)
    parser.add_argument("--machines", type=int, default=100, metavar="N")
    parser.add_argument("--processors", type=int, default=2, metavar="N", help="of each machine")
    parser.add_argument("--jobs-measured", type=int, default=200, metavar="N", help="of each kind")
    options = script.parse(parser, quick={"jobs_measured": 5})
    handing = measured(options.jobs_measured)
    lines, figures = [], {"handing_out_seconds": handing}
    for title, work in (("full tables", full_tables()), (f"{TRAININGS:,} trainings", sweep())):
        hours = hours_of(work, handing, options)
        spent = sum(one.count * one.seconds for one in work) / 3600
        slowest = max(hours, key=lambda name: hours[name])
        jobs = sum(one.count for one in work)
        lines.append([title, f"{jobs:,}", f"{spent:,.0f}", *(f"{value:.2f}" for value in hours.values()), slowest])
        figures[title] = {"work": [asdict(one) for one in work], "hours": hours}
    header = ["what", "jobs", "processor hours", "the work", "handing out jobs", "the network", "the longest job",
              "slowest"]  # fmt: skip
    run, training = (1000 * handing[name] for name in ("run", "training"))
    told = (
        f"{options.machines} machines of {options.processors} processors like this one; hours. Handing out a run costs "
        f"{run:.1f} ms of a processor, a training {training:.1f} ms (measured, {options.jobs_measured} jobs each). "
        f"{SET_UP_SECONDS / 60:g} minutes for each machine's first job that needs Julia come on top. {machine()}."
    )
    write(options.results, "paper_cost", ["# What many machines cost", "", told, "", *markdown(header, lines)], figures)


if __name__ == "__main__":
    script.run(main)
