"""The networks themselves, written once over two kinds of arithmetic: NumPy for search, PyTorch for training.

An image is what the arithmetic makes of it; `table` is the same with a row for each pixel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from planrank.models.grid.architecture import (
    ATTENTION,
    COAT_BLOCKS,
    COAT_CONVOLUTIONS,
    COAT_HEADS,
    RESIDUALS,
    GridArchitecture,
)


@dataclass(frozen=True)
class ActionGroup:
    """Actions of one kind: their numbers, the states they are of, and the pixels of their places, a row for each."""

    kind: int
    ids: Any
    states: Any
    cells: Any


@dataclass(frozen=True)
class Seen:
    """States as a network sees them. Of a map there is one image for all states."""

    images: Any
    pixels: int
    states: int
    agents: Any  # the pixel of the agent in each state, or None
    actions: list[ActionGroup] | None
    count: int  # of the actions


def features(arithmetic: Any, weights: Any, shape: GridArchitecture, images: Any, links: Any = None) -> Any:
    """The image that values and scores are read from. `links` are those of a map, None if its view has none."""
    relu = arithmetic.relu

    def convolved(name: str, image: Any) -> Any:
        return arithmetic.convolution(image, weights[f"{name}.map"], weights[f"{name}.bias"])

    if shape.network == "small":
        image = relu(convolved("first", images))
        for i in range(RESIDUALS):
            more = convolved(f"residual{i}", image)
            if i % 2:
                pooled = arithmetic.concat([arithmetic.mean(image), arithmetic.max(image)])
                more = arithmetic.plus_everywhere(more, dense(weights, f"everywhere{i}", pooled))
            image = relu(image + more)
        return image
    if shape.network == "map":
        return distances(arithmetic, weights, images, links)
    image = None
    for i in range(COAT_CONVOLUTIONS):
        image = relu(convolved(f"convolution{i}", images if image is None else arithmetic.stacked([image, images])))
    for i in range(COAT_BLOCKS):
        image = relu(convolved(f"block{i}", arithmetic.stacked([image, images])))
        image = arithmetic.stacked([image, arithmetic.attention(image, ATTENTION, COAT_HEADS)])
        image = arithmetic.plus_position(image)
    return arithmetic.stacked([image, images])


def distances(arithmetic: Any, weights: Any, image: Any, links: Any) -> Any:
    """Maps of how far it is from each cell: the least, over all ways, of what the cells and the steps on it cost and of
    what it costs to end there.

    These of cells are measured by the size of the grid, so that walls keep apart what is far away in a large one too,
    and may be nothing, so that ways can be long.
    """

    def of_cells(name: str) -> Any:
        return arithmetic.at_each(image, weights[f"{name}.map"], weights[f"{name}.bias"])

    size, softplus = arithmetic.extent(image), arithmetic.softplus
    ends, costs = softplus(of_cells("ends")) * size, arithmetic.relu(of_cells("costs")) * size
    return arithmetic.least(ends, costs, softplus(weights["steps.bias"]), links)


def read(arithmetic: Any, weights: Any, shape: GridArchitecture, image: Any, seen: Seen) -> tuple[Any, Any]:
    """Values of the states, and the scores of their actions or None."""
    table = arithmetic.table(image)

    def rows(states: Any, cells: Any) -> Any:
        return table[cells if shape.network == "map" else states * seen.pixels + cells]

    if shape.pooled == "cell":
        pooled = rows(arithmetic.numbers(seen.states), seen.agents)
    elif shape.pooled == "mean":
        pooled = arithmetic.mean(image)
    else:
        pooled = arithmetic.concat([arithmetic.sum(image) * 0.1, arithmetic.max(image)])
    hidden = arithmetic.relu(dense(weights, "head.hidden", pooled))
    values = dense(weights, "head.value", hidden)[:, 0]
    if seen.actions is None:
        return values, None
    context = hidden @ weights["actions.state.map"]
    scores = arithmetic.zeros(seen.count, values)
    for group in seen.actions:
        found = context[group.states] + weights[f"action{group.kind}.bias"]
        if group.cells.shape[1]:
            around = rows(group.states[:, None], group.cells)
            found = found + around.reshape(len(around), -1) @ weights[f"action{group.kind}.map"]
        scores[group.ids] = (arithmetic.relu(found) @ weights["actions.score.map"])[:, 0]
    return values, scores


def dense(weights: Any, name: str, inputs: Any) -> Any:
    return inputs @ weights[f"{name}.map"] + weights[f"{name}.bias"]


def sinusoid(height: int, width: int, channels: int) -> np.ndarray:
    """Positions in two dimensions (height, width, channels): a half of the channels for rows, the other for columns."""
    half = channels // 2
    rates = 10_000.0 ** (-np.arange(0, half, 2) / half)

    def along(count: int) -> np.ndarray:
        angles = np.arange(count)[:, None] * rates
        return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)[:, :half]

    found = np.zeros((height, width, channels), np.float32)
    found[:, :, :half] = along(height)[:, None]
    found[:, :, half : 2 * half] = along(width)[None]
    return found
