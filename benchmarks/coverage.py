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
import os
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import coverage_tables
import script
from peers import ANSWER, CONFIGURATIONS, peer_runs
from toy import toy_training_data
from training import (
    DOMAINS,
    QUICK,
    Settings,
    configuration,
    is_trained,
    parts_of,
    repeated,
    settings_of,
    train_all,
    training_plans,
)

from planrank.choices import LOSSES
from planrank.console import Progress
from planrank.evaluation.runs import Row, evaluate, key_of, run_missing, runs
from planrank.journal import Journal, read_rows
from planrank.parallel.pool import pool_of
from planrank.problems import fast_downward
from planrank.problems.folders import Instance, find_instances
from planrank.problems.problem_sets import generate, standard_set
from planrank.problems.splits import spread
from planrank.search.guides import Guide


class Bench:
    """The options, and what follows from them: where everything is and what is to be run."""

    def __init__(self, options: argparse.Namespace, work: Path):
        self.options, self.work = options, work
        self.data = toy_training_data(work / "data") if options.quick else options.data.resolve()
        self.large = options.large is not None
        self.name = "large" if self.large else "coverage"
        self.seeds = [options.large] if self.large else list(range(options.seeds))
        self.searches = ["gbfs"] if self.large else options.searches
        self.peers = [name for name in CONFIGURATIONS if not (self.large and name == "FD A*-lmcut")]
        self.time_limit = options.time_limit or (30.0 if self.large else 5.0)
        for domain in options.domains:
            find_instances(self.training_folder(domain))  # if there are none, that is said now
        self.rows, self.peer_rows = work / f"{self.name}.jsonl", work / f"{self.name}-peers.jsonl"
        self.loads = Loads(work / f"{self.name}-load.jsonl")

    def settings(self, domain: str) -> Settings:
        return settings_of(self.options.config, domain) | (QUICK if self.options.quick else {})

    def training_folder(self, domain: str) -> Path:
        return self.data / DOMAINS[domain]

    def configurations(self, domain: str) -> list[Settings]:
        """Of a model for every loss and seed, called like loss-seedN."""
        found = []
        for seed in self.seeds:
            for loss in self.options.losses:
                out = self.work / "models" / domain / f"{loss}-seed{seed}.safetensors"
                settings = self.settings(domain) | {"loss": loss, "seed": seed}
                if loss == "levin":
                    settings["rank"] = "policy"
                found.append(configuration(out, self.training_folder(domain), settings))
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
        return [Guide.of_model(one["out"]) for one in self.configurations(domain) if is_trained(one)]

    @contextmanager
    def progress(self, stage: str, domain: str) -> Iterator[Callable[[Row, int, int], None]]:
        """What is called after every run: shows how far it is, and notes the load."""
        with Progress(f"{stage}, {domain}") as progress:

            def note(row: Row, done: int, count: int) -> None:
                self.loads.note(stage)
                progress.reach(done, count)

            yield note


class Loads:
    """The machine's load, noted whenever a run is done, in a file so that an interrupted benchmark keeps it."""

    def __init__(self, file: Path):
        self.file = file
        self.journal = Journal(file)

    def note(self, stage: str) -> None:
        self.journal.add({"stage": stage, "load": os.getloadavg()[0]})

    def mean(self, stage: str) -> float | None:
        noted = [row["load"] for row in read_rows(self.file) if row["stage"] == stage]
        return statistics.fmean(noted) if noted else None


def train(bench: Bench) -> None:
    """Neighbours in the queue are of different domains, so that they do not build the same examples at once."""
    by_domain = [bench.configurations(domain) for domain in bench.options.domains]
    train_all([one for turn in zip(*by_domain, strict=True) for one in turn], bench.options.jobs, bench.options.cluster)


def evaluate_models(bench: Bench) -> None:
    for domain in bench.options.domains:
        guides = bench.guides(domain)
        if not guides:
            print(f"{domain}: no model is trained yet")
            continue
        with bench.progress("evaluate", domain) as progress:
            settings = {"jobs": bench.options.jobs, "cluster": bench.options.cluster, "cold": True}
            settings |= {"out": bench.rows, "progress": progress}
            rows = evaluate(bench.instances(domain), guides, bench.searches, bench.time_limit, **settings)
        solved = sum(row["status"] == "solved" for row in rows)
        print(f"{domain}: {solved} of {len(rows)} runs solved", flush=True)


def run_peers(bench: Bench) -> None:
    fast_downward.driver()  # if it is missing, that is said now
    for domain in bench.options.domains:
        wanted = peer_runs(bench.instances(domain), bench.peers, bench.time_limit)
        with bench.progress("peers", domain) as progress:
            pool = pool_of(bench.options.jobs, None, bench.options.cluster)
            run_missing(wanted, ANSWER, pool, bench.peer_rows, progress)
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
        found[domain] = {"rows": rows} | told_of(bench, domain, instances, guides)
    conditions = {
        "seconds": bench.time_limit,
        "jobs": bench.options.jobs,
        "seeds": bench.seeds,
        "load_evaluate": bench.loads.mean("evaluate"),
        "load_peers": bench.loads.mean("peers"),
        "missing_runs": missing,
    }
    (coverage_tables.large if bench.large else coverage_tables.coverage)(found, conditions, bench.options.results)


def told_of(bench: Bench, domain: str, instances: list[Instance], guides: list[Guide]) -> dict:
    """What was tested on and what was learned from."""
    folder, settings = bench.training_folder(domain), bench.settings(domain)
    parts = parts_of(folder, settings)
    test = {"problems": len(instances), "seen": repeated(instances, parts["train"] + parts["validation"])}
    plans, unproved = training_plans(folder, settings)
    models = [guide.model.metadata for guide in guides if guide.model]
    return {"test": test, "training": {"plans": plans, "unproved": unproved, "models": models}}


STAGES = {"train": train, "evaluate": evaluate_models, "peers": run_peers, "report": report}


def parsed() -> argparse.Namespace:
    parser = script.parser(__doc__)
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="labelled problems, see above")
    parser.add_argument("--domains", type=script.names(DOMAINS), default=list(DOMAINS), metavar="NAME,…")
    parser.add_argument("--losses", type=script.names(LOSSES), default=["lstar", "l2"], metavar="NAME,…")
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="models of each loss: seeds 0 to N - 1")
    parser.add_argument("--searches", type=script.names(["gbfs", "astar"]), default=["gbfs", "astar"], metavar="NAME,…")
    parser.add_argument("--time-limit", type=float, metavar="S", help="for each run; by default 5, with --large 30")
    script.add_pool(parser)
    parser.add_argument("--limit", type=int, metavar="N", help="test problems of each domain, spread over all")
    script.add_stages(parser, STAGES, "planrank-coverage")
    parser.add_argument("--config", type=Path, default=Path(__file__).with_suffix(".toml"), help="how to train")
    parser.add_argument(
        "--large", type=int, nargs="?", const=0, metavar="SEED", help="the large sets, models of a seed"
    )
    quick = {"domains": ["ferry"], "seeds": 1, "jobs": 1, "limit": 1, "work": None}
    return script.parse(parser, "data", quick=quick)


def main() -> None:
    options = parsed()
    with script.folder_for(options.work) as work:
        script.run_stages(STAGES, options.stage, Bench(options, work))


if __name__ == "__main__":
    script.run(main)
