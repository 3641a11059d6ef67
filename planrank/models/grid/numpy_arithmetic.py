"""Arithmetic for search: images are (states, height, width, channels); a convolution is one product of matrices."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from planrank.errors import PlanrankError
from planrank.limits import Limits
from planrank.models.grid.network import sinusoid


class NumpyArithmetic:
    """Looks at the clock now and then: the image of a large task may take seconds."""

    def __init__(self, limits: Limits | None = None):
        self.limits = limits or Limits()

    def relu(self, x: np.ndarray) -> np.ndarray:
        return np.maximum(x, 0)

    def convolution(self, image: np.ndarray, weights: np.ndarray, bias: np.ndarray) -> np.ndarray:
        if self.limits.seconds_left() <= 0:
            raise PlanrankError("the time limit was met while the network looked at a state", "time")
        n, height, width, channels = image.shape
        padded = np.zeros((n, height + 2, width + 2, channels), np.float32)
        padded[:, 1:-1, 1:-1] = image
        a, b, c, d = padded.strides
        # Three neighbours in a row lie side by side, so a pixel's surroundings are three pieces of memory.
        around = np.lib.stride_tricks.as_strided(padded, (n, height, width, 3, 3 * channels), (a, b, c, b, d))
        return (around.reshape(-1, 9 * channels) @ weights + bias).reshape(n, height, width, -1)

    def stacked(self, images: list[np.ndarray]) -> np.ndarray:
        most = max(len(image) for image in images)
        return np.concatenate([np.broadcast_to(i, (most, *i.shape[1:])) for i in images], axis=3)

    def linked(self, image: np.ndarray, links: np.ndarray) -> np.ndarray:
        """Each pixel as that which it is linked to, or nothing."""
        found = np.zeros_like(image)
        self.table(found)[links[0]] = self.table(image)[links[1]]
        return found

    def concat(self, rows: list[np.ndarray]) -> np.ndarray:
        return np.concatenate(rows, axis=1)

    def mean(self, image: np.ndarray) -> np.ndarray:
        return image.mean(axis=(1, 2))

    def sum(self, image: np.ndarray) -> np.ndarray:
        return image.sum(axis=(1, 2))

    def max(self, image: np.ndarray) -> np.ndarray:
        return image.max(axis=(1, 2))

    def plus_everywhere(self, image: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return image + rows[:, None, None]

    def extent(self, image: np.ndarray) -> int:
        """So many times two convolutions see from one corner to the other."""
        return (image.shape[1] + image.shape[2] + 1) // 2

    def table(self, image: np.ndarray) -> np.ndarray:
        return image.reshape(-1, image.shape[3])

    def attention(self, image: np.ndarray, width: int, heads: int) -> np.ndarray:
        n, height, columns, _ = image.shape
        flat = image.reshape(n, height * columns, 3, heads, width // heads).transpose(2, 0, 3, 1, 4)
        query, key, value = flat
        logits = query @ key.transpose(0, 1, 3, 2) / np.float32(np.sqrt(width // heads))
        parts = np.exp(logits - logits.max(axis=-1, keepdims=True))
        parts /= parts.sum(axis=-1, keepdims=True)
        return (parts @ value).transpose(0, 2, 1, 3).reshape(n, height, columns, width)

    def plus_position(self, image: np.ndarray) -> np.ndarray:
        return image + positions(*image.shape[1:])

    def numbers(self, count: int) -> np.ndarray:
        return np.arange(count)

    def zeros(self, count: int, like: Any) -> np.ndarray:
        return np.zeros(count, np.float32)


@lru_cache(maxsize=8)
def positions(height: int, width: int, channels: int) -> np.ndarray:
    return sinusoid(height, width, channels)
