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
import re
import statistics
from pathlib import Path

import script
from tables import markdown, spread, write
from toy import toy_training_data
from training import DOMAINS, QUICK, configuration, is_trained, parts_of, settings_of

from planrank import Model, TrainConfig, load
from planrank.console import Progress, say
from planrank.journal import Journal, read_rows
from planrank.learning.selection import searched
from planrank.learning.train import train_job
from planrank.parallel.pool import Job, Pool
from planrank.problems.splits import in_rounds
from planrank.problems.splits import spread as some_of

BASE = "default"
FACTORS: dict[str, dict[str, object]] = {
    BASE: {},
    "rank states": {"rank": "states"},
    "rank states, receivers effects": {"rank": "states", "receivers": "effects"},
    "rank states, receivers effects, pooling sum, max": {
        "rank": "states",
        "receivers": "effects",
        "value": "pooled",
        "pooling": ("sum", "max"),
    },
    "detours 0": {"detours": 0},
    "detours 2": {"detours": 2},
    "distances off": {"distances": False},
    "receivers adds": {"receivers": "adds"},
    "receivers effects": {"receivers": "effects"},
    "receivers all": {"receivers": "all"},
    "mixing on": {"mixing": True},
    "mixing off": {"mixing": False},
    "relaxed off": {"relaxed": False},
    "value sum": {"value": "sum"},
    "value pooled": {"value": "pooled"},
    "value pooled, relaxed off": {"value": "pooled", "relaxed": False},
    "value pooled by sum, max": {"value": "pooled", "pooling": ("sum", "max")},
    "messages mean, max": {"messages": ("mean", "max")},
    "messages sum, max": {"messages": ("sum", "max")},
    "layers 1": {"layers": 1},
    "layers 2": {"layers": 2},
    "layers 3": {"layers": 3},
    "dim 8": {"dim": 8},
    "dim 16": {"dim": 16},
    "dim 32": {"dim": 32},
    "residual on": {"residual": True},
    "residual off": {"residual": False, "value": "pooled"},
    "loss lgbfs": {"loss": "lgbfs"},
    "reduction steps": {"reduction": "steps"},
    "learning rate held": {"anneal": False},
    "weight decay 0": {"weight_decay": 0.0},
    "20 training problems": {"max_instances": 20},
}
# What makes two rows the same.
KEY = ("name", "settings", "search", "cap", "limit")


def experiments(options: argparse.Namespace, work: Path) -> list[dict]:
    """Everything to be trained and searched with; a choice that the default makes already is no factor."""
    base = settings_of(options.config) | {"steps": options.steps, "validate_every": options.steps}
    # The searches of training are of no use here: one at the end, as short as can be.
    base |= {"validation_instances": 1, "validation_expansions": 1}
    usual = TrainConfig(domain="any", **base)
    data = toy_training_data(work / "data") if options.quick else options.data.resolve()
    terms = {"search": options.search, "cap": options.cap, "limit": options.limit}
    found = []
    for seed in range(options.seeds):
        for factor in options.factors:
            if factor != BASE and all(getattr(usual, key) == value for key, value in FACTORS[factor].items()):
                continue
            stem = f"{re.sub(r'[^a-z0-9.]+', '-', factor)}-seed{seed}"
            settings = base | FACTORS[factor] | {"seed": seed}
            for name in options.domains:
                # Steps are in the folder's name, so that runs of different lengths do not get in each other's way.
                out = work / f"steps{options.steps}" / name / f"{stem}.safetensors"
                config = configuration(out, data / DOMAINS[name], settings)
                told = {"factor": factor, "name": name, "seed": seed, "settings": settings}
                found.append(told | terms | {"config": config})
    return found


def experiment(one: dict) -> list[list[int]]:
    """A job: train the model unless it is there; for every validation problem whether it is solved, expansions, steps
    of the plan."""
    config, found = one["config"], []
    if not is_trained(config):
        Path(config["out"]).parent.mkdir(parents=True, exist_ok=True)
        train_job(config)
    model, search = Model.load(config["out"]), one["search"]
    problems = in_rounds(parts_of(Path(config["domain"]), config)["validation"])
    for instance in some_of(problems, one["limit"]):
        task = load(instance.domain, instance.problem)
        figures = searched([task], model.scorer, search, rank=model.ranked_by(search), max_expansions=one["cap"])
        found.append([figures.solved, figures.expansions, figures.plan_steps])
    return found


def key_of(one: dict) -> str:
    return json.dumps([one[name] for name in KEY], sort_keys=True)


def run(wanted: list[dict], file: Path, processes: int) -> list[dict]:
    """The rows of all experiments, those that are missing made now. One that fails is left out, and that is said."""
    done = {key_of(row): row for row in read_rows(file)}
    missing = [one for one in wanted if key_of(one) not in done]
    journal = Journal(file)
    jobs = [Job("factors:experiment", {"one": one}) for one in missing]
    with Progress("experiments", len(missing)) as progress:
        for number, answer in Pool(processes).map(jobs):
            one = missing[number]
            title = f"{one['name']}, {one['factor']}, seed {one['seed']}"
            progress.advance()
            progress.show(title)
            if answer.error is not None:
                say(f"{title}: {answer.error}")
                continue
            row = {name: one[name] for name in (*KEY, "factor", "seed")} | {"tasks": answer.value}
            journal.add(row)
            done[key_of(row)] = row
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


def ratio(mine: dict[str, list], base: dict[str, list] | None) -> float | None:
    """Expansions against those of the default, in the mean of the seeds."""
    if base is None:
        return None
    pair = [statistics.fmean(one["all_expansions"]) for one in (mine, base)]
    return pair[0] / pair[1] if all(pair) else None


def line_of(factor: str, domains: list[str], figures: dict[str, dict[str, dict]]) -> list[str]:
    """A cell for each domain, and the geometric mean of the ratios to the default."""
    cells, ratios = [], []
    for domain in domains:
        one = figures[factor].get(domain)
        if one is None:
            cells.append("-")
            continue
        share = 100 * statistics.fmean(done / of for done, of in zip(one["solved"], one["of"], strict=True))
        relative = ratio(one, figures.get(BASE, {}).get(domain))
        beside = "" if relative is None else f", {relative:.2f}"
        cells.append(f"{share:.0f} %, {spread(one['expansions_per_step'])}{beside}")
        ratios += [] if relative is None else [relative]
    return [factor, *cells, f"{statistics.geometric_mean(ratios):.2f}" if ratios else "-"]


def report(rows: list[dict], options: argparse.Namespace) -> None:
    figures: dict[str, dict[str, dict]] = {}
    for factor in options.factors:
        for domain in options.domains:
            mine = [row for row in rows if row["factor"] == factor and row["name"] == domain]
            if mine:
                figures.setdefault(factor, {})[domain] = figures_of(mine)
    counts = ", ".join(f"{d} {f['of'][0]}" for d, f in next(iter(figures.values()), {}).items())
    default = ", ".join(f"{key} {value}" for key, value in settings_of(options.config).items())
    head = (
        f"{options.steps:,} steps, {options.seeds} seeds, {options.search} with at most {options.cap:,} expansions; "
        f"problems of the validation split: {counts}. Default: that of `planrank train` with {default}. In each cell: "
        "solved, expansions per step of the plans found (mean of the seeds and, in brackets, the least to the most), "
        "and all expansions, those on unsolved problems too, against the default's. Last: the geometric mean of these "
        "ratios."
    )
    lines = [line_of(factor, options.domains, figures) for factor in figures]
    table = markdown(["changed", *options.domains, "expansions / default's"], lines)
    kept = {"steps": options.steps, "seeds": options.seeds, "search": options.search, "cap": options.cap}
    write(options.results, "factors", ["# One choice at a time", "", head, "", *table], kept | {"figures": figures})


def parsed() -> argparse.Namespace:
    parser = script.parser(__doc__)
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="labelled problems, as for coverage.py")
    parser.add_argument("--domains", type=script.names(DOMAINS), default=list(DOMAINS), metavar="NAME,…")
    parser.add_argument("--factors", type=factor_names, default=list(FACTORS), metavar="NAME;…")
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="seeds 0 to N - 1")
    parser.add_argument("--steps", type=int, default=1500, help="of each training")
    parser.add_argument("--search", choices=["gbfs", "astar"], default="gbfs")
    parser.add_argument("--cap", type=int, default=1000, metavar="N", help="expansions for each problem")
    parser.add_argument("--limit", type=int, default=40, metavar="N", help="validation problems of each domain")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--work", type=Path, default=Path("planrank-factors"), help="models and rows are kept here")
    parser.add_argument("--config", type=Path, default=Path(__file__).with_name("coverage.toml"), help="how to train")
    quick = {"domains": ["ferry"], "factors": [BASE, "layers 1"], "seeds": 1, "limit": 2, "jobs": 1, "work": None}
    return script.parse(parser, "data", quick=quick | {"steps": QUICK["steps"], "cap": 100})


def factor_names(text: str) -> list[str]:
    found = text.split(";")
    unknown = [name for name in found if name not in FACTORS]
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown factor {unknown[0]!r}, expected {'; '.join(FACTORS)}")
    return found


def main() -> None:
    options = parsed()
    with script.folder_for(options.work) as work:
        report(run(experiments(options, work), work / "factors.jsonl", options.jobs), options)


if __name__ == "__main__":
    script.run(main)
