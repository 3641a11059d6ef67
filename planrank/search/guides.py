"""What guides a search: a classical heuristic or a model, asked for by the user or found for the domain."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from planrank.choices import ACTION_SEARCHES, HEURISTICS, POLICY_SEARCHES, RANKS, heuristic_called, is_table
from planrank.errors import PlanrankError
from planrank.limits import Limits
from planrank.models import library
from planrank.models.model import Model
from planrank.search.forward import Evaluator
from planrank.search.heuristic import Heuristic
from planrank.task import Task


@dataclass(frozen=True)
class Guide:
    """A heuristic by its name, or a model and the file it was read from. `name` is what tables and logs call it."""

    name: str
    heuristic: str | None = None
    model: Model | None = None
    file: str | None = None

    @classmethod
    def of_heuristic(cls, name: str) -> Guide:
        """A classical one, by planrank's name or another planner's, or a table of numbers."""
        name = heuristic_called(name)
        if name not in HEURISTICS and not is_table(name):
            raise PlanrankError(f"unknown heuristic {name!r}; known: {', '.join(HEURISTICS)}, table, table:FILE")
        return cls(name, heuristic=name)

    @classmethod
    def of_model(cls, model: Model | str | Path) -> Guide:
        """A model, or one that is read from a file."""
        if isinstance(model, Model):
            return cls(f"model:{model.signature.domain}", model=model)
        return cls(f"model:{library.model_name(Path(model))}", model=Model.load(model), file=str(model))

    @property
    def scores_actions(self) -> bool:
        """Whether it can guide phs and levints."""
        return self.model is not None and self.model.scores_actions

    def suits(self, search: str) -> bool:
        """Whether this search can be guided by it."""
        if search in ("ucs", "bfs"):
            return self.heuristic == "blind"
        if search == "lazy":
            return self.model is None or self.model.rank != "actions"
        if search in ACTION_SEARCHES:
            return self.rank(search) == "actions"
        return self.scores_actions or search not in POLICY_SEARCHES

    def rank(self, search: str) -> str:
        """What a search with this guide ranks."""
        return "states" if self.model is None else self.model.ranked_by(search)

    def evaluator(self, task: Task, limits: Limits | None = None) -> Evaluator:
        """The guide prepared for a task."""
        if self.model is not None:
            return self.model.scorer(task, limits)
        return Heuristic(task, self.heuristic or "blind", limits)


def wanted_guide(
    search: str, heuristic: str | None, model: Model | str | Path | None, rank: str | None = None
) -> Guide | None:
    """The guide asked for, if it suits the search and ranks what was asked for; None if none was asked for."""
    if rank not in (None, "actions", "states"):
        raise PlanrankError(f"unknown rank `{rank}`; known: actions, states")
    if rank == "actions" and search in ("lazy", "ucs", "bfs", *POLICY_SEARCHES):
        raise PlanrankError(f"{search} ranks no actions; astar, gbfs, wastar and dive do")
    if rank == "states" and search in ACTION_SEARCHES:
        raise PlanrankError(f"{search} ranks actions, and ranking states was asked for")
    guide = guide_asked_for(search, heuristic, model)
    if rank is not None and guide is not None and guide.rank(search) != rank:
        which = "this model" if guide.model is not None else f"the heuristic {guide.name}"
        message = f"{which} ranks {guide.rank(search)}, and ranking {rank} was asked for"
        raise PlanrankError(message, file=guide.file or "")
    return guide


def guide_asked_for(search: str, heuristic: str | None, model: Model | str | Path | None) -> Guide | None:
    if heuristic is not None and model is not None:
        raise PlanrankError("a heuristic and a model were given, expected one of them")
    if search in ("ucs", "bfs"):
        if model is not None:
            raise PlanrankError(f"{search} is guided by nothing, so it takes no model")
        return Guide.of_heuristic("blind")
    if search in POLICY_SEARCHES and heuristic is not None:
        raise PlanrankError(f"{search} needs a model with a policy, not the heuristic {heuristic}")
    if search in ACTION_SEARCHES and heuristic is not None:
        raise PlanrankError(f"{search} needs a model that ranks actions, not the heuristic {heuristic}")
    if heuristic is not None:
        return Guide.of_heuristic(heuristic)
    if model is None:
        return None
    guide = Guide.of_model(model)
    if guide.suits(search):
        return guide
    message = f"{search} needs a policy, which this model has not; `planrank train --loss levin` makes one that has"
    if search in ACTION_SEARCHES:
        message = f"{search} needs a model that ranks actions, and this one does not; `planrank train` makes one"
    if search == "lazy":
        message = "lazy puts off the evaluation of states, and this model ranks actions: take gbfs, which does the same"
    raise PlanrankError(message, file=guide.file or "")


def takes_preferred(search: str, guide: Guide | None, wanted: bool | None) -> bool:
    """Whether preferred operators are taken first: as the user wants, or else wherever that can be."""
    possible = search == "lazy" and (guide is None or guide.heuristic == "ff")
    if wanted and not possible:
        found = search if search != "lazy" or guide is None else f"lazy with {guide.name}"
        raise PlanrankError(f"preferred operators are for the search lazy with the heuristic ff, not for {found}")
    return possible if wanted is None else wanted


def fitting_guide(task: Task, search: str, rank: str | None = None) -> Guide:
    """A model made for the domain of the task that suits the search and ranks what was asked for, else hFF."""
    ranks = {"actions": ("actions",), "states": ("states", "policy"), None: RANKS}[rank]
    if search == "lazy":
        ranks = ()
    elif search in POLICY_SEARCHES:
        ranks = ("policy", "actions")
    elif search in ACTION_SEARCHES:
        ranks = ("actions",)
    file = library.fitting_model(task, ranks) if ranks else None
    if file is not None:
        return Guide.of_model(file)
    if rank == "actions" or search in ACTION_SEARCHES:
        message = f"no model that ranks actions was found for the domain {task.domain}"
        raise PlanrankError(f"{message}; `planrank train --rank actions` makes one")
    if search in POLICY_SEARCHES:
        message = f"{search} needs a model with a policy, and none was found for the domain {task.domain}"
        raise PlanrankError(f"{message}; `planrank train --loss levin` makes one")
    return Guide.of_heuristic("ff")
