"""What guides a search: a classical heuristic or a model, asked for by the user or found for the domain."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from planrank import shipped
from planrank.choices import POLICY_SEARCHES
from planrank.errors import PlanrankError

if TYPE_CHECKING:
    from planrank.models import Model
    from planrank.task import Task


@dataclass(frozen=True)
class NamedModel:
    """A model and where it comes from."""

    model: Model
    name: str
    file: str | None = None

    @classmethod
    def read(cls, file: str | Path) -> NamedModel:
        from planrank.models import Model

        return cls(Model.load(file), shipped.model_name(Path(file)), str(file))


def choose_guide(search: str, heuristic: str | None, model: Model | str | Path | None) -> str | NamedModel | None:
    """The guide asked for, if it suits the search: the name of a heuristic, or a model. None: none was asked for."""
    if heuristic is not None and model is not None:
        raise PlanrankError("a heuristic and a model were given, expected one of them")
    if search in ("ucs", "bfs"):
        if model is not None:
            raise PlanrankError(f"{search} is guided by nothing, so it takes no model")
        return "blind"
    if search in POLICY_SEARCHES and heuristic is not None:
        raise PlanrankError(f"{search} needs a model with a policy, not the heuristic {heuristic}")
    if model is None:
        return heuristic
    chosen = NamedModel.read(model) if isinstance(model, str | Path) else NamedModel(model, model.signature.domain)
    if search in POLICY_SEARCHES and not chosen.model.architecture.policy:
        message = f"{search} needs a policy, which this model has not; `planrank train --loss levin` makes one that has"
        raise PlanrankError(message, file=chosen.file or "")
    return chosen


def fitting_guide(task: Task, search: str) -> str | NamedModel:
    """A model made for the domain of the task, else hFF."""
    file = shipped.fitting_model(task, with_policy=search in POLICY_SEARCHES)
    if file is not None:
        return NamedModel.read(file)
    if search in POLICY_SEARCHES:
        message = f"{search} needs a model with a policy, and none was found for the domain {task.domain}"
        raise PlanrankError(f"{message}; `planrank train --loss levin` makes one")
    return "ff"
