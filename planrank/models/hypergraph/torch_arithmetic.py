"""The network over PyTorch, for training. What depends on the example alone is prepared once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from planrank.models.hypergraph.architecture import Architecture
from planrank.models.hypergraph.distinct_parts import EdgeGroup, Multisets, Parts, VertexGroup
from planrank.models.hypergraph.network import vertex_features
from planrank.models.hypergraph.torch_rows import (
    AddUp,
    Select,
    Selection,
    Source,
    Sums,
    offsets_of,
    row_map,
    sums_back,
)

MAX_COLUMNS = 8  # of a maximum taken column by column; longer lists are cut into pieces


class Pooling:
    """Lists of rows of a table to be added up, averaged or maximised."""

    def __init__(self, lists: Multisets, table_size: int, kinds: tuple[str, ...], dtype: torch.dtype):
        lengths, ids = lists.lengths.astype(np.int64), lists.ids.astype(np.int64)
        counts = lists.counts.astype(np.float64)
        self.count = len(lengths)
        rows = np.repeat(np.arange(self.count), lengths)
        self.products = {}
        for kind in kinds:
            if kind != "max":
                totals = np.bincount(rows, counts, minlength=self.count)
                weights = counts / totals[rows] if kind == "mean" else counts
                there = Sums(offsets_of(lengths), ids, torch.as_tensor(weights, dtype=dtype))
                self.products[kind] = (there, sums_back(ids, rows, table_size, weights, dtype))
        self.maximum = Maximum(lengths, ids) if "max" in kinds else None


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
        # Of a piece that ends before a column, its first entry stands there; nothing looks at it.
        candidates = np.zeros((self.size + 1, int(size.max(initial=1))), np.int64)
        for column in range(int(size.max(initial=0))):
            wide = int(np.searchsorted(-size, -column, side="left"))
            own = ids[first[:wide] + column]
            self.columns.append(torch.from_numpy(own.astype(np.int32)))
            candidates[:wide, column] = own
        place = np.empty(self.size, np.int64)
        place[order] = np.arange(self.size)
        self.rest = Maximum(pieces, place) if (pieces > 1).any() else None
        # Of lists that are one piece, the row of their result; an empty one takes the zero that is put behind the last.
        alone = np.full(len(lengths), self.size, np.int64)
        if self.rest is None:
            alone[owner] = place
            candidates = candidates[alone]
        self.result = torch.from_numpy(alone.astype(np.int32))
        self.candidates = torch.from_numpy(candidates)

    def winners(self, table: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The largest entries, and for each the number of the row it comes from: the first of equals."""
        width = table.shape[1]
        best = table.new_zeros(self.size + 1, width)
        column_of_best = torch.zeros(self.size + 1, width, dtype=torch.uint8)
        for column, ids in enumerate(self.columns):
            rows, above = table.index_select(0, ids), best[: len(ids)]
            if column == 0:
                above.copy_(rows)
                continue
            column_of_best[: len(ids)].masked_fill_(rows > above, column)
            torch.maximum(above, rows, out=above)
        if self.rest is None:
            best, column_of_best = (part.index_select(0, self.result) for part in (best, column_of_best))
        winner = self.candidates.gather(1, column_of_best.long())
        if self.rest is None:
            return best, winner
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

    def first_vertices(self, parts: Any, width: int) -> torch.Tensor:
        return parts.flags

    def select(self, table: torch.Tensor, selection: Selection) -> torch.Tensor:
        return Select.apply(table, selection).reshape(selection.count, selection.columns * table.shape[1])

    def map_edges(self, weights: Any, name: str, vertices: torch.Tensor, group: Any) -> torch.Tensor:
        return group.tails(weights[f"{name}.map"], weights[f"{name}.bias"], vertices)

    def map_vertices(
        self, weights: Any, name: str, bags: torch.Tensor, before: torch.Tensor | None, group: Any
    ) -> torch.Tensor:
        tables = [bags] if before is None else [bags, before]
        return group.bags(weights[f"{name}.map"], weights[f"{name}.bias"], *tables)

    def side_by_side(self, bags: torch.Tensor, before: torch.Tensor | None, group: Any) -> torch.Tensor:
        columns = [self.select(bags, group.bags)]
        return torch.cat(columns if before is None else [*columns, self.select(before, group.before)], dim=1)

    relu = staticmethod(torch.relu)

    def widen(self, rows: torch.Tensor, width: int) -> torch.Tensor:
        return torch.nn.functional.pad(rows, (0, width - rows.shape[1]))

    def pool(self, table: torch.Tensor, pooling: Pooling, kinds: tuple[str, ...]) -> torch.Tensor:
        parts = []
        for kind in kinds:
            if kind == "max":
                parts.append(TakeMaximum.apply(table, pooling.maximum))
            else:
                parts.append(AddUp.apply(table, *pooling.products[kind]))
        return torch.cat(parts, dim=1)


def prepare(parts: Parts, shape: Architecture, dtype: torch.dtype = torch.float32) -> Any:
    """The parts numbered group by group, with tensors and index tables in place of their arrays."""
    features = torch.as_tensor(np.vstack([np.zeros((1, 3), np.float32), parts.features]), dtype=dtype)
    vertex_rank, vertex_count = np.arange(len(parts.flags) + 1), len(parts.flags) + 1

    def prepared(edge: EdgeGroup) -> EdgeGroup:
        tails = Source(vertex_rank[edge.tails], vertex_count, edge.slots)
        different, numbers = np.unique(edge.features, return_inverse=True)
        own: Any = row_map([tails], features[torch.from_numpy(different.astype(np.int64))], numbers, dtype)
        return replace(edge, tails=own)

    layers: list[Any] = []
    for layer in parts.layers:
        edges = [prepared(edge) for edge in layer.edges]
        edge_rank, edge_count = ranks(layer.edges)
        bags: Any = Pooling(replace(layer.bags, ids=edge_rank[layer.bags.ids]), edge_count, shape.messages, dtype)
        vertices: list[Any] = []
        bag_count = len(layer.bags.lengths) + 1
        for vertex in layer.vertices:
            own: Any = vertex_rank[vertex.before]
            before: Any = Selection(own, vertex_count, dtype)
            arriving: Any = Selection(vertex.bags, bag_count, dtype)
            if shape.mixing:
                sources = [Source(vertex.bags, bag_count)]
                if shape.residual:
                    sources.append(Source(own[:, None], vertex_count))
                arriving = row_map(sources, features[:1, :0], np.zeros(len(own), np.int64), dtype)
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
    flags: Any = torch.as_tensor(vertex_features(parts.flags, shape.vertex_features), dtype=dtype)
    return replace(parts, flags=flags, layers=layers, readout=pooling, actions=actions)


def ranks(groups: list[EdgeGroup] | list[VertexGroup]) -> tuple[np.ndarray, int]:
    """Where each part stands when the groups are put one after the other behind a row of zeros; how many rows."""
    ids = np.concatenate([group.ids for group in groups] or [np.empty(0, np.int32)])
    place = np.zeros(len(ids) + 1, np.int64)
    place[ids] = np.arange(1, len(ids) + 1)
    return place, len(ids) + 1
