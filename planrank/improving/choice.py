"""Which problems are searched again and which plans are learned from: those that cost much more than they had to."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from planrank.improving.state import Known


def hardness(one: Known) -> float:
    """How much there is to learn from searching it again; what is not solved at all counts most."""
    return 0.1 + one.waste if one.found.solved else 10.0


def weighted_sample(rng: random.Random, items: Sequence[Known], weights: Sequence[float], count: int) -> list[Known]:
    """So many different ones, if there are; each drawn by its weight from those that are left."""
    # Efraimidis and Spirakis: the largest of random numbers raised to the power 1 / weight.
    keys = [math.log(1 - rng.random()) / weight for weight in weights]
    order = sorted(range(len(items)), key=lambda i: -keys[i])
    return [items[i] for i in order[:count]]
