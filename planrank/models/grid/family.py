"""What the rest of planrank knows of networks that see grids."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from planrank.errors import PlanrankError
from planrank.limits import Limits
from planrank.models.family import Arrays, Family, ScoredActions
from planrank.models.grid.architecture import GridArchitecture, weight_shapes
from planrank.models.grid.images import TURNS, Painter, kinds_of_operators
from planrank.models.grid.network import ActionGroup, Seen, features, read
from planrank.models.grid.scorer import GridScorer
from planrank.models.grid.signature import GridSignature, signature_of
from planrank.models.grid.view import NAME, View, missing_view, view_of
from planrank.models.model import Model
from planrank.problems.companions import companion
from planrank.problems.companions import signature_of as signature_of_domain
from planrank.task import Rows, Task

# Ways on a map begin long and walls as hardly any: what cells cost is learned from where ways go wrong.
BIASES = {"ends.bias": 5.0, "costs.bias": 0.02, "steps.bias": -2.0}


@dataclass(frozen=True)
class Prepared:
    """An example for PyTorch: what is the same in all orientations, and one `Seen` without its images for each."""

    turns: list[dict[str, Any]]
    lengths: np.ndarray
    dtype: Any
    turn: int = 0


class GridFamily(Family):
    name = "grid"
    architecture_type = GridArchitecture
    signature_type = GridSignature
    grid: ClassVar[list[dict[str, Any]]] = [{"network": "small"}, {"network": "coat"}]
    takes_parts = True

    def signature(self, task: Task) -> GridSignature:
        return signature_of(task, view_of(task))

    def weight_shapes(self, signature: GridSignature, architecture: GridArchitecture) -> dict[str, tuple[int, ...]]:
        return weight_shapes(signature, architecture)

    def fresh_weights(
        self, signature: GridSignature, architecture: GridArchitecture, rng: np.random.Generator
    ) -> Arrays:
        """What is added to what is there already begins small, so that many such steps do not add up."""
        weights = super().fresh_weights(signature, architecture, rng)
        for name, array in weights.items():
            if name.startswith(("residual", "everywhere", "ends", "costs")):
                array *= 0.3
            elif name.startswith(("head.value", "actions.score")):
                array *= 0.1
            if name in BIASES:
                array += BIASES[name]
            if architecture.network == "map" and name.endswith(".map") and name.startswith(("head", "action")):
                np.abs(array, out=array)
        return weights

    def encoding_options(self, architecture: GridArchitecture) -> dict[str, Any]:
        fixed, cell = architecture.network == "map", architecture.pooled == "cell"
        return {"fixed": fixed, "cell": cell, "copies": architecture.copies, "actions": architecture.scores_actions}

    def further_files(self, domain: Path) -> list[Path]:
        file = companion(domain, signature_of_domain(domain), NAME)
        return [] if file is None else [file]

    def encode(
        self, task: Task, states: np.ndarray, architecture: GridArchitecture, actions: Rows | None = None
    ) -> Arrays:
        """Sparse, in every orientation that is trained on: the dense images would take many times the room."""
        painter = Painter(task, checked_view(task, architecture), architecture.network == "map")
        found: Arrays = {"states": np.array([len(states)], np.int32)}
        if actions is not None:
            found |= actions_of(task, actions)
        for turn in range(TURNS if architecture.copies else 1):
            images = painter.images(turn)
            state, index, number = images.sparse(states)
            own = {"shape": np.array([images.height, images.width], np.int32), "constant": images.constant}
            own |= {"state": state.astype(np.int32), "index": index.astype(np.int32), "number": number}
            if architecture.network == "map":
                own["links"] = images.links
            if architecture.pooled == "cell":
                own["agents"] = images.agents(states)
            if actions is not None:
                own["cells"] = images.cells[actions.values]
            found |= {f"{turn}.{name}": array for name, array in own.items()}
        return found

    def prepare(self, encoded: Arrays, architecture: GridArchitecture, dtype: Any) -> Prepared:
        lengths = encoded.get("lengths", np.zeros(0, np.int32))
        turns = range(TURNS if architecture.copies else 1)
        return Prepared([tensors_of(seen_in_turn(encoded, turn), dtype) for turn in turns], lengths, dtype)

    def prepare_part(
        self, encoded: Arrays, architecture: GridArchitecture, dtype: Any, states: np.ndarray, number: int
    ) -> Prepared:
        """In one orientation only."""
        own = part_of(seen_in_turn(encoded, number % (TURNS if architecture.copies else 1)), states)
        lengths = own.pop("lengths", np.zeros(0, np.int32))
        return Prepared([tensors_of(own, dtype)], lengths, dtype)

    def varied(self, inputs: Prepared, number: int) -> Prepared:
        return Prepared(inputs.turns, inputs.lengths, inputs.dtype, number % len(inputs.turns))

    def forward(self, model: Model, weights: Any, inputs: Prepared) -> tuple[Any, Any]:
        """In training; the scorer has its own way in search."""
        import torch

        from planrank.models.grid.torch_arithmetic import TorchArithmetic

        arithmetic, shape, own = TorchArithmetic(), model.architecture, inputs.turns[inputs.turn]
        states, (height, width) = int(own["states"]), own["shape"].tolist()
        count = 1 if shape.network == "map" else states
        images = own["constant"].repeat(count)
        if shape.network != "map":
            where = own["state"] * len(own["constant"]) + own["index"]
            images = images.index_add(0, where, own["number"])
        images = images.view(count, height, width, -1).permute(0, 3, 1, 2).contiguous()
        groups, actions = None, 0
        if shape.scores_actions:
            groups, actions = [], len(own["kind"])
            for kind, places in enumerate(model.signature.places_of_actions.values()):
                ids = torch.nonzero(own["kind"] == kind)[:, 0]
                if len(ids):
                    groups.append(ActionGroup(kind, ids, own["of_state"][ids], own["cells"][ids, :places]))
        seen = Seen(images, height * width, states, own.get("agents"), groups, actions)
        links = own.get("links") if model.signature.has_links else None
        return read(arithmetic, weights, shape, features(arithmetic, weights, shape, images, links), seen)

    def scored_actions(self, inputs: Prepared) -> ScoredActions:
        return ScoredActions.each(inputs.lengths)

    def scorer(self, model: Model, task: Task, limits: Limits | None = None) -> GridScorer:
        return GridScorer(model, task, checked_view(task, model.architecture), limits)


def actions_of(task: Task, actions: Rows) -> Arrays:
    """Of each action the number of its kind and of its state."""
    lengths = np.diff(actions.offsets).astype(np.int32)
    return {
        "lengths": lengths,
        "kind": kinds_of_operators(task)[actions.values],
        "of_state": np.repeat(np.arange(len(lengths), dtype=np.int32), lengths),
    }


def seen_in_turn(encoded: Arrays, turn: int) -> Arrays:
    """What is the same in all orientations, and what is of this one."""
    prefix = f"{turn}."
    own = {name.removeprefix(prefix): array for name, array in encoded.items() if name.startswith(prefix)}
    return {name: array for name, array in encoded.items() if name[0].isalpha()} | own


def part_of(seen: Arrays, states: np.ndarray) -> Arrays:
    """The same of some of the states only, in this order."""
    place = np.full(int(seen["states"][0]), -1, np.int32)
    place[states] = np.arange(len(states), dtype=np.int32)
    kept = np.flatnonzero(place[seen["state"]] >= 0)
    found = seen | {"states": np.array([len(states)], np.int32), "state": place[seen["state"][kept]]}
    found |= {name: seen[name][kept] for name in ("index", "number")}
    if "agents" in seen:
        found["agents"] = seen["agents"][states]
    if "lengths" in seen:
        first = np.cumsum(seen["lengths"]) - seen["lengths"]
        rows = np.concatenate(
            [np.arange(a, a + n) for a, n in zip(first[states], seen["lengths"][states], strict=True)]
        )
        found |= {name: seen[name][rows] for name in ("kind", "cells")}
        found |= {"lengths": seen["lengths"][states], "of_state": place[seen["of_state"][rows]]}
    return found


def tensors_of(arrays: Arrays, dtype: Any) -> dict[str, Any]:
    import torch

    tensors = {name: torch.from_numpy(np.ascontiguousarray(a)) for name, a in arrays.items() if name != "lengths"}
    return {name: t.to(dtype) if t.is_floating_point() else t.long() for name, t in tensors.items()}


def checked_view(task: Task, shape: GridArchitecture) -> View:
    view = view_of(task)
    if view is None:
        raise missing_view(task.domain)
    if view.agent is None and (shape.pooled == "cell" or shape.network == "map"):
        message = f"a {shape.network} network with {shape.pooled} readout needs to know where the agent is"
        raise PlanrankError(f'{message}, expected a line such as agent = "(at ?cell)"', file=str(view.file))
    return view


GRID = GridFamily()
