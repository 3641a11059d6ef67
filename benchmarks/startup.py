"""How long does it take until planrank answers? Cold processes, against `import torch` and an empty Python.

    python benchmarks/startup.py [--repeats N]

Writes results/startup.{md,json}.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import script
from tables import machine, markdown, write

from planrank import paths
from planrank.console import Progress
from planrank.parallel.pool import Job, Pool

HOME = paths.shared() / "domains" / "blocksworld"
COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "import torch": ["-c", "import torch"],
    "planrank --help": ["-m", "planrank", "--help"],
    "planrank doctor": ["-m", "planrank", "doctor"],
    "planrank solve": ["-m", "planrank", "solve", HOME / "domain.pddl", HOME / "example.pddl", "--plan-file", "-"],
}
CALLS = 5000


def main() -> None:
    parser = script.parser(__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    options = script.parse(parser, quick={"repeats": 1})
    repeats, unmeasured = options.repeats, 0 if options.quick else 1  # the first turn fills the caches of the disk
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    bridge = []
    with Progress("turns", repeats + unmeasured) as progress:
        for turn in range(repeats + unmeasured):
            taken = {name: seconds_of(command) for name, command in COMMANDS.items()}
            ((_, answer),) = Pool(1).map([Job("startup:bridge_seconds", {})])
            if answer.error is not None:
                raise answer.error
            if turn >= unmeasured:
                bridge.append(answer.value)
                for name, seconds in taken.items():
                    times[name].append(seconds)
            progress.advance()
    median = {name: statistics.median(values) for name, values in times.items()}
    rows = rows_of(median, *(statistics.median(column) for column in zip(*bridge, strict=True)))
    shown = [[what, f"{value:.2f} {unit}".strip(), f"{bar} {unit}".strip()] for what, value, bar, unit in rows]
    lines = ["# Start-up", "", f"Medians of {repeats} interleaved cold runs; {machine()}.", ""]
    figures = {"median_seconds": median, "rows": {what: value for what, value, _, _ in rows}}
    write(options.results, "startup", [*lines, *markdown(["what", "measured", "bar"], shown)], figures)


def seconds_of(arguments: list) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    return time.perf_counter() - started


def bridge_seconds() -> list[float]:
    """A job: seconds until Julia is ready, of a call without arguments, and of one with an array of 1,000 numbers."""
    started = time.perf_counter()
    from planrank import julia

    julia.module()
    ready = time.perf_counter() - started
    import numpy as np

    numbers = np.ones(1000, np.float32)
    address = julia.lend(numbers, np.float32)
    return [ready, seconds_of_call(julia.call, "julia_version"), seconds_of_call(julia.call, "sum_of", *address)]


def seconds_of_call(function: Callable, *arguments: object) -> float:
    for _ in range(100):
        function(*arguments)
    started = time.perf_counter()
    for _ in range(CALLS):
        function(*arguments)
    return (time.perf_counter() - started) / CALLS


def rows_of(
    median: dict[str, float], julia: float, small_call: float, array_call: float
) -> list[tuple[str, float, float, str]]:
    """What, how much, the bar, the unit."""
    return [
        ("doctor / import torch", median["planrank doctor"] / median["import torch"], 2.0, ""),
        ("--help minus empty Python", median["planrank --help"] - median["python -c pass"], 0.35, "s"),
        ("solve minus --help", median["planrank solve"] - median["planrank --help"], 1.0, "s"),
        ("start of Julia", julia, 1.5, "s"),
        ("a call without arguments", 1e6 * small_call, 20, "µs"),
        ("a call with an array of 1,000", 1e6 * array_call, 20, "µs"),
        ("solve with a model, all of it", median["planrank solve"], 1.0, "s"),
    ]


if __name__ == "__main__":
    script.run(main)
