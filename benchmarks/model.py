"""How much faster is the deduplicated network than the same network written plainly, in training and in search?

    python benchmarks/model.py [--repeats N] [--geometric FOLDER] [--wlplan-python PYTHON]

The default network, but ranking states; a training step also with one and with three layers. One core, one process,
seconds of the processor rather than of the clock; whatever is compared takes turns, medians count. Compared with, all
with the same weights and values (benchmarks/model_baselines.py):
 - plain: PyTorch over all facts and actions of all states, index tensors made once, outside of what is timed;
 - torch-geometric: HeteroConv of SAGEConv, where it is installed (`--geometric` names a folder that holds it).
The peer in scoring is wlplan, with WL features of two iterations, run by another Python (`--wlplan-python`). Writes
results/model.{md,json}.
"""

from __future__ import annotations

import statistics
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import script
from tables import machine, markdown, write

from planrank import Architecture
from planrank.console import Progress
from planrank.parallel.pool import Job, Pool
from planrank.runtime.rehearsal import rehearse

DEFAULT = Architecture().layers
LAYERS = (DEFAULT, *(layers for layers in (1, 2, 3) if layers != DEFAULT))
EXAMPLES = ["blocks 10", "ferry l4-c4", "3x3 puzzle", "elevators s8", "spanner 10-10-10"]
SCORED = ["blocks 15", "elevators s10"]
FORMS = ["plain", "torch-geometric", "wlplan"]
# Of the paper's kind, as far as it can be written for the peers.
NETWORK: dict[str, Any] = {
    "dim": 32,
    "rank": "states",
    "receivers": "effects",
    "value": "pooled",
    "pooling": ("sum", "max"),
    "distances": False,
    "relaxed": False,
}
HEADER = ["what", "on", "layers", "planrank", *FORMS]


def main() -> None:
    parser = script.parser(__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--wlplan-python", metavar="PYTHON", help="interpreter that has wlplan")
    parser.add_argument("--geometric", metavar="FOLDER", help="holds torch_geometric, if this Python does not have it")
    options = script.parse(parser, quick={"repeats": 1})
    # Workers can import what this process can import.
    sys.path += [str(Path(__file__).parent.parent / "tests"), *([options.geometric] if options.geometric else [])]
    jobs = quick_jobs() if options.quick else all_jobs(options.repeats, options.wlplan_python)
    figures: dict[str, list[dict]] = {"training": [], "mixed": [], "scoring": []}
    with Progress("measurements", len(jobs)) as progress:
        for number, answer in Pool(1, "model:prepare").map([job for _, job in jobs]):
            if answer.error is not None:
                raise answer.error
            figures[jobs[number][0]].append(answer.value)
            progress.advance()
    write(options.results, "model", report(figures, options.repeats), figures)


def prepare() -> None:
    """What the worker does first; as everywhere, Julia must be running before torch is imported."""
    rehearse()
    import model_scoring  # noqa: F401
    import model_training  # noqa: F401


def all_jobs(repeats: int, wlplan: str | None) -> list[tuple[str, Job]]:
    """Each with the part of the figures it belongs to."""
    timing = {"repeats": repeats, "seconds": 0.1}
    jobs = [training_job(name, layers, timing) for layers in LAYERS for name in EXAMPLES]
    jobs.append(("mixed", Job("model_training:measure_mixed", {"instances": 60, "passes": 6})))
    jobs += [batch_job(name, 1000, timing, wlplan) for name in SCORED]
    return jobs + [expansions_job(name, 200, timing) for name in EXAMPLES + SCORED]


def quick_jobs() -> list[tuple[str, Job]]:
    timing = {"repeats": 1, "seconds": 0.0}
    jobs = [training_job(name, DEFAULT, timing) for name in ("blocks 5", "elevators s3")]
    jobs.append(("mixed", Job("model_training:measure_mixed", {"instances": 4, "passes": 1})))
    return [*jobs, batch_job("blocks 5", 20, timing, None), expansions_job("elevators s3", 5, timing)]


def training_job(name: str, layers: int, timing: dict) -> tuple[str, Job]:
    return "training", Job("model_training:measure", {"name": name, "layers": layers} | timing)


def batch_job(name: str, size: int, timing: dict, wlplan: str | None) -> tuple[str, Job]:
    question = {"name": name, "layers": DEFAULT, "size": size, "wlplan": wlplan} | timing
    return "scoring", Job("model_scoring:measure_batch", question)


def expansions_job(name: str, count: int, timing: dict) -> tuple[str, Job]:
    question = {"name": name, "layers": DEFAULT, "count": count} | timing
    return "scoring", Job("model_scoring:measure_expansions", question)


def report(figures: dict[str, list[dict]], repeats: int) -> list[str]:
    missing = "" if find_spec("torch_geometric") else " torch-geometric is not installed."
    guides = {row["task"]: row["guide"] for row in figures["scoring"]}
    return [
        "# The deduplicated network against the same network written plainly",
        "",
        f"Layers of {NETWORK['dim']}, receivers {NETWORK['receivers']}; one core, seconds of the processor, medians of "
        f"{repeats} turns; {machine()}, PyTorch {version('torch')}. Under each baseline: how many times as fast as it "
        f"planrank is; in 'plain' all index tensors are made beforehand, outside of what is timed.{missing} States "
        f"scored are those of A*: {', '.join(f'{task} with {guide}' for task, guide in guides.items())}.",
        "",
        *markdown(HEADER, training_lines(figures["training"]) + mixed_lines(figures["mixed"]), left=2),
        *markdown(HEADER, scoring_lines(figures["scoring"]), left=2)[2:],
    ]


def step_ratio(rows: list[dict], form: str, layers: int = DEFAULT) -> float | None:
    """How many times as fast a training step is as that of a baseline: the geometric mean of the examples."""
    ratios = [
        r["seconds"][form] / r["seconds"]["planrank"] for r in rows if r["layers"] == layers and form in r["seconds"]
    ]
    return statistics.geometric_mean(ratios) if ratios else None


def times(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.2f}"


def training_lines(rows: list[dict]) -> list[list[str]]:
    """The examples with the default network; means for the others, and what building an example costs."""
    lines = []
    for row in [row for row in rows if row["layers"] == DEFAULT]:
        ratios = [times(step_ratio([row], form)) for form in FORMS]
        what = [f"{row['example']}, {row['states']} states", str(DEFAULT)]
        lines.append(["a training step", *what, f"{1000 * row['seconds']['planrank']:.1f} ms", *ratios])
    for layers in sorted({row["layers"] for row in rows}, key=lambda n: n != DEFAULT):
        mine = [row["seconds"] for row in rows if row["layers"] == layers]
        step, building = (1000 * statistics.geometric_mean(s[key] for s in mine) for key in ("planrank", "building"))
        ratios = [times(step_ratio(rows, form, layers)) for form in FORMS]
        lines.append(["a training step", "geometric mean", str(layers), f"{step:.1f} ms", *ratios])
        lines.append(["building an example, once", "geometric mean", str(layers), f"{building:.1f} ms", "", "", ""])
    return lines


def mixed_lines(rows: list[dict]) -> list[list[str]]:
    lines = []
    for row in rows:
        ours, plain = row["minutes"]["planrank"], row["minutes"]["plain"]
        on = f"blocks 3 to 10, from {row['steps']} steps"
        lines.append(["10,000 steps and building", on, str(DEFAULT), f"{ours:.2f} min", times(plain / ours), "", ""])
    return lines


def scoring_lines(rows: list[dict]) -> list[list[str]]:
    lines = []
    for row in rows:
        rates, on = row["rates"], [row["task"], str(row["layers"])]
        ways = {"planrank": f"{row['states']:,} new states in one batch"}
        ways["planrank, after others"] = f"the same, after {4 * row['states']:,} others of the search"
        if row["way"] == "expansions":
            ways = {"planrank": f"{row['states']:,} states, expansion by expansion"}
        for key, what in ways.items():
            ratios = [times(rates[key] / rates[form] if form in rates else None) for form in FORMS]
            lines.append([what, *on, f"{rates[key]:,.0f} states/s", *ratios])
    return lines


if __name__ == "__main__":
    script.run(main)
