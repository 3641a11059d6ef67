"""How good a model is while it is trained: what a search with it solves, and in how many expansions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from planrank.config import TrainConfig
from planrank.evaluation import evaluate_in_process

if TYPE_CHECKING:
    from planrank.models import Model
    from planrank.task import Task


@dataclass(frozen=True)
class Figures:
    """`expansions` counts those of unsolved instances too; `plan_steps` is the length of all plans found together."""

    solved: int
    of: int
    expansions: int
    plan_steps: int

    def better_than(self, other: Figures) -> bool:
        return (-self.solved, self.expansions) < (-other.solved, other.expansions)

    def as_json(self) -> dict[str, int]:
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.solved} of {self.of} validation instances solved, {self.expansions:,} expansions"


def validate(model: Model, tasks: Sequence[Task], config: TrainConfig) -> Figures:
    """Search every task with the model, within so many expansions and seconds."""
    limits = {"max_expansions": config.validation_expansions, "seconds": config.validation_time}
    tally = evaluate_in_process(tasks, model.scorer, config.validation_search, **limits)
    return Figures(tally.solved, len(tasks), tally.expansions, tally.plan_steps)
