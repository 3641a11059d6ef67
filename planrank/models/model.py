"""A model: what it is tied to, its shape, its weights. Needs no torch."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from planrank.errors import PlanrankError
from planrank.models import files
from planrank.models.architecture import Architecture, weight_shapes
from planrank.models.batch import Classifier
from planrank.models.network import forward
from planrank.models.scoring import NumpyOps
from planrank.models.signature import Signature, signature_of
from planrank.task import Task


@dataclass
class Model:
    """`metadata` is whatever training wants to remember: its configuration, versions, figures reached."""

    signature: Signature
    architecture: Architecture
    weights: dict[str, np.ndarray]
    metadata: dict = field(default_factory=dict)

    @classmethod
    def fresh(cls, signature: Signature, architecture: Architecture, seed: int = 0) -> Model:
        """Random weights: uniform, scaled by the number of inputs, biases zero."""
        rng = np.random.default_rng(seed)
        weights = {}
        for name, shape in weight_shapes(signature, architecture).items():
            if name.endswith(".bias"):
                weights[name] = np.zeros(shape, np.float32)
            else:
                bound = math.sqrt(6 / max(1, shape[-1] if name == "policy.map" else shape[0]))
                weights[name] = rng.uniform(-bound, bound, shape).astype(np.float32)
        # What is pooled is never negative, so a hidden unit whose weights sum to less than zero may be zero for all
        # states. Every other one sums to more, or a small network could be born dead.
        hidden = weights["head.hidden.map"]
        hidden[:, ::2] *= np.where(hidden[:, ::2].sum(axis=0) < 0, -1, 1)
        return cls(signature, architecture, weights)

    @classmethod
    def load(cls, file: str | Path) -> Model:
        header, weights = files.read(Path(file))
        try:
            signature = Signature(header["signature"])
            architecture = Architecture(**json.loads(header["architecture"]))
            expected = weight_shapes(signature, architecture)
            metadata = json.loads(header["metadata"])
        except (KeyError, IndexError, TypeError, ValueError) as e:
            raise PlanrankError(f"this model file is damaged: {e}", file=str(file)) from None
        if {name: array.shape for name, array in weights.items()} != expected:
            raise PlanrankError("the weights in this model file do not fit its architecture", file=str(file))
        return cls(signature, architecture, weights, metadata)

    def save(self, file: str | Path) -> None:
        header = {
            "signature": self.signature.text,
            "signature_digest": self.signature.digest,
            "architecture": json.dumps(asdict(self.architecture)),
            "metadata": json.dumps(self.metadata),
        }
        files.write(Path(file), header, self.weights)

    def scorer(self, task: Task) -> Scorer:
        return Scorer(self, task)

    def check_reads(self, task: Task) -> None:
        signature = signature_of(task)
        if signature.digest != self.signature.digest:
            ours, theirs = self.signature, signature
            missing = sorted(set(ours.text.splitlines()[1:]) ^ set(theirs.text.splitlines()[1:]))
            raise PlanrankError(
                f"this model was made for the domain '{ours.domain}' and cannot read '{theirs.domain}': "
                f"they differ in `{missing[0] if missing else 'the order of their lines'}`"
            )


class Scorer:
    """Values of states of one task; parts of the network's work that were done before are not done again."""

    def __init__(self, model: Model, task: Task):
        model.check_reads(task)
        self.model = model
        self.task = task
        self.classifier = Classifier(task, model.architecture)
        self.ops = NumpyOps()

    def values(self, states: np.ndarray) -> np.ndarray:
        """Of packed states, a row each."""
        return self._run(states)[0]

    def values_and_policy(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Values, and of state i the applicable operators `operators[offsets[i]:offsets[i + 1]]` with the logarithms of
        their probabilities."""
        if not self.model.architecture.policy:
            raise PlanrankError("this model has no policy; train one with the Levin loss")
        values, logits, actions = self._run(states)
        offsets = np.concatenate([[0], np.cumsum(actions.lengths)])
        return values, offsets, actions.ids, log_softmax(logits, offsets)

    def _run(self, states: np.ndarray):
        if states.ndim != 2 or states.shape[1] != self.task.words:
            raise PlanrankError(
                f"these states have {states.shape[-1]} words, expected {self.task.words}: another task's?"
            )
        self.classifier.add(self.task, states)
        batch = self.classifier.take()
        self.ops.begin(batch)
        model = self.model
        values, logits = forward(self.ops, model.weights, model.signature, model.architecture, batch)
        if not np.isfinite(values).all():
            raise PlanrankError("the model gives values that are no numbers; its weights are unusable")
        return values, logits, batch.actions


def log_softmax(logits: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Within each row."""
    lengths = np.diff(offsets)
    full = lengths > 0
    if not full.any():
        return logits.astype(np.float32)
    starts = offsets[:-1][full]
    highest = np.repeat(np.maximum.reduceat(logits, starts), lengths[full])
    total = np.add.reduceat(np.exp(logits - highest), starts)
    return (logits - highest - np.repeat(np.log(total), lengths[full])).astype(np.float32)
