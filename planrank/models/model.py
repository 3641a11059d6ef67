"""A model: its family, what it is tied to, its shape, its weights. Needs no torch."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from planrank.choices import POLICY_SEARCHES
from planrank.errors import PlanrankError
from planrank.limits import Limits
from planrank.models import families, files
from planrank.models.family import Family, Scorer
from planrank.models.signature import Signature
from planrank.task import Task


@dataclass
class Model:
    """`metadata` is whatever training wants to remember: its configuration, versions, figures reached."""

    signature: Any  # of the type that the family has, and so is the architecture
    architecture: Any
    weights: dict[str, np.ndarray]
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def family(self) -> Family:
        """What kind of network it is."""
        return families.get(self.architecture.family_name)

    @property
    def rank(self) -> str:
        """What a search ranks with it: one of `planrank.choices.RANKS`."""
        return getattr(self.architecture, "rank", "states")

    @property
    def scores_actions(self) -> bool:
        """Whether it has a policy too, for phs and levints."""
        return self.rank != "states"

    def ranked_by(self, search: str) -> str:
        """What a search with it has in its open list: "actions" or "states"."""
        return "actions" if self.rank == "actions" and search not in POLICY_SEARCHES else "states"

    @classmethod
    def fresh(cls, signature: Signature, architecture: Any, seed: int = 0) -> Model:
        """With random weights, the same for the same seed."""
        family = families.get(architecture.family_name)
        rng = np.random.default_rng(seed)
        return cls(signature, architecture, family.fresh_weights(signature, architecture, rng))

    @classmethod
    def load(cls, file: str | Path) -> Model:
        """From a file, checked: PlanrankError if it is damaged or was changed."""
        header, weights = files.read(Path(file))
        family, options = files.family_of(header, Path(file)), files.architecture_of(header, Path(file))
        try:
            signature = family.signature_type(header["signature"])
            architecture = family.architecture_type(**options)
            expected = family.weight_shapes(signature, architecture)
            metadata = json.loads(header["metadata"])
            if not isinstance(metadata, dict) or not signature.domain:
                raise ValueError("its metadata or its signature says nothing")
        except (*files.BROKEN, IndexError, PlanrankError) as e:
            raise PlanrankError(f"this model file is damaged: {e}", file=str(file)) from None
        if {name: array.shape for name, array in weights.items()} != expected:
            raise PlanrankError("the weights in this model file do not fit its architecture", file=str(file))
        return cls(signature, architecture, weights, metadata)

    def save(self, file: str | Path) -> None:
        """To a safetensors file, or as JSON text if its name ends so."""
        header = {
            "family": self.family.name,
            "signature": self.signature.text,
            "signature_digest": self.signature.digest,
            "architecture": json.dumps(asdict(self.architecture)),
            "metadata": json.dumps(self.metadata),
        }
        files.write(Path(file), header, self.weights)

    def scorer(self, task: Task, limits: Limits | None = None) -> Scorer:
        """Prepared for a task; PlanrankError if the task is of another domain than the model."""
        self.check_reads(task)
        return self.family.scorer(self, task, limits)

    def check_reads(self, task: Task) -> None:
        """PlanrankError, with what differs, if the task is of another domain than the model."""
        ours, theirs = self.signature, self.family.signature(task)
        if ours.digest != theirs.digest:
            differing = sorted(set(ours.text.splitlines()[1:]) ^ set(theirs.text.splitlines()[1:]))
            raise PlanrankError(
                f"this model was made for the domain '{ours.domain}' and cannot read '{theirs.domain}': "
                f"they differ in `{differing[0] if differing else 'the order of their lines'}`"
            )
