"""Arithmetic for search."""

from __future__ import annotations

import numpy as np

from planrank.models.relational.atoms import Links


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
        found[links.objects, :width] = np.add.reduceat(rows, first, axis=0) / links.lengths[:, None].astype(np.float32)
        found[links.objects, width:] = np.maximum.reduceat(rows, first, axis=0)
        return found

    def sums(self, numbers: np.ndarray, states: np.ndarray, count: int) -> np.ndarray:
        return np.bincount(states, numbers, count).astype(np.float32)

    def over_objects(self, vertices: np.ndarray, states: int, objects: int) -> np.ndarray:
        rows = vertices.reshape(states, objects, -1)
        return np.concatenate([rows.mean(axis=1), rows.max(axis=1)], axis=1)

    def zeros(self, count: int, like: np.ndarray) -> np.ndarray:
        return np.zeros(count, np.float32)
