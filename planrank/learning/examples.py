"""Training examples: a plan as a ranking problem, and its states as a network's input, kept on disk."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

import numpy as np

from planrank import files, paths
from planrank.console import warn
from planrank.errors import PlanrankError
from planrank.learning.ranking import (
    AnyRanking,
    EntryRanking,
    Ranking,
    entry_ranking_of_plan,
    ranking_of_plan,
    windows,
)
from planrank.models import families
from planrank.task import Task, load


@dataclass(eq=False)
class Example:
    """`encoded` is what the family made of `ranking.states`, or only of the plan's own states; `prepared` is that for
    PyTorch, by architecture and type of number."""

    ranking: Ranking | EntryRanking
    encoded: dict[str, np.ndarray]
    prepared: dict[Any, Any] = field(default_factory=dict, repr=False)


def build_examples(
    task: Task,
    steps: list[str],
    shape: Any,
    path_only: bool = False,
    detours: int = 0,
    window: int = 0,
    strays: Sequence[str] = (),
    pieces: Sequence[int] | None = None,
) -> list[Example]:
    """`shape` is an architecture. `path_only` leaves out the states off the plan, which not all losses look at;
    networks that score actions never need them all: `detours` is how many they see at each step. `strays` are further
    states off the plan (see `Search.strays`). A plan with more steps than `window` makes several, 0: never;
    `pieces` are the numbers of those that are wanted, if not all are."""
    family = families.get(shape.family_name)
    found = []
    if getattr(shape, "rank", "states") != "states":
        for entries in some(windows(entry_ranking_of_plan(task, steps, detours, strays), window), pieces):
            found.append(Example(entries, family.encode(task, entries.states, shape, entries.actions)))
        return found
    for ranking in some(windows(ranking_of_plan(task, steps, strays), window), pieces):
        states = ranking.states[: ranking.length + 1] if path_only else ranking.states
        found.append(Example(ranking, family.encode(task, states, shape)))
    return found


def some(parts: list[AnyRanking], pieces: Sequence[int] | None) -> list[AnyRanking]:
    return parts if pieces is None else [parts[number] for number in pieces]


def build_example(task: Task, steps: list[str], shape: Any, path_only: bool = False) -> Example:
    """Of the whole plan."""
    (example,) = build_examples(task, steps, shape, path_only)
    return example


def cached_examples(
    domain: Path,
    problem: Path,
    steps: list[str],
    shape: Any,
    path_only: bool = False,
    detours: int = 0,
    window: int = 0,
    folder: Path | None = None,
) -> list[Example]:
    """The examples of a plan; built once and kept in `folder` (by default in planrank's cache)."""
    folder = folder or paths.cache() / "examples"
    family = families.get(shape.family_name)
    texts = [Path(domain).read_text(), Path(problem).read_text(), "\n".join(steps)]
    texts += [file.read_text() for file in family.further_files(domain)]
    terms = [shape.family_name, family.encoding_options(shape), path_only, detours, window, paths.sources_digest()]
    key = hashlib.sha256("\0".join([*texts, json.dumps(terms)]).encode()).hexdigest()[:24]
    file = folder / f"{key}.npz"
    if file.exists():
        try:
            return read_examples(file)
        except (OSError, ValueError, KeyError, EOFError, BadZipFile):
            file.unlink(missing_ok=True)  # damaged: made again
    examples = build_examples(load(domain, problem), steps, shape, path_only, detours, window)
    try:
        files.make_folder(folder)
        write_examples(file, examples)
    except PlanrankError as e:
        warn_once(f"training examples are not kept for the next time: {e}")
    return examples


@lru_cache(maxsize=1)
def warn_once(text: str) -> None:
    warn(text)


def write_examples(file: Path, examples: list[Example]) -> None:
    content: dict[str, np.ndarray] = {}
    for i, example in enumerate(examples):
        columns = {f.name: np.asarray(getattr(example.ranking, f.name)) for f in fields(example.ranking)}
        content |= {f"{i}.ranking.{name}": array for name, array in columns.items()}
        content |= {f"{i}.encoded.{name}": array for name, array in example.encoded.items()}
    buffer = io.BytesIO()
    # As numpy.savez_compressed, but with the fast level: the usual one takes longer than making the example.
    with ZipFile(buffer, "w", ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in content.items():
            with archive.open(f"{name}.npy", "w") as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)
    files.write_bytes(file, buffer.getvalue())


def read_examples(file: Path) -> list[Example]:
    parts: dict[int, dict[str, np.ndarray]] = {}
    with np.load(file, allow_pickle=False) as content:
        for name in content.files:
            number, _, rest = name.partition(".")
            parts.setdefault(int(number), {})[rest] = content[name]
    return [example_of(parts[number]) for number in sorted(parts)]


def example_of(arrays: dict[str, np.ndarray]) -> Example:
    kind = EntryRanking if "ranking.leads_to" in arrays else Ranking
    columns: dict[str, Any] = {f.name: arrays[f"ranking.{f.name}"] for f in fields(kind)}
    columns["length"] = int(columns["length"])
    encoded = {name.removeprefix("encoded."): a for name, a in arrays.items() if name.startswith("encoded.")}
    return Example(kind(**columns), encoded)
