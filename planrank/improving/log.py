"""The log of `planrank improve`: lines of JSON, of searches, of what a round came to, and of what was tried with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from planrank.files import write_text
from planrank.improving.ladder import LadderProblem
from planrank.improving.searching import Found
from planrank.journal import Journal, read_rows


class ImproveLog:
    """Starts with the rows of an earlier part of the run: all of its whole rounds, and of the one that was begun its
    searches, which need not be made again, and what the best model did, if that `is_measured`."""

    def __init__(self, file: Path, whole_rounds: int, is_measured: bool):
        def stays(row: dict[str, Any]) -> bool:
            if row["round"] == whole_rounds + 1:
                return "by" in row or (is_measured and row.get("which") == "best")
            return row["round"] <= whole_rounds

        rows = [row for row in read_rows(file) if "round" in row] if whole_rounds >= 0 else []
        self.rows = [row for row in rows if stays(row)]
        write_text(file, "".join(json.dumps(row) + "\n" for row in self.rows))
        self.journal = Journal(file)

    def write(self, round: int, seconds: float, **figures: Any) -> None:
        """What a round came to, or what was tried in it; `seconds` since the beginning."""
        self.add({"round": round, "seconds": round_off(seconds)} | figures)

    def search(self, round: int, problem: LadderProblem, size: str, found: Found) -> None:
        """A row has `by` just if it is one of these."""
        row = {"round": round, "size": size, "level": problem.level, "problem": problem.name}
        self.add(row | vars(found) | {"solved": int(found.solved)})

    def searches_of(self, round: int) -> dict[str, Found]:
        """By the names of the problems."""
        rows = [row for row in self.rows if row["round"] == round and "by" in row]
        return {row["problem"]: Found(row["by"], row["expanded"], row["steps"], row["seconds"]) for row in rows}

    def add(self, row: dict[str, Any]) -> None:
        self.rows.append(row)
        self.journal.add(row)


def round_off(seconds: float) -> float:
    return round(seconds, 2)
