"""Which should be the default, ranking actions or states? Both are trained alike and compared on validation problems.

    python benchmarks/ranks.py --track FOLDER [--domains ferry,track/ferry] [--seeds 3] [--steps 1000] [--jobs 2]

The domains are planrank's own six of the paper's kind, with their standard sets, and the ten in FOLDER, the learning
track's (`track/NAME`), with what lies in training/ and validation/ there; no test problem is read. A step looks at 64
states whatever is ranked, or a step of ranking states would take seconds in some domains. Each validation problem is
searched for at most 5 s and 1,000 expansions by GBFS in this process. Models are kept in the folder --work and are not
trained again.
"""

from __future__ import annotations

import argparse
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
RANKS = ("actions", "states")
STATES_PER_STEP, PROBLEMS, TEACHER_SECONDS = 64, 12, 10.0


class Bench:
    def __init__(self, options: argparse.Namespace, work: Path):
        self.options, self.work = options, work
        self.track = toy_training_data(work / "toy") / "paper" if options.quick else options.track.resolve()

    def configurations(self, domain: str) -> list[Settings]:
        found = []
        for seed in range(self.options.seeds):
            for rank in RANKS:
                out = self.work / "models" / domain / f"{rank}-seed{seed}.safetensors"
                settings: Settings = {"rank": rank, "seed": seed, "out": str(out), "steps": self.options.steps}
                settings |= {"states_per_step": STATES_PER_STEP, "validation_instances": PROBLEMS}
                settings |= {"validate_every": self.options.steps}
                if domain in OWN:
                    settings |= {"domain": domain, "data": str(self.work / "data" / domain)}
                    settings |= {"teacher": TEACHERS[domain], "teacher_time": TEACHER_SECONDS}
                else:
                    settings["domain"] = str(self.track / domain.removeprefix(PREFIX))
                found.append(TrainConfig(**settings | (QUICK if self.options.quick else {})).as_json())
        return found


def train(bench: Bench) -> None:
    """Seed by seed, so that what is done at any time can be compared."""
    by_domain = [bench.configurations(domain) for domain in bench.options.domains]
    train_all([one for turn in zip(*by_domain, strict=True) for one in turn], bench.options.jobs)


def report(bench: Bench) -> None:
    figures = []
    for domain in bench.options.domains:
        for rank in RANKS:
            trained = [one for one in bench.configurations(domain) if one["rank"] == rank and is_trained(one)]
            seen = [Model.load(one["out"]).metadata["figures"] for one in trained]
            if seen:
                columns = {name: [one[f"validation_{name}"] for one in seen] for name in ("solved", "of", "expansions")}
                figures.append({"domain": domain, "rank": rank, "seconds": [one["seconds"] for one in seen]} | columns)
    header = ["domain", "problems", "seeds", *(f"{what}, {rank}" for what in HEADINGS for rank in RANKS)]
    lines = [line_of(domain, figures) for domain in dict.fromkeys(one["domain"] for one in figures)]
    total = {rank: sum(statistics.fmean(one["solved"]) for one in figures if one["rank"] == rank) for rank in RANKS}
    lines.append(["all", "", "", *(f"{total[rank]:.1f}" for rank in RANKS), "", "", "", ""])
    head = (
        f"{bench.options.steps:,} steps of {STATES_PER_STEP} states, the default configuration but for what is ranked; "
        f"GBFS, 5 s and 1,000 expansions for each validation problem; {machine()}. Means over the seeds: problems "
        "solved, expansions, those on unsolved problems too, and seconds of the training and the validation after it."
    )
    write(bench.options.results, "ranks", ["# The default: actions or states", "", head, "",
                                           *markdown(header, lines)], figures)  # fmt: skip


HEADINGS = {"solved": "{:.1f}", "expansions": "{:,.0f}", "seconds": "{:.0f}"}


def line_of(domain: str, figures: list[dict]) -> list[str]:
    by_rank = {one["rank"]: one for one in figures if one["domain"] == domain}
    some = next(iter(by_rank.values()))
    cells = [
        style.format(statistics.fmean(by_rank[rank][what])) if rank in by_rank else "-"
        for what, style in HEADINGS.items()
        for rank in RANKS
    ]
    return [domain, str(some["of"][0]), str(min(len(one["of"]) for one in by_rank.values())), *cells]


STAGES = {"train": train, "report": report}


def main() -> None:
    parser = script.parser(__doc__)
    parser.add_argument("--track", type=Path, metavar="FOLDER", help="the learning track's domains, see above")
    parser.add_argument("--domains", type=script.names(DOMAINS), default=list(DOMAINS), metavar="NAME,…")
    parser.add_argument("--seeds", type=int, default=3, metavar="N")
    parser.add_argument("--steps", type=int, default=1_000, help="of each training")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    script.add_stages(parser, STAGES, "planrank-ranks")
    quick = {"domains": ["track/ferry"], "seeds": 1, "steps": QUICK["steps"], "jobs": 1, "work": None}
    options = script.parse(parser, "track", quick=quick)
    with script.folder_for(options.work) as work:
        script.run_stages(STAGES, options.stage, Bench(options, work))


if __name__ == "__main__":
    script.run(main)
