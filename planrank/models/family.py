"""A family of models: how it sees states, and what it computes from them.

A new family says what it is tied to (`signature`), which weights it has (`weight_shapes`), how states become arrays
(`encode`), and what comes of these (`forward`). The rest has defaults here that are right but not always fast.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from planrank.errors import PlanrankError
from planrank.limits import Limits
from planrank.models.signature import Signature

if TYPE_CHECKING:
    from planrank.models.model import Model
    from planrank.task import Task

Arrays = dict[str, np.ndarray]


class Scorer(Protocol):
    """A model prepared for one task. Its values are in the costs that the user wrote."""

    def values(self, states: np.ndarray) -> np.ndarray:
        """Of packed states, a row each."""

    def values_and_policy(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Values, and of state i the applicable operators `operators[offsets[i]:offsets[i + 1]]` with the logarithms of
        their probabilities: (values, offsets, operators, logarithms)."""


@dataclass(frozen=True)
class NoOptions:
    """The architecture of a family that has nothing to choose."""

    family_name: ClassVar[str] = ""


class Family(ABC):
    """`architecture_type` is a frozen dataclass of options (see `planrank.options`) with the family's name as its
    `family_name`; `grid` lists the networks that `planrank train --grid` tries, as options that differ."""

    name: ClassVar[str]
    architecture_type: ClassVar[type] = NoOptions
    signature_type: ClassVar[type[Signature]] = Signature
    grid: ClassVar[list[dict[str, Any]]] = [{}]

    @abstractmethod
    def signature(self, task: Task) -> Any:
        """What a model that is trained on this task will be tied to."""

    @abstractmethod
    def weight_shapes(self, signature: Any, architecture: Any) -> dict[str, tuple[int, ...]]:
        """Names and shapes of all weights, in a fixed order."""

    @abstractmethod
    def encode(self, task: Task, states: np.ndarray, architecture: Any) -> Arrays:
        """Packed states, a row each, as the network's input; it can be kept on disk."""

    @abstractmethod
    def forward(self, model: Model, weights: Any, inputs: Any) -> tuple[Any, Any]:
        """Values of the states, and the logits of `action_counts(inputs)` or None.

        In search, weights are NumPy arrays and `inputs` is what `encode` gave; in training, weights are tensors and
        `inputs` is what `prepare` made of it.
        """

    def action_counts(self, inputs: Any) -> np.ndarray:
        """How many actions each state has logits for; only asked of models with a policy."""
        raise NotImplementedError

    def encoding_options(self, architecture: Any) -> dict[str, Any]:
        """The options that `encode` depends on: examples on disk are kept apart by them."""
        return asdict(architecture)

    def fresh_weights(self, signature: Any, architecture: Any, rng: np.random.Generator) -> Arrays:
        """Random weights: uniform, scaled by the number of inputs, biases zero."""
        weights = {}
        for name, shape in self.weight_shapes(signature, architecture).items():
            bound = 0.0 if name.endswith(".bias") else math.sqrt(6 / max(1, shape[0]))
            weights[name] = rng.uniform(-bound, bound, shape).astype(np.float32)
        return weights

    def scorer(self, model: Model, task: Task, limits: Limits | None = None) -> Scorer:
        return PlainScorer(self, model, task)

    def prepare(self, encoded: Arrays, architecture: Any, dtype: Any) -> Any:
        """For PyTorch, once for each example: here every array as a tensor."""
        import torch

        tensors = {name: torch.from_numpy(array) for name, array in encoded.items()}
        return {name: t.to(dtype) if t.is_floating_point() else t for name, t in tensors.items()}


class PlainScorer:
    """Encodes every state anew; for families that have nothing better."""

    def __init__(self, family: Family, model: Model, task: Task):
        self.family, self.model, self.task = family, model, task

    def values(self, states: np.ndarray) -> np.ndarray:
        inputs = self.family.encode(self.task, states, self.model.architecture)
        return np.asarray(self.family.forward(self.model, self.model.weights, inputs)[0], np.float32)

    def values_and_policy(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        raise PlanrankError(f"models of the family {self.family.name} have no policy")
