"""planrank: heuristics that rank states, learned from plans, and the search that uses them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planrank.errors import PlanrankError

if TYPE_CHECKING:
    from planrank.search import Heuristic, Result, Search, solve, validate
    from planrank.task import Task, load

__version__ = "0.1.0"

# Imported when first used: they need NumPy, and later Julia, which help and usage errors can do without.
_HOME = {name: "planrank.search" for name in ("Heuristic", "Result", "Search", "solve", "validate")}
_HOME |= {name: "planrank.task" for name in ("Task", "load")}

__all__ = ["Heuristic", "PlanrankError", "Result", "Search", "Task", "__version__", "load", "solve", "validate"]


def __getattr__(name: str):
    if name in _HOME:
        import importlib

        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'planrank' has no attribute {name!r}")
