"""How many states a second does the search see? planrank against Fast Downward and pymimir, in the same run.

    python benchmarks/search.py --instances FOLDER [--seconds S] [--repeats N] [--only NAME,…]

FOLDER holds `<domain>/domain.pddl` with problems beside it. Blind search counts generated states, hFF and LM-cut
evaluated ones; each program is given the same seconds of search, after parsing and grounding. Rates are for a second of
processor time, which is what Fast Downward reports, so that a busy machine favours nobody. Writes
results/search.{md,json}.
"""

from __future__ import annotations

import statistics
from pathlib import Path

import script
from searchers import Figures, Request, fast_downward_in, planrank, pymimir
from tables import machine, markdown, write
from toy import toy_set

from planrank.console import Progress
from planrank.errors import PlanrankError
from planrank.problems import fast_downward

INSTANCES = [
    "blocks/probBLOCKS-17-0",
    "driverlog/p15",
    "logistics98/prob20",
    "n-puzzle/n-puzzle-4x4-s1237",
    "pipesworld-notankage/p30-net3-b20-g8",
    "satellite/p20-pfile20",
    "visitall-sat11-strips/problem20",
    "zenotravel/p15",
]
COUNTED = {"blind": "generated", "ff": "evaluated", "lmcut": "evaluated"}
PROGRAMS = ["planrank", "Fast Downward", "pymimir"]
BARS = {
    ("blind", "Fast Downward"): 0.7,
    ("blind", "pymimir"): 1.5,
    ("ff", "Fast Downward"): 1.0,
    ("lmcut", "Fast Downward"): 0.7,
}
BYTES_BAR = 40

# Rates by heuristic, instance and program.
Rates = dict[str, dict[str, dict[str, float | None]]]


def main() -> None:
    parser = script.parser(__doc__)
    parser.add_argument("--instances", type=Path, metavar="FOLDER")
    parser.add_argument("--seconds", type=float, default=3, help="for each search")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", type=script.names(COUNTED), default=list(COUNTED), metavar="NAME,…")
    options = script.parse(parser, "instances", quick={"seconds": 0.2, "repeats": 1})
    fast_downward.driver()  # if it is missing, that is said now
    with script.folder_for(None) as scratch:
        problems = toy_problem(scratch) if options.quick else problems_in(options.instances.resolve())
        requests = requests_for(problems, options.only, options.seconds, options.repeats)
        runs = run(requests, scratch)
    rates, extra_bytes = medians(runs, problems, options.only)
    ratios = {heuristic: ratios_of(by_instance) for heuristic, by_instance in rates.items()}
    runs_made = f"medians of {options.repeats} interleaved runs of {options.seconds:g} s"
    lines = ["# Search speed", "", f"{runs_made}; rates for a second of processor time; {machine()}.", ""]
    for heuristic, by_instance in rates.items():
        lines += [*table_of(heuristic, by_instance, ratios[heuristic]), ""]
    if extra_bytes:
        lines.append(f"Memory: packed state + {max(extra_bytes):.1f} bytes for each state at most, bar {BYTES_BAR}.")
    figures = {"states_per_second": rates, "ratios": ratios, "extra_bytes_per_state": extra_bytes}
    write(options.results, "search", lines, figures)


def problems_in(folder: Path) -> dict[str, Path]:
    found = {name: folder / f"{name}.pddl" for name in INSTANCES}
    for problem in found.values():
        if not problem.is_file():
            raise PlanrankError("there is no such file", file=str(problem))
    return found


def toy_problem(folder: Path) -> dict[str, Path]:
    (made,) = toy_set("npuzzle", folder / "toy", 1, "side=4")
    return {"4x4 puzzle": made.problem}


def requests_for(
    problems: dict[str, Path], heuristics: list[str], seconds: float, repeats: int
) -> list[tuple[str, Request]]:
    """Each with the name of its problem, in the order in which they are run."""
    return [
        (name, Request(str(problem.with_name("domain.pddl")), str(problem), heuristic, seconds))
        for heuristic in heuristics
        for name, problem in problems.items()
        for _ in range(repeats)
    ]


def run(requests: list[tuple[str, Request]], folder: Path) -> list[tuple[str, str, dict[str, Figures | None]]]:
    """Heuristic, instance and what each program said. The programs take turns: each runs when its answer is wanted."""
    asked = [request for _, request in requests]
    programs = zip(planrank(asked), fast_downward_in(folder, asked), pymimir(asked), strict=True)
    found = []
    with Progress("runs", len(requests)) as progress:
        for (name, request), answers in zip(requests, programs, strict=True):
            found.append((request.heuristic, name, dict(zip(PROGRAMS, answers, strict=True))))
            progress.advance()
            progress.show(f"{request.heuristic} {name}")
    return found


def medians(runs: list, problems: dict[str, Path], heuristics: list[str]) -> tuple[Rates, list[float]]:
    """Of the rates, and of the bytes for each state of the blind searches."""
    rates: Rates = {}
    extra_bytes = []
    for heuristic in heuristics:
        rates[heuristic] = {}
        for name in problems:
            mine = [answers for h, n, answers in runs if (h, n) == (heuristic, name)]
            by_program = {program: [answers[program] for answers in mine] for program in PROGRAMS}
            rates[heuristic][name] = {p: median_of(found, COUNTED[heuristic]) for p, found in by_program.items()}
            if heuristic == "blind":
                extra_bytes.append(median_of(by_program["planrank"], "extra_bytes") or 0)
    return rates, extra_bytes


def median_of(runs: list[Figures | None], key: str) -> float | None:
    values = [run[key] for run in runs if run is not None]
    return statistics.median(values) if values else None


def ratios_of(by_instance: dict[str, dict[str, float | None]]) -> dict[str, float]:
    """planrank's rate over that of each other program: the geometric mean of the instances where both have one."""
    found = {}
    for other in PROGRAMS[1:]:
        pairs = [(rates["planrank"], rates[other]) for rates in by_instance.values()]
        known = [ours / theirs for ours, theirs in pairs if ours and theirs]
        if known:
            found[other] = statistics.geometric_mean(known)
    return found


def table_of(heuristic: str, by_instance: dict[str, dict[str, float | None]], ratios: dict[str, float]) -> list[str]:
    lines = []
    for name, rates in by_instance.items():
        lines.append([name, *("" if rates[program] is None else f"{rates[program]:,.0f}" for program in PROGRAMS)])
    told = [""]
    for program in PROGRAMS[1:]:
        bar = BARS.get((heuristic, program))
        told.append(f"{ratios[program]:.2f}" + (f" (bar {bar})" if bar else "") if program in ratios else "")
    lines.append(["planrank / this, geometric mean", *told])
    return markdown([f"{heuristic}: {COUNTED[heuristic]} states/s", *PROGRAMS], lines)


if __name__ == "__main__":
    script.run(main)
