"""Finds a model that was made for the domain of a task: trained here by the user, or shipped with planrank."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from planrank import paths
from planrank.errors import PlanrankError

if TYPE_CHECKING:
    from planrank.task import Task

TRAINED = Path("planrank-models")


def candidates() -> list[Path]:
    """The user's own models, the newest first, then those shipped."""
    trained = sorted(TRAINED.glob("*.safetensors"), key=lambda file: (-file.stat().st_mtime, file.name))
    return trained + sorted(paths.shared().glob("domains/*/model.json"))


def fitting_model(task: Task, with_policy: bool = False) -> Path | None:
    """The first candidate made for the task's domain; files that are no models of this version are passed by."""
    files = candidates()
    if not files:
        return None
    from planrank.models import signature_of
    from planrank.models.files import read_header

    digest = signature_of(task).digest
    for file in files:
        try:
            header = read_header(file)
        except PlanrankError:
            continue
        if header.get("signature_digest") == digest and (not with_policy or has_policy(header)):
            return file
    return None


def has_policy(header: dict[str, str]) -> bool:
    return json.loads(header["architecture"])["policy"]


def model_name(file: Path) -> str:
    """What a model is called in tables and logs; one that is shipped has the name of its domain."""
    return file.resolve().parent.name if file.name == "model.json" else file.stem
