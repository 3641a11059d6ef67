"""A model's weights as one PyTorch parameter."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from planrank.learning.examples import Example
from planrank.models.model import Model
from planrank.models.policy import log_softmax


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

    def __call__(self, example: Example) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Values of the example's states, and the logarithms of the probabilities of `ranking.action`."""
        family, inputs = self.start.family, self.inputs(example)
        values, logits = family.forward(self.start, self.weights(), inputs)
        if logits is None:
            return values, None
        policy = log_softmax(logits, family.action_counts(inputs), torch)
        return values, policy[: len(example.ranking.action)]

    def inputs(self, example: Example) -> Any:
        """The example's encoded states for PyTorch; made at the first use and kept."""
        shape, dtype = self.start.architecture, self.parameter.dtype
        if (shape, dtype) not in example.prepared:
            example.prepared[shape, dtype] = self.start.family.prepare(example.encoded, shape, dtype)
        return example.prepared[shape, dtype]

    def model(self, metadata: dict[str, Any] | None = None) -> Model:
        arrays = {name: piece.detach().numpy().astype(np.float32).copy() for name, piece in self.weights().items()}
        return Model(self.start.signature, self.start.architecture, arrays, metadata or {})
