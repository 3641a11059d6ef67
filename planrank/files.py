"""Files and folders: written whole or not at all, and every failure one sentence that names the file."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from planrank.errors import PlanrankError


def check_writable(file: Path) -> None:
    """Say before the work, not after it, that its result could not be written."""
    if file.is_dir():
        raise PlanrankError("this is a folder, expected the name of a file to write", file=str(file))
    folder = file.parent
    if not folder.is_dir():
        raise PlanrankError("its folder does not exist, so it could not be written", file=str(file))
    if file.exists():
        writable = os.access(file, os.W_OK) and (in_place(file) or os.access(file.resolve().parent, os.W_OK))
    else:
        writable = os.access(folder, os.W_OK)
    if not writable:
        raise PlanrankError("this could not be written: permission denied", file=str(file))


def write_text(file: Path, text: str) -> None:
    write_bytes(file, text.encode())


def write_bytes(file: Path, content: bytes) -> None:
    """A regular file then has all of its new content or all of its old, and the mode it had; a link is followed.

    Anything else, a device or a pipe, is opened and written to.
    """
    try:
        if in_place(file):
            with file.open("wb") as stream:
                stream.write(content)
        else:
            replace(file.resolve(), content)
    except OSError as e:
        raise PlanrankError(f"cannot be written: {e.strerror}", file=str(file)) from None


def in_place(file: Path) -> bool:
    """Whether a file must not be replaced by another one. What lies in /dev may stand for any open file."""
    return file.exists() and (not file.is_file() or str(file.absolute()).startswith(("/dev/", "/proc/")))


def replace(file: Path, content: bytes) -> None:
    scratch = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        scratch.write_bytes(content)
        if file.exists():
            shutil.copymode(file, scratch)
        os.replace(scratch, file)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise


def make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise PlanrankError(f"this folder cannot be made: {e.strerror}", file=str(folder)) from None


def read_toml(file: Path) -> dict[str, Any]:
    """What a TOML file says; nothing where there is none."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    if not file.is_file():
        return {}
    try:
        return tomllib.loads(file.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as e:
        raise PlanrankError(f"cannot be read as TOML: {e}", file=str(file)) from None


def digest(*files: Path) -> str:
    """Of the contents of the files, in this order."""
    found = hashlib.sha256()
    for file in files:
        try:
            content = file.read_bytes()
        except OSError as e:
            raise PlanrankError(f"cannot be read: {e.strerror}", file=str(file)) from None
        found.update(len(content).to_bytes(8, "little") + content)
    return found.hexdigest()[:16]
