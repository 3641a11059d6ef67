"""The page of `planrank report`: what it says of runs, trainings and improvements, as its scripts want it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from planrank.evaluation.runs import Row
from planrank.reports.page import write_page
from planrank.reports.results import Results, read_results

COLUMNS = (
    "domain", "problem", "guide", "search", "status", "reason", "expanded", "evaluated", "generated", "plan_length",
    "plan_cost", "total_seconds", "time_limit", "peak_kb", "instance_sha",
)  # fmt: skip
SCRIPTS = ("tables.js", "runs.js", "run_charts.js", "trainings.js", "improvements.js", "report.js")
ROUND_COLUMNS = (
    "round", "seconds", "size", "solved", "of", "by", "expanded", "steps", "budget", "loss", "better", "plans", "which",
    "held_out_size", "held_out_level", "held_out_solved", "held_out_of", "held_out_expansions", "held_out_plan_steps",
)  # fmt: skip
LOG_COLUMNS = ("step", "seconds", "loss", "zero_one", "solved", "of", "expansions", "plan_steps")


def report(sources: Sequence[str | Path], out: str | Path, title: str = "planrank report") -> Results:
    """Write a page about these results; what was read for it."""
    results = read_results(map(Path, sources))
    write_page(Path(out), title, page_data(results), *SCRIPTS)
    return results


def page_data(results: Results) -> dict[str, Any]:
    return {
        "notices": results.notices,
        "documents": results.documents,
        "columns": COLUMNS,
        "runs": [[row.get(name) for name in COLUMNS] for row in named(results.runs)],
        "log_columns": LOG_COLUMNS,
        "trainings": {
            name: [[row.get(column) for column in LOG_COLUMNS] for row in rows]
            for name, rows in results.trainings.items()
        },
        "round_columns": ROUND_COLUMNS,
        "improvements": {
            name: [[row.get(column) for column in ROUND_COLUMNS] for row in rows]
            for name, rows in results.improvements.items()
        },
    }


def named(runs: Sequence[Row]) -> list[Row]:
    """Runs with short names: of domains as far as they tell them apart, of guides with their files where they must.

    Rows that a benchmark has put together may say what they belong to: `series`, instead of the guide. Where every
    domain has a model of its own, these are one guide.
    """
    domains = domain_names({str(Path(row["domain"]).parent) for row in runs})
    models: dict[str, set[str | None]] = {}
    for row in runs:
        models.setdefault(row["guide"], set()).add(row["model_sha"])
    alike = models_of_domains(runs)
    found = []
    for row in runs:
        guide = row.get("series") or alike.get(row["model_sha"]) or row["guide"]
        if guide == row["guide"] and len(models[guide]) > 1:
            guide = f"{guide} ({row['model'] or row['heuristic']})"
        place = {"domain": domains[str(Path(row["domain"]).parent)], "problem": Path(row["problem"]).stem}
        found.append(row | place | {"guide": guide})
    return found


def models_of_domains(runs: Sequence[Row]) -> dict[str, str]:
    """What several models are called together by their digests, if each domain has one of its own; else nothing."""
    asked = {(row["domain"], row["model_sha"]) for row in runs if row["model_sha"] and not row.get("series")}
    domains, models = {domain for domain, _ in asked}, {sha for _, sha in asked}
    if len(models) < 2 or not len(asked) == len(domains) == len(models):
        return {}
    return dict.fromkeys(models, "the domain's model")


def domain_names(folders: set[str]) -> dict[str, str]:
    """As much of the end of each folder's name as tells them apart."""
    parts = {folder: [part for part in Path(folder).parts if part != os.sep] for folder in folders}
    longest = max(map(len, parts.values()), default=0)
    for kept in range(1, longest + 1):
        names = {folder: "/".join(some[-kept:]) or folder for folder, some in parts.items()}
        if len({*names.values()}) == len(folders):
            return names
    return {folder: folder for folder in folders}
