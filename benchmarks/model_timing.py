"""What the two halves of benchmarks/model.py share: its problems, and how seconds are taken."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import torch

from planrank import load, paths, solve
from planrank.errors import PlanrankError
from planrank.problems.random_problems import GENERATORS
from planrank.task import Task

# What each problem is called, its domain and its size.
PROBLEMS = {
    "blocks 10": ("blocksworld", {"blocks": 10}),
    "ferry l4-c4": ("ferry", {"locations": 4, "cars": 4}),
    "3x3 puzzle": ("npuzzle", {"side": 3}),
    "elevators s8": ("elevators", {"passengers": 8}),
    "spanner 10-10-10": ("spanner", {"nuts": 10, "locations": 10, "spanners": 10}),
    "blocks 15": ("blocksworld", {"blocks": 15}),
    "elevators s10": ("elevators", {"passengers": 10}),
    "blocks 5": ("blocksworld", {"blocks": 5}),
    "elevators s3": ("elevators", {"passengers": 3}),
}
SEED = 1


@dataclass(frozen=True)
class Timing:
    """So many turns, in each of which a method runs for at least so many seconds."""

    repeats: int
    seconds: float


def domain_file(kind: str) -> Path:
    return paths.shared() / "domains" / kind / "domain.pddl"


def problem_text(kind: str, size: dict[str, int], seed: int = SEED) -> str:
    return GENERATORS[kind](random.Random(seed), "benchmark", **size)


@lru_cache
def task_of(name: str) -> Task:
    kind, size = PROBLEMS[name]
    return load(domain_file(kind), problem_text(kind, size))


@lru_cache
def plan_of(name: str) -> tuple[str, ...]:
    kind, size = PROBLEMS[name]
    return plan_for(kind, problem_text(kind, size))


def plan_for(kind: str, text: str) -> tuple[str, ...]:
    """An optimal plan; in spanner, where heuristics that ignore deletes are blind, by the model that comes with it."""
    search, heuristic = ("gbfs", None) if kind == "spanner" else ("astar", "lmcut")
    found = solve(domain_file(kind), text, search, heuristic, time_limit=120)
    if found.plan is None:
        raise PlanrankError(f"a problem of {kind} has no plan: {found.reason}")
    return tuple(found.plan)


def spent(call: Callable[[], object]) -> float:
    """Seconds of the processor."""
    started = time.process_time()
    call()
    return time.process_time() - started


def timed(call: Callable[[], object]) -> Callable[[], float]:
    return lambda: spent(call)


def interleaved(methods: dict[str, Callable[[], float]], timing: Timing) -> dict[str, float]:
    """Median seconds of each method, which itself says what a call took; one call of each warms up."""
    for method in methods.values():
        method()
    turns: dict[str, list[float]] = {name: [] for name in methods}
    for _ in range(timing.repeats):
        for name, method in methods.items():
            taken = [method()]
            while sum(taken) < timing.seconds:
                taken.append(method())
            turns[name].append(statistics.fmean(taken))
    return {name: statistics.median(values) for name, values in turns.items()}


def check_equal(form: str, expected: torch.Tensor, found: torch.Tensor) -> None:
    scale = expected.abs().max().clamp(min=1)
    if not torch.allclose(expected / scale, found / scale, atol=1e-4):
        apart = (expected - found).abs().max()
        raise PlanrankError(f"{form} computes other values than planrank: {apart:.3g} apart")
