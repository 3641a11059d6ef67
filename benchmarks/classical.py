"""How many problems does GBFS with hFF solve in a few seconds, the whole process counted? planrank and Fast Downward.

Usage: python benchmarks/classical.py --instances FOLDER [--seconds 5] [--jobs 2] [--every N]

FOLDER holds `<domain>/domain.pddl` with problems beside it.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


def planrank_command(domain: Path, problem: Path, folder: Path, seconds: float) -> list:
    limit = ["--time-limit", seconds, "--plan-file", folder / "plan"]
    return [sys.executable, "-m", "planrank", "solve", domain, problem, "--search", "gbfs", "--heuristic", "ff", *limit]


def fast_downward_command(domain: Path, problem: Path, folder: Path, seconds: float) -> list:
    driver = Path(importlib.util.find_spec("up_fast_downward").origin).parent / "downward/fast-downward.py"
    files = ["--sas-file", folder / "sas", "--plan-file", folder / "plan"]
    return [sys.executable, driver, *files, domain, problem, "--search", "eager_greedy([ff()])"]


COMMANDS = {"planrank": planrank_command, "fast downward": fast_downward_command}


def attempt(planner: str, domain: Path, problem: Path, seconds: float) -> dict:
    """One cold process; solved means that it has ended with a plan before the clock has."""
    with tempfile.TemporaryDirectory() as folder:
        command = [str(part) for part in COMMANDS[planner](domain, problem, Path(folder), seconds)]
        started = time.monotonic()
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, cwd=folder)
        except subprocess.TimeoutExpired:
            return {"solved": False}
        spent = time.monotonic() - started
    if done.returncode in (1, 2, *range(30, 40)):
        raise SystemExit(f"{planner} does not run: {done.stdout[-500:]}{done.stderr[-500:]}")
    length = re.search(r"Plan length: (\d+) step", done.stdout)
    if length is None:
        return {"solved": False}
    expanded = re.search(r"Expanded (\d+) state", done.stdout)
    return {"solved": True, "seconds": spent, "length": int(length[1]), "expanded": int(expanded[1])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--instances", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--every", type=int, default=1, help="take only every so manyth problem")
    options = parser.parse_args()

    rows = []
    for domain in sorted(options.instances.resolve().glob("*/domain.pddl")):
        problems = sorted(p for p in domain.parent.glob("*.pddl") if p != domain)[:: options.every]
        runs = [(planner, domain, problem, options.seconds) for problem in problems for planner in COMMANDS]
        with ThreadPoolExecutor(options.jobs) as pool:
            outcomes = list(pool.map(lambda run: attempt(*run), runs))
        for planner in COMMANDS:
            mine = [o for run, o in zip(runs, outcomes, strict=True) if run[0] == planner]
            solved = [o for o in mine if o["solved"]]
            figures = {"domain": domain.parent.name, "planner": planner, "problems": len(mine), "solved": len(solved)}
            for key in ("seconds", "length", "expanded"):
                figures[key] = statistics.mean(o[key] for o in solved) if solved else None
            rows.append(figures)
            print(figures, flush=True)

    table = ["| domain | planner | solved | mean seconds | mean plan length | mean expansions |", "|---" * 6 + "|"]
    for r in rows:
        means = " | ".join("" if r[k] is None else f"{r[k]:.2f}" for k in ("seconds", "length", "expanded"))
        table.append(f"| {r['domain']} | {r['planner']} | {r['solved']} of {r['problems']} | {means} |")
    head = f"GBFS with hFF, {options.seconds:g} s of wall time for the whole process, {options.jobs} at a time"
    head += f", one problem in {options.every}.\n\n" if options.every > 1 else ".\n\n"
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "classical.md").write_text(head + "\n".join(table) + "\n")
    (RESULTS / "classical.json").write_text(json.dumps(rows, indent=1) + "\n")
    print("\n".join(table))


if __name__ == "__main__":
    main()
