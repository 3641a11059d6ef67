"""What benchmarks/model.py found, as tables with the bars beside the figures."""

from __future__ import annotations

import math
import os
import platform
import statistics
from importlib.metadata import version

STEP_BARS, WORST_STEP_BAR = {1: 4.0, 2: 2.0, 3: 1.3}, 0.95
BUILDING_BAR, MINUTES_BAR = 20.0, 5.0
SCORING_BARS = {"batch": 8.0, "expansions": 4.0, "fifteens": 4.0}  # for blocks 15
WAYS = {
    "batch, fresh": "{batch} states in one batch, none met before",
    "batch, after others": "{batch} states in one batch, after {before} of the same search",
    "batch, again": "the same {batch} states once more",
    "expansions": "{expansions} expansions one by one, {successors:.1f} new states each",
    "fifteens": "{fifteens} times the next 15 new states of the search",
}


def geometric_mean(values: list[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, values)))


def at_least(value: float, bar: float) -> str:
    return f"{value:.3f} ({'met' if value >= bar else 'not met'})"


def at_most(value: float, bar: float) -> str:
    return f"{value:.2f} ({'met' if value <= bar else 'not met'})"


def table(header: list[str], rows: list[list[str]]) -> list[str]:
    lines = ["| " + " | ".join(header) + " |", "|---" + "|---:" * (len(header) - 1) + "|"]
    return lines + ["| " + " | ".join(row) + " |" for row in rows] + [""]


def forms_of(row: dict) -> list[str]:
    return [form for form in row["seconds"] if form not in ("planrank", "building")]


def ratio(row: dict, form: str) -> float:
    return row["seconds"][form] / row["seconds"]["planrank"]


def training_lines(rows: list[dict]) -> list[str]:
    forms = forms_of(rows[0])
    lines = ["## A training step: how many times faster than each baseline", ""]
    body = []
    for row in rows:
        shown = [f"{ratio(row, form):.2f}" for form in forms]
        milliseconds = f"{1000 * row['seconds']['planrank']:.2f}"
        body.append([row["example"], str(row["layers"]), str(row["states"]), milliseconds, *shown])
    lines += table(["Example", "layers", "states", "planrank ms", *forms], body)
    body = []
    for layers, bar in STEP_BARS.items():
        own = [row for row in rows if row["layers"] == layers]
        means = [at_least(geometric_mean([ratio(row, form) for row in own]), bar) for form in forms]
        body.append([f"{layers} layer(s), geometric mean", f"≥ {bar}", *means])
    worst = {form: min(rows, key=lambda row: ratio(row, form)) for form in forms}
    shown = [
        f"{at_least(ratio(row, form), WORST_STEP_BAR)} {row['example']}, {row['layers']}" for form, row in worst.items()
    ]
    body.append(["worst example, layers", f"≥ {WORST_STEP_BAR}", *shown])
    lines += table(["Ratio to", "bar", *forms], body)
    lines += ["## Building an example, in training steps of each baseline", ""]
    body = []
    for layers in STEP_BARS:
        own = [row for row in rows if row["layers"] == layers]
        units = {form: {r["example"]: r["seconds"]["building"] / r["seconds"][form] for r in own} for form in forms}
        shown = []
        for found in units.values():
            most = max(found, key=found.get)
            mean = geometric_mean(list(found.values()))
            shown.append(f"{mean:.1f}, at most {at_most(found[most], BUILDING_BAR)} {most}")
        body.append([f"{layers} layer(s)", f"≤ {BUILDING_BAR:g}", *shown])
    return lines + table(["Geometric mean and worst", "bar", *forms], body)


def mixed_lines(mixed: dict) -> list[str]:
    counted = f"{mixed['steps']} real steps over {mixed['instances']} instances"
    ours, theirs = mixed["planrank_minutes"], mixed["plain_minutes"]
    return [
        "## 10,000 steps, 2 layers of 8, blocks of 3 to 10",
        "",
        f"{at_most(ours, MINUTES_BAR)} minutes, bar ≤ {MINUTES_BAR:g}; extrapolated from {counted}, "
        f"with {mixed['building_seconds']:.2f} s to build the examples once. "
        f"The plain form: {theirs:.2f} minutes, {theirs / ours:.2f} times as long.",
        "",
    ]


def scoring_lines(rows: list[dict]) -> list[str]:
    lines = ["## Scoring in search, 2 layers of 8, no gradient: states a second", ""]
    for row in rows:
        rates = row["rates"]
        forms = [form for form in rates if form not in ("planrank", "wlplan")]
        barred = row["task"].startswith("blocks")
        body = []
        for way, text in WAYS.items():
            ours, bar = rates["planrank"][way], SCORING_BARS[way.split(",")[0]]
            cells = [f"{row['task']}: {text.format(before=4 * row['batch'], **row)}", f"{ours:,.0f}"]
            for form in forms:
                theirs = rates[form][way.split(",")[0]]
                times = at_least(ours / theirs, bar) if barred else f"{ours / theirs:.2f}"
                cells.append(f"{theirs:,.0f}: {times}")
            peer = rates.get("wlplan", {}).get("one by one")
            cells.append(f"{peer:,.0f}: {ours / peer:.2f}" if peer else "not installed")
            body.append([*cells, f"≥ {bar:g}" if barred else ""])
        lines += table(["States", "planrank", *(f"{form}: times" for form in [*forms, "wlplan"]), "bar"], body)
    return [
        *lines,
        "wlplan (WL features of 2 iterations) scores the states of the batch one by one in every row. "
        "The states are those of A* with " + ", ".join(f"{r['guide']} on {r['task']}" for r in rows) + ".",
        "",
    ]


def paying_lines(rows: list[dict]) -> list[str]:
    lines = ["## Where deduplication pays in search: plain / planrank, successors of one expansion after another", ""]
    body = []
    for task in dict.fromkeys(row["task"] for row in rows):
        own = [row for row in rows if row["task"] == task]
        counts = [own[0]["guide"], f"{own[0]['successors']:.1f}"]
        body.append([task, *counts, *(f"{row['ratio']:.2f}" for row in own)])
    return lines + table(["Task", "A* with", "new states each", *(f"{n} layer(s)" for n in STEP_BARS)], body)


def report(figures: dict, repeats: str) -> list[str]:
    missing = "" if "torch-geometric" in figures["training"][0]["seconds"] else " torch-geometric is not installed."
    lines = [
        "# The deduplicated network against the same network written plainly",
        "",
        f"One core, seconds of the processor, {repeats}, all in one run; {platform.machine()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, PyTorch {version('torch')}. Ratios are baseline / planrank: above 1 "
        f"planrank is faster.{missing}",
        "",
        "plain has tables by predicate and schema; wide a place for every pair of schema and head at every fact; "
        "reference is tests/plain_network.py as it is. Verdicts on the bars are given against each.",
        "",
    ]
    lines += training_lines(figures["training"]) + mixed_lines(figures["mixed"])
    lines += scoring_lines(figures["scoring"]) + paying_lines(figures["paying"])
    return lines[:-1]
