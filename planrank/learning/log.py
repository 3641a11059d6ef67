"""The log of a training run: lines of JSON beside its checkpoint, and TensorBoard where that is asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from planrank.errors import PlanrankError
from planrank.files import write_text
from planrank.journal import Journal, read_rows

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter


class TrainingLog:
    """Starts with the rows of an earlier part of the run up to a step; later ones belong to work that was lost."""

    def __init__(self, file: Path, tensorboard: str | None, name: str, keep_until: int = 0):
        self.rows = [row for row in read_rows(file) if row["step"] <= keep_until] if keep_until else []
        write_text(file, "".join(json.dumps(row) + "\n" for row in self.rows))
        self.journal = Journal(file)
        self.board = None if tensorboard is None else board(Path(tensorboard, name), keep_until)

    def write(self, step: int, seconds: float, **figures: float | None) -> None:
        row = {"step": step, "seconds": round(seconds, 2)} | figures
        self.rows.append(row)
        self.journal.add(row)
        if self.board is not None:
            for key, value in figures.items():
                if value is not None:
                    self.board.add_scalar(key, value, step)

    def __enter__(self) -> TrainingLog:
        return self

    def __exit__(self, *_: object) -> None:
        if self.board is not None:
            self.board.close()


def board(folder: Path, step: int) -> SummaryWriter:
    from torch.utils.tensorboard import SummaryWriter

    try:
        return SummaryWriter(str(folder), purge_step=step + 1)
    except OSError as e:
        raise PlanrankError(f"the folder for TensorBoard cannot be written: {e.strerror}", file=str(folder)) from None
