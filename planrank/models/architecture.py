"""The shape of a network, and from it the shapes of its weights."""

from __future__ import annotations

from dataclasses import dataclass

from planrank.choices import POOLINGS, RECEIVERS
from planrank.errors import PlanrankError
from planrank.models.signature import Signature

VERTEX_FEATURES = 3  # in the state, in the goal, in the goal as false
EDGE_FEATURES = 3  # cost, number of preconditions, number of add effects


@dataclass(frozen=True)
class Architecture:
    """`messages` pools what arrives at a vertex, `pooling` the vertices of a state.

    `mixing` ends each layer with a dense map for each predicate; without it, as in the paper, a vertex is just the
    pooled messages and, with `residual`, what it was before. `receivers` are the facts an action adds, or all it
    changes.
    """

    layers: int = 2
    dim: int = 32
    residual: bool = True
    mixing: bool = True
    messages: tuple[str, ...] = ("mean", "max")
    pooling: tuple[str, ...] = ("sum", "max")
    receivers: str = "effects"
    policy: bool = False

    def __post_init__(self):
        for name in ("layers", "dim"):
            if getattr(self, name) < 1:
                raise PlanrankError(f"{name} must be at least 1, and is {getattr(self, name)}")
        for name in ("messages", "pooling"):
            chosen = tuple(getattr(self, name))
            object.__setattr__(self, name, chosen)
            if not chosen or len(set(chosen)) < len(chosen) or not set(chosen) <= set(POOLINGS):
                raise PlanrankError(f"{name} must be one or more of {', '.join(POOLINGS)}, and is {','.join(chosen)!r}")
        if self.receivers not in RECEIVERS:
            raise PlanrankError(f"receivers must be one of {', '.join(RECEIVERS)}, and is {self.receivers!r}")

    @property
    def deletes(self) -> bool:
        return self.receivers == "effects"


def vertex_widths(signature: Signature, shape: Architecture) -> list[int]:
    """Numbers that describe a vertex before the first layer and after each; unused ones are zero."""
    widths = [VERTEX_FEATURES]
    arriving = max((len(r) for r in signature.relations(shape.deletes).values()), default=0)
    for _ in range(shape.layers):
        before = widths[-1] if shape.residual else 0
        grown = before + arriving * len(shape.messages) * shape.dim
        widths.append(shape.dim if shape.mixing else max(grown, 1))
    return widths


def weight_shapes(signature: Signature, shape: Architecture) -> dict[str, tuple[int, ...]]:
    """Names and shapes of all weights, in a fixed order. Biases are vectors, maps are (inputs, outputs)."""
    shapes: dict[str, tuple[int, ...]] = {}
    widths = vertex_widths(signature, shape)
    relations = signature.relations(shape.deletes)
    for layer in range(shape.layers):
        for kind, edge in enumerate(signature.edges):
            inputs = len(edge.tails) * widths[layer] + EDGE_FEATURES
            shapes[f"layer{layer}.edge{kind}.map"] = (inputs, shape.dim)
            shapes[f"layer{layer}.edge{kind}.bias"] = (shape.dim,)
        if shape.mixing:
            for number, name in enumerate(signature.predicates):
                inputs = len(relations[name]) * len(shape.messages) * shape.dim + shape.residual * widths[layer]
                shapes[f"layer{layer}.vertex{number}.map"] = (inputs, shape.dim)
                shapes[f"layer{layer}.vertex{number}.bias"] = (shape.dim,)
    pooled = len(signature.predicates) * len(shape.pooling) * widths[-1]
    shapes["head.hidden.map"] = (pooled, shape.dim)
    shapes["head.hidden.bias"] = (shape.dim,)
    shapes["head.value.map"] = (shape.dim, 1)
    shapes["head.value.bias"] = (1,)
    if shape.policy:
        shapes["policy.map"] = (len(signature.edges), shape.dim)
        shapes["policy.bias"] = (len(signature.edges),)
    return shapes
