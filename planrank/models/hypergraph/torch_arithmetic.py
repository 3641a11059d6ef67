"""The network over PyTorch, for training. What depends on the example alone is prepared once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from planrank.models.hypergraph.architecture import Architecture
from planrank.models.hypergraph.distinct_parts import EdgeGroup, Layer, Multisets, Parts, VertexGroup
from planrank.models.hypergraph.network import holds_or_is_goal, vertex_features
from planrank.models.hypergraph.torch_rows import (
    AddUp,
    Select,
    Selection,
    Source,
    Sums,
    offsets_of,
    row_map,
    sums_back,
    tensor,
)

MAX_COLUMNS = 8  # of a maximum taken column by column; longer lists are cut into pieces


class Pooling:
    """Lists of rows of a table to be added up, averaged or maximised."""

    held: Pooling  # of networks whose values are of held facts: these alone

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
                self.products[kind] = (there, sums_back(ids, rows, table_size, torch.as_tensor(weights, dtype=dtype)))
        self.maximum = Maximum(lengths, ids, table_size) if "max" in kinds else None


class Maximum:
    """The largest of each list, column by column: lists in pieces of few entries, the longest first, and the pieces'
    results as lists again, until each list is one piece."""

    def __init__(self, lengths: np.ndarray, ids: np.ndarray, table_size: int):
        starts = offsets_of(lengths)[:-1]
        pieces = -(-lengths // MAX_COLUMNS)
        owner = np.repeat(np.arange(len(lengths)), pieces)
        number = np.arange(len(owner)) - np.repeat(offsets_of(pieces)[:-1], pieces)
        first = starts[owner] + number * MAX_COLUMNS
        size = np.minimum(lengths[owner] - number * MAX_COLUMNS, MAX_COLUMNS)
        order = np.argsort(-size, kind="stable")
        first, size = first[order], size[order]
        self.size = len(order)
        ends = [int(np.searchsorted(-size, -column)) for column in range(int(size.max(initial=0)))]
        columns = [ids[first[:end] + column] for column, end in enumerate(ends)]
        self.columns = [tensor(column) for column in columns]
        flat = np.concatenate([np.empty(0, np.int64), *columns])
        self.back = sums_back(flat, np.arange(len(flat)), table_size)
        self.entries = len(flat)
        place = np.empty(self.size, np.int64)
        place[order] = np.arange(self.size)
        self.rest = Maximum(pieces, place, self.size + 1) if (pieces > 1).any() else None
        # Of lists that are one piece, the row of their result; an empty one takes the zero that is put behind the last.
        alone = np.full(len(lengths), self.size, np.int64)
        if self.rest is None:
            alone[owner] = place
        self.result, self.owner = tensor(alone), tensor(owner[order])

    def largest(self, table: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """Of each list, and of each piece in every round."""
        best = table.new_zeros(self.size + 1, table.shape[1])
        for column, ids in enumerate(self.columns):
            rows, above = table.index_select(0, ids), best[: len(ids)]
            torch.maximum(above, rows, out=above) if column else above.copy_(rows)
        if self.rest is None:
            return best.index_select(0, self.result), [best]
        found, rounds = self.rest.largest(best)
        return found, [best, *rounds]

    def backward(self, table: torch.Tensor, rounds: list[torch.Tensor], gradient: torch.Tensor) -> torch.Tensor:
        """What flows back into the table; entries that are equally large share it."""
        best, *others = rounds
        own = gradient.index_select(0, self.owner) if self.rest is None else self.rest.backward(best, others, gradient)
        if len(self.columns) > 1:
            several = best[: len(self.columns[1])]
            count = torch.zeros(several.shape, dtype=torch.uint8)
            equal = []
            for ids in self.columns:
                end = min(len(ids), len(several))
                equal.append(table.index_select(0, ids[:end]) == several[:end])
                count[:end] += equal[-1]
            own[: len(several)] /= count
            flowing = own.new_empty(self.entries, own.shape[1])
            parts = flowing.split([len(ids) for ids in self.columns])
            for ids, part, there in zip(self.columns, parts, equal, strict=True):
                torch.mul(own[: len(there)], there, out=part[: len(there)])
                part[len(there) :] = own[len(there) : len(ids)]
            own = flowing
        return self.back.of(own[: self.entries])


class TakeMaximum(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, table: torch.Tensor, maximum: Maximum) -> torch.Tensor:
        best, rounds = maximum.largest(table)
        context.maximum = maximum
        context.save_for_backward(table, *rounds)
        return best

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        table, *rounds = context.saved_tensors
        return context.maximum.backward(table, rounds, gradient), None


class TorchArithmetic:
    """Arithmetic for `network.forward` over prepared parts, which are numbered group by group."""

    def __init__(self, dtype: torch.dtype):
        self.dtype = dtype

    def store(self, name: str, layer: int, blocks: list[Any], width: int) -> torch.Tensor:
        return torch.cat([torch.zeros(1, width, dtype=self.dtype), *(rows for _, rows in blocks)])

    def first_vertices(self, parts: Any, shape: Architecture) -> torch.Tensor:
        return parts.flags

    def held(self, parts: Any) -> Pooling:
        return parts.readout.held

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
        own: Any = row_map([tails], features[torch.from_numpy(different.astype(np.int64))], numbers)
        return replace(edge, tails=own)

    layers: list[Any] = []
    held = np.concatenate([[False], holds_or_is_goal(parts.flags)])
    for layer in parts.layers:
        edges = [prepared(edge) for edge in layer.edges]
        edge_rank, edge_count = ranks(layer.edges)
        bags: Any = Pooling(replace(layer.bags, ids=edge_rank[layer.bags.ids]), edge_count, shape.messages, dtype)
        vertices: list[Any] = []
        bag_count = len(layer.bags.lengths) + 1
        for vertex in layer.vertices:
            own: Any = vertex_rank[vertex.before]
            if shape.mixing:
                sources = [Source(vertex.bags, bag_count)]
                if shape.residual:
                    sources.append(Source(own[:, None], vertex_count))
                arriving: Any = row_map(sources, features[:1, :0], np.zeros(len(own), np.int64))
            else:
                arriving = Selection(vertex.bags, bag_count)
            before: Any = Selection(own, vertex_count) if shape.shared or not shape.mixing else None
            vertices.append(replace(vertex, before=before, bags=arriving))
        held = held_after(layer, held)
        vertex_rank, vertex_count = ranks(layer.vertices)
        layers.append(replace(layer, edges=edges, bags=bags, vertices=vertices))
    readout = replace(parts.readout, ids=vertex_rank[parts.readout.ids])
    pooling: Any = Pooling(readout, vertex_count, shape.poolings, dtype)
    if shape.value == "held":
        pooling.held = Pooling(readout.only(held[parts.readout.ids]), vertex_count, ("sum",), dtype)
    action_rank, action_count = ranks(parts.actions.groups)
    ids: Any = Selection(action_rank[parts.actions.ids], action_count)
    states: Any = Selection(parts.actions.states, len(parts.actions.scored.lengths))
    groups = [prepared(group) for group in parts.actions.groups]
    actions = replace(parts.actions, groups=groups, ids=ids, states=states)
    flags: Any = torch.as_tensor(vertex_features(parts.flags, shape), dtype=dtype)
    return replace(parts, flags=flags, layers=layers, readout=pooling, actions=actions)


def held_after(layer: Layer, before: np.ndarray) -> np.ndarray:
    """Of each vertex part after a layer whether it is counted by a value of held facts, from that of those before."""
    after = np.zeros(max((group.ids.max(initial=0) for group in layer.vertices), default=0) + 1, bool)
    for group in layer.vertices:
        after[group.ids] = before[group.before]
    return after


def ranks(groups: list[EdgeGroup] | list[VertexGroup]) -> tuple[np.ndarray, int]:
    """Where each part stands when the groups are put one after the other behind a row of zeros; how many rows."""
    ids = np.concatenate([group.ids for group in groups] or [np.empty(0, np.int32)])
    place = np.zeros(ids.max(initial=0) + 1, np.int64)
    place[ids] = np.arange(1, len(ids) + 1)
    return place, len(ids) + 1
