"""planrank: heuristics that rank states, learned from plans, and the search that uses them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planrank.errors import PlanrankError

if TYPE_CHECKING:
    from planrank.evaluation.runs import evaluate
    from planrank.improving.config import ImproveConfig
    from planrank.improving.improve import improve
    from planrank.learning.certificate import certify
    from planrank.learning.config import TrainConfig
    from planrank.learning.train import train
    from planrank.models.hypergraph.architecture import Architecture
    from planrank.models.model import Model
    from planrank.problems.labelling import label
    from planrank.problems.problem_sets import generate
    from planrank.reports.report import report
    from planrank.reports.show import show
    from planrank.search.anytime import Anytime, AnytimeResult, FoundPlan, solve_anytime
    from planrank.search.forward import Search
    from planrank.search.guides import Guide
    from planrank.search.heuristic import Heuristic
    from planrank.search.plans import validate
    from planrank.search.solve import Result, solve
    from planrank.task import Task, load

    __version__: str

# Imported when first used: they need NumPy, and later Julia, which help and usage errors can do without.
_HOME = {
    "Anytime": "search.anytime",
    "AnytimeResult": "search.anytime",
    "Architecture": "models.hypergraph.architecture",
    "FoundPlan": "search.anytime",
    "Guide": "search.guides",
    "Heuristic": "search.heuristic",
    "ImproveConfig": "improving.config",
    "Model": "models.model",
    "Result": "search.solve",
    "Search": "search.forward",
    "Task": "task",
    "TrainConfig": "learning.config",
    "certify": "learning.certificate",
    "evaluate": "evaluation.runs",
    "generate": "problems.problem_sets",
    "improve": "improving.improve",
    "label": "problems.labelling",
    "load": "task",
    "report": "reports.report",
    "show": "reports.show",
    "solve": "search.solve",
    "solve_anytime": "search.anytime",
    "train": "learning.train",
    "validate": "search.plans",
}

__all__ = [
    "Anytime", "AnytimeResult", "Architecture", "FoundPlan", "Guide", "Heuristic", "ImproveConfig", "Model",
    "PlanrankError", "Result", "Search", "Task", "TrainConfig", "__version__", "certify", "evaluate", "generate",
    "improve", "label", "load", "report", "show", "solve", "solve_anytime", "train", "validate",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    import importlib

    if name == "__version__":
        from importlib.metadata import version

        return version("planrank")
    if name in _HOME:
        return getattr(importlib.import_module(f"planrank.{_HOME[name]}"), name)
    raise AttributeError(f"module 'planrank' has no attribute {name!r}")
