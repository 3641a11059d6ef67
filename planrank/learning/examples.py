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
from planrank.learning.ranking import EntryRanking, Ranking, entry_ranking_of_plan, ranking_of_plan
from planrank.models import families
from planrank.task import Task, load


@dataclass(eq=False)
class Example:
    """`encoded` is what the family made of `ranking.states`, or only of the plan's own states; `prepared` is that for
    PyTorch, by architecture and type of number."""

    ranking: Ranking | EntryRanking
    encoded: dict[str, np.ndarray]
    prepared: dict[Any, Any] = field(default_factory=dict, repr=False)


def build_example(
    task: Task,
    steps: list[str],
    shape: Any,
    path_only: bool = False,
    detours: int = 0,
    strays: Sequence[str] = (),
) -> Example:
    """`shape` is an architecture. `path_only` leaves out the states off the plan, which not all losses look at;
    networks that score actions never need them all: `detours` is how many they see at each step. `strays` are further
    states off the plan (see `Search.strays`)."""
    family = families.get(shape.family_name)
    if getattr(shape, "rank", "states") != "states":
        # Policies are searched with as they are: every action has a probability.
        entries = entry_ranking_of_plan(task, steps, detours, strays, merge=shape.rank == "actions")
        return Example(entries, family.encode(task, entries.states, shape, entries.actions))
    ranking = ranking_of_plan(task, steps, strays)
    states = ranking.states[: ranking.length + 1] if path_only else ranking.states
    return Example(ranking, family.encode(task, states, shape))


def cached_example(
    domain: Path,
    problem: Path,
    steps: list[str],
    shape: Any,
    path_only: bool = False,
    detours: int = 0,
    folder: Path | None = None,
) -> Example:
    """The example of a plan; built once and kept in `folder` (by default in planrank's cache)."""
    file = example_file(domain, problem, steps, shape, path_only, detours, folder)
    if file.exists():
        try:
            return read_example(file)
        except (OSError, ValueError, KeyError, EOFError, BadZipFile):
            file.unlink(missing_ok=True)  # damaged: made again
    example = build_example(load(domain, problem), steps, shape, path_only, detours)
    try:
        files.make_folder(file.parent)
        write_example(file, example)
    except PlanrankError as e:
        warn_once(f"training examples are not kept for the next time: {e}")
    return example


def example_file(
    domain: Path,
    problem: Path,
    steps: list[str],
    shape: Any,
    path_only: bool = False,
    detours: int = 0,
    folder: Path | None = None,
) -> Path:
    """Where it is kept; named by all that it depends on."""
    family = families.get(shape.family_name)
    texts = [Path(domain).read_text(), Path(problem).read_text(), "\n".join(steps)]
    texts += [file.read_text() for file in family.further_files(domain)]
    terms = [shape.family_name, family.encoding_options(shape), path_only, detours, paths.sources_digest()]
    key = hashlib.sha256("\0".join([*texts, json.dumps(terms)]).encode()).hexdigest()[:24]
    return (folder or paths.cache() / "examples") / f"{key}.npz"


@lru_cache(maxsize=1)
def warn_once(text: str) -> None:
    warn(text)


def write_example(file: Path, example: Example) -> None:
    columns = {f.name: np.asarray(getattr(example.ranking, f.name)) for f in fields(example.ranking)}
    content = {f"ranking.{name}": array for name, array in columns.items()}
    content |= {f"encoded.{name}": array for name, array in example.encoded.items()}
    buffer = io.BytesIO()
    # As numpy.savez_compressed, but with the fast level: the usual one takes longer than making the example.
    with ZipFile(buffer, "w", ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in content.items():
            with archive.open(f"{name}.npy", "w") as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)
    files.write_bytes(file, buffer.getvalue())


def read_example(file: Path) -> Example:
    with np.load(file, allow_pickle=False) as content:
        arrays = {name: content[name] for name in content.files}
    kind = EntryRanking if "ranking.leads_to" in arrays else Ranking
    columns: dict[str, Any] = {f.name: arrays[f"ranking.{f.name}"] for f in fields(kind)}
    columns["length"] = int(columns["length"])
    encoded = {name.removeprefix("encoded."): a for name, a in arrays.items() if name.startswith("encoded.")}
    return Example(kind(**columns), encoded)
