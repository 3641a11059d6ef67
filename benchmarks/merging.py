"""Of actions that differ only in objects that nothing tells apart, is it worth looking at one?

    python benchmarks/merging.py --instances FOLDER --models FOLDER [--domains childsnack,spanner] [--count 3]

FOLDER has the learning track's domains, and models, NAME.safetensors, are those that benchmarks/track.py has trained.
Random problems about as large as the track's hard ones (track_large.py) are solved by `dive` with the model of the
domain, and by lazy search with hFF, with and without merging, each for at most --seconds in a process that is warm: how
many are solved, how many actions the first states have, expansions and seconds. Only domains count that have such
objects. Writes results/merging.{md,json}.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

import script
from coverage_tables import mean_of, per_step, solved
from tables import machine, markdown, write
from toy import toy_problems
from track import DOMAINS
from track_large import make_large

from planrank import Search, load, solve
from planrank.console import Progress
from planrank.problems.folders import Instance, find_instances

HEADER = ["domain", "guide", "merged", "problems", "solved", "actions at first", "expansions per step", "seconds"]
LAZY = "lazy, hFF"


def main() -> None:
    parser = script.parser(__doc__)
    parser.add_argument("--instances", type=Path, metavar="FOLDER")
    parser.add_argument("--models", type=Path, metavar="FOLDER")
    parser.add_argument("--domains", type=script.names(DOMAINS), default=list(DOMAINS), metavar="NAME,…")
    parser.add_argument("--count", type=int, default=3, help="problems of each domain")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each problem")
    options = script.parse(parser, "instances", "models", quick={"domains": ["ferry"], "count": 1, "seconds": 5.0})
    figures = []
    with script.folder_for(None) as scratch, Progress("domains", len(options.domains)) as progress:
        for domain in options.domains:
            figures += figures_of(domain, problems(domain, options, scratch), options)
            progress.advance()
    head = f"{options.seconds:g} s for each problem; {machine()}. Means over what is solved; actions: the median."
    lines = ["# One of the actions that are alike", "", head, "", *markdown(HEADER, map(line_of, figures), left=3)]
    write(options.results, "merging", lines, figures)


def problems(domain: str, options: argparse.Namespace, scratch: Path) -> list[Instance]:
    if options.quick:
        return find_instances(toy_problems(scratch) / domain)[: options.count]
    return make_large(domain, options.instances / domain / "domain.pddl", scratch / domain, options.count)


def figures_of(domain: str, instances: list[Instance], options: argparse.Namespace) -> list[dict]:
    counts = {merge: [first_actions(one, merge) for one in instances] for merge in (True, False)}
    if counts[True] == counts[False] and not options.quick:
        return []
    model = None if options.quick else options.models / f"{domain}.safetensors"
    guides = {LAZY: {"search": "lazy", "heuristic": "ff"}}
    if model is not None and model.is_file():
        guides["model"] = {"search": "dive", "model": model}
    found = []
    for guide, settings in guides.items():
        for merge, actions in counts.items():
            rows = [row_of(one, settings | {"merge": merge}, options.seconds) for one in instances]
            found.append({"domain": domain, "guide": guide, "merge": merge, "actions": actions, "rows": rows})
    return found


def first_actions(instance: Instance, merge: bool) -> int:
    search = Search(load(instance.domain, instance.problem), "lazy", merge=merge)
    search.expand()
    return len(search.applicable().values)


def row_of(instance: Instance, settings: dict, seconds: float) -> dict:
    started = time.time()
    told = solve(instance.domain, instance.problem, time_limit=seconds, **settings).as_json()
    return {name: told[name] for name in ("status", "plan_length", "expanded")} | {"seconds": time.time() - started}


def line_of(one: dict) -> list[str]:
    rows = one["rows"]
    per, seconds = per_step(rows), mean_of(rows, "seconds")
    return [
        one["domain"],
        one["guide"],
        "yes" if one["merge"] else "no",
        str(len(rows)),
        str(len(solved(rows))),
        f"{statistics.median(one['actions']):,.0f}",
        "-" if per is None else f"{per:.2f}",
        "-" if seconds is None else f"{seconds:.1f}",
    ]


if __name__ == "__main__":
    script.run(main)
