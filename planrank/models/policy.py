"""The policy of a state: probabilities of its applicable actions, from their logits."""

from __future__ import annotations

from typing import Any

import numpy as np


def log_softmax(logits: Any, counts: np.ndarray, xp: Any = np) -> Any:
    """Within each state's row of actions, the rows lying one after the other; `xp` is NumPy or PyTorch."""
    counts = np.asarray(counts, np.int64)
    counts = counts[counts > 0]
    if len(counts) == 0:
        return logits
    rows = np.repeat(np.arange(len(counts)), counts)
    column = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    width = int(counts.max())
    padded = xp.full((len(counts) * width,), -np.inf, dtype=logits.dtype)
    padded[rows * width + column] = logits
    padded = padded.reshape(len(counts), width)
    highest = xp.amax(padded, axis=1)
    total = highest + xp.log(xp.exp(padded - highest[:, None]).sum(axis=1))
    return logits - total[rows]
