"""How many problems of the paper's five domains do trained models solve in 5 s, and with how many expansions?

    python benchmarks/coverage.py --data FOLDER [--domains blocksworld,ferry] [--seeds 3] [--jobs 2] [--stage NAME]
    python benchmarks/coverage.py --data FOLDER --large [SEED] --losses lstar

Trains on the training half with the settings of coverage.toml, runs GBFS and A* with L* and L2 on the test quarter, and
Fast Downward on the same, a fresh process for every run, all of it counted. Everything can be interrupted and goes on
where it was; models, logs and rows are kept in the folder --work. With --large: the same models on the large standard
sets in 30 s. Results go to benchmarks/results/coverage.{md,json} and large.{md,json}.

FOLDER holds paper/{blocksworld,ferry,npuzzle,elevators}, spanner (to train on) and spanner-test, with plans beside the
problems. To make it from the instances of the paper:

    for d in blocksworld ferry npuzzle elevators; do
        planrank label ../shared/instances/paper/$d --teacher fast-downward --allow-suboptimal --out FOLDER/paper/$d
    done
    planrank generate spanner --set train --out FOLDER/spanner && planrank label FOLDER/spanner --teacher symk
    planrank generate spanner --set test --out FOLDER/spanner-test
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import coverage_tables
from peers import CONFIGURATIONS, peer_runs, run_peers
from tables import RESULTS, Loads, ending_in_one_sentence, names
from training import DOMAINS, job, parts_of, repeated, settings_of, train_all, trained, training_plans

from planrank.choices import LOSSES
from planrank.commands.evaluate import show_progress, spread
from planrank.datasets import Instance, find_instances
from planrank.evaluation import Guide, evaluate, key_of, runs
from planrank.generation import generate, standard_set
from planrank.journal import read_rows
from planrank.models import Model

STAGES = ("train", "evaluate", "peers", "report")


class Bench:
    """The options, and what follows from them: where everything is and what is to be run."""

    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.data, self.work = options.data.resolve(), options.work.resolve()
        self.large = options.large is not None
        self.name = "large" if self.large else "coverage"
        self.seeds = [options.large] if self.large else list(range(options.seeds))
        self.searches = ["gbfs"] if self.large else options.searches
        self.peers = [name for name in CONFIGURATIONS if not (self.large and name == "FD A*-lmcut")]
        self.time_limit = options.time_limit or (30.0 if self.large else 5.0)
        for domain in options.domains:
            find_instances(self.training_folder(domain))  # if there are none, that is said now
        self.work.mkdir(parents=True, exist_ok=True)
        self.rows, self.peer_rows = self.work / f"{self.name}.jsonl", self.work / f"{self.name}-peers.jsonl"
        self.loads = Loads(self.work / f"{self.name}-load.jsonl")

    def settings(self, domain: str) -> dict:
        return settings_of(self.options.config, domain)

    def training_folder(self, domain: str) -> Path:
        return self.data / DOMAINS[domain]

    def model_jobs(self, domain: str) -> list[dict]:
        """A model for every loss and seed, called like loss-seedN."""
        found = []
        for seed in self.seeds:
            for loss in self.options.losses:
                out = self.work / "models" / domain / f"{loss}-seed{seed}.safetensors"
                settings = self.settings(domain) | {"loss": loss, "seed": seed}
                found.append(job(out, self.training_folder(domain), settings))
        return found

    def instances(self, domain: str) -> list[Instance]:
        """What is tested on: none of it was seen in training or validation."""
        if self.large:
            found = generate(domain, standard_set(domain, "large"), self.work / "large" / domain)
        elif domain == "spanner":
            found = find_instances(self.data / "spanner-test")
        else:
            found = parts_of(self.training_folder(domain), self.settings(domain))["test"]
        return spread(found, self.options.limit)

    def guides(self, domain: str) -> list[Guide]:
        return [Guide.of_model(one["out"]) for one in self.model_jobs(domain) if trained(one)]

    def progress(self, stage: str):
        def note(row: dict, done: int, count: int) -> None:
            self.loads.note(stage)
            if sys.stderr.isatty():
                show_progress(row, done, count)

        return note


def train(bench: Bench) -> None:
    """Neighbours in the queue are of different domains, so that they do not build the same examples at once."""
    by_domain = [bench.model_jobs(domain) for domain in bench.options.domains]
    train_all([one for turn in zip(*by_domain, strict=True) for one in turn], bench.options.jobs)


def evaluate_models(bench: Bench) -> None:
    for domain in bench.options.domains:
        guides = bench.guides(domain)
        if not guides:
            print(f"{domain}: no model is trained yet")
            continue
        settings = {"jobs": bench.options.jobs, "cold": True, "out": bench.rows, "progress": bench.progress("evaluate")}
        rows = evaluate(bench.instances(domain), guides, bench.searches, bench.time_limit, **settings)
        solved = sum(row["status"] == "solved" for row in rows)
        print(f"{domain}: {solved} of {len(rows)} runs solved", flush=True)


def run_all_peers(bench: Bench) -> None:
    for domain in bench.options.domains:
        wanted = peer_runs(bench.instances(domain), bench.peers, bench.time_limit)
        run_peers(wanted, bench.options.jobs, bench.peer_rows, bench.progress("peers"))
        print(f"{domain}: {len(wanted)} runs of peers done", flush=True)


def report(bench: Bench) -> None:
    """Tables of whatever has been run so far; what is missing is counted."""
    done = {key_of(row): row for file in (bench.rows, bench.peer_rows) for row in read_rows(file)}
    found, missing = {}, 0
    for domain in bench.options.domains:
        instances, guides = bench.instances(domain), bench.guides(domain)
        settings = {"time_limit": bench.time_limit, "memory_limit": None, "batch": 1, "cold": True}
        wanted = runs(instances, guides, bench.searches, settings) if guides else []
        wanted += peer_runs(instances, bench.peers, bench.time_limit)
        rows = [done[key_of(run)] | run for run in wanted if key_of(run) in done]
        missing += len(wanted) - len(rows)
        plans, unproved = training_plans(bench.training_folder(domain), bench.settings(domain))
        models = [Model.load(guide.model).metadata for guide in guides]
        training = {"plans": plans, "unproved": unproved, "models": models}
        parts = parts_of(bench.training_folder(domain), bench.settings(domain))
        test = {"problems": len(instances), "seen": repeated(instances, parts["train"] + parts["validation"])}
        found[domain] = {"rows": rows, "test": test, "training": training}
    conditions = {
        "seconds": bench.time_limit,
        "jobs": bench.options.jobs,
        "seeds": bench.seeds,
        "load_evaluate": bench.loads.mean("evaluate"),
        "load_peers": bench.loads.mean("peers"),
        "missing_runs": missing,
    }
    (coverage_tables.large if bench.large else coverage_tables.coverage)(found, conditions, bench.options.results)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="labelled problems, see the head of this file")
    parser.add_argument("--domains", type=names(DOMAINS), default=list(DOMAINS), metavar="NAME,…")
    parser.add_argument("--losses", type=names(LOSSES), default=["lstar", "l2"], metavar="NAME,…")
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="models of each loss: seeds 0 to N - 1")
    parser.add_argument("--searches", type=names(["gbfs", "astar"]), default=["gbfs", "astar"], metavar="NAME,…")
    parser.add_argument("--time-limit", type=float, metavar="S", help="for each run; by default 5, with --large 30")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--limit", type=int, metavar="N", help="test problems of each domain, spread over all")
    parser.add_argument("--stage", choices=STAGES, help="only this one; by default all, in this order")
    parser.add_argument("--work", type=Path, default=Path("planrank-coverage"), help="models and rows are kept here")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the tables go here")
    parser.add_argument("--config", type=Path, default=Path(__file__).with_suffix(".toml"), help="how to train")
    parser.add_argument(
        "--large", type=int, nargs="?", const=0, metavar="SEED", help="the large sets, models of a seed"
    )
    options = parser.parse_args()
    stages = {"train": train, "evaluate": evaluate_models, "peers": run_all_peers, "report": report}
    with ending_in_one_sentence():
        bench = Bench(options)
        for stage in [options.stage] if options.stage else STAGES:
            stages[stage](bench)


if __name__ == "__main__":
    main()
