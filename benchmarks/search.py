"""How many states a second does the search see? planrank against Fast Downward and pymimir, in the same run.

Usage: python benchmarks/search.py --instances FOLDER [--seconds S] [--repeats N] [--only NAME ...]

FOLDER holds `<domain>/domain.pddl` with problems beside it. Blind search counts generated states, hFF and LM-cut
evaluated ones; each program is given the same seconds of search, after parsing and grounding. Rates are for a second of
processor time, which is what Fast Downward reports, so that a busy machine favours nobody.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

RESULTS = Path(__file__).parent / "results"

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
WARM_UP = "gripper/prob20"
COUNTED = {"blind": "generated", "ff": "evaluated", "lmcut": "evaluated"}
SEARCHES = {"blind": "astar", "ff": "gbfs", "lmcut": "astar"}
FAST_DOWNWARD_SEARCHES = {
    "blind": "astar(blind(),max_time={})",
    "ff": "eager_greedy([ff()],max_time={})",
    "lmcut": "astar(lmcut(),max_time={})",
}
BARS = {
    ("blind", "fast downward"): 0.7,
    ("blind", "pymimir"): 1.5,
    ("ff", "fast downward"): 1.0,
    ("lmcut", "fast downward"): 0.7,
}
BYTES_BAR = 40

# Answers one line for each line `domain problem search heuristic seconds`.
PLANRANK_WORKER = """
import sys, time
from planrank import Heuristic, Search, load
from planrank.limits import Limits
for line in sys.stdin:
    domain, problem, search_name, heuristic_name, seconds = line.rstrip("\\n").split("\\t")
    task = load(domain, problem)
    search = Search(task, search_name, limits=Limits(memory=6 * 10**9))
    heuristic = Heuristic(task, heuristic_name)
    started = time.process_time()
    while search.run(heuristic) == "running" and time.process_time() - started < float(seconds):
        pass
    spent = time.process_time() - started
    seen = search.statistics()
    extra = seen.state_bytes / seen.states - 8 * task.words
    print(spent, seen.expanded, seen.evaluated, seen.generated, extra, flush=True)
    search.release()
"""

PYMIMIR_WORKER = """
import sys, time
from pymimir.advanced import formalism, search
domain, problem_file, heuristic_name, seconds = sys.argv[1:]
problem = formalism.Problem.create(domain, problem_file, formalism.ParserOptions())
grounder = search.LiftedGrounder(problem)
generator = grounder.create_grounded_applicable_action_generator(search.MatchTreeOptions())
repository = search.StateRepository.create(grounder.create_grounded_axiom_evaluator(search.MatchTreeOptions()))
context = search.SearchContext.create(problem, generator, repository)
blind = heuristic_name == "blind"
options = search.AStarEagerOptions() if blind else search.GBFSEagerOptions()
handler = search.DefaultAStarEagerEventHandler if blind else search.DefaultGBFSEagerEventHandler
options.event_handler = handler(problem, True)
options.max_time_in_ms = int(1000 * float(seconds))
heuristic = search.BlindHeuristic.create(problem) if blind else search.FFHeuristic.create(grounder)
find = search.find_solution_astar_eager if blind else search.find_solution_gbfs_eager
started = time.process_time()
find(context, heuristic, options)
spent = time.process_time() - started
seen = options.event_handler.get_statistics()
print("\\nmeasured", spent, seen.get_num_expanded(), repository.get_state_count(), seen.get_num_generated())
"""

Figures = dict[str, float]


def rates_of(seconds: float, expanded: float, evaluated: float, generated: float) -> Figures:
    return {"expanded": expanded / seconds, "evaluated": evaluated / seconds, "generated": generated / seconds}


class PlanRank:
    """One warm process; the only place that knows how planrank is asked."""

    def __init__(self, warm_up: tuple[Path, Path]) -> None:
        command = [sys.executable, "-c", PLANRANK_WORKER]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for heuristic in COUNTED:
            self.measure(*warm_up, heuristic, 0.5)

    def measure(self, domain: Path, problem: Path, heuristic: str, seconds: float) -> Figures:
        assert self.process.stdin and self.process.stdout
        words = (str(domain), str(problem), SEARCHES[heuristic], heuristic, str(seconds))
        self.process.stdin.write("\t".join(words) + "\n")
        self.process.stdin.flush()
        *counted, extra = map(float, self.process.stdout.readline().split())
        return {**rates_of(*counted), "extra_bytes": extra}


class FastDownward:
    def __init__(self, folder: Path) -> None:
        spec = importlib.util.find_spec("up_fast_downward")
        if spec is None or not spec.submodule_search_locations:
            raise SystemExit("Fast Downward is missing: pip install up-fast-downward fast-downward.translate")
        self.binary = Path(spec.submodule_search_locations[0]) / "downward/builds/release/bin/downward"
        self.folder = folder

    def measure(self, domain: Path, problem: Path, heuristic: str, seconds: float) -> Figures:
        translated = self.folder / f"{problem.parent.name}-{problem.stem}.sas"
        if not translated.exists():
            translate = [sys.executable, "-m", "fast_downward.translate", domain, problem, "--sas-file", translated]
            subprocess.run(translate, check=True, capture_output=True)
        with translated.open() as file:
            search = FAST_DOWNWARD_SEARCHES[heuristic].format(seconds)
            command = [self.binary, "--internal-plan-file", self.folder / "plan", "--search", search]
            log = subprocess.run(command, stdin=file, capture_output=True, text=True).stdout
        spent = float(re.findall(r"Search time: ([\d.]+)s", log)[-1])
        counted = (re.findall(rf"{word} (\d+) state", log)[-1] for word in ("Expanded", "Evaluated", "Generated"))
        return rates_of(spent, *map(float, counted))


class PyMimir:
    def measure(self, domain: Path, problem: Path, heuristic: str, seconds: float) -> Figures | None:
        if heuristic == "lmcut":
            return None
        command = [sys.executable, "-c", PYMIMIR_WORKER, domain, problem, heuristic, str(seconds)]
        try:
            log = subprocess.run(command, capture_output=True, text=True, timeout=10 * seconds + 60).stdout
        except subprocess.TimeoutExpired:
            return None
        found = re.search(r"^measured (.*)$", log, re.MULTILINE)
        if found is None:
            return None
        return rates_of(*map(float, found.group(1).split()))


def files(folder: Path, name: str) -> tuple[Path, Path]:
    problem = folder / f"{name}.pddl"
    if not problem.exists():
        raise SystemExit(f"{problem}: there is no such file")
    return problem.parent / "domain.pddl", problem


def median_of(runs: list[Figures | None], key: str) -> float | None:
    values = [run[key] for run in runs if run is not None]
    return statistics.median(values) if values else None


def geometric_mean(values: list[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, values)))


def table_of(
    heuristic: str, medians: dict[str, dict[str, float | None]], programs: list[str]
) -> tuple[list[str], dict[str, float]]:
    lines = [f"| {heuristic}: {COUNTED[heuristic]} states/s | " + " | ".join(programs) + " |"]
    lines.append("|---|" + "---:|" * len(programs))
    for name, rates in medians.items():
        shown = ["" if rates[p] is None else f"{rates[p]:,.0f}" for p in programs]
        lines.append(f"| {name} | " + " | ".join(shown) + " |")
    ratios = {}
    for other in programs[1:]:
        pairs = [(rates["planrank"], rates[other]) for rates in medians.values()]
        known = [ours / theirs for ours, theirs in pairs if ours and theirs]
        if known:
            ratios[other] = geometric_mean(known)
            bar = BARS.get((heuristic, other))
            wanted = f", bar {bar}" if bar else ""
            lines.append(f"\nplanrank / {other}: {ratios[other]:.2f} (geometric mean of {len(known)}{wanted})")
    return lines, ratios


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--instances", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=list(COUNTED), default=list(COUNTED))
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        programs = {
            "planrank": PlanRank(files(options.instances, WARM_UP)),
            "fast downward": FastDownward(Path(folder)),
            "pymimir": PyMimir(),
        }
        rates: dict[str, dict[str, dict[str, float | None]]] = {}
        extra_bytes = []
        for heuristic in options.only:
            rates[heuristic] = {}
            for name in INSTANCES:
                runs: dict[str, list[Figures | None]] = {program: [] for program in programs}
                asked = (*files(options.instances, name), heuristic, options.seconds)
                for _ in range(options.repeats):
                    for program, measurer in programs.items():
                        runs[program].append(measurer.measure(*asked))
                rates[heuristic][name] = {p: median_of(runs[p], COUNTED[heuristic]) for p in programs}
                if heuristic == "blind":
                    extra_bytes.append(median_of(runs["planrank"], "extra_bytes") or 0)
                print(heuristic, name, {p: r and round(r) for p, r in rates[heuristic][name].items()}, flush=True)

    runs_made = f"medians of {options.repeats} interleaved runs of {options.seconds:g} s"
    lines = [f"Search speed, {runs_made}; rates for a second of processor time.", ""]
    ratios = {}
    for heuristic, medians in rates.items():
        table, ratios[heuristic] = table_of(heuristic, medians, list(programs))
        lines += [*table, ""]
    if extra_bytes:
        lines.append(f"Memory: packed state + {max(extra_bytes):.1f} bytes for each state at most, bar {BYTES_BAR}.")
    print("\n".join(lines))
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "search.md").write_text("\n".join(lines) + "\n")
    figures = {"states_per_second": rates, "ratios": ratios, "extra_bytes_per_state": extra_bytes}
    (RESULTS / "search.json").write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
