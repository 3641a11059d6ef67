"""The configuration of `planrank improve`: a dataclass, whose fields are the command's options and a TOML file's keys.

Imports neither NumPy nor torch, because help is made from it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from planrank.choices import LOSSES
from planrank.errors import PlanrankError
from planrank.learning.config import read_config
from planrank.options import check_fields, option, options_of

FALLBACKS = ("ff", "teacher", "none")
FRESH = "fresh"


@dataclass(frozen=True)
class ImproveConfig:
    """What is improved, on which problems, and how. Fields whose default is None take it from the model."""

    domain: str = option(
        None, "Name of one of planrank's domains, or a folder of a domain and problems in the IPC layout."
    )
    model: str = option(
        None, "The model to begin with; fresh: random weights. [default: one that fits, as solve takes it, else fresh]"
    )
    out: str = option(None, "The improved model. [default: planrank-models/NAME-improved.safetensors]", result=False)

    rounds: int = option(20, "Rounds of searching and learning.", least=1, result=False)
    hours: float = option(None, "End after so long, whatever is being done. [default: no limit]", above=0, result=False)
    jobs: int = option(
        None,
        "Search so many problems at once, each in a process of its own. [default: 1; in a cluster as many as it has "
        "processors]",
        least=1,
        result=False,
    )
    cluster: str = option(
        None, "Search on the machines of this Ray cluster: auto or an address; learning stays here.", result=False
    )

    sizes: str = option(
        None,
        "Sizes of the problems that are made, small to large, such as blocks=10,15,20-25; several separated by blanks. "
        "[default: the [improve] table in the domain's sets.toml]",
    )
    problems: int = option(20, "Problems that a round searches.", least=1)
    held_out: int = option(10, "Problems of each size that are never learned from; the best model is chosen by them.",
                           least=1)  # fmt: skip
    share: float = option(0.8, "Go on to the next size when so large a share of the problems is solved.", above=0,
                          most=1)  # fmt: skip
    expansions: int = option(1_000, "Expansions of one search at first; doubled when nothing new is solved.", least=1)
    most_expansions: int = option(16_000, "And at last.", least=1)
    search_time: float = option(
        120.0, "Seconds of one search. Where they end it, and not the expansions, a second run may differ.", above=0
    )
    fallback: str = option(
        "ff",
        "Who makes plans when nothing new is solved. ff: lazy search with hFF; teacher: the built-in one.",
        choices=FALLBACKS,
    )
    fallback_expansions: int = option(50_000, "Expansions of a search with hFF.", least=1)
    teacher_time: float = option(10.0, "Seconds the teacher may take for a problem.", above=0)

    strays: int = option(2, "States off the plan, for each of its steps, that the search went to.", least=0)
    detours: int = option(None, "And where these are fewer, others. [default: as in training]", least=0)
    states_per_step: int = option(
        None, "Look at so many states of a plan in a step, drawn anew each time; 0: at all. [default: 64; grid: 32]",
        least=0,
    )  # fmt: skip
    replay: int = option(40, "Plans of earlier rounds that a round learns from too.", least=0)
    steps: int = option(400, "Steps of learning in a round, of one plan each.", least=1)
    loss: str = option(None, "What is minimised. [default: the model's; of fresh weights lstar]", choices=LOSSES)
    learning_rate: float = option(None, "At the beginning of a round. [default: 0.001; grid: 0.0003; three times that "
                                  "with fresh weights]", above=0)  # fmt: skip
    seed: int = option(0, "Of the problems and their order, and of fresh weights.", least=0)

    def __post_init__(self) -> None:
        if self.domain is None:
            raise PlanrankError("no domain to improve on is given; expected the name of a domain or a folder")
        if self.out is None:
            name = f"{Path(self.domain).resolve().name}-improved.safetensors"
            object.__setattr__(self, "out", str(Path("planrank-models", name)))
        check_fields(self)
        if not self.out.endswith(".safetensors"):
            raise PlanrankError("expected the name of a .safetensors file to write", file=self.out)
        if self.most_expansions < self.expansions:
            found = f"most_expansions is {self.most_expansions}"
            raise PlanrankError(f"{found}, expected not below expansions, which is {self.expansions}")

    @property
    def folder(self) -> Path:
        """Where all but the model is kept."""
        return Path(self.out).with_suffix(".improving")

    def as_json(self) -> dict[str, Any]:
        """All options, as plain values."""
        return asdict(self)

    def differing(self, other: dict[str, Any]) -> list[str]:
        """The fields that can change the result and are not as in `other`, a result of `as_json`."""
        mine = self.as_json()
        return [name for name, one in OPTIONS.items() if one.metadata["result"] and mine[name] != other.get(name)]


OPTIONS = options_of(ImproveConfig)


def configuration(file: str | Path | None, given: dict[str, Any]) -> ImproveConfig:
    """The file's keys, overruled by what is given beside it."""
    return ImproveConfig(**({} if file is None else read_config(file, OPTIONS)) | given)
