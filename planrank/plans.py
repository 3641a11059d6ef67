"""Plan files: one `(name argument …)` to a line, the cost in a comment at the end."""

from __future__ import annotations

import os
from pathlib import Path

from planrank.errors import PlanrankError


def plan_text(steps: list[str], cost: float, unit_cost: bool) -> str:
    kind = "unit cost" if unit_cost else "general cost"
    return "".join(f"{step}\n" for step in steps) + f"; cost = {cost:g} ({kind})\n"


def check_writable(file: Path) -> None:
    """Say before the work, not after it, that its result could not be written."""
    if file.is_dir():
        raise PlanrankError("this is a folder, expected the name of a file to write", file=str(file))
    folder = file.parent
    if not folder.is_dir():
        raise PlanrankError("its folder does not exist, so it could not be written", file=str(file))
    if not os.access(folder, os.W_OK) or (file.exists() and not os.access(file, os.W_OK)):
        raise PlanrankError("this could not be written: permission denied", file=str(file))


def write_atomically(file: Path, text: str) -> None:
    write_bytes_atomically(file, text.encode())


def write_bytes_atomically(file: Path, content: bytes) -> None:
    """The file has all of its new content or all of its old."""
    scratch = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        scratch.write_bytes(content)
        os.replace(scratch, file)
    except OSError as e:
        scratch.unlink(missing_ok=True)
        raise PlanrankError(f"cannot be written: {e.strerror}", file=str(file)) from None
