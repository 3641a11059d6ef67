"""The network over PyTorch, for training: one flat vector of weights, gradients by sparse products.

What depends on the example alone is prepared once. Gathering rows is an index on the way forward and a sparse product
on the way back, which is several times faster than PyTorch's own scatter.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from planrank.models.hypergraph.architecture import Architecture
from planrank.models.hypergraph.distinct_parts import EdgeGroup, Multisets, Parts, VertexGroup
from planrank.models.hypergraph.network import vertex_features

warnings.filterwarnings("ignore", message="Sparse (CSR|invariant)", category=UserWarning)

MAX_COLUMNS = 8  # of a maximum taken column by column; longer lists are cut into pieces


def sparse(
    offsets: np.ndarray, columns: np.ndarray, values: np.ndarray, shape: tuple[int, int], dtype: torch.dtype
) -> torch.Tensor:
    starts, places = (torch.from_numpy(part.astype(np.int32)) for part in (offsets, columns))
    return torch.sparse_csr_tensor(starts, places, torch.as_tensor(values, dtype=dtype), size=shape)


def offsets_of(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


class Selection:
    """Rows of a table by number; what flows back is summed for each row."""

    def __init__(self, ids: np.ndarray, table_size: int, dtype: torch.dtype):
        flat = ids.astype(np.int64).ravel()
        self.count, self.columns = len(ids), ids.shape[1] if ids.ndim == 2 else 1
        self.ids = torch.from_numpy(flat.astype(np.int32))
        counts = np.bincount(flat, minlength=table_size)
        order = np.argsort(flat, kind="stable")
        self.back = sparse(offsets_of(counts), order, np.ones(len(flat)), (table_size, len(flat)), dtype)


class Select(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, table: torch.Tensor, selection: Selection) -> torch.Tensor:
        context.selection = selection
        return table.index_select(0, selection.ids)

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        return context.selection.back @ gradient, None


class Pooling:
    """Lists of rows of a table to be added up, averaged or maximised."""

    def __init__(self, lists: Multisets, table_size: int, kinds: tuple[str, ...], dtype: torch.dtype):
        lengths, ids = lists.lengths.astype(np.int64), lists.ids.astype(np.int64)
        counts = lists.counts.astype(np.float64)
        self.count = len(lengths)
        rows = np.repeat(np.arange(self.count), lengths)
        order = np.argsort(ids, kind="stable")
        back_offsets = offsets_of(np.bincount(ids, minlength=table_size))
        self.products = {}
        for kind in kinds:
            if kind != "max":
                totals = np.bincount(rows, counts, minlength=self.count)
                weights = counts / totals[rows] if kind == "mean" else counts
                there = sparse(offsets_of(lengths), ids, weights, (self.count, table_size), dtype)
                back = sparse(back_offsets, rows[order], weights[order], (table_size, self.count), dtype)
                self.products[kind] = (there, back)
        self.maximum = Maximum(lengths, ids) if "max" in kinds else None


class Product(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, table: torch.Tensor, there: torch.Tensor, back: torch.Tensor) -> torch.Tensor:
        context.back = back
        return there @ table

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        return context.back @ gradient, None, None


class Maximum:
    """The largest of each list, column by column: lists in pieces of few entries, the longest first, and the pieces'
    results as lists again, until each list is one piece."""

    def __init__(self, lengths: np.ndarray, ids: np.ndarray):
        starts = offsets_of(lengths)[:-1]
        pieces = -(-lengths // MAX_COLUMNS)
        owner = np.repeat(np.arange(len(lengths)), pieces)
        number = np.arange(len(owner)) - np.repeat(offsets_of(pieces)[:-1], pieces)
        first = starts[owner] + number * MAX_COLUMNS
        size = np.minimum(lengths[owner] - number * MAX_COLUMNS, MAX_COLUMNS)
        order = np.argsort(-size, kind="stable")
        first, size = first[order], size[order]
        self.size = len(order)
        self.columns = []
        for column in range(int(size.max(initial=0))):
            wide = int(np.searchsorted(-size, -column, side="left"))
            self.columns.append(torch.from_numpy(ids[first[:wide] + column].astype(np.int32)))
        place = np.empty(self.size, np.int64)
        place[order] = np.arange(self.size)
        self.rest = Maximum(pieces, place) if (pieces > 1).any() else None
        # Of lists that are one piece, the row of their result; an empty one takes the zero that is put behind the last.
        alone = np.full(len(lengths), self.size, np.int64)
        if self.rest is None:
            alone[owner] = place
        self.result = torch.from_numpy(alone.astype(np.int32))

    def winners(self, table: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The largest entries, and for each the number of the row it comes from."""
        width = table.shape[1]
        if not self.columns:
            empty = table.new_zeros(len(self.result), width)
            return empty, torch.zeros(empty.shape, dtype=torch.int64)
        best = table.new_zeros(self.size + 1, width)
        winner = torch.zeros(self.size + 1, width, dtype=torch.int64)
        best[: self.size] = table.index_select(0, self.columns[0])
        winner[: self.size] = self.columns[0][:, None]
        for ids in self.columns[1:]:
            rows = table.index_select(0, ids)
            above = best[: len(ids)]
            winner[: len(ids)] = torch.where(rows > above, ids[:, None].long(), winner[: len(ids)])
            torch.maximum(above, rows, out=above)
        if self.rest is None:
            return best.index_select(0, self.result), winner.index_select(0, self.result)
        best, piece = self.rest.winners(best)
        return best, winner.gather(0, piece)


class TakeMaximum(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, table: torch.Tensor, maximum: Maximum) -> torch.Tensor:
        best, winner = maximum.winners(table)
        context.shape = table.shape
        context.winner = winner
        return best

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        return gradient.new_zeros(context.shape).scatter_add_(0, context.winner, gradient), None


class TorchArithmetic:
    """Arithmetic for `network.forward` over prepared parts, which are numbered group by group."""

    def __init__(self, dtype: torch.dtype):
        self.dtype = dtype

    def store(self, name: str, layer: int, blocks: list[Any], width: int) -> torch.Tensor:
        return torch.cat([torch.zeros(1, width, dtype=self.dtype), *(rows for _, rows in blocks)])

    def first_vertices(self, parts: Any, shape: Architecture) -> torch.Tensor:
        return parts.flags

    def select(self, table: torch.Tensor, selection: Selection) -> torch.Tensor:
        return Select.apply(table, selection).reshape(selection.count, selection.columns * table.shape[1])

    def features(self, rows: torch.Tensor) -> torch.Tensor:
        return rows

    def concat(self, parts: list[torch.Tensor]) -> torch.Tensor:
        return torch.cat(parts, dim=1)

    relu = staticmethod(torch.relu)

    def widen(self, rows: torch.Tensor, width: int) -> torch.Tensor:
        return torch.nn.functional.pad(rows, (0, width - rows.shape[1]))

    def constant(self, array: np.ndarray, like: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(array).to(like.dtype)

    def pool(self, table: torch.Tensor, pooling: Pooling, kinds: tuple[str, ...]) -> torch.Tensor:
        parts = []
        for kind in kinds:
            if kind == "max":
                parts.append(TakeMaximum.apply(table, pooling.maximum))
            else:
                parts.append(Product.apply(table, *pooling.products[kind]))
        return torch.cat(parts, dim=1)


def prepare(parts: Parts, shape: Architecture, dtype: torch.dtype = torch.float32) -> Any:
    """The parts numbered group by group, with tensors and index tables in place of their arrays."""
    features = torch.as_tensor(np.vstack([np.zeros((1, 3), np.float32), parts.features]), dtype=dtype)
    vertex_rank, vertex_count = np.arange(len(parts.flags) + 1), len(parts.flags) + 1

    def prepared(edge: EdgeGroup) -> EdgeGroup:
        tails: Any = Selection(vertex_rank[edge.tails], vertex_count, dtype)
        own: Any = features[torch.from_numpy(edge.features.astype(np.int64))]
        return replace(edge, features=own, tails=tails)

    layers: list[Any] = []
    for layer in parts.layers:
        edges = [prepared(edge) for edge in layer.edges]
        edge_rank, edge_count = ranks(layer.edges)
        bags: Any = Pooling(replace(layer.bags, ids=edge_rank[layer.bags.ids]), edge_count, shape.messages, dtype)
        vertices: list[Any] = []
        for vertex in layer.vertices:
            before: Any = Selection(vertex_rank[vertex.before], vertex_count, dtype)
            arriving: Any = Selection(vertex.bags, len(layer.bags.lengths) + 1, dtype)
            vertices.append(replace(vertex, before=before, bags=arriving))
        vertex_rank, vertex_count = ranks(layer.vertices)
        layers.append(replace(layer, edges=edges, bags=bags, vertices=vertices))
    readout = replace(parts.readout, ids=vertex_rank[parts.readout.ids])
    pooling: Any = Pooling(readout, vertex_count, shape.poolings, dtype)
    action_rank, action_count = ranks(parts.actions.groups)
    ids: Any = Selection(action_rank[parts.actions.ids], action_count, dtype)
    states: Any = Selection(parts.actions.states, len(parts.actions.scored.lengths), dtype)
    groups = [prepared(group) for group in parts.actions.groups]
    actions = replace(parts.actions, groups=groups, ids=ids, states=states)
    flags: Any = torch.as_tensor(vertex_features(parts.flags, shape), dtype=dtype)
    return replace(parts, flags=flags, layers=layers, readout=pooling, actions=actions)


def ranks(groups: list[EdgeGroup] | list[VertexGroup]) -> tuple[np.ndarray, int]:
    """Where each part stands when the groups are put one after the other behind a row of zeros; how many rows."""
    ids = np.concatenate([group.ids for group in groups] or [np.empty(0, np.int32)])
    place = np.zeros(len(ids) + 1, np.int64)
    place[ids] = np.arange(1, len(ids) + 1)
    return place, len(ids) + 1
