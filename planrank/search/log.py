"""The log of a search, in the lines that lab's parsers for Fast Downward read."""

from __future__ import annotations

from typing import Any

from planrank.search.anytime import INTERRUPTED, OPTIMAL, OUT_OF_MEMORY, OUT_OF_TIME
from planrank.search.plans import cost_text
from planrank.search.solve import EXIT_OF_STATUS

WHY_ENDED = {
    OPTIMAL: "the last is proved optimal",
    OUT_OF_TIME: "none cheaper was found in time",
    OUT_OF_MEMORY: "none cheaper was found within the memory limit",
    INTERRUPTED: "none cheaper was found before the interruption",
}


def log_lines(found: dict[str, Any], time_limit: float | None = None, memory_limit: float | None = None) -> list[str]:
    """Of a result as `Result.as_json` gives it, and the limits in seconds and megabytes."""
    lines = []
    for part in ("planner", "search"):
        if time_limit is not None:
            lines.append(f"{part} time limit: {time_limit:g}s")
        if memory_limit is not None:
            lines.append(f"{part} memory limit: {int(memory_limit)} MB")
    lines.append(f"Heuristic: {described_guide(found['heuristic'], found['model_file'])}")
    if found["plan"] is not None:
        lines += [f"Plan length: {found['plan_length']} step(s).", f"Plan cost: {cost_text(found['plan_cost'])}"]
        if "ended" in found:
            lines.append(f"Plans: {len(found['plans'])}, {WHY_ENDED[found['ended']]}.")
    else:
        lines.append(f"No plan: {found['status']}; {found['reason']}.")
    return [
        *lines,
        f"Expanded {found['expanded']} state(s).",
        f"Reopened {found['reopened']} state(s).",
        f"Evaluated {found['evaluated']} state(s).",
        f"Evaluations: {found['evaluated']}",
        f"Generated {found['generated']} state(s).",
        f"Dead ends: {found['dead_ends']} state(s).",
        f"Search time: {found['search_seconds']:.6f}s",
        f"Total time: {found['total_seconds']:.6f}s",
        f"Planner time: {found['total_seconds']:.6f}s",
        f"Peak memory: {found['peak_kb']} KB",
        f"search exit code: {int(EXIT_OF_STATUS[found['status']])}",
    ]


def described_guide(name: str, model_file: str | None) -> str:
    kind, _, model = name.partition(":")
    return f"model {model} ({model_file})" if kind == "model" else name or "none chosen yet"
