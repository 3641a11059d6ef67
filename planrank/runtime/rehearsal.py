"""Uses the bridge once in every way planrank does, so that what Julia compiles for it can be recorded."""

from __future__ import annotations

import contextlib

import numpy as np

from planrank import julia
from planrank.errors import PlanrankError


def rehearse() -> None:
    numbers = np.array(julia.view(julia.call("ramp", 5)))
    assert julia.call("sum_of", *julia.lend(numbers, np.float32)) == 10.0
    with contextlib.suppress(PlanrankError):
        julia.call("sum_of", 0, -1)


if __name__ == "__main__":
    rehearse()
