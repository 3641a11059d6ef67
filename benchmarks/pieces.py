"""What long benchmarks have finished, kept beside the results, so that another machine can go on from there.

A piece is a share of the runs, named by a tuple: a domain, say, with the models of one seed. Its rows are kept
together: what is the same in all of them is written once. Nothing in them says where a file lay.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from planrank.evaluation.runs import Row
from planrank.files import make_folder, write_text
from planrank.journal import packed, read_rows, unpacked
from planrank.reports.results import RUN_KEYS

Piece = tuple[Any, ...]  # its domain comes first; `planrank report` calls it by that
PLACES = ("domain", "problem", "model")
KEPT = tuple(sorted({*RUN_KEYS, *PLACES}))


class Pieces:
    """The file of finished pieces; `settings` has those that are asked for, and what their figures depend on. Of these,
    what was made with other settings is passed by, and goes when one is added; pieces that are not asked for stay. Of a
    row KEPT is kept, and what `more` names.
    """

    def __init__(self, file: Path, settings: Mapping[Piece, Any], more: Sequence[str] = ()):
        self.file, self.columns = file, (*more, *KEPT)
        self.digests = {piece: digest_of(each) for piece, each in settings.items()}
        lines = {tuple(line["piece"]): line for line in read_rows(file)}
        self.others = {piece: line for piece, line in lines.items() if piece not in self.digests}
        self.lines = {piece: line for piece, line in lines.items() if self.digests.get(piece) == line["settings"]}

    def __contains__(self, piece: Piece) -> bool:
        return piece in self.lines

    def unfinished(self) -> list[Piece]:
        return [piece for piece in self.digests if piece not in self.lines]

    def rows(self, piece: Piece) -> list[Row]:
        return unpacked(self.lines[piece]) if piece in self.lines else []

    def about(self, piece: Piece) -> Any:
        """What was kept beside the rows."""
        return self.lines[piece]["about"]

    def add(self, piece: Piece, rows: Sequence[Row], about: Any = None) -> None:
        line = {"piece": piece, "settings": self.digests[piece], "about": about}
        self.lines[piece] = line | packed([*map(without_folders, rows)], self.columns)
        make_folder(self.file.parent)
        write_text(self.file, "".join(json.dumps(line) + "\n" for line in (self.others | self.lines).values()))


def without_places(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Of a training, without what says where files lie or how many processes there are."""
    places = ("domain", "data", "out", "jobs", "cluster")
    return {name: value for name, value in settings.items() if name not in places}


def digest_of(settings: Any) -> str:
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]


def without_folders(row: Row) -> Row:
    return row | {place: row[place] and Path(row[place]).name for place in PLACES if place in row}
