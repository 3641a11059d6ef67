"""A model's weights as one PyTorch parameter."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from planrank.learning.entry_losses import EntryTables, entry_loss, entry_violations, tables_of
from planrank.learning.examples import Example
from planrank.learning.losses import loss, violations
from planrank.learning.ranking import EntryRanking
from planrank.learning.sampling import Sample
from planrank.models.model import Model


@dataclass(frozen=True)
class Evaluated:
    """An example seen by a network: values of its states, or of a sample of them, and, of networks that score actions,
    the scores of those."""

    values: torch.Tensor
    ranking: Any
    scores: torch.Tensor | None = None
    tables: EntryTables | None = None
    sample: Sample | None = None

    def loss(self, name: str, **options: Any) -> torch.Tensor:
        if self.scores is None or self.tables is None:
            return loss(name, self.values, self.ranking, sample=self.sample, **options)
        return entry_loss(name, self.values, self.scores, self.tables, **options)

    def violations(self, alpha: float, beta: float) -> tuple[int, int]:
        """How many pairs are in the wrong order, and how many there are."""
        if self.scores is None or self.tables is None:
            return violations(self.values, self.ranking, alpha, beta, sample=self.sample)
        return entry_violations(self.values, self.scores, self.tables, alpha, beta)


class Trainable:
    def __init__(self, model: Model, dtype: torch.dtype = torch.float32):
        self.start = model
        self.shapes = model.family.weight_shapes(model.signature, model.architecture)
        self.sizes = [math.prod(shape) for shape in self.shapes.values()]
        flat = np.concatenate([model.weights[name].ravel() for name in self.shapes])
        self.parameter = torch.nn.Parameter(torch.as_tensor(flat, dtype=dtype))

    def weights(self) -> dict[str, torch.Tensor]:
        pieces = self.parameter.split(self.sizes)
        return {name: piece.view(shape) for (name, shape), piece in zip(self.shapes.items(), pieces, strict=True)}

    def __call__(self, example: Example, number: int = 0, sample: Sample | None = None) -> Evaluated:
        """`number` says in which of its ways the example is seen, if its family has several."""
        start = self.start
        if sample is None or not start.family.takes_parts:
            sample, inputs = None, start.family.varied(self.inputs(example), number)
        else:
            dtype = self.parameter.dtype
            inputs = start.family.prepare_part(example.encoded, start.architecture, dtype, sample.states, number)
        values, scores = start.family.forward(start, self.weights(), inputs)
        if scores is None or not isinstance(example.ranking, EntryRanking):
            return Evaluated(values, example.ranking, sample=sample)
        tables = tables_of(example.ranking, start.family.scored_actions(inputs), values.dtype, sample)
        return Evaluated(values, example.ranking, scores, tables, sample)

    def inputs(self, example: Example) -> Any:
        """The example's encoded states for PyTorch; made at the first use and kept."""
        shape, dtype = self.start.architecture, self.parameter.dtype
        if (shape, dtype) not in example.prepared:
            example.prepared[shape, dtype] = self.start.family.prepare(example.encoded, shape, dtype)
        return example.prepared[shape, dtype]

    def model(self, metadata: dict[str, Any] | None = None) -> Model:
        arrays = {name: piece.detach().numpy().astype(np.float32).copy() for name, piece in self.weights().items()}
        return Model(self.start.signature, self.start.architecture, arrays, metadata or {})
