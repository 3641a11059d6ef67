"""The network over NumPy: states of one task are scored batch by batch, and what was computed before is kept."""

from __future__ import annotations

import numpy as np

from planrank.models.family import Arrays
from planrank.models.hypergraph.architecture import Architecture
from planrank.models.hypergraph.distinct_parts import EdgeGroup, Multisets, Parts, VertexGroup
from planrank.models.hypergraph.network import dense, holds_or_is_goal, vertex_features

# Rows with their numbers in a table; None: the next ones.
Blocks = list[tuple[np.ndarray | None, np.ndarray]]


class GrowingTable:
    """Rows by number; row 0 is zero."""

    def __init__(self, width: int):
        self.rows = np.zeros((64, width), np.float32)
        self.count = 1

    def extend(self, blocks: Blocks) -> np.ndarray:
        first = self.count
        for _, rows in blocks:
            self.count += len(rows)
        if self.count == first:
            return self.rows
        if self.count > len(self.rows):
            grown = np.zeros((2 * self.count, self.rows.shape[1]), np.float32)
            grown[:first] = self.rows[:first]
            self.rows = grown
        for ids, rows in blocks:
            if ids is None:
                self.rows[first : self.count] = rows
            else:
                self.rows[ids] = rows
        return self.rows


class NumpyArithmetic:
    """Arithmetic for `network.forward` that remembers its tables from call to call."""

    def __init__(self) -> None:
        self.tables: dict[tuple[str, int], GrowingTable] = {}
        self.edge_features = GrowingTable(3)

    def begin(self, parts: Parts) -> None:
        self.edge_features.extend([(None, parts.features)])

    def forget(self) -> None:
        """All but the features of edges: the parts are numbered from 1 again."""
        self.tables.clear()

    @property
    def bytes_kept(self) -> int:
        return sum(table.rows.nbytes for table in self.tables.values())

    def first_vertices(self, parts: Parts, shape: Architecture) -> np.ndarray:
        return vertex_features(parts.flags, shape)

    def held(self, parts: Parts) -> Multisets:
        """The readout of those parts alone that were facts that hold or goals before the first layer."""
        table = self.store("held", 0, [(None, holds_or_is_goal(parts.flags)[:, None])], 1)
        for number, layer in enumerate(parts.layers, 1):
            table = self.store("held", number, [(g.ids, table[g.before]) for g in layer.vertices], 1)
        return parts.readout.only(table[parts.readout.ids, 0] > 0)

    def store(self, name: str, layer: int, blocks: Blocks, width: int) -> np.ndarray:
        table = self.tables.get((name, layer))
        if table is None:
            table = self.tables[name, layer] = GrowingTable(width)
        return table.extend(blocks)

    def select(self, table: np.ndarray, ids: np.ndarray) -> np.ndarray:
        width = table.shape[1] * (ids.shape[1] if ids.ndim == 2 else 1)
        return table.take(ids, axis=0).reshape(len(ids), width)

    def map_edges(self, weights: Arrays, name: str, vertices: np.ndarray, group: EdgeGroup) -> np.ndarray:
        facts = self.select(vertices, group.tails)
        if group.slots is not None:
            facts = summed_by_slot(facts, group.slots, vertices.shape[1])
        return dense(weights, name, np.concatenate([facts, self.edge_features.rows[group.features]], axis=1))

    def map_vertices(
        self, weights: Arrays, name: str, bags: np.ndarray, before: np.ndarray | None, group: VertexGroup
    ) -> np.ndarray:
        return dense(weights, name, self.side_by_side(bags, before, group))

    def side_by_side(self, bags: np.ndarray, before: np.ndarray | None, group: VertexGroup) -> np.ndarray:
        arriving = self.select(bags, group.bags)
        return arriving if before is None else np.concatenate([arriving, self.select(before, group.before)], axis=1)

    def relu(self, rows: np.ndarray) -> np.ndarray:
        return np.maximum(rows, 0, out=rows)

    def widen(self, rows: np.ndarray, width: int) -> np.ndarray:
        return np.pad(rows, ((0, 0), (0, width - rows.shape[1])))

    def pool(self, table: np.ndarray, lists: Multisets, kinds: tuple[str, ...]) -> np.ndarray:
        width = table.shape[1]
        pooled = np.zeros((len(lists.lengths), len(kinds) * width), np.float32)
        if not len(lists.ids):
            return pooled
        ends = np.cumsum(lists.lengths)
        full = lists.lengths > 0  # reduceat has no empty lists
        starts = (ends - lists.lengths)[full]
        rows = table.take(lists.ids, axis=0)
        counts = lists.counts.astype(np.float32)
        for place, kind in enumerate(kinds):
            if kind == "max":
                reduced = np.maximum.reduceat(rows, starts, axis=0)
            else:
                reduced = np.add.reduceat(rows * counts[:, None], starts, axis=0)
                if kind == "mean":
                    reduced /= np.add.reduceat(counts, starts)[:, None]
            pooled[full, place * width : (place + 1) * width] = reduced
        return pooled


def summed_by_slot(tails: np.ndarray, slots: np.ndarray, width: int) -> np.ndarray:
    """Add up the facts of each literal, so that every literal has one place again."""
    select = (slots[None, :] == np.arange(slots.max() + 1)[:, None]).astype(tails.dtype)
    return (select @ tails.reshape(-1, len(slots), width)).reshape(len(tails), -1)
