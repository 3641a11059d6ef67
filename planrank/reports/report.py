"""The page of `planrank report`: what it says of runs and trainings, as its scripts want it."""

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
LOG_COLUMNS = ("step", "seconds", "loss", "zero_one", "solved", "of", "expansions", "plan_steps")


def report(sources: Sequence[Path], out: Path, title: str = "planrank report") -> Results:
    """Write a page about these results; what was read for it."""
    results = read_results(sources)
    write_page(out, title, page_data(results), "tables.js", "report.js")
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
