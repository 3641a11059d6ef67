"""planrank: heuristics that rank states, learned from plans, and the search that uses them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planrank.errors import PlanrankError

if TYPE_CHECKING:
    from planrank.certificate import certify
    from planrank.config import TrainConfig
    from planrank.evaluation import evaluate
    from planrank.generation import generate
    from planrank.labelling import label
    from planrank.models import Architecture, Model
    from planrank.search import Heuristic, Result, Search, solve, validate
    from planrank.task import Task, load
    from planrank.training import train

__version__ = "0.1.0"

# Imported when first used: they need NumPy, and later Julia, which help and usage errors can do without.
_NAMES_IN = {
    "certificate": ("certify",),
    "config": ("TrainConfig",),
    "evaluation": ("evaluate",),
    "generation": ("generate",),
    "labelling": ("label",),
    "models": ("Architecture", "Model"),
    "search": ("Heuristic", "Result", "Search", "solve", "validate"),
    "task": ("Task", "load"),
    "training": ("train",),
}
_HOME = {name: f"planrank.{module}" for module, names in _NAMES_IN.items() for name in names}

__all__ = [
    "Architecture", "Heuristic", "Model", "PlanrankError", "Result", "Search", "Task", "TrainConfig", "__version__",
    "certify", "evaluate", "generate", "label", "load", "solve", "train", "validate",
]  # fmt: skip


def __getattr__(name: str):
    if name in _HOME:
        import importlib

        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'planrank' has no attribute {name!r}")
