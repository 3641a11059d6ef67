"""Tables of an evaluation for people to read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from planrank.console import table

Row = dict[str, Any]

NUMBERS = {
    "expanded": "Expanded",
    "evaluated": "Evaluated",
    "plan_length": "Steps",
    "plan_cost": "Cost",
    "total_seconds": "Seconds",
}
HEADER = ["Search", "Guide", "Solved", "", *NUMBERS.values(), "Expanded per step"]


def report(rows: Sequence[Row]) -> str:
    """A table of means over the instances that each guide solves, another over those that all of them solve."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["search"], row["guide"]), []).append(row)
    solved = {name: solved_rows(group) for name, group in groups.items()}
    lines = [summary(name, len(group), solved[name]) for name, group in groups.items()]
    text = f"Means over the instances solved\n{table(HEADER, lines, left=2)}"
    common = set.intersection(*({row["instance_sha"] for row in group} for group in solved.values()))
    if common and any(len(group) > len(common) for group in solved.values()):
        shared = {name: [row for row in group if row["instance_sha"] in common] for name, group in solved.items()}
        lines = [summary(name, len(group), group) for name, group in shared.items()]
        text += f"\n\nThe same over the {len(common)} that all of them solve\n{table(HEADER, lines, left=2)}"
    return "\n".join([text, *trouble(rows)])


def solved_rows(rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if row["status"] == "solved"]


def summary(name: tuple[str, str], count: int, solved: list[Row]) -> list[str]:
    """A line of the table. Expansions per step are all expansions over all steps, as the field's tables imply."""
    means = [sum(row[number] for row in solved) / len(solved) if solved else None for number in NUMBERS]
    steps = sum(row["plan_length"] for row in solved)
    ratio = sum(row["expanded"] for row in solved) / steps if steps else None
    share = f"{100 * len(solved) / count:.0f} %"
    return [*name, f"{len(solved)}/{count}", share, *(short(mean) for mean in means), short(ratio)]


def trouble(rows: Iterable[Row]) -> list[str]:
    """What went wrong beside limits, with how often and the first reason given."""
    found: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        if row["status"] in ("error", "killed"):
            found.setdefault((row["search"], row["guide"], row["status"]), []).append(row)
    return [
        f"{search} with {guide}: {len(bad)} {status}, the first on {bad[0]['problem']}: {bad[0]['reason']}"
        for (search, guide, status), bad in found.items()
    ]


def short(number: float | None) -> str:
    """About three digits, none lost before the point."""
    if number is None:
        return "-"
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.1f}" if abs(number) >= 10 else f"{number:.2f}"
