"""The network over PyTorch, for training: one flat vector of weights, gradients by sparse products.

What depends on the example alone is prepared once. Gathering rows is an index on the way forward and a sparse product
on the way back, which is several times faster than PyTorch's own scatter.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np
import torch

from planrank.models.architecture import weight_shapes
from planrank.models.batch import Batch, Group, Lists
from planrank.models.model import Model
from planrank.models.network import forward, vertex_features

warnings.filterwarnings("ignore", message="Sparse (CSR|invariant)", category=UserWarning)

MAX_COLUMNS = 8  # of a maximum taken column by column; longer lists are cut into pieces


def sparse(offsets: np.ndarray, columns: np.ndarray, values: np.ndarray, shape: tuple[int, int], dtype) -> torch.Tensor:
    parts = (torch.from_numpy(part.astype(np.int32)) for part in (offsets, columns))
    return torch.sparse_csr_tensor(*parts, torch.as_tensor(values, dtype=dtype), size=shape)


def offsets_of(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


class Selection:
    """Rows of a table by number; what flows back is summed for each row."""

    def __init__(self, ids: np.ndarray, table_size: int, dtype):
        flat = ids.astype(np.int64).ravel()
        self.count, self.columns = len(ids), ids.shape[1] if ids.ndim == 2 else 1
        self.ids = torch.from_numpy(flat.astype(np.int32))
        counts = np.bincount(flat, minlength=table_size)
        order = np.argsort(flat, kind="stable")
        self.back = sparse(offsets_of(counts), order, np.ones(len(flat)), (table_size, len(flat)), dtype)


class Select(torch.autograd.Function):
    @staticmethod
    def forward(context, table, selection: Selection):
        context.selection = selection
        return table.index_select(0, selection.ids)

    @staticmethod
    def backward(context, gradient):
        return context.selection.back @ gradient, None


class Pooling:
    """Lists of rows of a table to be added up, averaged or maximised."""

    def __init__(self, lists: Lists, table_size: int, kinds, dtype):
        lengths, ids = lists.lengths.astype(np.int64), lists.ids.astype(np.int64)
        counts = lists.more.astype(np.float64)
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
    def forward(context, table, there, back):
        context.back = back
        return there @ table

    @staticmethod
    def backward(context, gradient):
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
    def forward(context, table, maximum: Maximum):
        best, winner = maximum.winners(table)
        context.shape = table.shape
        context.winner = winner
        return best

    @staticmethod
    def backward(context, gradient):
        return gradient.new_zeros(context.shape).scatter_add_(0, context.winner, gradient), None


class TorchOps:
    """Arithmetic for `network.forward` over a prepared batch; classes are numbered block by block."""

    def __init__(self, dtype):
        self.dtype = dtype

    def store(self, name: str, layer: int, blocks, width: int) -> torch.Tensor:
        return torch.cat([torch.zeros(1, width, dtype=self.dtype), *(rows for _, rows in blocks)])

    def first_vertices(self, batch) -> torch.Tensor:
        return batch.flags

    def select(self, table, selection: Selection):
        return Select.apply(table, selection).reshape(selection.count, selection.columns * table.shape[1])

    def features(self, rows: torch.Tensor) -> torch.Tensor:
        return rows

    def concat(self, parts) -> torch.Tensor:
        return torch.cat(parts, dim=1)

    relu = staticmethod(torch.relu)

    def widen(self, rows, width: int):
        return torch.nn.functional.pad(rows, (0, width - rows.shape[1]))

    def constant(self, array: np.ndarray, like: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(array).to(like.dtype)

    def pool(self, table, pooling: Pooling, kinds) -> torch.Tensor:
        parts = []
        for kind in kinds:
            if kind == "max":
                parts.append(TakeMaximum.apply(table, pooling.maximum))
            else:
                parts.append(Product.apply(table, *pooling.products[kind]))
        return torch.cat(parts, dim=1)


def prepare(batch: Batch, shape, dtype=torch.float32) -> Batch:
    """The batch with its classes numbered block by block and its index arrays ready for PyTorch."""
    features = torch.as_tensor(np.vstack([np.zeros((1, 3), np.float32), batch.features]), dtype=dtype)
    vertex_rank, vertex_count = np.arange(len(batch.flags) + 1), len(batch.flags) + 1
    layers = []
    for layer in batch.layers:
        edge_rank, edge_count = ranks(layer.edges)
        edges = [
            replace(
                group,
                own=features[torch.from_numpy(group.own.astype(np.int64))],
                inputs=Selection(vertex_rank[group.inputs], vertex_count, dtype),
            )
            for group in layer.edges
        ]
        bags = Pooling(replace(layer.bags, ids=edge_rank[layer.bags.ids]), edge_count, shape.messages, dtype)
        next_rank, next_count = ranks(layer.vertices)
        vertices = [
            replace(
                group,
                own=Selection(vertex_rank[group.own], vertex_count, dtype),
                inputs=Selection(group.inputs, len(layer.bags.lengths) + 1, dtype),
            )
            for group in layer.vertices
        ]
        layers.append(replace(layer, edges=edges, bags=bags, vertices=vertices))
        vertex_rank, vertex_count = next_rank, next_count
    readout = replace(batch.readout, ids=vertex_rank[batch.readout.ids])
    actions = replace(batch.actions, more=Selection(edge_rank[batch.actions.more], edge_count, dtype))
    flags = torch.as_tensor(vertex_features(batch.flags), dtype=dtype)
    pooling = Pooling(readout, vertex_count, shape.pooling, dtype)
    return replace(batch, flags=flags, layers=layers, readout=pooling, actions=actions)


def ranks(groups: list[Group]) -> tuple[np.ndarray, int]:
    """Where each class stands when the groups are put one after the other behind a row of zeros; how many rows."""
    ids = np.concatenate([group.ids for group in groups] or [np.empty(0, np.int32)])
    place = np.zeros(len(ids) + 1, np.int64)
    place[ids] = np.arange(1, len(ids) + 1)
    return place, len(ids) + 1


class Trainable:
    """A model's weights as one PyTorch parameter."""

    def __init__(self, model: Model, dtype=torch.float32):
        self.start = model
        self.shapes = weight_shapes(model.signature, model.architecture)
        self.sizes = [math.prod(shape) for shape in self.shapes.values()]
        flat = np.concatenate([model.weights[name].ravel() for name in self.shapes])
        self.parameter = torch.nn.Parameter(torch.as_tensor(flat, dtype=dtype))
        self.ops = TorchOps(dtype)

    def weights(self) -> dict[str, torch.Tensor]:
        pieces = self.parameter.split(self.sizes)
        return {name: piece.view(shape) for (name, shape), piece in zip(self.shapes.items(), pieces, strict=True)}

    def __call__(self, example) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Values of the example's states, and the logarithms of the probabilities of `ranking.action`."""
        model, batch = self.start, example.prepared(self.start.architecture, self.parameter.dtype)
        values, logits = forward(self.ops, self.weights(), model.signature, model.architecture, batch)
        if logits is None:
            return values, None
        return values, log_softmax(logits, batch.actions.lengths)[: len(example.ranking.action)]

    def model(self, metadata: dict | None = None) -> Model:
        arrays = {name: piece.detach().numpy().astype(np.float32).copy() for name, piece in self.weights().items()}
        return Model(self.start.signature, self.start.architecture, arrays, metadata or {})


def log_softmax(logits: torch.Tensor, lengths: np.ndarray) -> torch.Tensor:
    """Within each row of actions."""
    rows = torch.from_numpy(np.repeat(np.arange(len(lengths)), lengths))
    highest = torch.full((len(lengths),), -torch.inf, dtype=logits.dtype)
    highest = highest.scatter_reduce(0, rows, logits.detach(), "amax")
    shifted = logits - highest[rows]
    total = torch.zeros(len(lengths), dtype=logits.dtype).index_add(0, rows, shifted.exp())
    return shifted - total.log()[rows]
