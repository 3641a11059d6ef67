"""Curves of a training run as a small SVG, drawn from the rows of its log."""

from __future__ import annotations

import math
from collections.abc import Sequence

WIDTH, PANEL, LEFT, RIGHT, TOP, GAP = 720, 150, 64, 16, 40, 46


def drawing(title: str, rows: Sequence[dict]) -> str:
    """A panel above another: the loss (by powers of ten), the 0-1 loss, and what validation solved and expanded."""
    panels = [
        ("loss", [(row["step"], row["loss"]) for row in rows if "loss" in row], True),
        ("0-1 loss", [(row["step"], row["zero_one"]) for row in rows if row.get("zero_one") is not None], False),
        (
            "validation: share solved",
            [(row["step"], row["solved"] / row["of"]) for row in rows if row.get("of")],
            False,
        ),
        ("validation: expansions", [(row["step"], row["expansions"]) for row in rows if row.get("of")], True),
    ]
    last = max((row["step"] for row in rows), default=1)
    height = TOP + len(panels) * (PANEL + GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" font-family="sans-serif" '
        'font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="{LEFT}" y="20" font-size="14">{escaped(title)}</text>',
    ]
    for i, (name, points, powers) in enumerate(panels):
        parts += panel(name, points, powers, last, TOP + i * (PANEL + GAP))
    return "\n".join([*parts, "</svg>"]) + "\n"


def panel(name: str, points: list[tuple[int, float]], powers: bool, last: int, top: int) -> list[str]:
    bottom, right = top + PANEL, WIDTH - RIGHT
    parts = [
        f'<text x="{LEFT}" y="{top - 5}">{escaped(name)}</text>',
        f'<rect x="{LEFT}" y="{top}" width="{right - LEFT}" height="{PANEL}" fill="none" stroke="#999"/>',
        f'<text x="{right}" y="{bottom + 15}" text-anchor="end">{last:,} steps</text>',
    ]
    if powers:
        points = [(step, math.log10(max(value, 1e-9))) for step, value in points]
    if not points:
        return parts
    low, high = min(value for _, value in points), max(value for _, value in points)
    if not powers:
        low, high = 0.0, max(high, 1.0)
    spread = (high - low) or 1.0
    at = [(LEFT + step / last * (right - LEFT), bottom - (value - low) / spread * PANEL) for step, value in points]
    for value, y in ((low, bottom), (high, top + 10)):
        shown = 10**value if powers else value
        parts.append(f'<text x="{LEFT - 6}" y="{y}" text-anchor="end">{shown:.3g}</text>')
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
    parts.append(f'<polyline points="{line}" fill="none" stroke="#1f5fa8" stroke-width="1.5"/>')
    if len(at) < 30:
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="#1f5fa8"/>' for x, y in at]
    return parts


def escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
