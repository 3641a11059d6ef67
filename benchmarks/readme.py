"""Writes the tables of figures in README.md from benchmarks/results/*.json.

    python benchmarks/readme.py [--check]

A table stands between `<!-- figures NAME -->` and `<!-- end of figures -->`. With --check nothing is written; the exit
code is 1 if a table differs from the results.
"""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import defaults
import grounding
import model
import script
from coverage_tables import SEARCH_NAMES
from tables import RESULTS, markdown

from planrank.errors import PlanrankError
from planrank.files import write_text

README = Path(__file__).parent.parent / "README.md"
BLOCK = re.compile(r"(<!-- figures ([\w-]+) -->\n).*?(<!-- end of figures -->)", re.DOTALL)


def main() -> None:
    parser = script.parser(__doc__, results=False)
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    options = parser.parse_args()
    if options.quick:
        print("\n\n".join("\n".join(lines()) for lines in BLOCKS.values()))
        return
    before = README.read_text()
    after = filled(before)
    if options.check and before != after:
        raise PlanrankError("tables of figures differ from benchmarks/results; run `make readme`", file=str(README))
    if before != after:
        write_text(README, after)


def filled(text: str) -> str:
    """The README with the tables as they should be."""
    places = [found[2] for found in BLOCK.finditer(text)]
    if sorted(places) != sorted(BLOCKS):
        raise PlanrankError(f"found places for the figures {places}, expected {list(BLOCKS)}", file=str(README))
    return BLOCK.sub(lambda found: "\n".join([found[1] + "\n".join(BLOCKS[found[2]]()), found[3]]), text)


def result(name: str) -> Any:
    return json.loads((RESULTS / f"{name}.json").read_text())


def figure(value: float) -> str:
    """Two digits behind the point, three where there is nothing before it."""
    return f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def speed() -> list[str]:
    """A line for each comparison; what stands in the line before is not repeated."""
    lines: list[list[str]] = []
    last = ["", "", ""]
    for what, against, value, file in grounding_lines() + search_lines() + model_lines() + startup_lines():
        lines.append(["" if what == last[0] else what, against, value, "" if file == last[2] else file])
        last = [what, against, file]
    return markdown(["", "against", "ratio", "script"], lines, left=2)


def grounding_lines() -> list[list[str]]:
    titles = {"translator": "Fast Downward's translator", "pymimir": "pymimir's lifted grounder"}
    found = []
    for peer, title in titles.items():
        ratio = statistics.geometric_mean(grounding.ratios_to(peer, result("grounding")).values())
        found.append(["parse and ground, seconds (smaller is better)", title, figure(ratio), "grounding.py"])
    return found


def search_lines() -> list[list[str]]:
    titles = {"blind": "blind search, generated states per second", "ff": "hFF, evaluations per second"}
    titles["lmcut"] = "LM-cut, evaluations per second"
    figures = result("search")
    found = []
    for heuristic, title in titles.items():
        found += [[title, peer, figure(ratio), "search.py"] for peer, ratio in figures["ratios"][heuristic].items()]
    most = max(figures["extra_bytes_per_state"])
    return [*found, ["memory of a stored state", "the packed state", f"+ {most:.1f} bytes", "search.py"]]


FORM_TITLES = {
    "plain": "the same network in plain PyTorch",
    "torch-geometric": "the same network in torch-geometric",
    "wlplan": "wlplan (C++, WL features)",
}


def model_lines() -> list[list[str]]:
    """With the default network."""
    figures = result("model")
    found = []
    for form, title in FORM_TITLES.items():
        if (ratio := model.step_ratio(figures["training"], form)) is not None:
            found.append(["a training step", title, figure(ratio), "model.py"])
    for row in [row for row in figures["scoring"] if row["layers"] == model.DEFAULT and row["task"] in model.SCORED]:
        how = "in one batch" if row["way"] == "batch" else "expansion by expansion"
        what = f"scoring {row['states']:,} states of {row['task']} {how}"
        for form in [form for form in FORM_TITLES if form in row["rates"]]:
            ratio = row["rates"]["planrank"] / row["rates"][form]
            found.append([what, FORM_TITLES[form], figure(ratio), "model.py"])
    return found


def startup_lines() -> list[list[str]]:
    rows = result("startup")["rows"]
    ratio, more = figure(rows["doctor / import torch"]), f"+ {rows['solve minus --help']:.2f} s"
    lines = [["cold `planrank doctor`, seconds (smaller is better)", "`import torch`", ratio, "startup.py"]]
    lines.append(["cold `planrank solve` of the example", "`planrank --help`", more, "startup.py"])
    seconds: dict[str, dict[str, float]] = {}
    for row in result("classical"):
        seconds.setdefault(row["domain"], {})[row["planner"]] = row["total_seconds"]
    ratios = [by_planner["planrank"] / by_planner["Fast Downward"] for by_planner in seconds.values()]
    what = "cold `planrank solve` with GBFS and hFF, seconds (smaller is better)"
    return [*lines, [what, "Fast Downward", figure(statistics.geometric_mean(ratios)), "classical.py"]]


def cells_of(figures: dict[str, list]) -> list[str]:
    share = 100 * statistics.fmean(done / of for done, of in zip(figures["solved"], figures["runs"], strict=True))
    means = [mean_of(figures["expansions_per_step"], ",.2f"), mean_of(figures["plan_length"], ".1f")]
    return [f"{share:.1f} %".replace(".0 %", " %"), *means]


def mean_of(values: list[float | None], form: str) -> str:
    known = [value for value in values if value is not None]
    return f"{statistics.fmean(known):{form}}" if known else "-"


def ranking() -> list[str]:
    """L* against L2: runs solved, of all seeds together."""
    found = result("coverage")
    seeds, lines = len(found["conditions"]["seeds"]), []
    for one in found["order"]:
        compared, tested = one["runs"][0] // seeds, found["test"][one["domain"]]["problems"]
        where = f"{compared} of {tested}"
        counts = [f"{done} of {runs}" for done, runs in zip(one["solved"], one["runs"], strict=True)]
        per_step = [f"{value:,.2f}" for value in one["per_step_where_both"]]
        lines.append([one["domain"], SEARCH_NAMES[one["search"]], where, *counts, *per_step])
    header = ["", "search", "test problems compared", "runs solved, L*", "L2"]
    return markdown([*header, "expansions per step where both solve, L*", "L2"], lines, left=2)


def actions() -> list[str]:
    """Models that rank actions beside those that rank states: what is solved, and evaluations for each step."""
    rows: dict[tuple[str, str], dict[str, dict[str, list]]] = {}
    for one in result("actions"):
        rows.setdefault((one["problems"], one["domain"]), {})[one["guide"]] = one
    lines, shown = [], ("actions", "states", "LAMA-first")
    for (size, domain), guides in rows.items():
        cells = [cell for guide in shown for cell in solved_and_evaluated(guides[guide])]
        lines.append([f"{domain}, {size}", str(guides["actions"]["runs"][0]), *cells])
    names = [f"{guide}: {what}" for guide in shown for what in ("solved", "evaluations")]
    return markdown(["", "problems", *names], lines)


def solved_and_evaluated(figures: dict[str, list]) -> list[str]:
    return [cells_of(figures)[0], mean_of(figures["evaluations_per_step"], ",.2f")]


def choices() -> list[str]:
    """Of each choice that was tried, what it solves beside the default."""
    return defaults.summary(defaults.rows_of(RESULTS))


BLOCKS: dict[str, Callable[[], list[str]]] = {
    "speed": speed,
    "actions": actions,
    "ranking": ranking,
    "choices": choices,
}


if __name__ == "__main__":
    script.run(main)
