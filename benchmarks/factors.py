"""Which choices in network and training matter? One at a time is changed, on the validation split.

    python benchmarks/factors.py --data FOLDER [--domains blocksworld,ferry] [--seeds 3] [--steps 1500] [--jobs 2]

FOLDER is that of benchmarks/coverage.py. The choices that the others are compared with are the defaults of `planrank
train` with what coverage.toml says of all domains. The last weights of each run are searched with, not the best ones
seen on the way, and the searches end after so many expansions, so that nothing depends on the clock. Rows are added to
a file in the folder --work and not made again. Results go to benchmarks/results/factors.{md,json}.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import statistics
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from tables import RESULTS, ending_in_one_sentence, markdown, names, spread, write
from training import DOMAINS, Trainer, job, parts_of, settings_of, trained

from planrank.commands.evaluate import spread as some_of
from planrank.config import TrainConfig
from planrank.datasets import in_rounds
from planrank.evaluation import answered
from planrank.journal import Journal, read_rows

BASE = "default"
FACTORS: dict[str, dict[str, object]] = {
    BASE: {},
    "receivers adds": {"receivers": "adds"},
    "receivers effects": {"receivers": "effects"},
    "mixing on": {"mixing": True},
    "mixing off": {"mixing": False},
    "pooling sum, max": {"pooling": ("sum", "max")},
    "pooling mean, max": {"pooling": ("mean", "max")},
    "messages mean, max": {"messages": ("mean", "max")},
    "messages sum, max": {"messages": ("sum", "max")},
    "layers 1": {"layers": 1},
    "layers 2": {"layers": 2},
    "layers 3": {"layers": 3},
    "dim 8": {"dim": 8},
    "dim 16": {"dim": 16},
    "dim 32": {"dim": 32},
    "residual on": {"residual": True},
    "residual off": {"residual": False},
    "loss lgbfs": {"loss": "lgbfs"},
    "learning rate held": {"anneal": False},
    "weight decay 0": {"weight_decay": 0.0},
    "20 training problems": {"max_instances": 20},
}
# What makes two rows the same.
KEY = ("domain", "settings", "search", "cap", "limit")


class Experimenter(Trainer):
    """Trains the model of a job unless it is there, and searches with it in a process of its own."""

    def answer(self, one: dict) -> dict:
        if not trained(one):
            answer = super().answer(one)
            if answer["status"] != "trained":
                return answer
        self.start([sys.executable, __file__, "--measure", json.dumps(one)], stderr=subprocess.PIPE)
        out, errors = self.process.communicate()
        if self.process.returncode != 0:
            return {"status": "failed", "reason": (errors.strip().splitlines() or ["no answer"])[-1]}
        return {"status": "measured", "tasks": json.loads(out)}


def measure(one: dict) -> list[list[int]]:
    """For every problem of the validation split: whether it is solved, expansions, steps of the plan."""
    from planrank.evaluation import evaluate_in_process
    from planrank.models import Model
    from planrank.task import load

    model, found = Model.load(one["out"]), []
    for instance in validation_problems(Path(one["domain"]), one["settings"], one["limit"]):
        task = load(instance.domain, instance.problem)
        tally = evaluate_in_process([task], model.scorer, one["search"], max_expansions=one["cap"])
        found.append([tally.solved, tally.expansions, tally.plan_steps])
    return found


def validation_problems(folder: Path, settings: dict, limit: int) -> list:
    return some_of(in_rounds(parts_of(folder, settings)["validation"]), limit)


def experiments(options: argparse.Namespace) -> list[dict]:
    """Every job; a choice that the default makes already is no factor."""
    base = settings_of(options.config) | {"steps": options.steps}
    # The searches of training are of no use here: one at the end, as short as can be.
    base |= {"validate_every": options.steps, "validation_instances": 1, "validation_expansions": 1}
    usual = TrainConfig(domain="any", **base)
    found = []
    for seed in range(options.seeds):
        for name in options.factors:
            if name != BASE and all(getattr(usual, key) == value for key, value in FACTORS[name].items()):
                continue
            for domain in options.domains:
                stem = f"{re.sub(r'[^a-z0-9.]+', '-', name)}-seed{seed}"
                # Steps are in the folder's name, so that runs of different lengths do not get in each other's way.
                out = options.work.resolve() / f"steps{options.steps}" / domain / f"{stem}.safetensors"
                folder = options.data.resolve() / DOMAINS[domain]
                one = job(out, folder, base | FACTORS[name] | {"seed": seed})
                terms = {"search": options.search, "cap": options.cap, "limit": options.limit}
                found.append(one | terms | {"factor": name, "name": domain, "seed": seed, "time_limit": None})
    return found


def key_of(one: dict) -> str:
    return json.dumps([one[name] for name in KEY], sort_keys=True)


def run(wanted: list[dict], file: Path, jobs: int) -> list[dict]:
    """The rows of all experiments, those that are missing made now. One that fails is told and left out."""
    done = {key_of(row): row for row in read_rows(file)}
    missing = [one for one in wanted if key_of(one) not in done]
    journal = Journal(file)
    with closing(answered(missing, Experimenter, jobs)) as answers:
        for count, row in enumerate(answers, 1):
            title = f"{count} of {len(missing)}  {row['name']}, {row['factor']}, seed {row['seed']}"
            if row["status"] != "measured":
                print(f"{title}: {row['reason']}", flush=True)
                continue
            row = {name: row[name] for name in (*KEY, "factor", "name", "seed", "tasks")}
            journal.add(row)
            done[key_of(row)] = row
            print(f"{title}: {sum(s for s, _, _ in row['tasks'])} of {len(row['tasks'])} solved", flush=True)
    return [done[key_of(one)] | one for one in wanted if key_of(one) in done]


def figures_of(rows: list[dict]) -> dict[str, list]:
    """A value for each seed; all_expansions counts the problems not solved too."""
    found: dict[str, list] = {"of": [], "solved": [], "expansions_per_step": [], "all_expansions": []}
    for row in sorted(rows, key=lambda row: row["seed"]):
        solved = [(expansions, steps) for done, expansions, steps in row["tasks"] if done]
        steps = sum(steps for _, steps in solved)
        found["of"].append(len(row["tasks"]))
        found["solved"].append(len(solved))
        found["expansions_per_step"].append(sum(e for e, _ in solved) / steps if steps else None)
        found["all_expansions"].append(sum(expansions for _, expansions, _ in row["tasks"]))
    return found


def ratio(mine: dict[str, list], base: dict[str, list]) -> float | None:
    """Expansions against those of the default, in the mean of the seeds."""
    pair = [statistics.fmean(one["all_expansions"]) for one in (mine, base)]
    return pair[0] / pair[1] if all(pair) else None


def report(rows: list[dict], options: argparse.Namespace) -> None:
    figures: dict[str, dict[str, dict]] = {}
    for name in options.factors:
        for domain in options.domains:
            mine = [row for row in rows if row["factor"] == name and row["name"] == domain]
            if mine:
                figures.setdefault(name, {})[domain] = figures_of(mine)
    lines = []
    for name, by_domain in figures.items():
        cells, ratios = [], []
        for domain in options.domains:
            one, base = by_domain.get(domain), figures.get(BASE, {}).get(domain)
            if one is None:
                cells.append("-")
                continue
            shares = [100 * done / of for done, of in zip(one["solved"], one["of"], strict=True)]
            cell = f"{statistics.fmean(shares):.0f} %, {spread(one['expansions_per_step'])}"
            if base is not None and (relative := ratio(one, base)) is not None:
                ratios.append(relative)
                cell += f", {relative:.2f}"
            cells.append(cell)
        lines.append([name, *cells, f"{math.exp(statistics.fmean(map(math.log, ratios))):.2f}" if ratios else "-"])
    counts = ", ".join(f"{d} {f['of'][0]}" for d, f in next(iter(figures.values()), {}).items())
    default = ", ".join(f"{key} {value}" for key, value in settings_of(options.config).items())
    head = (
        f"{options.steps:,} steps, {options.seeds} seeds, {options.search} with at most {options.cap:,} expansions; "
        f"problems of the validation split: {counts}. Default: that of `planrank train` with {default}. In each cell: "
        "solved, expansions per step of the plans found (mean of the seeds and, in brackets, the least to the most), "
        "and all expansions, those on unsolved problems too, against the default's. Last: the geometric mean of these "
        "ratios."
    )
    table = markdown(["changed", *options.domains, "expansions / default's"], lines)
    kept = {"steps": options.steps, "seeds": options.seeds, "search": options.search, "cap": options.cap}
    write(options.results, "factors", ["# One choice at a time", "", head, "", *table], kept | {"figures": figures})


def main() -> None:
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure(json.loads(sys.argv[2]))))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="labelled problems, as for coverage.py")
    parser.add_argument("--domains", type=names(DOMAINS), default=list(DOMAINS), metavar="NAME,…")
    parser.add_argument("--factors", type=lambda text: text.split(";"), default=list(FACTORS), metavar="NAME;…")
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="seeds 0 to N - 1")
    parser.add_argument("--steps", type=int, default=1500, help="of each training")
    parser.add_argument("--search", choices=["gbfs", "astar"], default="gbfs")
    parser.add_argument("--cap", type=int, default=1000, metavar="N", help="expansions for each problem")
    parser.add_argument("--limit", type=int, default=40, metavar="N", help="validation problems of each domain")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--work", type=Path, default=Path("planrank-factors"), help="models and rows are kept here")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the table goes here")
    parser.add_argument("--config", type=Path, default=Path(__file__).with_name("coverage.toml"), help="how to train")
    options = parser.parse_args()
    unknown = [name for name in options.factors if name not in FACTORS]
    if unknown:
        parser.error(f"unknown factor {unknown[0]!r}, expected {'; '.join(FACTORS)}")
    options.work.mkdir(parents=True, exist_ok=True)
    with ending_in_one_sentence():
        report(run(experiments(options), options.work / "factors.jsonl", options.jobs), options)


if __name__ == "__main__":
    main()
