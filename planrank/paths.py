"""Where the files that come with planrank are, and where it keeps what it makes."""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


def shared() -> Path:
    """The folder of Project.toml, julia/ and domains/: inside an installed package, else the checkout."""
    inside = PACKAGE / "share"
    return inside if inside.is_dir() else PACKAGE.parent


def own_domains() -> list[str]:
    """The names of planrank's own domains."""
    return sorted(file.parent.name for file in shared().glob("domains/*/sets.toml"))


def julia_sources() -> list[Path]:
    """What planrank's Julia module is made of, in a fixed order."""
    root = shared()
    sources = (p for p in root.joinpath("julia").rglob("*.jl") if "test" not in p.relative_to(root).parts)
    return [root / "Project.toml", *sorted(sources)]


@lru_cache(maxsize=1)
def sources_digest() -> str:
    """Of all code that makes training examples, in both languages: what an older version made is not used again."""
    python = [
        PACKAGE / "atoms.py",
        PACKAGE / "learning/examples.py",
        PACKAGE / "learning/ranking.py",
        *sorted(PACKAGE.rglob("models/**/*.py")),
    ]
    found = hashlib.sha256()
    for file in julia_sources() + python:
        found.update(file.name.encode() + b"\0" + file.read_bytes())
    return found.hexdigest()


def cache() -> Path:
    """The cache folder, by the XDG convention."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "planrank"
