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


FIRST_SHARE = 0.9


def favour_first(logs: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Of actions that a policy finds equal (of one state, to the last bit) the first gets nine tenths of what they
    have together, the others share the rest.

    Equal things, nuts say, have equal probabilities, and one plan is then as many plans as there are orders to take
    them in. A search that begins with one order need not pay for the others.
    """
    state = np.repeat(np.arange(len(counts)), counts)
    order = np.lexsort((logs, state))  # stable: equal actions stay in their order
    s, p = state[order], logs[order]
    starts = np.ones(len(order), bool)
    starts[1:] = (s[1:] != s[:-1]) | (p[1:] != p[:-1])
    sizes = np.diff(np.flatnonzero(np.append(starts, True)))
    size = sizes.repeat(sizes)
    share = np.where(starts, FIRST_SHARE, (1 - FIRST_SHARE) / np.maximum(size - 1, 1))
    found = logs.copy()
    found[order[size > 1]] += np.log((size * share)[size > 1]).astype(logs.dtype)
    return found
