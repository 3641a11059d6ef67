"""Which defaults of `planrank train` solve the most? One choice at a time is changed, and validation problems searched.

    python benchmarks/defaults.py --track FOLDER [--choices dim 32,dim 16] [--domains ferry,track/ferry] [--seeds 0,1]

The domains are planrank's own six of the paper's kind, with their standard sets, and the ten in FOLDER, the learning
track's (`track/NAME`), with what lies in training/ and validation/ there; no test problem is read. A step looks at 64
states whatever is chosen, or a step of ranking states would take seconds in some domains. Each validation problem is
searched for at most 5 s and 1,000 expansions by GBFS, with the weights after the last step. Models are kept in the
folder --work and are not trained again; rows of former runs that are in the results stay there, unless they are made
anew, so that the table can be made in pieces.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path

import script
from models import TEACHERS
from tables import machine, markdown, write
from toy import toy_training_data
from track import DOMAINS as TRACK
from training import QUICK, Settings, is_trained, train_all

from planrank import Model, TrainConfig

OWN = ("blocksworld", "ferry", "npuzzle", "spanner", "elevators", "gripper")
PREFIX = "track/"
DOMAINS = (*OWN, *(PREFIX + name for name in TRACK))
BASE = "dim 32"  # the default was, when these were compared
CHOICES: dict[str, Settings] = {
    BASE: {"dim": 32},
    "rank states": {"rank": "states"},
    "layers 1": {"layers": 1},
    "layers 3": {"layers": 3},
    "layers 4": {"layers": 4},
    "dim 16": {"dim": 16},
    "dim 64": {"dim": 64},
    "detours 0": {"detours": 0},
    "distances off": {"distances": False},
    "relaxed off": {"relaxed": False},
    "receivers effects": {"receivers": "effects"},
    "value sum": {"value": "sum"},
    "value pooled": {"value": "pooled"},
    "family relational": {"family": "relational", "layers": 3},
    "relational dim 64": {"family": "relational", "layers": 3, "dim": 64},
}
STATES_PER_STEP, PROBLEMS, TEACHER_SECONDS = 64, 12, 10.0
FIGURES = ("solved", "of", "expansions")
Rows = dict[tuple[str, str, int], dict]


class Bench:
    def __init__(self, options: argparse.Namespace, work: Path):
        self.options, self.work = options, work
        self.track = toy_training_data(work / "toy") / "paper" if options.quick else options.track.resolve()

    def configurations(self) -> dict[tuple[str, str, int], Settings]:
        """Seed by seed and choice by choice, so that what is done at any time can be compared."""
        return {
            (choice, domain, seed): self.configuration(choice, domain, seed)
            for seed in self.options.seeds
            for choice in self.options.choices
            for domain in self.options.domains
        }

    def configuration(self, choice: str, domain: str, seed: int) -> Settings:
        out = self.work / "models" / domain / f"{choice.replace(' ', '-')}-seed{seed}.safetensors"
        settings: Settings = {"seed": seed, "out": str(out), "steps": self.options.steps}
        settings |= {"states_per_step": STATES_PER_STEP, "validation_instances": PROBLEMS}
        settings |= {"validate_every": self.options.steps}
        if domain in OWN:
            settings |= {"domain": domain, "data": str(self.work / "data" / domain)}
            settings |= {"teacher": TEACHERS[domain], "teacher_time": TEACHER_SECONDS}
        else:
            settings["domain"] = str(self.track / domain.removeprefix(PREFIX))
        return TrainConfig(
            **settings | CHOICES[BASE] | CHOICES[choice] | (QUICK if self.options.quick else {})
        ).as_json()


def train(bench: Bench) -> None:
    train_all(list(bench.configurations().values()), bench.options.jobs)


def report(bench: Bench) -> None:
    results, steps = bench.options.results, bench.options.steps
    rows = {} if results is None else {key: row for key, row in rows_of(results).items() if row["steps"] == steps}
    for (choice, domain, seed), config in bench.configurations().items():
        if is_trained(config):
            seen = Model.load(config["out"]).metadata["figures"]
            row = {"choice": choice, "domain": domain, "seed": seed, "steps": steps}
            row |= {name: seen[f"validation_{name}"] for name in FIGURES} | {"seconds": seen["seconds"]}
            rows[choice, domain, seed] = row
    kept = [rows[key] for key in sorted(rows, key=order)]
    head = (
        f"{bench.options.steps:,} steps of {STATES_PER_STEP} states, the default configuration, 32 wide, but for what "
        f"is named; GBFS, 5 s and 1,000 expansions for each validation problem; {machine()}."
    )
    lines = ["# Which defaults", "", head, "", *summary(rows), "", DOMAINS_TITLE, "", *by_domain(rows)]
    write(bench.options.results, "defaults", lines, kept)


def rows_of(results: Path) -> Rows:
    """What the results have."""
    file = results / "defaults.json"
    rows = json.loads(file.read_text()) if file.is_file() else []
    return {(row["choice"], row["domain"], row["seed"]): row for row in rows}


def order(key: tuple[str, str, int]) -> tuple[int, int, int]:
    choice, domain, seed = key
    return list(CHOICES).index(choice), DOMAINS.index(domain), seed


def choices_in(rows: Rows) -> list[str]:
    return [choice for choice in CHOICES if any(key[0] == choice for key in rows)]


def summary(rows: Rows) -> list[str]:
    """Each choice against the base, on the same domains and seeds."""
    lines = []
    for choice in choices_in(rows):
        keys = [key for key in sorted(rows, key=order) if key[0] == choice]
        base = [(BASE, domain, seed) for _, domain, seed in keys]
        pairs = [(rows[one], rows[other]) for one, other in zip(keys, base, strict=True) if other in rows]
        if pairs:
            lines.append([choice, *summary_of(pairs)])
    header = ["choice", "trainings", "problems", "solved", f"{BASE}'s", f"expansions / {BASE}'s", f"seconds / {BASE}'s"]
    return markdown(header, lines)


def summary_of(pairs: list[tuple[dict, dict]]) -> list[str]:
    """Expansions are compared where both trainings solve all problems."""
    mine, base = ([pair[i] for pair in pairs] for i in (0, 1))
    both = [(a, b) for a, b in pairs if a["solved"] == b["solved"] == a["of"]]
    ratios = [a["expansions"] / b["expansions"] for a, b in both]
    seconds = [a["seconds"] / b["seconds"] for a, b in pairs]
    totals = [sum(row["of"] for row in base), *(sum(row["solved"] for row in some) for some in (mine, base))]
    return [str(len(pairs)), *map(str, totals), *(geometric(values) for values in (ratios, seconds))]


def geometric(values: list[float]) -> str:
    return f"{statistics.geometric_mean(values):.2f}" if values else "-"


DOMAINS_TITLE = "Problems solved, the mean of the seeds:"


def by_domain(rows: Rows) -> list[str]:
    choices = choices_in(rows)
    lines = []
    for domain in [domain for domain in DOMAINS if any(key[1] == domain for key in rows)]:
        here = {choice: [row for key, row in rows.items() if key[:2] == (choice, domain)] for choice in choices}
        count = next(row["of"] for some in here.values() for row in some)
        means = [f"{statistics.fmean(row['solved'] for row in some):.1f}" if some else "-" for some in here.values()]
        lines.append([domain, str(count), *means])
    return markdown(["domain", "problems", *choices], lines)


STAGES = {"train": train, "report": report}


def seeds(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


def main() -> None:
    parser = script.parser(__doc__)
    parser.add_argument("--track", type=Path, metavar="FOLDER", help="the learning track's domains, see above")
    parser.add_argument("--choices", type=script.names(list(CHOICES)), default=list(CHOICES), metavar="NAME,…")
    parser.add_argument("--domains", type=script.names(DOMAINS), default=list(DOMAINS), metavar="NAME,…")
    parser.add_argument("--seeds", type=seeds, default=[0, 1, 2], metavar="N,…")
    parser.add_argument("--steps", type=int, default=1_000, help="of each training")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    script.add_stages(parser, STAGES, "planrank-defaults")
    quick = {"choices": [BASE, "layers 1"], "domains": ["track/ferry"], "seeds": [0], "steps": QUICK["steps"]}
    options = script.parse(parser, "track", quick=quick | {"jobs": 1, "work": None})
    with script.folder_for(options.work) as work:
        script.run_stages(STAGES, options.stage, Bench(options, work))


if __name__ == "__main__":
    script.run(main)
