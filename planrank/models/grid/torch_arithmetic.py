"""Arithmetic for training: images are (states, channels, height, width), as PyTorch has them."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import conv2d

from planrank.models.grid.network import sinusoid


class TorchArithmetic:
    def relu(self, x: Tensor) -> Tensor:
        return torch.relu(x)

    def convolution(self, image: Tensor, weights: Tensor, bias: Tensor) -> Tensor:
        kernel = weights.view(3, 3, image.shape[1], -1).permute(3, 2, 0, 1)
        return conv2d(image, kernel, bias, padding=1)

    def stacked(self, images: list[Tensor]) -> Tensor:
        most = max(len(image) for image in images)
        return torch.cat([image.expand(most, -1, -1, -1) for image in images], dim=1)

    def at_each(self, image: Tensor, weights: Tensor, bias: Tensor) -> Tensor:
        return torch.einsum("nchw,cm->nmhw", image, weights) + bias[:, None, None]

    def softplus(self, x: Tensor) -> Tensor:
        return torch.nn.functional.softplus(x)

    def least(self, ends: Tensor, costs: Tensor, steps: Tensor, links: Tensor | None) -> Tensor:
        """As in search. Gradients flow along the cheapest ways, which are found first."""
        maps, height, width = ends.shape[1:]
        ends, costs, steps = ends[0].flatten(1), costs[0].flatten(1), steps.T
        near = neighbours(height, width, links)
        with torch.no_grad():
            found, outside = ends, ends.new_full((maps, 1), torch.inf)
            for _ in range(height * width):  # no way is longer, and numbers that are none never settle
                before = found
                around = torch.cat([before, outside], dim=1)[:, near.flatten()].view(maps, len(near), -1)
                ways, step = (around + steps[:, :, None]).min(dim=1)
                found = torch.minimum(before, ways + costs)
                if torch.equal(found, before):
                    break
        onward = ways + costs < ends
        taken = torch.where(onward, costs + steps.gather(1, step), ends)
        there = near[step, torch.arange(height * width)].where(onward, height * width)
        # The cost of ways of 1, 2, 4, … steps, until all have ended in a last cell, from where nothing is added.
        ended = there.new_full((maps, 1), height * width)
        for _ in range((height * width).bit_length()):
            if not (there < height * width).any():
                break
            taken = taken + torch.cat([taken, taken.new_zeros(maps, 1)], dim=1).gather(1, there)
            there = torch.cat([there, ended], dim=1).gather(1, there)
        return taken.view(1, maps, height, width)

    def concat(self, rows: list[Tensor]) -> Tensor:
        return torch.cat(rows, dim=1)

    def mean(self, image: Tensor) -> Tensor:
        return image.mean(dim=(2, 3))

    def sum(self, image: Tensor) -> Tensor:
        return image.sum(dim=(2, 3))

    def max(self, image: Tensor) -> Tensor:
        return image.amax(dim=(2, 3))

    def plus_everywhere(self, image: Tensor, rows: Tensor) -> Tensor:
        return image + rows[:, :, None, None]

    def extent(self, image: Tensor) -> int:
        return (image.shape[2] + image.shape[3] + 1) // 2

    def table(self, image: Tensor) -> Tensor:
        return image.permute(0, 2, 3, 1).reshape(-1, image.shape[1])

    def attention(self, image: Tensor, width: int, heads: int) -> Tensor:
        n, _, height, columns = image.shape
        flat = image.permute(0, 2, 3, 1).reshape(n, height * columns, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
        found = torch.nn.functional.scaled_dot_product_attention(*flat)
        return found.permute(0, 1, 3, 2).reshape(n, width, height, columns)

    def plus_position(self, image: Tensor) -> Tensor:
        positions = torch.from_numpy(sinusoid(image.shape[2], image.shape[3], image.shape[1]))
        return image + positions.permute(2, 0, 1).to(image.dtype)

    def numbers(self, count: int) -> Tensor:
        return torch.arange(count)

    def zeros(self, count: int, like: Tensor) -> Tensor:
        return like.new_zeros(count)


def neighbours(height: int, width: int, links: Tensor | None) -> Tensor:
    """Of each pixel those around it, row by row, and where links lead from these; a row of pixels for each, a number
    too large where there is none."""
    pixels = torch.full((height + 2, width + 2), height * width)
    pixels[1:-1, 1:-1] = torch.arange(height * width).view(height, width)
    near = torch.stack([pixels[i : i + height, j : j + width].flatten() for i in range(3) for j in range(3)])
    if links is None:
        return near
    leads = torch.full((height * width + 1,), height * width)
    leads[links[0]] = links[1]
    return torch.cat([near, leads[near]])
