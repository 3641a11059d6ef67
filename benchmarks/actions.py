"""Is it better to rank actions than states? Solved problems and evaluations for each step, everything else equal.

    python benchmarks/actions.py --instances FOLDER [--domains blocksworld,ferry] [--seeds 3] [--jobs 2] [--stage NAME]

Trains models of both kinds, and policies by the Levin loss, for the paper's five domains with the default
configuration, on planrank's own standard sets, and runs GBFS, with policies PHS*, on problems of the paper
(FOLDER/{blocksworld,ferry,npuzzle,elevators}; of spanner, of which none survive, on its set "test") in 5 s and on the
sets "large" in 30 s, a fresh process for every run, all of it counted, with LAMA-first beside them. Nothing of
this was seen in training. Everything can be interrupted and goes on where it was; models and rows are kept in the
folder --work.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import script
from coverage_tables import mean_of, per_step, solved
from models import TEACHER_SECONDS, TEACHERS
from peers import ANSWER, peer_runs
from tables import machine, markdown, spread, write
from toy import toy_problems
from training import QUICK, Settings, is_trained, train_all

from planrank import TrainConfig
from planrank.console import Progress
from planrank.evaluation.runs import Row, key_of, run_missing, runs
from planrank.journal import read_rows
from planrank.parallel.pool import Pool
from planrank.problems.folders import Instance, find_instances
from planrank.problems.problem_sets import generate, standard_set
from planrank.problems.splits import spread as spread_over
from planrank.search.guides import Guide

DOMAINS = ("blocksworld", "ferry", "npuzzle", "spanner", "elevators")
# How models are trained, and what they are searched with.
KINDS: dict[str, dict[str, str]] = {
    "actions": {"rank": "actions"},
    "states": {"rank": "states"},
    "levin": {"loss": "levin"},
}
SEARCH_OF = {"actions": "gbfs", "states": "gbfs", "levin": "phs"}
SIZES = {"paper": 5.0, "large": 30.0}  # seconds
PEER = "LAMA-first"
# Evaluations for each step of the plans found, of actions on the paper's problems.
BARS = {"blocksworld": 1.3, "ferry": 1.1, "npuzzle": 4.0, "spanner": 1.1, "elevators": 1.1}
HEADER = ["problems", "domain", "guide", "solved", "evaluations per step", "expansions per step", "steps", "seconds"]


class Bench:
    def __init__(self, options: argparse.Namespace, work: Path):
        self.options, self.work = options, work
        self.folder = toy_problems(work / "toy") if options.quick else options.instances.resolve()
        self.rows = work / "rows.jsonl"

    def configurations(self, domain: str) -> list[Settings]:
        found = []
        for seed in range(self.options.seeds):
            for kind in self.options.kinds:
                settings = {"domain": domain, "seed": seed, "data": str(self.work / "data" / domain)} | KINDS[kind]
                settings |= {"teacher": TEACHERS[domain], "teacher_time": TEACHER_SECONDS}
                if self.options.quick:
                    settings |= QUICK | {"profile": "quick", "teacher": "builtin", "max_instances": 4}
                out = self.work / "models" / domain / f"{kind}-seed{seed}.safetensors"
                found.append(TrainConfig(**settings | {"out": str(out)}).as_json())
        return found

    def instances(self, domain: str, size: str) -> list[Instance]:
        if size == "large":
            found = generate(domain, standard_set(domain, "large"), self.work / "large" / domain)
        elif domain == "spanner" and not self.options.quick:
            found = generate(domain, standard_set(domain, "test"), self.work / "test" / domain)
        else:
            found = find_instances(self.folder / domain)
        return spread_over(found, self.options.limit if size == "paper" else self.options.limit_large)

    def wanted(self, domain: str, size: str) -> list[Row]:
        instances, seconds = self.instances(domain, size), SIZES[size]
        settings = {"time_limit": seconds, "memory_limit": None, "batch": 1, "cold": True}
        trained = [one["out"] for one in self.configurations(domain) if is_trained(one)]
        ours: list[Row] = []
        for kind in self.options.kinds:
            guides = [Guide.of_model(out) for out in trained if kind_of(out) == kind]
            ours += runs(instances, guides, [SEARCH_OF[kind]], settings) if guides else []
        return ours + peer_runs(instances, [PEER], seconds)


def kind_of(model: str) -> str:
    return Path(model).stem.partition("-")[0]


def train(bench: Bench) -> None:
    """Neighbours in the queue are of different domains, so that they do not make the same plans at once."""
    by_domain = [bench.configurations(domain) for domain in bench.options.domains]
    train_all([one for turn in zip(*by_domain, strict=True) for one in turn], bench.options.jobs)


def evaluate(bench: Bench) -> None:
    for size in bench.options.sizes:
        for domain in bench.options.domains:
            with Progress(f"{domain}, {size}") as progress:

                def note(row: Row, done: int, count: int, progress: Progress = progress) -> None:
                    progress.reach(done, count)

                run_missing(bench.wanted(domain, size), ANSWER, Pool(bench.options.jobs), bench.rows, note)


def report(bench: Bench) -> None:
    done = {key_of(row): row for row in read_rows(bench.rows)}
    lines, figures, missing = [], [], 0
    for size in bench.options.sizes:
        for domain in bench.options.domains:
            wanted = bench.wanted(domain, size)
            rows = [done[key_of(run)] | run for run in wanted if key_of(run) in done]
            missing += len(wanted) - len(rows)
            for guide, seeds in by_kind(rows).items():
                figures.append({"problems": size, "domain": domain, "guide": guide} | figures_of(seeds))
                lines.append(line_of(figures[-1]))
    head = f"GBFS, with levin PHS*; {SIZES['paper']:g} s a problem of the paper, {SIZES['large']:g} s a large one, "
    head += f"the whole cold process, {bench.options.jobs} at a time; {machine()}. "
    head += "Means over seeds, of the problems that each solves."
    bars = ", ".join(f"{domain} {bar}" for domain, bar in BARS.items())
    tail = ["", f"Bars for evaluations per step of actions on the paper's problems: {bars}; all solved."]
    if missing:
        tail.append(f"**Unfinished: {missing} runs are missing.**")
    table = markdown(HEADER, lines, left=3)
    write(bench.options.results, "actions", ["# Ranking actions or states", "", head, "", *table, *tail], figures)


def by_kind(rows: list[Row]) -> dict[str, dict[str, list[Row]]]:
    """Rows by the kind of model, and by the model."""
    found: dict[str, dict[str, list[Row]]] = {}
    for row in rows:
        guide = PEER if row["model"] is None else kind_of(row["model"])
        found.setdefault(guide, {}).setdefault(str(row["model"]), []).append(row)
    return dict(sorted(found.items(), key=lambda one: (one[0] == PEER, one[0])))


def figures_of(seeds: dict[str, list[Row]]) -> dict[str, list]:
    groups = list(seeds.values())
    return {
        "runs": [len(group) for group in groups],
        "solved": [len(solved(group)) for group in groups],
        "evaluations_per_step": [per_step(group, "evaluated") for group in groups],
        "expansions_per_step": [per_step(group) for group in groups],
        "plan_length": [mean_of(group, "plan_length") for group in groups],
        "seconds": [mean_of(group, "total_seconds") for group in groups],
    }


def line_of(one: dict) -> list[str]:
    shares = [100 * done / count for done, count in zip(one["solved"], one["runs"], strict=True)]
    names = ("evaluations_per_step", "expansions_per_step")
    cells = [spread(shares, 1, " %"), *(spread(one[name]) for name in names)]
    return [one["problems"], one["domain"], one["guide"], *cells, spread(one["plan_length"], 1), spread(one["seconds"])]


STAGES = {"train": train, "evaluate": evaluate, "report": report}


def main() -> None:
    parser = script.parser(__doc__)
    parser.add_argument("--instances", type=Path, metavar="FOLDER", help="the paper's problems, see above")
    parser.add_argument("--domains", type=script.names(DOMAINS), default=list(DOMAINS), metavar="NAME,…")
    parser.add_argument("--kinds", type=script.names(list(KINDS)), default=list(KINDS), metavar="NAME,…")
    parser.add_argument("--sizes", type=script.names(SIZES), default=list(SIZES), metavar="NAME,…")
    parser.add_argument("--seeds", type=int, default=3, metavar="N")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--limit", type=int, default=80, metavar="N", help="problems of a domain, spread over all")
    parser.add_argument("--limit-large", type=int, default=10, metavar="N", help="the same of the large ones")
    script.add_stages(parser, STAGES, "planrank-actions")
    quick = {"domains": ["ferry"], "sizes": ["paper"], "seeds": 1, "jobs": 1, "limit": 1, "work": None}
    options = script.parse(parser, "instances", quick=quick)
    with script.folder_for(options.work) as work:
        script.run_stages(STAGES, options.stage, Bench(options, work))


if __name__ == "__main__":
    script.run(main)
