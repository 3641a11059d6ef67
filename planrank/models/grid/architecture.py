"""The shape of a network over a grid, and from it the shapes of its weights.

Imports neither NumPy nor torch, because help is made from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from planrank.choices import RANKS
from planrank.options import check_fields, option

if TYPE_CHECKING:
    from planrank.models.grid.signature import GridSignature

NETWORKS = ("small", "coat", "map")
READOUTS = ("auto", "sum", "mean", "cell")
READOUT_OF = {"small": "sum", "coat": "mean", "map": "cell"}

WIDTH = 32  # channels of the small network
RESIDUALS = 6
HEAD = 64
COAT_CONVOLUTIONS, COAT_WIDTH, COAT_BLOCKS, COAT_BLOCK_WIDTH, COAT_HEADS, COAT_HEAD = 7, 64, 4, 180, 2, 256
ATTENTION = COAT_BLOCK_WIDTH // 3  # channels of query, key and value each
MAPS = 8  # maps of distances
NEAR = 9  # a cell and its neighbours


@dataclass(frozen=True)
class GridArchitecture:
    """Networks that see states as images.

    small: a convolution and six residual ones, every second of which adds what mean and maximum over the grid say.
    coat: as the paper has it; four of its blocks attend to the whole grid. map: of what never changes it learns what a
    cell costs and where ways may end, and adds up costs along the cheapest ways, however long they are; read where the
    agent is, for domains with one agent and nothing else.
    """

    family_name: ClassVar[str] = "grid"

    network: str = option(
        "small",
        "Of the family grid: small; coat, the paper's, with 1.7 million weights; map, one map of values for all "
        "states of a maze with one agent.",
        choices=NETWORKS,
    )
    readout: str = option(
        "auto",
        "Of the family grid: sum and maximum over the grid, mean, or the agent's cell; auto: what suits the network.",
        choices=READOUTS,
    )
    copies: bool = option(True, "Of the family grid: whether mirrored and turned levels are trained on too.")
    rank: str = option("actions", "As for hypergraphs.", choices=RANKS)

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def scores_actions(self) -> bool:
        return self.rank != "states"

    @property
    def pooled(self) -> str:
        return READOUT_OF[self.network] if self.readout == "auto" else self.readout

    @property
    def width(self) -> int:
        """Channels of the image that values and scores are read from."""
        return {"small": WIDTH, "coat": COAT_BLOCK_WIDTH + ATTENTION, "map": MAPS}[self.network]

    @property
    def head(self) -> int:
        return COAT_HEAD if self.network == "coat" else HEAD

    def __str__(self) -> str:
        return f"{self.network}-{self.pooled}"


def weight_shapes(signature: GridSignature, shape: GridArchitecture) -> dict[str, tuple[int, ...]]:
    """Names and shapes of all weights, in a fixed order. Maps are (inputs, outputs); those of a convolution have nine
    times the inputs, row by row and column by column."""
    shapes: dict[str, tuple[int, ...]] = {}

    def add(name: str, inputs: int, outputs: int) -> None:
        shapes[f"{name}.map"], shapes[f"{name}.bias"] = (inputs, outputs), (outputs,)

    def convolution(name: str, inputs: int, outputs: int) -> None:
        add(name, 9 * inputs, outputs)

    planes = signature.planes(fixed=shape.network == "map")
    seen = shape.width
    if shape.network == "small":
        convolution("first", planes, WIDTH)
        for i in range(RESIDUALS):
            convolution(f"residual{i}", WIDTH, WIDTH)
            if i % 2:
                add(f"everywhere{i}", 2 * WIDTH, WIDTH)
    elif shape.network == "map":
        add("ends", planes, MAPS)
        add("costs", planes, MAPS)
        shapes["steps.bias"] = (NEAR * (2 if signature.has_links else 1), MAPS)
    else:
        for i in range(COAT_CONVOLUTIONS):
            convolution(f"convolution{i}", planes + (COAT_WIDTH if i else 0), COAT_WIDTH)
        for i in range(COAT_BLOCKS):
            convolution(f"block{i}", planes + (shape.width if i else COAT_WIDTH), COAT_BLOCK_WIDTH)
        seen += planes
    add("head.hidden", (2 if shape.pooled == "sum" else 1) * seen, shape.head)
    add("head.value", shape.head, 1)
    if shape.scores_actions:
        for kind, places in enumerate(signature.places_of_actions.values()):
            if places:
                shapes[f"action{kind}.map"] = (places * seen, shape.head)
            shapes[f"action{kind}.bias"] = (shape.head,)
        shapes["actions.state.map"] = (shape.head, shape.head)
        shapes["actions.score.map"] = (shape.head, 1)
    return shapes
