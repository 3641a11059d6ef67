"""The shape of a hypergraph network, and from it the shapes of its weights.

Imports neither NumPy nor torch, because help is made from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from planrank.choices import RANKS
from planrank.errors import PlanrankError
from planrank.options import check_fields, option

if TYPE_CHECKING:
    from planrank.models.hypergraph.signature import HypergraphSignature

POOLINGS = ("sum", "mean", "max")
RECEIVERS = ("adds", "effects", "all")
VALUES = ("held", "sum", "pooled")

VERTEX_FEATURES = 3  # in the state, in the goal, in the goal as false
DISTANCE_FEATURES = 2  # whether there is a way to the goal, how far it is
EDGE_FEATURES = 3  # cost, number of preconditions, number of add effects


@dataclass(frozen=True)
class Architecture:
    """`messages` pools what arrives at a vertex, `pooling` the vertices of a state for its value and `context` for the
    scores of its actions. With `value` "sum" that is a sum of what each vertex is worth, with "held" of those that hold
    or are goals, and `pooling` is of no account: what a step changes counts the same in a problem of any size.

    `mixing` ends each layer with a dense map for each predicate; without it, as in the paper, a vertex is just the
    pooled messages and, with `residual`, what it was before. In `shared` layers a vertex is the mean of both.
    `receivers` are the facts an action adds, as in the paper; effects: all it changes; all: those it needs and adds,
    and its message is made of these too, so that a place hears of what is to be done there. Files older than `rank`
    have `policy` in its place.
    """

    family_name: ClassVar[str] = "hypergraph"

    layers: int = option(2, "Rounds of messages.", least=1, most=64)
    shared: bool = option(False, "Whether the layers after the first have their weights in common; needs mixing.")
    dim: int = option(64, "Size of the embeddings.", least=1, most=4096)
    residual: bool = option(True, "Whether a vertex keeps its own embedding from layer to layer.")
    mixing: bool = option(True, "Whether a dense map for each predicate ends each layer; the paper has none.")
    messages: tuple[str, ...] = option(("mean", "max"), "Pooling of a vertex's messages.", choices=POOLINGS)
    value: str = option(
        "held",
        "What the value of a state is: sum: a sum over all facts of the task; held: over those that hold or are goals; "
        "pooled: a dense layer over what all are, pooled.",
        choices=VALUES,
    )
    pooling: tuple[str, ...] = option(
        ("mean", "max"), "Pooling over the vertices, for the value pooled.", choices=POOLINGS
    )
    context: tuple[str, ...] = option(
        ("mean", "max"), "Pooling over the vertices, for the scores of actions.", choices=POOLINGS
    )
    receivers: str = option("all", "Facts that get an action's message.", choices=RECEIVERS)
    distances: bool = option(
        True, "Whether a network sees how many steps a fact is from a goal, changing one argument at a time."
    )
    relaxed: bool = option(
        True, "Whether a network sees which facts the relaxed plan of hFF makes true; hFF is computed for each state."
    )
    rank: str = option(
        "actions",
        "What is ranked: the actions of a state, with one evaluation an expansion; states, as in the paper, with one "
        "for each successor; policy: states, with probabilities of their actions for phs, which the Levin loss trains.",
        choices=RANKS,
    )

    def __post_init__(self) -> None:
        check_fields(self)
        if self.value == "held" and not self.residual:
            raise PlanrankError(
                "without residual connections facts forget whether they hold; expected the value sum or pooled"
            )
        if self.shared and not (self.residual and self.mixing):
            raise PlanrankError("layers that share their weights need residual connections and mixing")

    def weights_of_layer(self, number: int) -> int:
        """The layer whose weights it has; layers and their weights are counted from 0."""
        return min(number, 1) if self.shared else number

    @property
    def vertex_features(self) -> int:
        """How many numbers describe a fact before the first layer."""
        return VERTEX_FEATURES + self.distances * DISTANCE_FEATURES + self.relaxed

    @property
    def poolings(self) -> tuple[str, ...]:
        """All poolings over the vertices."""
        used = {"held": (), "sum": ("sum",), "pooled": self.pooling}[self.value]
        used += self.context if self.scores_actions else ()
        return tuple(kind for kind in POOLINGS if kind in used)

    @property
    def scores_actions(self) -> bool:
        """Whether the network has scores for actions beside the value of a state."""
        return self.rank != "states"

    def __str__(self) -> str:
        seen = "-relaxed" if self.relaxed else ""
        return f"layers{self.layers}-dim{self.dim}-{'residual' if self.residual else 'plain'}-{self.value}{seen}"


# The networks that the paper tries.
GRID = [
    {"layers": layers, "dim": dim, "residual": residual, "value": "pooled"}
    for layers in (1, 2, 3)
    for dim in (4, 8, 16)
    for residual in (True, False)
]


@lru_cache(maxsize=64)  # every evaluation asks
def vertex_widths(signature: HypergraphSignature, shape: Architecture) -> list[int]:
    """Numbers that describe a vertex before the first layer and after each; unused ones are zero."""
    widths = [shape.vertex_features]
    arriving = max((len(r) for r in signature.relations(shape.receivers).values()), default=0)
    for _ in range(shape.layers):
        before = widths[-1] if shape.residual else 0
        grown = before + arriving * len(shape.messages) * shape.dim
        widths.append(shape.dim if shape.mixing else max(grown, 1))
    return widths


def weight_shapes(signature: HypergraphSignature, shape: Architecture) -> dict[str, tuple[int, ...]]:
    """Names and shapes of all weights, in a fixed order. Biases are vectors, maps are (inputs, outputs)."""
    shapes: dict[str, tuple[int, ...]] = {}
    widths = vertex_widths(signature, shape)
    relations = signature.relations(shape.receivers)
    for layer in range(shape.weights_of_layer(shape.layers - 1) + 1):
        for kind in range(len(signature.edges)):
            inputs = signature.senders(kind, shape.receivers) * widths[layer] + EDGE_FEATURES
            shapes[f"layer{layer}.edge{kind}.map"] = (inputs, shape.dim)
            shapes[f"layer{layer}.edge{kind}.bias"] = (shape.dim,)
        if shape.mixing:
            for number, name in enumerate(signature.predicates):
                inputs = len(relations[name]) * len(shape.messages) * shape.dim + shape.residual * widths[layer]
                shapes[f"layer{layer}.vertex{number}.map"] = (inputs, shape.dim)
                shapes[f"layer{layer}.vertex{number}.bias"] = (shape.dim,)
    pooled = len(signature.predicates) * widths[-1]
    if shape.value == "pooled":
        shapes["head.hidden.map"] = (len(shape.pooling) * pooled, shape.dim)
        shapes["head.hidden.bias"] = (shape.dim,)
    shapes["head.value.map"] = (shape.dim if shape.value == "pooled" else pooled, 1)
    shapes["head.value.bias"] = (1,)
    if shape.scores_actions:
        for kind in signature.action_kinds:
            edge = signature.edges[kind]
            inputs = (len(edge.tails) + len(edge.heads)) * widths[-1] + EDGE_FEATURES
            shapes[f"action{kind}.map"] = (inputs, shape.dim)
            shapes[f"action{kind}.bias"] = (shape.dim,)
        shapes["actions.context.map"] = (len(shape.context) * pooled, shape.dim)
        shapes["actions.context.bias"] = (shape.dim,)
        shapes["actions.state.map"] = (shape.dim, shape.dim)
        shapes["actions.score.map"] = (shape.dim, 1)
    return shapes
