"""The learning track of the 2023 planning competition: learn from small problems, solve large ones.

    python benchmarks/track.py --instances FOLDER [--domains ferry,spanner] [--jobs 2] [--stage NAME]

FOLDER has a folder for each domain, with domain.pddl, training/ and testing/ and perhaps validation/. For each domain a
model is trained by `planrank train --select --validation-instances 20` on one core: training problems with the plans
beside them, and, to choose networks and weights by, those of validation and those without plans. Then every test
problem is solved by `planrank solve --search dive --fallback 20` with that model, by LAMA-first and by Fast Downward's
GBFS with hFF, in 60 s and 8 GB for each whole cold process. `--part validation` does the same on the validation
problems, `--part large` on random ones about as large as the hard ones, both to choose by; test problems are for the
table alone. Everything can be interrupted and goes on where it was; models and rows are kept in the folder --work. A
domain that is finished is kept in results/track_pieces.jsonl too, and is not run again by whoever has that file.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import script
from coverage_tables import per_step, solved
from peers import ANSWER, peer_runs
from pieces import Pieces, without_places
from tables import machine, markdown, write
from toy import toy_training_data
from track_large import make_large
from training import QUICK, Settings, is_trained, train_all

from planrank import TrainConfig
from planrank.console import Progress
from planrank.evaluation.runs import Row, key_of, run_missing, runs
from planrank.models.model import Model
from planrank.parallel.pool import Pool
from planrank.problems.folders import Instance
from planrank.problems.splits import parts_of
from planrank.search.guides import Guide

DOMAINS = ("blocksworld", "childsnack", "ferry", "floortile", "miconic", "rovers", "satellite", "sokoban", "spanner",
           "transport")  # fmt: skip
SECONDS, MEGABYTES = 60.0, 8_000.0
PARTS = {
    "test": "The test part of each folder",
    "validation": "The validation part of each folder",
    "large": "Random problems about as large as the hard ones",
}
LARGE = 6  # problems of a domain
PEERS = ("LAMA-first", "FD GBFS-hFF")
OURS = "planrank"


class Bench:
    def __init__(self, options: argparse.Namespace, work: Path):
        self.options, self.work = options, work
        self.folder = toy_training_data(work / "toy") / "paper" if options.quick else options.instances.resolve()
        self.rows = work / "rows.jsonl"
        self.name = "track" if options.part == "test" else f"track_{options.part}"
        file = (options.results or work) / f"{self.name}_pieces.jsonl"
        about = {"part": options.part, "seconds": options.seconds, "limit": options.limit}
        trainings = {(domain,): without_places(self.configuration(domain)) for domain in DOMAINS}
        self.pieces = Pieces(file, {piece: about | {"training": one} for piece, one in trainings.items()})

    def configuration(self, domain: str) -> Settings:
        settings = {"domain": str(self.folder / domain), "out": str(self.work / "models" / f"{domain}.safetensors")}
        settings |= {"select": True, "validation_instances": 20}
        return TrainConfig(**settings | (QUICK if self.options.quick else {})).as_json()

    def unfinished(self) -> list[str]:
        return [domain for domain in self.options.domains if (domain,) not in self.pieces]

    def instances(self, domain: str) -> list[Instance]:
        if self.options.part == "large":
            file, count = self.folder / domain / "domain.pddl", self.options.limit or LARGE
            return make_large(domain, file, self.work / "large" / domain, count)
        return parts_of(self.folder / domain)[self.options.part][: self.options.limit or None]

    def wanted(self, domain: str) -> list[Row]:
        instances, config = self.instances(domain), self.configuration(domain)
        settings = {"time_limit": self.options.seconds, "memory_limit": MEGABYTES, "batch": 1, "cold": True}
        settings["fallback"] = self.options.seconds / 3
        guides = [Guide.of_model(config["out"])] if is_trained(config) else []
        ours = runs(instances, guides, ["dive"], settings) if guides else []
        return ours + peer_runs(instances, PEERS, self.options.seconds)


def train(bench: Bench) -> None:
    train_all([bench.configuration(domain) for domain in bench.unfinished()], bench.options.jobs)


def evaluate(bench: Bench) -> None:
    for domain in bench.unfinished():
        wanted, config = bench.wanted(domain), bench.configuration(domain)
        with Progress(domain) as progress:

            def note(row: Row, done: int, count: int, progress: Progress = progress) -> None:
                progress.reach(done, count)

            done = run_missing(wanted, ANSWER, Pool(bench.options.jobs), bench.rows, note)
        if is_trained(config):
            about = {"training_seconds": Model.load(config["out"]).metadata["figures"]["seconds"]}
            bench.pieces.add((domain,), [done[key_of(run)] | run for run in wanted], about)


def report(bench: Bench) -> None:
    """Of the domains that are finished."""
    domains = [domain for domain in bench.options.domains if (domain,) in bench.pieces]
    figures = [{"domain": domain} | figures_of(bench.pieces, domain) for domain in domains]
    header = ["domain", "problems", OURS, *PEERS, "expansions per step", f"steps / {PEERS[0]}'s", "trained in"]
    lines = [line_of(one) for one in figures]
    total = {name: sum(one["solved"][name] for one in figures) for name in (OURS, *PEERS)}
    lines.append(
        ["all", str(sum(one["problems"] for one in figures)), *(str(total[name]) for name in total), "", "", ""]
    )
    head = (
        f"{bench.options.seconds:g} s and {MEGABYTES / 1000:g} GB for each whole cold process, "
        f"{bench.options.jobs} at a time; {machine()}. {PARTS[bench.options.part]}. Solved problems; "
        "for planrank's plans expansions for each step; steps of planrank's first plans for each of those of "
        f"{PEERS[0]}, over the problems that both solve; seconds that training took, validation included."
    )
    missing = bench.unfinished()
    tail = ["", f"**Unfinished: {', '.join(missing)}.**"] if missing else []
    table = markdown(header, lines)
    write(bench.options.results, bench.name, ["# The learning track", "", head, "", *table, *tail], figures)


def figures_of(pieces: Pieces, domain: str) -> dict:
    rows = pieces.rows((domain,))
    by_guide = {name: [row for row in rows if (row["guide"] if row["model"] is None else OURS) == name]
                for name in (OURS, *PEERS)}  # fmt: skip
    lengths = {
        name: {row["instance_sha"]: row["plan_length"] for row in solved(found)} for name, found in by_guide.items()
    }
    both = lengths[OURS].keys() & lengths[PEERS[0]].keys()
    return {
        "problems": len(by_guide[OURS]),
        "solved": {name: len(found) for name, found in lengths.items()},
        "expansions_per_step": per_step(by_guide[OURS]),
        "steps": [sum(lengths[name][one] for one in both) for name in (OURS, PEERS[0])],
    } | pieces.about((domain,))


def line_of(one: dict) -> list[str]:
    mine, theirs = one["steps"]
    per, seconds = one["expansions_per_step"], one["training_seconds"]
    return [
        one["domain"],
        str(one["problems"]),
        *(str(count) for count in one["solved"].values()),
        "-" if per is None else f"{per:.2f}",
        f"{mine / theirs:.2f}" if theirs else "-",
        "-" if seconds is None else f"{seconds:.0f} s",
    ]


STAGES = {"train": train, "evaluate": evaluate, "report": report}


def main() -> None:
    parser = script.parser(__doc__)
    parser.add_argument("--instances", type=Path, metavar="FOLDER", help="the track's problems, see above")
    parser.add_argument("--domains", type=script.names(DOMAINS), default=list(DOMAINS), metavar="NAME,…")
    parser.add_argument("--part", choices=tuple(PARTS), default="test", help="what is solved")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for each problem")
    parser.add_argument("--limit", type=int, default=0, metavar="N", help="problems of a domain; 0: all")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    script.add_stages(parser, STAGES, "planrank-track")
    quick = {"domains": ["ferry"], "seconds": 20.0, "limit": 1, "jobs": 1, "work": None}
    options = script.parse(parser, "instances", quick=quick)
    with script.folder_for(options.work) as work:
        script.run_stages(STAGES, options.stage, Bench(options, work))


if __name__ == "__main__":
    script.run(main)
