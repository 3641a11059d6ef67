"""planrank: heuristics that rank states, learned from plans, and the search that uses them."""

from planrank.errors import PlanrankError

__version__ = "0.1.0"
__all__ = ["PlanrankError", "__version__"]
