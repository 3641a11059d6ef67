"""A family of models: how it sees states, and what it computes from them.

A new family says what it is tied to (`signature`), which weights it has (`weight_shapes`), how states become arrays
(`encode`), and what comes of these (`forward`). The rest has defaults here that are right but not always fast.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from planrank.errors import PlanrankError
from planrank.limits import Limits
from planrank.models.signature import Signature

if TYPE_CHECKING:
    from planrank.models.model import Model
    from planrank.task import Rows, Task

Arrays = dict[str, np.ndarray]


class Scorer(Protocol):
    """A model prepared for one task. Its values are in the costs that the user wrote."""

    def values(self, states: np.ndarray) -> np.ndarray:
        """Of packed states, a row each."""

    def values_and_scores(self, states: np.ndarray, actions: Rows) -> tuple[np.ndarray, np.ndarray]:
        """Values, and scores of the operators in `actions`, which has a row for each state. Lower is better: v(s) and
        u(s, a), whose sum ranks actions; the logarithms of a policy are those of softmax(-u)."""


@dataclass(frozen=True)
class ScoredActions:
    """Actions that a network cannot tell apart in a state have one score together. A state has `lengths` of them, one
    state after the other, each for so many actions as `counts` says; `places` has that of every action."""

    lengths: np.ndarray
    counts: np.ndarray
    places: np.ndarray

    @classmethod
    def each(cls, lengths: np.ndarray) -> ScoredActions:
        """Every action has a score of its own; a state has so many."""
        count = int(lengths.sum())
        return cls(lengths, np.ones(count, np.int32), np.arange(count, dtype=np.int32))


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
    takes_parts: ClassVar[bool] = False  # whether there is `prepare_part`; if not, a step looks at whole examples

    @abstractmethod
    def signature(self, task: Task) -> Any:
        """What a model that is trained on this task will be tied to."""

    @abstractmethod
    def weight_shapes(self, signature: Any, architecture: Any) -> dict[str, tuple[int, ...]]:
        """Names and shapes of all weights, in a fixed order."""

    @abstractmethod
    def encode(self, task: Task, states: np.ndarray, architecture: Any, actions: Rows | None = None) -> Arrays:
        """Packed states, a row each, as the network's input; it can be kept on disk.

        `actions` are the operators of each state that are to be scored, if the architecture does that.
        """

    @abstractmethod
    def forward(self, model: Model, weights: Any, inputs: Any) -> tuple[Any, Any]:
        """Values of the states, and the scores of `scored_actions(inputs)` or None.

        In search, weights are NumPy arrays and `inputs` is what `encode` gave; in training, weights are tensors and
        `inputs` is what `prepare` made of it.
        """

    def varied(self, inputs: Any, number: int) -> Any:
        """In training, an example seen in another way that means the same, mirrored say; `number` says in which."""
        return inputs

    def scored_actions(self, inputs: Any) -> ScoredActions:
        """Which actions the scores are of; only asked of models that score actions."""
        raise NotImplementedError

    def encoding_options(self, architecture: Any) -> dict[str, Any]:
        """The options that `encode` depends on: examples on disk are kept apart by them."""
        return asdict(architecture)

    def further_files(self, domain: Path) -> list[Path]:
        """Files beside the PDDL that `encode` depends on."""
        return []

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

    def prepare_part(self, encoded: Arrays, architecture: Any, dtype: Any, states: np.ndarray, number: int) -> Any:
        """As `varied(prepare(…), number)`, of some of the states only, in this order; made anew for every step."""
        raise NotImplementedError


def check_scores_actions(model: Model) -> None:
    """Before its scores are asked for."""
    if not model.scores_actions:
        raise PlanrankError("this model ranks states and scores no actions; train one with --rank actions")


def check_states(states: np.ndarray, task: Task) -> None:
    """Whether they can be the task's."""
    if states.ndim != 2 or states.shape[1] != task.words:
        raise PlanrankError(f"these states have {states.shape[-1]} words, expected {task.words}: another task's?")


def check_finite(*results: np.ndarray | None) -> None:
    """What a model gave for states or actions."""
    if not all(np.isfinite(result).all() for result in results if result is not None):
        raise PlanrankError("the model gives values that are no numbers; its weights are unusable")


class NetworkScorer(ABC):
    """What scorers of networks have in common: states are checked, and so is what comes of them."""

    def __init__(self, model: Model, task: Task):
        self.model, self.task = model, task

    @abstractmethod
    def evaluated(self, states: np.ndarray, actions: Rows | None) -> tuple[np.ndarray, np.ndarray | None]:
        """Values, and the scores of the actions or None."""

    def values(self, states: np.ndarray) -> np.ndarray:
        """Of packed states, a row each."""
        return self._checked(states, None)[0]

    def values_and_scores(self, states: np.ndarray, actions: Rows) -> tuple[np.ndarray, np.ndarray]:
        check_scores_actions(self.model)
        return self._checked(states, actions)

    def _checked(self, states: np.ndarray, actions: Rows | None) -> tuple[np.ndarray, np.ndarray]:
        check_states(states, self.task)
        with np.errstate(over="ignore", invalid="ignore"):  # said below, in words
            values, scores = self.evaluated(states, actions)
        check_finite(values, scores)
        return values, values[:0] if scores is None else scores


class PlainScorer:
    """Encodes every state anew; for families that have nothing better."""

    def __init__(self, family: Family, model: Model, task: Task):
        self.family, self.model, self.task = family, model, task

    def values(self, states: np.ndarray) -> np.ndarray:
        inputs = self.family.encode(self.task, states, self.model.architecture)
        return np.asarray(self.family.forward(self.model, self.model.weights, inputs)[0], np.float32)

    def values_and_scores(self, states: np.ndarray, actions: Rows) -> tuple[np.ndarray, np.ndarray]:
        raise PlanrankError(f"models of the family {self.family.name} score no actions")
