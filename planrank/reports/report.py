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

    Rows that a benchmark has put together may say what they belong to: `series`, instead of the guide.
    """
    domains = domain_names({str(Path(row["domain"]).parent) for row in runs})
    models: dict[str, set[str | None]] = {}
    for row in runs:
        models.setdefault(row["guide"], set()).add(row["model_sha"])
    found = []
    for row in runs:
        guide = row.get("series") or row["guide"]
        if "series" not in row and len(models[guide]) > 1:
            guide = f"{guide} ({row['model'] or row['heuristic']})"
        place = {"domain": domains[str(Path(row["domain"]).parent)], "problem": Path(row["problem"]).stem}
        found.append(row | place | {"guide": guide})
    return found


def domain_names(folders: set[str]) -> dict[str, str]:
    """What is left of the folders of domains without the beginning that they share."""
    if len(folders) < 2:
        return {folder: Path(folder).name or folder for folder in folders}
    shared = os.path.commonpath(folders)
    return {folder: os.path.relpath(folder, shared) for folder in folders}
