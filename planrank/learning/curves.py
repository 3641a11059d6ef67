"""Curves of a training run, drawn from the rows of its log."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from typing import Any


def drawing(title: str, rows: Sequence[dict[str, Any]]) -> str:
    """An SVG: the loss, the 0-1 loss, and what validation solved and expanded, one panel below the other."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    validated = [row for row in rows if row.get("of")]
    panels = [
        ("loss", [(row["step"], row["loss"]) for row in rows if "loss" in row], "log"),
        ("0-1 loss", [(row["step"], row["zero_one"]) for row in rows if row.get("zero_one") is not None], "linear"),
        ("validation: share solved", [(row["step"], row["solved"] / row["of"]) for row in validated], "linear"),
        ("validation: expansions", [(row["step"], row["expansions"]) for row in validated], "log"),
    ]
    with rc_context({"svg.hashsalt": "planrank"}):  # the same rows give the same file
        figure = Figure(figsize=(8, 10), layout="constrained")
        figure.suptitle(title)
        for axes, (name, points, scale) in zip(figure.subplots(len(panels), sharex=True), panels, strict=True):
            axes.set_title(name, loc="left", fontsize="medium")
            if points:
                axes.plot(*zip(*points, strict=True), marker="o" if len(points) < 30 else None, markersize=4)
                axes.set_yscale(scale)
                if scale == "linear":
                    axes.set_ylim(0, 1.05)
        axes.set_xlabel("step")
        out = StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()
