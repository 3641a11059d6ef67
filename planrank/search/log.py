"""The log of a search, in lines that parsers of experiments with Fast Downward read."""

from __future__ import annotations

from typing import Any

from planrank.search.plans import cost_text


def log_lines(found: dict[str, Any]) -> list[str]:
    """Of a result as `Result.as_json` gives it."""
    lines = [f"Heuristic: {described_guide(found['heuristic'], found['model_file'])}"]
    if found["plan"] is not None:
        lines += [f"Plan length: {found['plan_length']} step(s).", f"Plan cost: {cost_text(found['plan_cost'])}"]
    else:
        lines.append(f"No plan: {found['status']}; {found['reason']}.")
    return [
        *lines,
        f"Expanded {found['expanded']} state(s).",
        f"Reopened {found['reopened']} state(s).",
        f"Evaluated {found['evaluated']} state(s).",
        f"Generated {found['generated']} state(s).",
        f"Dead ends: {found['dead_ends']} state(s).",
        f"Search time: {found['search_seconds']:.6f}s",
        f"Total time: {found['total_seconds']:.6f}s",
        f"Peak memory: {found['peak_kb']} KB",
    ]


def described_guide(name: str, model_file: str | None) -> str:
    kind, _, model = name.partition(":")
    return f"model {model} ({model_file})" if model else kind or "none chosen yet"
