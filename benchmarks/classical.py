"""How many problems does GBFS with hFF solve in a few seconds, the whole process counted? planrank and Fast Downward.

    python benchmarks/classical.py --instances FOLDER … [--search lazy] [--seconds 5] [--jobs 2] [--every N]

A FOLDER holds a folder for each domain, with its domain file and its problems; the two planners take turns. With
`--search lazy` both put off evaluations and prefer helpful actions. Writes results/classical.{md,json}, or
results/lazy.{md,json}.
"""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import NamedTuple

import script
from peers import ANSWER, peer_runs
from tables import machine, markdown, write
from toy import toy_problems

from planrank.console import Progress
from planrank.evaluation.runs import Row, key_of, run_missing, runs
from planrank.evaluation.tables import trouble
from planrank.parallel.pool import Pool
from planrank.problems import fast_downward
from planrank.problems.folders import Instance, find_instances
from planrank.search.guides import Guide


class Comparison(NamedTuple):
    peer: str
    results: str
    title: str


COMPARISONS = {
    "gbfs": Comparison("FD GBFS-hFF", "classical", "GBFS with hFF"),
    "lazy": Comparison("FD lazy-hFF", "lazy", "Lazy greedy search with hFF and its helpful actions"),
}
MEANS = {"total_seconds": "mean seconds", "plan_length": "mean plan length", "expanded": "mean expansions"}


def main() -> None:
    parser = script.parser(__doc__)
    parser.add_argument("--instances", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--search", choices=COMPARISONS, default="gbfs")
    parser.add_argument("--seconds", type=float, default=5, help="for each process")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="of more than N problems take one in N")
    options = script.parse(parser, "instances")
    fast_downward.driver()  # if it is missing, that is said now
    with script.folder_for(None) as scratch:
        folders = [toy_problems(scratch)] if options.quick else options.instances
        instances = {
            place.name if len(folders) == 1 else f"{folder.name}/{place.name}": one_in(options.every, place)
            for folder in folders
            for place in sorted({file.parent for file in folder.glob("*/*domain*.pddl")})
        }
        rows = run_all(instances, options.search, options.seconds, options.jobs)
    peer, results, title = COMPARISONS[options.search]
    planners = {"ff": "planrank", peer: "Fast Downward"}  # by the name of their guide
    figures = [figures_of(domain, *planner, rows[domain]) for domain in rows for planner in planners.items()]
    head = f"{options.seconds:g} s of wall time for the whole process, {options.jobs} at a time"
    head += f", one problem in {options.every} of larger sets" if options.every > 1 else ""
    note = "planrank leaves out steps of its plans that the goal does not need, Fast Downward does not."
    lines = [f"# {title}", "", f"{head}; {machine()}. Means are over the problems solved. {note}", ""]
    header = ["domain", "planner", "solved", *MEANS.values()]
    lines += markdown(header, map(line_of, figures), left=2)
    for planner in planners.values():
        mine = [one for one in figures if one["planner"] == planner]
        solved, problems = (sum(one[name] for one in mine) for name in ("solved", "problems"))
        lines += ["", f"{planner} solves {solved} of {problems}."]
    write(options.results, results, lines + trouble(row for some in rows.values() for row in some), figures)


def one_in(n: int, place: Path) -> list[Instance]:
    found = find_instances(place)
    return found[::n] if len(found) > n else found


def run_all(instances: dict[str, list[Instance]], search: str, seconds: float, jobs: int) -> dict[str, list[Row]]:
    """The rows of each domain."""
    settings = {"time_limit": seconds, "memory_limit": None, "batch": 1, "cold": True}
    wanted: dict[str, list[Row]] = {}
    for domain, problems in instances.items():
        ours = runs(problems, [Guide.of_heuristic("ff")], [search], settings)
        theirs = peer_runs(problems, [COMPARISONS[search].peer], seconds)
        wanted[domain] = [run for pair in zip(ours, theirs, strict=True) for run in pair]
    everything = [run for some in wanted.values() for run in some]
    with Progress("runs", len(everything)) as progress:
        done = run_missing(everything, ANSWER, Pool(jobs), None, lambda *_: progress.advance())
    return {domain: [done[key_of(run)] for run in some] for domain, some in wanted.items()}


def figures_of(domain: str, guide: str, planner: str, rows: list[Row]) -> dict:
    mine = [row for row in rows if row["guide"] == guide]
    solved = [row for row in mine if row["status"] == "solved"]
    means = {name: statistics.fmean(row[name] for row in solved) if solved else None for name in MEANS}
    return {"domain": domain, "planner": planner, "problems": len(mine), "solved": len(solved)} | means


def line_of(one: dict) -> list[str]:
    means = ["-" if one[name] is None else f"{one[name]:.2f}" for name in MEANS]
    return [one["domain"], one["planner"], f"{one['solved']} of {one['problems']}", *means]


if __name__ == "__main__":
    script.run(main)
