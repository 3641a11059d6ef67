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

    def linked(self, image: Tensor, links: Tensor) -> Tensor:
        flat = image.flatten(2)
        return torch.zeros_like(flat).index_copy(2, links[0], flat[:, :, links[1]]).view(image.shape)

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
