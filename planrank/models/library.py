"""The models that are at hand: those the user trained here, and those that come with planrank."""

from __future__ import annotations

from pathlib import Path

from planrank import paths
from planrank.choices import RANKS
from planrank.console import warn
from planrank.errors import PlanrankError
from planrank.models.files import architecture_of, family_of, read_header
from planrank.task import Task

TRAINED = Path("planrank-models")


def all_models() -> list[Path]:
    """The user's own models, the newest first, then those that come with planrank."""
    trained = sorted(TRAINED.glob("*.safetensors"), key=lambda file: (-time_of(file), file.name))
    return trained + sorted(paths.shared().glob("domains/*/model.json"))


def time_of(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:  # a link that leads nowhere
        return 0.0


def fitting_model(task: Task, ranks: tuple[str, ...] = RANKS) -> Path | None:
    """The first model made for the task's domain that ranks one of these; files that are no models are passed by, with
    a warning."""
    digests: dict[str, str] = {}  # of the task's signature, by family
    for file in all_models():
        try:
            header = read_header(file)
            family = family_of(header, file)
            rank = architecture_of(header, file).get("rank", "states")
        except PlanrankError as e:
            warn(f"a file among the models is passed by: {e}")
            continue
        if family.name not in digests:
            digests[family.name] = family.signature(task).digest
        if rank in ranks and header.get("signature_digest") == digests[family.name]:
            return file
    return None


def model_name(file: Path) -> str:
    """What a model is called in tables and logs; one that comes with planrank has the name of its domain."""
    return file.resolve().parent.name if file.name == "model.json" else file.stem
