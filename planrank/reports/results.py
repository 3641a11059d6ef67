"""Reads what commands and benchmarks wrote down: runs, logs of trainings and improvements, documents of tables."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from planrank.errors import PlanrankError
from planrank.evaluation.runs import COUNTERS, KEY, Row, key_of
from planrank.journal import unpacked

RUN_KEYS = {"domain", "problem", "guide", "status", "total_seconds", *KEY, *COUNTERS}
WORDS = ("domain", "problem", "guide", "status", "search", "instance_sha")
NUMBERS = (
    *COUNTERS,
    "total_seconds",
    "time_limit",
    "step",
    "seconds",
    "loss",
    "zero_one",
    "solved",
    "of",
    "expansions",
    "round",
    "held_out_solved",
    "held_out_of",
    "held_out_expansions",
    "held_out_plan_steps",
)
TYPES: dict[str, type] = dict.fromkeys(WORDS, str) | dict.fromkeys(NUMBERS, float)
DOCUMENT_FORMAT = 1  # of {"planrank_document": 1, "title": …, "sections": [{"title", "text", "header", "rows"}]}
LOGS = ("log.jsonl", "improve.jsonl")
FOLDERS = (".training", ".improving")  # beside a model


@dataclass
class Results:
    """`trainings` by name, rows in the order of their steps, and `improvements`, in that of their rounds; `notices` are
    sentences that readers should see."""

    runs: list[Row] = field(default_factory=list)
    trainings: dict[str, list[Row]] = field(default_factory=dict)
    improvements: dict[str, list[Row]] = field(default_factory=dict)
    documents: list[dict[str, Any]] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.told)

    @property
    def told(self) -> str:
        """How much of what there is; empty if there is nothing."""
        kinds = {"run": self.runs, "training": self.trainings, "improvement": self.improvements}
        kinds |= {"document": self.documents}
        counted = [f"{len(some):,} {kind}{'' if len(some) == 1 else 's'}" for kind, some in kinds.items() if some]
        *first, last = counted or [""]
        return f"{', '.join(first)} and {last}" if first else last


def read_results(sources: Iterable[Path]) -> Results:
    """Of journals, model files, and folders with any of these in them; a run that is found twice counts once."""
    found = Results()
    sources = list(sources)
    for file in dict.fromkeys(file for source in sources for file in files_of(source)):
        if file.suffix == ".json":
            found.documents.append(document(file))
            continue
        try:
            read_journal(file, found)
        except PlanrankError as e:
            if file in sources:
                raise
            found.notices.append(f"{e}.")  # a folder may have others too
    found.trainings = dict(zip(training_names(list(found.trainings)), found.trainings.values(), strict=True))
    found.improvements = dict(zip(training_names(list(found.improvements)), found.improvements.values(), strict=True))
    found.runs = list({key_of(row): row for row in reversed(found.runs)}.values())[::-1]
    found.notices += versions(found.runs)
    if not found:
        raise PlanrankError(f"there is nothing to report in {', '.join(map(str, sources))}")
    return found


def files_of(source: Path) -> Iterator[Path]:
    if source.suffix == ".safetensors":
        folders = [folder for ending in FOLDERS if (folder := source.with_suffix(ending)).is_dir()]
        if not folders:
            place = source.with_suffix(FOLDERS[0])
            raise PlanrankError(f"the log of this model's training is not beside it, in {place}", file=str(source))
        for folder in folders:
            yield from files_of(folder)
    elif source.is_dir():
        yield from sorted(source.rglob("*.jsonl"))
    elif source.is_file():
        yield source
    else:
        raise PlanrankError("there is no such file or folder, expected results to report", file=str(source))


def document(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_bytes())
    except (OSError, ValueError):
        raise PlanrankError("this cannot be read as JSON, expected results to report", file=str(file)) from None
    known = found.get("planrank_document") if isinstance(found, dict) else None
    if known != DOCUMENT_FORMAT:
        wanted = f"expected journals (.jsonl), models, folders of them, or documents of format {DOCUMENT_FORMAT}"
        told = "this JSON is no results of planrank" if known is None else f"this is a document of format {known}"
        raise PlanrankError(f"{told}, {wanted}", file=str(file))
    return found


def read_journal(file: Path, into: Results) -> None:
    """A journal has runs of an evaluation, the steps of a training or the rounds of an improvement; what is damaged is
    told, not hidden."""
    rows, damaged = lines_of(file)
    rounds = [row for row in rows if row.get("round") is not None and "seconds" in row]
    steps = [row for row in rows if row.get("step") is not None and "seconds" in row]
    runs = [row for row in rows if row.keys() >= RUN_KEYS]
    lacking = [row for row in rows if "status" in row and not row.keys() >= RUN_KEYS]
    if lacking and not runs:
        missing = ", ".join(sorted(RUN_KEYS - lacking[0].keys()))
        message = f"these runs are of another version of planrank: they do not say {missing}; run them again"
        raise PlanrankError(message, file=str(file))
    if not steps and not runs and not rounds:
        if not rows and not damaged:
            return
        message = "no line of this journal is a run, a step of a training or a round of an improvement"
        raise PlanrankError(message, file=str(file))
    if steps:
        into.trainings[str(file)] = sorted(steps, key=lambda row: row["step"])
    if rounds:
        into.improvements[str(file)] = sorted(rounds, key=lambda row: row["round"])
    into.runs += runs
    for count, what in ((len(damaged), "damaged"), (len(lacking), "of another version of planrank")):
        if count:
            where = f", the first is line {damaged[0]}" if what == "damaged" else ""
            lines = "line is" if count == 1 else "lines are"
            into.notices.append(f"{file}: {count} {lines} {what} and left out{where}.")


def lines_of(file: Path) -> tuple[list[Row], list[int]]:
    """The objects in a file of JSON lines, and the numbers of the lines that are none."""
    try:
        lines = file.read_bytes().splitlines()
    except OSError as e:
        raise PlanrankError(f"cannot be read: {e.strerror}", file=str(file)) from None
    rows, damaged = [], []
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line) if line.strip() else None
        except (ValueError, RecursionError):
            row = ...
        found = [] if row is None else rows_in(row)
        if found is None or not all(
            fits(one[name], kind) for one in found for name, kind in TYPES.items() if name in one
        ):
            damaged.append(number)
        else:
            rows += found
    return rows, damaged


def rows_in(line: Any) -> list[Row] | None:
    """The row of a line, or those of a piece of a benchmark, which it has finished and kept together; None if it is
    damaged."""
    if not isinstance(line, dict):
        return None
    if "piece" not in line:
        return [line]
    try:
        rows, domain = unpacked(line), line["piece"][0]
        return [row | {"domain": f"{domain}/{row['domain']}"} for row in rows]
    except (AttributeError, IndexError, KeyError, TypeError):
        return None


def fits(value: Any, kind: type) -> bool:
    if kind is str:
        return isinstance(value, str)
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def training_names(logs: list[str]) -> list[str]:
    """Of logs such as NAME.training/CANDIDATE/log.jsonl: what tells them apart, without a candidate that is alone."""
    places = [Path(os.path.abspath(log)) for log in logs]
    folders = [place.parent if place.name in LOGS else place for place in places]
    above = [folder.parent for folder in folders]
    kept = [
        home if home.suffix == ".training" and above.count(home) == 1 else folder
        for folder, home in zip(folders, above, strict=True)
    ]
    shared = Path(os.path.commonpath([folder.parent for folder in kept])) if kept else Path()
    return [" ".join(bare_name(part) for part in folder.relative_to(shared).parts) for folder in kept]


def bare_name(part: str) -> str:
    return part.removesuffix(FOLDERS[0]).removesuffix(FOLDERS[1])


def versions(runs: Iterable[Row]) -> list[str]:
    from planrank import __version__

    counts: dict[str, int] = {}
    for row in runs:
        version = row.get("version") or "an unknown version"
        counts[version] = counts.get(version, 0) + 1
    others = {version: count for version, count in counts.items() if version != __version__}
    if not others:
        return []
    told = ", ".join(f"{count} of {version}" for version, count in others.items())
    return [f"This is planrank {__version__}, but not all runs are: {told}."]
