"""Rows of tables by number in PyTorch: as they are, added up, and through a dense map.

What depends on the example alone is prepared once. All sums of rows, forward and back, are embedding bags, several
times faster than PyTorch's scatter and its sparse products. What is done here is differentiated by hand: many small
operations would take longer to keep track of than to do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.nn.functional import embedding_bag

MUCH = 1000  # rows through a map that are worth some more operations


def offsets_of(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def stable_order(ids: np.ndarray) -> np.ndarray:
    """As np.argsort(kind="stable"), of numbers that are not negative; sorting itself is several times faster."""
    bits = len(ids).bit_length()
    return np.sort(ids.astype(np.int64) << bits | np.arange(len(ids))) & ((1 << bits) - 1)


def tensor(ids: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(ids, np.int32))


class Sums:
    """Lists of rows of a table, each added up, with weights if there are any."""

    def __init__(self, offsets: np.ndarray, ids: np.ndarray, weights: torch.Tensor | None = None):
        self.offsets, self.ids, self.weights = tensor(offsets), tensor(ids), weights

    def of(self, table: torch.Tensor) -> torch.Tensor:
        options: dict[str, Any] = {"mode": "sum", "include_last_offset": True, "per_sample_weights": self.weights}
        return embedding_bag(self.ids, table, self.offsets, **options)


def sums_back(ids: np.ndarray, rows: np.ndarray, table_size: int, weights: torch.Tensor | None = None) -> Sums:
    """What flows back into a table of which row `ids[i]` went into row `rows[i]`."""
    order = stable_order(ids)
    ordered = None if weights is None else weights[torch.from_numpy(order)]
    return Sums(offsets_of(np.bincount(ids, minlength=table_size)), rows[order], ordered)


class Selection:
    """Rows of a table by number; what flows back is summed for each row."""

    def __init__(self, ids: np.ndarray, table_size: int):
        flat = ids.ravel()
        self.count, self.columns = len(ids), ids.shape[1] if ids.ndim == 2 else 1
        self.ids = tensor(flat)
        self.back = sums_back(flat, np.arange(len(flat)), table_size)


class Select(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, table: torch.Tensor, selection: Selection) -> torch.Tensor:
        context.selection = selection
        return table.index_select(0, selection.ids)

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        return context.selection.back.of(gradient.contiguous()), None


class AddUp(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, table: torch.Tensor, there: Sums, back: Sums) -> torch.Tensor:
        context.back = back
        return there.of(table)

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        return context.back.of(gradient.contiguous()), None, None


@dataclass(frozen=True)
class Source:
    """Columns of numbers of rows of one table, to stand side by side; `slots` says which of them are added up instead,
    those with the same number, where there are such."""

    ids: np.ndarray  # (rows, columns)
    table_size: int
    slots: np.ndarray | None = None


def row_map(sources: list[Source], constants: torch.Tensor, constant_ids: np.ndarray) -> MapAll | MapOnce:
    """A dense map of rows of tables that stand side by side, and of some of the constants behind them."""
    asked = sum(source.ids.size for source in sources)
    different = [[different_rows(ids, source.table_size) for ids in source.ids.T] for source in sources]
    count = sum(len(rows) for columns in different for rows in columns)
    if any(source.slots is not None for source in sources) or asked > 2 * count + MUCH:
        return MapOnce(sources, different, constants, constant_ids)
    return MapAll(sources, constants[torch.from_numpy(constant_ids.astype(np.int64))])


def different_rows(ids: np.ndarray, table_size: int) -> np.ndarray:
    """The numbers that occur, without that of the row of zeros, which adds nothing."""
    there = np.zeros(table_size, bool)
    there[ids] = True
    there[0] = False
    return np.flatnonzero(there)


class MapAll:
    """All rows are put side by side, and mapped."""

    def __init__(self, sources: list[Source], constants: torch.Tensor):
        self.constants = constants
        self.selections = [Selection(source.ids, source.table_size) for source in sources]

    def __call__(self, weight: torch.Tensor, bias: torch.Tensor, *tables: torch.Tensor) -> torch.Tensor:
        return MapAllRows.apply(self, weight, bias, *tables)


class MapAllRows(torch.autograd.Function):
    @staticmethod
    def forward(
        context: Any, rows: MapAll, weight: torch.Tensor, bias: torch.Tensor, *tables: torch.Tensor
    ) -> torch.Tensor:
        columns = []
        for table, chosen in zip(tables, rows.selections, strict=True):
            columns.append(table.index_select(0, chosen.ids).view(chosen.count, chosen.columns * table.shape[1]))
        inputs = torch.cat([*columns, rows.constants], dim=1)
        context.rows, context.widths = rows, [own.shape[1] for own in columns]
        context.save_for_backward(inputs, weight)
        return torch.addmm(bias, inputs, weight)

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        inputs, weight = context.saved_tensors
        of_tables: list[torch.Tensor | None] = []
        begin = 0
        for needed, chosen, width in zip(
            context.needs_input_grad[3:], context.rows.selections, context.widths, strict=True
        ):
            of_rows = None
            if needed and width:
                own = gradient @ weight[begin : begin + width].T
                of_rows = chosen.back.of(own.view(chosen.count * chosen.columns, width // chosen.columns))
            of_tables.append(of_rows)
            begin += width
        return None, inputs.T @ gradient, gradient.sum(dim=0), *of_tables


class MapOnce:
    """The same row stands in the same column many times: each is mapped once, by the piece of the map that is for that
    column, and the results are added up. That is the same sum in another order."""

    def __init__(
        self,
        sources: list[Source],
        different: list[list[np.ndarray]],
        constants: torch.Tensor,
        constant_ids: np.ndarray,
    ):
        self.constants = constants
        self.selections = []
        self.counts = [[len(rows) for rows in columns] for columns in different]
        self.slots = [None if source.slots is None else source.slots.tolist() for source in sources]
        found, first = [], 0
        for source, columns in zip(sources, different, strict=True):
            self.selections.append(Selection(np.concatenate([np.empty(0, np.int64), *columns]), source.table_size))
            for ids, rows in zip(source.ids.T, columns, strict=True):
                number = np.full(source.table_size, -1, np.int64)
                number[rows] = np.arange(first, first + len(rows))
                found.append(number[ids])
                first += len(rows)
        mapped = np.stack([*found, constant_ids + first], axis=1)
        there = mapped >= 0
        lengths, flat = there.sum(axis=1), mapped[there]
        self.size = first + len(constants)
        self.split = [count for counts in self.counts for count in counts] + [len(constants)]
        self.there = Sums(offsets_of(lengths), flat)
        self.back = sums_back(flat, np.repeat(np.arange(len(lengths)), lengths), self.size)

    def __call__(self, weight: torch.Tensor, bias: torch.Tensor, *tables: torch.Tensor) -> torch.Tensor:
        return MapRowsOnce.apply(self, weight, bias, *tables)

    def pieces(self, weight: torch.Tensor, widths: list[int]) -> list[torch.Tensor]:
        """Of the map, for each column, and for the constants."""
        found: list[torch.Tensor] = []
        begin = 0
        for counts, slots, width in zip(self.counts, self.slots, widths, strict=True):
            places = 1 + max(slots) if slots else len(counts)
            own = weight[begin : begin + places * width].split(width) if places else ()
            found += own if slots is None else [own[slot] for slot in slots]
            begin += places * width
        return [*found, weight[begin:]]

    def columns(self, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
        return [part for own, counts in zip(inputs, self.counts, strict=True) for part in own.split(counts)]


class MapRowsOnce(torch.autograd.Function):
    @staticmethod
    def forward(
        context: Any, rows: MapOnce, weight: torch.Tensor, bias: torch.Tensor, *tables: torch.Tensor
    ) -> torch.Tensor:
        inputs = [table.index_select(0, chosen.ids) for table, chosen in zip(tables, rows.selections, strict=True)]
        mapped = weight.new_empty(rows.size, weight.shape[1])
        *results, last = mapped.split(rows.split)
        *pieces, of_constants = rows.pieces(weight, [table.shape[1] for table in tables])
        for own, piece, result in zip(rows.columns(inputs), pieces, results, strict=True):
            torch.mm(own, piece, out=result)
        torch.addmm(bias, rows.constants, of_constants, out=last)
        context.rows = rows
        context.save_for_backward(weight, *inputs)
        return rows.there.of(mapped)

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        rows, (weight, *inputs) = context.rows, context.saved_tensors
        widths = [own.shape[1] for own in inputs]
        *results, last = rows.back.of(gradient.contiguous()).split(rows.split)
        of_weight = torch.zeros_like(weight)
        *of_pieces, of_constants = rows.pieces(of_weight, widths)
        of_constants += rows.constants.T @ last
        for own, of_piece, result in zip(rows.columns(inputs), of_pieces, results, strict=True):
            of_piece.addmm_(own.T, result)
        *pieces, _ = rows.pieces(weight, widths)
        of_tables: list[torch.Tensor | None] = []
        of_inputs = [torch.empty_like(own) for own in inputs]
        for own, piece, result in zip(rows.columns(of_inputs), pieces, results, strict=True):
            torch.mm(result, piece.T, out=own)
        for needed, chosen, own in zip(context.needs_input_grad[3:], rows.selections, of_inputs, strict=True):
            of_tables.append(chosen.back.of(own) if needed else None)
        return None, of_weight, last.sum(dim=0), *of_tables
