"""Arithmetic for training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


class TorchArithmetic:
    def remembered(self, layer: int, vertices: Tensor, compute: Callable[[], Tensor]) -> Tensor:
        return compute()

    def relu(self, rows: Tensor) -> Tensor:
        return torch.relu(rows)

    def side_by_side(self, parts: list[Tensor]) -> Tensor:
        return torch.cat(parts, dim=1)

    def repeated(self, rows: Tensor, times: int) -> Tensor:
        return rows.repeat_interleave(times, dim=0)

    def pooled(self, messages: list[Tensor], links: Any, count: int, width: int) -> Tensor:
        if links is None or not len(links.order):
            return messages[0].new_zeros(count, 2 * width) if messages else torch.zeros(count, 2 * width)
        rows = torch.cat(messages)[links.order]
        parts = [torch.segment_reduce(rows, kind, lengths=links.lengths, unsafe=True) for kind in ("mean", "max")]
        return rows.new_zeros(count, 2 * width).index_copy(0, links.objects, torch.cat(parts, dim=1))

    def merged(self, senders: Any, links: Any, vertices: Tensor) -> tuple[Any, Any]:
        """Nothing is put together: problems to learn from are small."""
        return senders, links

    def sums(self, numbers: Tensor, states: Tensor, count: int) -> Tensor:
        return numbers.new_zeros(count).index_add(0, states, numbers)

    def over_objects(self, vertices: Tensor, states: int, objects: int) -> Tensor:
        rows = vertices.view(states, objects, -1)
        return torch.cat([rows.mean(dim=1), rows.amax(dim=1)], dim=1)

    def zeros(self, count: int, like: Tensor) -> Tensor:
        return like.new_zeros(count)
