"""The shape of a network over objects, and from it the shapes of its weights.

Imports neither NumPy nor torch, because help is made from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from planrank.choices import RANKS
from planrank.options import check_fields, option

if TYPE_CHECKING:
    from planrank.models.relational.signature import RelationalSignature

HELPFUL = 1  # of an action: it may begin the relaxed plan
FLAGS = 6  # of a fact: holds, is a goal, is a goal as false, has a way to a goal, how far, the relaxed plan needs it


@dataclass(frozen=True)
class RelationalArchitecture:
    """Networks whose vertices are objects. An atom, of the state, the goal, the relaxed plan or one that never changes,
    sends each of its objects a message made of what all of them are; an object takes mean and maximum of what arrives.
    """

    family_name: ClassVar[str] = "relational"

    layers: int = option(2, "Rounds of messages.", least=1, most=64)
    dim: int = option(32, "Size of the embeddings.", least=1, most=4096)
    statics: bool = option(True, "Of the family relational: whether atoms that never change send messages too.")
    distances: bool = option(True, "As for hypergraphs.")
    relaxed: bool = option(True, "As for hypergraphs.")
    rank: str = option("actions", "As for hypergraphs.", choices=RANKS)

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def scores_actions(self) -> bool:
        return self.rank != "states"

    def __str__(self) -> str:
        seen = "".join(f"-{name}" for name in ("statics", "relaxed") if getattr(self, name))
        return f"objects-layers{self.layers}-dim{self.dim}{seen}"


def weight_shapes(signature: RelationalSignature, shape: RelationalArchitecture) -> dict[str, tuple[int, ...]]:
    """Names and shapes of all weights, in a fixed order. Biases are vectors, maps are (inputs, outputs)."""
    shapes: dict[str, tuple[int, ...]] = {}

    def add(name: str, inputs: int, outputs: int) -> None:
        shapes[f"{name}.map"] = (inputs, outputs)
        shapes[f"{name}.bias"] = (outputs,)

    dim, seen = shape.dim, 1 + FLAGS * len(signature.propositions)
    statics = signature.statics if shape.statics else {}
    for layer in range(shape.layers):
        for name, arity in signature.relations.items():
            add(f"layer{layer}.{name}", arity * seen + FLAGS, arity * dim)
        for name, arity in statics.items():
            add(f"layer{layer}.{name}", arity * seen, arity * dim)
        add(f"layer{layer}.objects", seen + 2 * dim * (2 if statics else 1), dim)
        seen = dim
    for name, arity in signature.fluents.items():
        add(f"value.{name}", arity * dim + FLAGS, dim)
        shapes[f"value.{name}.worth"] = (dim, 1)
    if shape.scores_actions:
        for name, (parameters, effects) in signature.actions.items():
            add(f"action.{name}", parameters * dim + effects * FLAGS + HELPFUL, dim)
        add("actions.context", 2 * dim, dim)
        shapes["actions.state.map"] = (dim, dim)
        shapes["actions.score.map"] = (dim, 1)
    return shapes
