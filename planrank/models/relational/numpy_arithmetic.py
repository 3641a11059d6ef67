"""Arithmetic for search."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from planrank.models.relational.atoms import Links
from planrank.models.relational.merging import Senders, together

FEW = 32  # objects, whose further messages are taken all together


class NumpyArithmetic:
    def __init__(self) -> None:
        self.last: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def remembered(self, layer: int, vertices: np.ndarray, compute: Callable[[], np.ndarray]) -> np.ndarray:
        """What follows from these vertices alone: before the first layer they are those of the last state mostly."""
        last = self.last.get(layer)
        if last is None or not np.array_equal(last[0], vertices):
            self.last[layer] = last = vertices, compute()
        return last[1]

    def relu(self, rows: np.ndarray) -> np.ndarray:
        return np.maximum(rows, 0, out=rows)

    def side_by_side(self, parts: list[np.ndarray]) -> np.ndarray:
        return np.concatenate(parts, axis=1)

    def repeated(self, rows: np.ndarray, times: int) -> np.ndarray:
        return np.repeat(rows, times, axis=0)

    def pooled(self, messages: list[np.ndarray], links: Links | None, count: int, width: int) -> np.ndarray:
        """Mean and maximum of what reaches each object."""
        found = np.zeros((count, 2 * width), np.float32)
        if links is None or not len(links.order):
            return found
        rows, most = np.concatenate(messages), links.most_first
        sums, highest = np.zeros((2, len(most.objects), width), np.float32)  # no message is negative

        def messages_at(places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            """The messages, and what they add to a sum."""
            some = rows.take(links.order[places], axis=0)
            return some, some if links.counts is None else some * links.counts[places, None].astype(np.float32)

        # One message of every object at a time: much faster than reduceat.
        done, left = 0, len(most.objects)
        while left > FEW:
            some, added = messages_at(most.starts[:left] + done)
            sums[:left] += added
            np.maximum(highest[:left], some, out=highest[:left])
            done += 1
            left = int(np.searchsorted(-most.lengths, -done))  # have more messages than that
        for i in range(left):
            some, added = messages_at(np.arange(most.starts[i] + done, most.starts[i] + most.lengths[i]))
            sums[i] += added.sum(axis=0)
            np.maximum(highest[i], some.max(axis=0), out=highest[i])
        found[most.objects, :width] = sums / most.totals[:, None].astype(np.float32)
        found[most.objects, width:] = highest
        return found

    def merged(self, senders: Senders, links: Links | None, vertices: np.ndarray) -> tuple[Senders, Links | None]:
        """Atoms of objects that cannot be told apart send the same messages, so one of them speaks for all."""
        return (senders, links) if links is None else together(senders, links, vertices)

    def sums(self, numbers: np.ndarray, states: np.ndarray, count: int) -> np.ndarray:
        return np.bincount(states, numbers, count).astype(np.float32)

    def over_objects(self, vertices: np.ndarray, states: int, objects: int) -> np.ndarray:
        rows = vertices.reshape(states, objects, -1)
        return np.concatenate([rows.mean(axis=1), rows.max(axis=1)], axis=1)

    def zeros(self, count: int, like: np.ndarray) -> np.ndarray:
        return np.zeros(count, np.float32)
