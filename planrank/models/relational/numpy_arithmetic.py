"""Arithmetic for search."""

from __future__ import annotations

import numpy as np

from planrank.models.relational.atoms import Links
from planrank.models.relational.merging import Senders, together


class NumpyArithmetic:
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
        rows = np.concatenate(messages).take(links.order, axis=0)
        first = np.cumsum(links.lengths) - links.lengths
        found[links.objects, width:] = np.maximum.reduceat(rows, first, axis=0)
        totals = links.lengths
        if links.counts is not None:
            rows *= links.counts[:, None].astype(np.float32)
            totals = np.add.reduceat(links.counts, first)
        found[links.objects, :width] = np.add.reduceat(rows, first, axis=0) / totals[:, None].astype(np.float32)
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
