"""What the rest of planrank knows of hypergraph networks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from planrank.limits import Limits
from planrank.models.family import Arrays, Family, ScoredActions
from planrank.models.hypergraph.architecture import GRID, Architecture, weight_shapes
from planrank.models.hypergraph.distinct_parts import Layouts, Parts, PartsFinder, read_parts
from planrank.models.hypergraph.parts_of_states import parts_of_states
from planrank.models.hypergraph.scorer import HypergraphScorer
from planrank.models.hypergraph.signature import HypergraphSignature, signature_of
from planrank.models.model import Model
from planrank.task import Rows, Task


class HypergraphFamily(Family):
    name = "hypergraph"
    architecture_type = Architecture
    signature_type = HypergraphSignature
    grid = GRID
    takes_parts = True

    def signature(self, task: Task) -> HypergraphSignature:
        return signature_of(task)

    def weight_shapes(self, signature: HypergraphSignature, architecture: Architecture) -> dict[str, tuple[int, ...]]:
        return weight_shapes(signature, architecture)

    def fresh_weights(
        self, signature: HypergraphSignature, architecture: Architecture, rng: np.random.Generator
    ) -> Arrays:
        weights = {}
        for name, shape in weight_shapes(signature, architecture).items():
            if name.endswith(".bias"):
                weights[name] = np.zeros(shape, np.float32)
            else:
                bound = math.sqrt(6 / max(1, shape[0]))
                weights[name] = rng.uniform(-bound, bound, shape).astype(np.float32)
        # What is pooled is never negative, so a hidden unit whose weights sum to less than zero may be zero for all
        # states. Every other one sums to more, or a small network could be born dead.
        if architecture.value == "pooled":
            hidden = weights["head.hidden.map"]
            hidden[:, ::2] *= np.where(hidden[:, ::2].sum(axis=0) < 0, -1, 1)
        return weights

    def encoding_options(self, architecture: Architecture) -> dict[str, Any]:
        names = ("layers", "residual", "receivers", "distances", "relaxed", "scores_actions")
        return {name: getattr(architecture, name) for name in names}

    def encode(self, task: Task, states: np.ndarray, architecture: Architecture, actions: Rows | None = None) -> Arrays:
        finder = PartsFinder(task, architecture)
        finder.add(task, states, actions)
        numbers, features = (np.array(part) for part in finder.take_flat())
        count = np.array([len(states)], np.int32)
        return {"states": count, "numbers": numbers, "features": features} | finder.layouts.arrays

    def parts(self, encoded: Arrays, architecture: Architecture) -> Parts:
        layouts = Layouts(encoded["layout_kinds"], encoded["layout_offsets"], encoded["layout_slots"])
        return read_parts(encoded["numbers"], encoded["features"], layouts, architecture.layers)

    def prepare(self, encoded: Arrays, architecture: Architecture, dtype: Any) -> Any:
        from planrank.models.hypergraph.torch_arithmetic import prepare

        return prepare(self.parts(encoded, architecture), architecture, dtype)

    def prepare_part(
        self, encoded: Arrays, architecture: Architecture, dtype: Any, states: np.ndarray, number: int
    ) -> Any:
        from planrank.models.hypergraph.torch_arithmetic import prepare

        parts = parts_of_states(self.parts(encoded, architecture), int(encoded["states"][0]), states)
        return prepare(parts, architecture, dtype)

    def forward(self, model: Model, weights: Any, inputs: Any) -> tuple[Any, Any]:
        """In training; the scorer has its own way in search."""
        from planrank.models.hypergraph.network import forward
        from planrank.models.hypergraph.torch_arithmetic import TorchArithmetic

        return forward(TorchArithmetic(inputs.flags.dtype), weights, model.signature, model.architecture, inputs)

    def scored_actions(self, inputs: Any) -> ScoredActions:
        return inputs.actions.scored

    def scorer(self, model: Model, task: Task, limits: Limits | None = None) -> HypergraphScorer:
        return HypergraphScorer(model, task, limits)


HYPERGRAPH = HypergraphFamily()
