"""The models that are at hand: those the user trained here, and those that come with planrank."""

from __future__ import annotations

from pathlib import Path

from planrank import paths
from planrank.choices import RANKS
from planrank.console import say, warn
from planrank.errors import PlanrankError
from planrank.models.files import architecture_of, family_of, read_header
from planrank.task import Task

TRAINED = Path("planrank-models")
SHIPPED = ("model.json", "model.safetensors")  # text where it is short enough
GRID = "grid"  # the family that is taken before others


def all_models() -> list[Path]:
    """The user's own models, the newest first, then those that come with planrank."""
    trained = sorted(TRAINED.glob("*.safetensors"), key=lambda file: (-time_of(file), file.name))
    return trained + sorted(file for name in SHIPPED for file in paths.shared().glob(f"domains/*/{name}"))


def time_of(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:  # a link that leads nowhere
        return 0.0


def fitting_model(task: Task, ranks: tuple[str, ...] = RANKS) -> Path | None:
    """A model made for the task's domain that ranks one of these; files that are no models are passed by, with a
    warning. Of several the user's newest is taken; of those that come with planrank one that sees the grid of a task
    before one that does not, because that of tiles takes fewer expansions on puzzles than npuzzle's. The log says which
    it is and why."""
    digests: dict[str, str] = {}  # of the task's signature, by family
    fitting: list[tuple[Path, str]] = []
    for file in all_models():
        try:
            header = read_header(file)
            family = family_of(header, file)
            rank = architecture_of(header, file).get("rank", "states")
            if family.name not in digests:
                digests[family.name] = family.signature(task).digest
        except PlanrankError as e:
            warn(f"a file among the models is passed by: {e}")
            continue
        if rank in ranks and header.get("signature_digest") == digests[family.name]:
            fitting.append((file, family.name))
    if not fitting:
        return None
    own = [one for one in fitting if one[0].parent == TRAINED]
    taken = own[0] if own else min(fitting, key=lambda one: one[1] != GRID)
    if len(fitting) > 1:
        others = ", ".join(f"{file} ({family})" for file, family in fitting if file != taken[0])
        why = "it is your newest" if own else "it sees the grid"
        say(f"several models fit: {taken[0]} ({taken[1]}) is taken, because {why}, and not {others}")
    return taken[0]


def model_name(file: Path) -> str:
    """What a model is called in tables and logs; one that comes with planrank has the name of its domain."""
    folder = file.resolve().parent
    return folder.name if file.name in SHIPPED and folder.parent == paths.shared() / "domains" else file.stem
