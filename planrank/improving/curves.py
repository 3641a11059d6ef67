"""Curves of an improvement, drawn from the rows of its log."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from typing import Any


def drawing(title: str, rows: Sequence[dict[str, Any]]) -> str:
    """An SVG: what was solved of each size, searched and held out, and the expansions a step on those held out."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    rounds = [row for row in rows if "better" in row]
    tried = [row for row in rows if row.get("held_out_of")]
    per_step = [row | {"y": row["held_out_expansions"] / row["held_out_plan_steps"]} for row in tried
                if row["held_out_plan_steps"]]  # fmt: skip
    panels = [
        ("searched: share solved", by_size(rounds, "size", lambda row: row["solved"] / row["of"]), "linear"),
        (
            "held out: share solved",
            by_size(tried, "held_out_size", lambda row: row["held_out_solved"] / row["held_out_of"]),
            "linear",
        ),
        ("held out: expansions a step", by_size(per_step, "held_out_size", lambda row: row["y"]), "log"),
        ("loss", {"": [(row["round"], row["loss"]) for row in rounds if row["loss"] is not None]}, "linear"),
    ]
    with rc_context({"svg.hashsalt": "planrank"}):  # the same rows give the same file
        figure = Figure(figsize=(8, 10), layout="constrained")
        figure.suptitle(title)
        for axes, (name, lines, scale) in zip(figure.subplots(len(panels), sharex=True), panels, strict=True):
            axes.set_title(name, loc="left", fontsize="medium")
            for size, points in lines.items():
                if points:
                    axes.plot(*zip(*points, strict=True), marker="o", markersize=4, label=size)
            if any(lines):
                axes.legend(fontsize="small")
            axes.set_yscale(scale)
            if name.endswith("solved"):
                axes.set_ylim(-0.05, 1.05)
        axes.set_xlabel("round")
        out = StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()


def by_size(rows: Sequence[dict[str, Any]], key: str, value: Any) -> dict[str, list[tuple[int, float]]]:
    lines: dict[str, list[tuple[int, float]]] = {}
    for row in rows:
        lines.setdefault(row[key], []).append((row["round"], value(row)))
    return lines
