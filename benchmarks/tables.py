"""What the benchmarks of trained models share: options, tables, means with their spread, the machine's load."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from planrank.errors import PlanrankError
from planrank.journal import Journal, read_rows
from planrank.labelling import termination_as_interrupt

RESULTS = Path(__file__).parent / "results"


def markdown(header: Sequence[str], lines: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (header, ["---"] * len(header), *lines)]


def spread(values: Sequence[float | None], digits: int = 2, unit: str = "") -> str:
    """The mean, and from where to where the values go if there are several. None is left out."""
    known = [value for value in values if value is not None]
    if not known:
        return "-"
    text = f"{statistics.fmean(known):.{digits}f}{unit}"
    if len(known) > 1:
        text += f" ({min(known):.{digits}f} to {max(known):.{digits}f})"
    return text


def write(folder: Path, name: str, lines: Sequence[str], figures: object) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text("\n".join(lines) + "\n")
    (folder / f"{name}.json").write_text(json.dumps(figures, indent=1) + "\n")
    print("\n".join(lines))


def names(known: Sequence[str] | None = None) -> Callable[[str], list[str]]:
    """The type of an option that takes words with commas between them."""

    def read(text: str) -> list[str]:
        words = [word.strip() for word in text.split(",") if word.strip()]
        for word in words:
            if known is not None and word not in known:
                raise argparse.ArgumentTypeError(f"unknown name {word!r}, expected {', '.join(known)}")
        return words

    return read


@contextlib.contextmanager
def ending_in_one_sentence() -> Iterator[None]:
    """What goes wrong or is interrupted ends a benchmark with a sentence instead of a traceback."""
    try:
        with termination_as_interrupt():
            yield
    except PlanrankError as e:
        raise SystemExit(str(e)) from None
    except KeyboardInterrupt:
        raise SystemExit("interrupted; the same command goes on from here") from None


class Loads:
    """The machine's load, noted whenever a run is done, in a file so that an interrupted benchmark keeps it."""

    def __init__(self, file: Path):
        self.file = file
        self.journal = Journal(file)

    def note(self, stage: str) -> None:
        self.journal.add({"stage": stage, "load": os.getloadavg()[0]})

    def mean(self, stage: str) -> float | None:
        noted = [row["load"] for row in read_rows(self.file) if row["stage"] == stage]
        return statistics.fmean(noted) if noted else None
