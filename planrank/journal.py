"""A file of JSON lines that rows are added to as they come, and that survives being cut short."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from planrank.errors import PlanrankError


def read_rows(file: str | Path) -> list[dict[str, Any]]:
    """The rows of the file, none if there is no file. A line that was cut short is passed by."""
    rows = []
    with readable(file):
        content = Path(file).read_bytes() if Path(file).exists() else b""
    for line in content.splitlines():
        with contextlib.suppress(ValueError, RecursionError):
            row = json.loads(line)
            if isinstance(row, dict):
                rows.append(row)
    # All that a kill at the first row can leave is the beginning of one line.
    first_was_cut = content.startswith(b"{") and b"\n" not in content.rstrip(b"\n")
    if content.strip() and not rows and not first_was_cut:
        raise PlanrankError("this is no file of an evaluation, so nothing is added to it", file=str(file))
    return rows


def packed(rows: Sequence[dict[str, Any]], names: Sequence[str]) -> dict[str, Any]:
    """These entries of rows that are kept in one line: what is the same in all of them is written once."""
    columns = {name: [row.get(name) for row in rows] for name in names}
    same = {name: values[0] for name, values in columns.items() if rows and values.count(values[0]) == len(rows)}
    return {"rows": len(rows), "same": same, "columns": {n: v for n, v in columns.items() if n not in same}}


def unpacked(line: dict[str, Any]) -> list[dict[str, Any]]:
    return [line["same"] | {name: values[i] for name, values in line["columns"].items()} for i in range(line["rows"])]


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
def alone_with(file: str | Path | None) -> Iterator[None]:
    """Two that add to one file would double its rows."""
    if file is None:
        yield
        return
    from filelock import FileLock, Timeout

    with readable(file):
        Path(file).parent.stat()  # the lock would make the folder
    lock = FileLock(Path(file).with_name(f".{Path(file).name}.lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        message = "another evaluation is writing to this file; choose another --out"
        raise PlanrankError(message, file=str(file)) from None
    except OSError as e:
        raise PlanrankError(f"cannot be read or written: {e.strerror}", file=str(file)) from None
    try:
        yield
    finally:
        Path(lock.lock_file).unlink(missing_ok=True)
        lock.release()


@contextlib.contextmanager
def readable(file: str | Path) -> Iterator[None]:
    try:
        yield
    except OSError as e:
        raise PlanrankError(f"cannot be read or written: {e.strerror}", file=str(file)) from None
