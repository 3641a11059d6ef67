"""What the benchmarks share of their results: tables, means with their spread, and where they are written."""

from __future__ import annotations

import json
import os
import platform
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path

from planrank.files import make_folder, write_text

RESULTS = Path(__file__).parent / "results"


def markdown(header: Sequence[str], lines: Iterable[Sequence[str]], left: int = 1) -> list[str]:
    """A table: the first `left` columns are words, the others numbers."""
    ruler = ["---" if i < left else "---:" for i in range(len(header))]
    return [f"| {' | '.join(cells)} |" for cells in (header, ruler, *lines)]


def spread(values: Sequence[float | None], digits: int = 2, unit: str = "") -> str:
    """The mean, and from where to where the values go if there are several. None is left out."""
    known = [value for value in values if value is not None]
    if not known:
        return "-"
    text = f"{statistics.fmean(known):.{digits}f}{unit}"
    if len(known) > 1:
        text += f" ({min(known):.{digits}f} to {max(known):.{digits}f})"
    return text


def machine() -> str:
    """What it was measured on, and how busy that was."""
    load = f"load {os.getloadavg()[1]:.1f} in the last 5 minutes"
    return f"{platform.machine()}, {os.cpu_count()} cores, {load}, Python {platform.python_version()}"


def write(folder: Path | None, name: str, lines: Sequence[str], figures: object) -> None:
    """Print the lines; keep them, and the figures as JSON, in the folder if there is one."""
    print("\n".join(lines))
    if folder is not None:
        make_folder(folder)
        write_text(folder / f"{name}.md", "\n".join(lines) + "\n")
        write_text(folder / f"{name}.json", json.dumps(figures, indent=1) + "\n")
