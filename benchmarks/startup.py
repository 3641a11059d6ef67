"""How long does it take until planrank answers? Cold processes, against `import torch` and an empty Python.

Usage: python benchmarks/startup.py [--repeats N]
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
EXAMPLE = Path(__file__).parent.parent / "domains/blocksworld"

COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "import torch": ["-c", "import torch"],
    "planrank --help": ["-m", "planrank", "--help"],
    "planrank doctor": ["-m", "planrank", "doctor"],
    "planrank solve": [
        "-m",
        "planrank",
        "solve",
        f"{EXAMPLE}/domain.pddl",
        f"{EXAMPLE}/example.pddl",
        "--plan-file",
        "-",
    ],
}

# Prints seconds until juliacall is imported, and seconds of one call of each of two kinds.
BRIDGE = """
import time
started = time.perf_counter()
from planrank import julia
julia.module()
start = time.perf_counter() - started
import numpy as np
numbers = np.ones(1000, np.float32)
address = julia.lend(numbers, np.float32)
def one(function, *arguments):
    for _ in range(100): function(*arguments)
    started = time.perf_counter()
    for _ in range(5000): function(*arguments)
    return (time.perf_counter() - started) / 5000
print(start, one(julia.call, "julia_version"), one(julia.call, "sum_of", *address))
"""


def seconds(arguments: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7)
    repeats = parser.parse_args().repeats

    for arguments in COMMANDS.values():
        seconds(arguments)
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    bridge = []
    for _ in range(repeats):
        for name, arguments in COMMANDS.items():
            times[name].append(seconds(arguments))
        done = subprocess.run([sys.executable, "-c", BRIDGE], check=True, capture_output=True, text=True)
        bridge.append([float(x) for x in done.stdout.split()])

    median = {name: statistics.median(values) for name, values in times.items()}
    start, small_call, array_call = (statistics.median(column) for column in zip(*bridge, strict=True))
    rows = [
        ("doctor / import torch", median["planrank doctor"] / median["import torch"], 2.0, ""),
        ("--help minus empty Python", median["planrank --help"] - median["python -c pass"], 0.35, "s"),
        ("solve minus --help", median["planrank solve"] - median["planrank --help"], 1.0, "s"),
        ("start of Julia", start, 1.5, "s"),
        ("a call without arguments", 1e6 * small_call, 20, "µs"),
        ("a call with an array of 1,000", 1e6 * array_call, 20, "µs"),
    ]
    table = ["| what | measured | bar |", "|---|---|---|"]
    table += [f"| {what} | {value:.2f} {unit} | {bar} {unit} |" for what, value, bar, unit in rows]
    print("\n".join(table))
    RESULTS.mkdir(exist_ok=True)
    head = f"Start-up, medians of {repeats} interleaved cold runs, Python {platform.python_version()}.\n\n"
    (RESULTS / "startup.md").write_text(head + "\n".join(table) + "\n")
    figures = {"median_seconds": median, "rows": {what: value for what, value, _, _ in rows}}
    (RESULTS / "startup.json").write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
