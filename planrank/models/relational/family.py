"""What the rest of planrank knows of networks over objects."""

from __future__ import annotations

from typing import Any

import numpy as np

from planrank.limits import Limits
from planrank.models.family import Arrays, Family, NetworkScorer, ScoredActions
from planrank.models.model import Model
from planrank.models.relational.architecture import RelationalArchitecture, weight_shapes
from planrank.models.relational.atoms import ActionGroup, Atoms, Links, Observer, Seen
from planrank.models.relational.network import forward
from planrank.models.relational.numpy_arithmetic import NumpyArithmetic
from planrank.models.relational.signature import RelationalSignature, signature_of
from planrank.task import Rows, Task

LINKS = ("order", "lengths", "objects")


class RelationalFamily(Family):
    name = "relational"
    architecture_type = RelationalArchitecture
    signature_type = RelationalSignature

    def signature(self, task: Task) -> RelationalSignature:
        return signature_of(task)

    def weight_shapes(self, signature: RelationalSignature, architecture: Any) -> dict[str, tuple[int, ...]]:
        return weight_shapes(signature, architecture)

    def encoding_options(self, architecture: RelationalArchitecture) -> dict[str, Any]:
        return {name: getattr(architecture, name) for name in ("statics", "distances", "relaxed", "scores_actions")}

    def encode(self, task: Task, states: np.ndarray, architecture: Any, actions: Rows | None = None) -> Arrays:
        seen = Observer(task, architecture).look(states, actions)
        found: Arrays = {"sizes": np.array([seen.states, seen.objects, seen.action_count])}
        found["propositions"] = seen.propositions
        for one in seen.atoms:
            found |= {f"atoms {one.name} {part}": getattr(one, part) for part in ("objects", "flags", "states")}
        found |= {f"links {part}": getattr(seen.links, part) for part in LINKS}
        found |= {f"constants {name}": objects for name, objects in seen.constants}
        if seen.constant_links is not None:
            found |= {f"constant_links {part}": getattr(seen.constant_links, part) for part in LINKS}
        if actions is not None:
            found["action_lengths"] = np.diff(actions.offsets)
            for group in seen.actions or []:
                for part in ("ids", "states", "objects", "flags"):
                    found[f"actions {group.name} {part}"] = getattr(group, part)
        return found

    def prepare(self, encoded: Arrays, architecture: Any, dtype: Any) -> tuple[Seen, np.ndarray]:
        """With tensors for arrays; and how many actions each state has."""
        tensors = super().prepare(encoded, architecture, dtype)
        states, objects, actions = (int(number) for number in encoded["sizes"])

        def parts_of(kind: str) -> dict[str, dict[str, Any]]:
            found: dict[str, dict[str, Any]] = {}
            for key, tensor in tensors.items():
                words = key.split(" ")
                if words[0] == kind:
                    found.setdefault(words[1], {})[words[2]] = tensor
            return found

        def links(kind: str) -> Links | None:
            return Links(*(tensors[f"{kind} {part}"] for part in LINKS)) if f"{kind} order" in tensors else None

        own, always = links("links"), links("constant_links")
        assert own is not None
        constants = [(key.split(" ")[1], tensors[key]) for key in tensors if key.startswith("constants ")]
        groups = None
        if "action_lengths" in encoded:
            groups = [ActionGroup(name, **parts) for name, parts in parts_of("actions").items()]
        atoms = [Atoms(name, **parts) for name, parts in parts_of("atoms").items()]
        seen = Seen(states, objects, atoms, own, constants, always, tensors["propositions"], groups, actions)
        return seen, encoded.get("action_lengths", np.zeros(0, np.int64))

    def forward(self, model: Model, weights: Any, inputs: tuple[Seen, np.ndarray]) -> tuple[Any, Any]:
        """In training; the scorer has its own way in search."""
        from planrank.models.relational.torch_arithmetic import TorchArithmetic

        return forward(TorchArithmetic(), weights, model.signature, model.architecture, inputs[0])

    def scored_actions(self, inputs: tuple[Seen, np.ndarray]) -> ScoredActions:
        return ScoredActions.each(inputs[1])

    def scorer(self, model: Model, task: Task, limits: Limits | None = None) -> RelationalScorer:
        return RelationalScorer(model, task, limits)


class RelationalScorer(NetworkScorer):
    def __init__(self, model: Model, task: Task, limits: Limits | None = None):
        super().__init__(model, task)
        self.observer, self.arithmetic = Observer(task, model.architecture, limits), NumpyArithmetic()

    def evaluated(self, states: np.ndarray, actions: Rows | None) -> tuple[np.ndarray, np.ndarray | None]:
        model, seen = self.model, self.observer.look(states, actions)
        return forward(self.arithmetic, model.weights, model.signature, model.architecture, seen)


RELATIONAL = RelationalFamily()
