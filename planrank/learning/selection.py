"""Which weights are the best: what a search with them solves of the validation problems, and in how many expansions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from planrank import julia
from planrank.learning.config import TrainConfig
from planrank.models.family import Scorer
from planrank.models.model import Model
from planrank.search.forward import Search
from planrank.task import Task

IN_METADATA = "validation_"  # before the names of the figures
MARKEDLY = 0.5  # a network that sees more costs several times as much in large problems


@dataclass(frozen=True)
class Figures:
    """`expansions` counts those of unsolved instances too; `plan_steps` is the length of all plans found together."""

    solved: int
    of: int
    expansions: int
    plan_steps: int

    @property
    def merit(self) -> tuple[int, int]:
        """The lower, the better."""
        return -self.solved, self.expansions

    def better_than(self, other: Figures) -> bool:
        return self.merit < other.merit

    def clearly_better_than(self, other: Figures) -> bool:
        """Of networks: more is solved, or as much with markedly fewer expansions."""
        return (-self.solved, self.expansions) < (-other.solved, MARKEDLY * other.expansions)

    def as_json(self) -> dict[str, int]:
        return asdict(self)

    def as_metadata(self) -> dict[str, int]:
        """As the file of a model has them."""
        return {f"{IN_METADATA}{name}": value for name, value in self.as_json().items()}

    @classmethod
    def of_metadata(cls, told: Mapping[str, Any]) -> Figures | None:
        """None where a model was not validated."""
        names = {name: f"{IN_METADATA}{name}" for name in cls.__dataclass_fields__}
        return cls(**{name: told[key] for name, key in names.items()}) if names["of"] in told else None

    def __str__(self) -> str:
        return f"{self.solved} of {self.of} validation instances solved, {self.expansions:,} expansions"


def figures_of(model: Model, tasks: Sequence[Task], config: TrainConfig) -> Figures:
    """Of a model, on the validation problems, within the configuration's limits."""
    most, seconds = config.validation_expansions, config.validation_time
    search = config.validation_search
    options: dict[str, Any] = {"rank": model.ranked_by(search), "max_expansions": most, "seconds": seconds}
    return searched(tasks, model.scorer, search, **options)


def searched(
    tasks: Sequence[Task],
    scorer_of: Callable[[Task], Scorer],
    search: str = "gbfs",
    *,
    rank: str = "states",
    max_expansions: int = 1000,
    seconds: float | None = None,
    batch: int = 1,
) -> Figures:
    """Search every task with `scorer_of(task)`, a model's `scorer`, in this process; `rank` is what that ranks.

    With the cap on expansions alone the outcome is the same every time; with `seconds`, for each task, it may differ.
    """
    solved = expansions = steps = 0
    for task in tasks:
        forward, scorer = Search(task, search, rank=rank, merge=True, batch=batch), scorer_of(task)
        if forward.run(scorer, float("inf") if seconds is None else seconds, max_expansions) == "solved":
            solved += 1
            steps += len(forward.plan())
        expansions += forward.expanded
        forward.release()
        del forward, scorer
        julia.collect_garbage()
    return Figures(solved, len(tasks), expansions, steps)
