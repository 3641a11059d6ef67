"""Arithmetic for search: images are (states, height, width, channels); a convolution is one product of matrices."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from planrank.errors import PlanrankError
from planrank.limits import Limits
from planrank.models.grid.architecture import NEAR
from planrank.models.grid.network import sinusoid

MOST_FRAMES = 4  # images with more and fewer channels, of one state or of several


class NumpyArithmetic:
    """Looks at the clock now and then: the image of a large task may take seconds."""

    def __init__(self, limits: Limits | None = None):
        self.limits = limits or Limits()
        self.frames: dict[tuple[int, ...], tuple[np.ndarray, np.ndarray]] = {}

    def check_time(self) -> None:
        if self.limits.seconds_left() <= 0:
            raise PlanrankError("the time limit was met while the network looked at a state", "time")

    def relu(self, x: np.ndarray) -> np.ndarray:
        return np.maximum(x, 0)

    def convolution(self, image: np.ndarray, weights: np.ndarray, bias: np.ndarray) -> np.ndarray:
        self.check_time()
        inside, around = self.framed(image.shape)
        inside[...] = image
        n, height, width, _ = image.shape
        return (around.reshape(n * height * width, -1) @ weights + bias).reshape(n, height, width, -1)

    def framed(self, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Room for an image in a frame of zeros, and a view of each pixel's surroundings there. What was made last is
        kept: one state after the other costs no more than the product."""
        if shape not in self.frames:
            if len(self.frames) > MOST_FRAMES:
                self.frames.clear()
            n, height, width, channels = shape
            padded = np.zeros((n, height + 2, width + 2, channels), np.float32)
            a, b, c, d = padded.strides
            # Three neighbours in a row lie side by side, so a pixel's surroundings are three pieces of memory.
            around = np.lib.stride_tricks.as_strided(padded, (n, height, width, 3, 3 * channels), (a, b, c, b, d))
            self.frames[shape] = padded[:, 1:-1, 1:-1], around
        return self.frames[shape]

    def stacked(self, images: list[np.ndarray]) -> np.ndarray:
        most = max(len(image) for image in images)
        return np.concatenate([np.broadcast_to(i, (most, *i.shape[1:])) for i in images], axis=3)

    def at_each(self, image: np.ndarray, weights: np.ndarray, bias: np.ndarray) -> np.ndarray:
        return image @ weights + bias

    def softplus(self, x: np.ndarray) -> np.ndarray:
        return np.logaddexp(x, np.float32(0))

    def least(self, ends: np.ndarray, costs: np.ndarray, steps: np.ndarray, links: np.ndarray | None) -> np.ndarray:
        """The image with found = min(ends, costs + steps + found nearby, or where a link leads from there)."""
        _, height, width, maps = ends.shape
        ends, costs = (np.ascontiguousarray(one[0].transpose(2, 0, 1)) for one in (ends, costs))
        sides = np.full((len(steps) // NEAR, maps, height + 2, width + 2), np.inf, np.float32)
        shifts = [(side, i, j) for side in range(len(sides)) for i in range(3) for j in range(3)]
        found = ends
        for _ in range(height * width):  # no way is longer, and numbers that are none never settle
            self.check_time()
            sides[0, :, 1:-1, 1:-1] = found
            if links is not None:
                inside = np.full(found.shape, np.inf, np.float32).reshape(maps, -1)
                inside[:, links[0]] = found.reshape(maps, -1)[:, links[1]]
                sides[1, :, 1:-1, 1:-1] = inside.reshape(found.shape)
            ways = np.full_like(found, np.inf)
            for (side, i, j), step in zip(shifts, steps, strict=True):
                np.minimum(ways, sides[side, :, i : i + height, j : j + width] + step[:, None, None], out=ways)
            better = np.minimum(found, ways + costs)
            if np.array_equal(better, found):
                break
            found = better
        return found.transpose(1, 2, 0)[None]

    def concat(self, rows: list[np.ndarray]) -> np.ndarray:
        return np.concatenate(rows, axis=1)

    def mean(self, image: np.ndarray) -> np.ndarray:
        return self.sum(image) / np.float32(image.shape[1] * image.shape[2])

    def sum(self, image: np.ndarray) -> np.ndarray:
        return np.add.reduce(image, axis=(1, 2))

    def max(self, image: np.ndarray) -> np.ndarray:
        return np.maximum.reduce(image, axis=(1, 2))

    def plus_everywhere(self, image: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return image + rows[:, None, None]

    def extent(self, image: np.ndarray) -> int:
        """Half of the way from one corner to the other."""
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
