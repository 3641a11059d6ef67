"""All that changes while a model improves: one file, written at the end of every round, so that a run can go on."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from planrank.errors import PlanrankError
from planrank.improving.config import ImproveConfig
from planrank.improving.ladder import LadderProblem
from planrank.improving.searching import Found
from planrank.learning import checkpoints
from planrank.learning.selection import Figures
from planrank.models.model import Model

STATE = "state.safetensors"


@dataclass(frozen=True)
class Known:
    """A problem that was searched, what came of it the last time, and who made the plan that is kept, if any."""

    problem: LadderProblem
    found: Found
    plan_by: str
    plan_steps: int
    round: int  # of the plan

    @property
    def waste(self) -> float:
        """How many states the search expanded for each step of the plan beyond the one that it needs, on a scale on
        which each doubling counts the same; 0 at best."""
        return math.log2(max(1.0, self.found.expanded / max(1, self.plan_steps)))


@dataclass
class State:
    """`present` goes on learning, `best` is what is written to the out file, with `figures` on the problems held out at
    `level` and `budget`, which are None where these have changed since."""

    present: Model
    best: Model
    round: int = 0
    level: int = -1  # not yet found
    budget: int = 0
    stalled: bool = False
    best_round: int = 0
    figures: Figures | None = None
    told: dict[str, Any] = field(default_factory=dict)  # what the file of the best says of it
    seconds: float = 0.0
    known: dict[str, Known] = field(default_factory=dict)

    def save(self, config: ImproveConfig) -> None:
        names = ("round", "level", "budget", "stalled", "best_round", "told", "seconds")
        told: dict[str, Any] = {name: getattr(self, name) for name in names}
        told |= {"figures": None if self.figures is None else self.figures.as_json(), "config": config.as_json()}
        told["known"] = [asdict(one) for one in self.known.values()]
        models = {"present": self.present, "best": self.best}
        tensors = {f"{which} {name}": array for which, model in models.items() for name, array in model.weights.items()}
        checkpoints.save(config.folder / STATE, tensors, told)

    @classmethod
    def load(cls, config: ImproveConfig, start: Model) -> State:
        """Of an earlier run with the same options; `start` is the model that it began with."""
        file = config.folder / STATE
        tensors, told = checkpoints.load(file)
        names = config.differing(told.pop("config"))
        if names:
            message = f"the run there is of other options: {', '.join(names)}"
            raise PlanrankError(f"{message}; improve without --resume, or into another --out", file=str(file))

        def model(which: str, metadata: dict[str, Any]) -> Model:
            weights = {name: tensors[f"{which} {name}"] for name in start.weights}
            return replace(start, weights=weights, metadata=metadata)

        figures = told.pop("figures")
        known = [known_of(one) for one in told.pop("known")]
        told.pop("format")
        return cls(
            model("present", start.metadata),
            model("best", start.metadata | {"improving": told["told"]}),
            figures=None if figures is None else Figures(**figures),
            known={one.problem.name: one for one in known},
            **told,
        )


def known_of(told: dict[str, Any]) -> Known:
    return Known(**told | {"problem": LadderProblem(**told["problem"]), "found": Found(**told["found"])})


def exists(folder: Path) -> bool:
    return (folder / STATE).exists()
