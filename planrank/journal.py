"""A file of JSON lines that rows are added to as they come, and that survives being cut short."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from planrank.errors import PlanrankError


def read_rows(file: str | Path) -> list[dict[str, Any]]:
    """The rows of the file, none if there is no file. A line that was cut short is passed by."""
    rows = []
    with readable(file):
        lines = Path(file).read_bytes().splitlines() if Path(file).exists() else []
    for line in lines:
        with contextlib.suppress(ValueError):
            row = json.loads(line)
            if isinstance(row, dict):
                rows.append(row)
    if lines and not rows:
        raise PlanrankError("this is no file of an evaluation, so nothing is added to it", file=str(file))
    return rows


class Journal:
    """Adds rows to the file, each written out at once; without a file it only counts them."""

    def __init__(self, file: str | Path | None):
        self.file = file
        self.added = 0
        if file is not None:
            with readable(file), Path(file).open("ab") as stream:
                if stream.tell() > 0 and not Path(file).read_bytes().endswith(b"\n"):
                    stream.write(b"\n")  # the last line was cut short

    def add(self, row: dict[str, Any]) -> None:
        self.added += 1
        if self.file is not None:
            with readable(self.file), Path(self.file).open("ab") as stream:
                stream.write(json.dumps(row).encode() + b"\n")


@contextlib.contextmanager
def readable(file: str | Path) -> Iterator[None]:
    try:
        yield
    except OSError as e:
        raise PlanrankError(f"cannot be read or written: {e.strerror}", file=str(file)) from None
