"""Files for machines that do not share them: told by their contents, sent once, brought back.

A path is sent as `Sent`: for each file in it, or for the file itself (then called ""), a digest and who has it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from planrank import paths
from planrank.files import digest, make_folder, write_bytes

Fetch = Callable[[Any], bytes]


@dataclass(frozen=True)
class Sent:
    """`path` is absolute: others work in other folders. `files` has digest and token by relative name; a token is
    whatever the sender can get the content by."""

    path: str
    is_folder: bool
    files: dict[str, tuple[str, Any]]


def files_in(path: Path) -> Iterator[tuple[str, Path]]:
    """Names relative to the path. Lock files and half-written ones are nobody else's business."""
    if path.is_dir():
        for file in sorted(path.rglob("*")):
            if file.is_file() and not any(part.startswith(".") for part in file.relative_to(path).parts):
                yield str(file.relative_to(path)), file
    elif path.is_file():
        yield "", path


def content_digest(file: Path) -> str:
    """Made once for each state of a file: thousands of jobs read the same model."""
    about = file.stat()
    return remembered_digest(str(file.absolute()), about.st_mtime_ns, about.st_size)


@lru_cache(maxsize=100_000)
def remembered_digest(path: str, _mtime: int, _size: int) -> str:
    return digest(Path(path))


def sent(path: str, put: Callable[[str, Path], Any]) -> Sent:
    """A path to be sent; `put` makes the token of a file with this digest."""
    found = {name: (sha := content_digest(file), put(sha, file)) for name, file in files_in(Path(path))}
    return Sent(os.path.abspath(path), Path(path).is_dir(), found)


def at_hand(thing: Sent, fetch: Fetch) -> str:
    """Where it can be read here: in its own place if it is the same there, else in a copy, made if there is none."""
    if is_here(thing, Path(thing.path)):
        return thing.path
    whole = "\n".join(f"{sha} {name}" for name, (sha, _) in sorted(thing.files.items()))
    copy = paths.cache() / "sent" / hashlib.sha256(whole.encode()).hexdigest()[:16] / Path(thing.path).name
    for name, (sha, token) in thing.files.items():
        file = copy / name if name else copy
        if not (file.is_file() and digest(file) == sha):
            make_folder(file.parent)
            write_bytes(file, fetch(token))
    return str(copy)


def is_here(thing: Sent, path: Path) -> bool:
    if path.is_dir() != thing.is_folder:
        return False
    return {name: content_digest(file) for name, file in files_in(path)} == {
        name: sha for name, (sha, _) in thing.files.items()
    }


def copied(thing: Sent, folder: Path, fetch: Fetch) -> str:
    """A copy of its own, to be written to."""
    copy = folder / Path(thing.path).name
    for name, (_, token) in thing.files.items():
        file = copy / name if name else copy
        make_folder(file.parent)
        write_bytes(file, fetch(token))
    return str(copy)


def contents(path: Path) -> dict[str, bytes]:
    return {name: file.read_bytes() for name, file in files_in(path)}


def bring_back(path: str, content: dict[str, bytes]) -> None:
    """Write what a job has made where it belongs; each file is whole, and the folder has just these."""
    if "" not in content and Path(path).is_dir():
        for name, file in files_in(Path(path)):
            if name not in content:
                os.unlink(file)
    for name, one in content.items():
        file = Path(path, name) if name else Path(path)
        make_folder(file.parent)
        write_bytes(file, one)


def elsewhere(value: Any, places: dict[str, str]) -> Any:
    """Plain values in which paths, and what lies in them, are replaced by where they are here."""
    if isinstance(value, dict):
        return {key: elsewhere(one, places) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [elsewhere(one, places) for one in value]
    if isinstance(value, str):
        for path, place in places.items():
            if value == path or value.startswith(path + os.sep):
                return place + value[len(path) :]
    return value
