"""Classical heuristics, written in Julia."""

from __future__ import annotations

import numpy as np

from planrank import julia
from planrank.choices import heuristic_called, is_table
from planrank.errors import PlanrankError
from planrank.limits import Limits
from planrank.search.table import table_of
from planrank.task import Task


class Heuristic:
    """A classical heuristic of a task, one of `planrank.choices.HEURISTICS`, or `table` (see `planrank.search.table`).
    Its values are in the user's costs."""

    def __init__(self, task: Task, name: str, limits: Limits | None = None):
        limits = limits or Limits()
        self.task = task
        self.name = name = heuristic_called(name)
        if is_table(name):
            numbers = table_of(task, name)
            self.handle = julia.call("new_table", task.handle, *julia.lend(numbers, np.float64))
        else:
            self.handle = julia.call_long("new_heuristic", task.handle, name, limits.deadline, limits.memory)

    def values(self, states: np.ndarray) -> np.ndarray:
        """Of packed states, a row each; infinity where the goal cannot be reached."""
        if states.ndim != 2 or states.shape[1] != self.task.words:
            raise PlanrankError(f"found an array of shape {states.shape}, expected states of {self.task.words} words")
        address, _ = julia.lend(states, np.uint64)
        return julia.view(julia.call_long("heuristic_values", self.task.handle, self.handle, address, len(states)))
