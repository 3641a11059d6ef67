"""The configuration of a training run: one dataclass, whose fields are the command's options and a TOML file's keys.

Imports neither NumPy nor torch, because help is made from it.
"""

from __future__ import annotations

import math
from dataclasses import Field, asdict, dataclass, field, fields
from pathlib import Path

from planrank import datasets
from planrank.choices import LOSSES, POOLINGS, RECEIVERS, REDUCTIONS, SEARCHES, SURROGATES, TRAINING_TEACHERS
from planrank.errors import PlanrankError

# What a profile says of fields that were not given.
PROFILES: dict[str, dict[str, object]] = {
    "default": {"steps": 10_000, "instances": "train"},
    "quick": {"steps": 2_000, "instances": "quick"},
}

GRID_LAYERS = (1, 2, 3)
GRID_DIMS = (4, 8, 16)

KINDS = {"str": str, "int": int, "float": float, "bool": bool, "tuple[str, ...]": tuple}


def option(default, help: str, *, choices=None, least=None, above=None, result: bool = True):
    """A field. `result` says whether it can change the weights, and so whether a checkpoint must agree with it."""
    metadata = {"help": help, "choices": choices, "least": least, "above": above, "result": result}
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class TrainConfig:
    """What to train on, what and how. Fields whose default is None take it from the profile or from other fields."""

    domain: str = option(
        None, "Name of one of planrank's domains, or a folder of a domain and problems in the IPC layout."
    )
    out: str = option(None, "The model file. [default: planrank-models/NAME.safetensors]", result=False)
    profile: str = option("default", "quick: fewer steps on smaller instances.", choices=tuple(PROFILES), result=False)

    loss: str = option("lstar", "What is minimised.", choices=LOSSES)
    surrogate: str = option("logistic", "Of the 0-1 loss in the ranking losses.", choices=SURROGATES)
    reduction: str = option("mean", "Of the terms of one instance.", choices=REDUCTIONS)
    steps: int = option(None, "Steps of one instance each.", least=1)
    learning_rate: float = option(3e-3, "Of AdaBelief.", above=0)
    anneal: bool = option(True, "Whether the learning rate falls evenly to nothing over the steps.")
    weight_decay: float = option(0.3, "Share of the weights taken away in a step, times the learning rate.", least=0)

    layers: int = option(2, "Rounds of messages.", least=1)
    dim: int = option(32, "Size of the embeddings.", least=1)
    residual: bool = option(True, "Whether a vertex keeps its own embedding from layer to layer.")
    mixing: bool = option(True, "Whether a dense map for each predicate ends each layer; the paper has none.")
    messages: tuple[str, ...] = option(("mean", "max"), "Pooling of a vertex's messages.", choices=POOLINGS)
    pooling: tuple[str, ...] = option(("sum", "max"), "Pooling over the vertices.", choices=POOLINGS)
    receivers: str = option("effects", "Facts that get an action's message.", choices=RECEIVERS)
    policy: bool = option(False, "A policy head; the Levin loss always has one.")

    seed: int = option(0, "Of the first weights and of the order of the instances.", least=0)
    seeds: int = option(1, "Train so many times, with seed, seed + 1, …, and keep the best.", least=1)
    grid: bool = option(False, "Train with layers 1, 2, 3, dim 4, 8, 16, with and without residual; keep the best.")

    instances: str = option(None, "Which of the domain's standard sets is made to train on.")
    data: str = option(None, "Where those are kept. [default: planrank-data/NAME/SET]", result=False)
    split_seed: int = option(None, "Of the split into train, validation and test. [default: the domain's]", least=0)
    max_instances: int = option(0, "Train on at most so many instances; 0: on all.", least=0)
    teacher: str = option(
        "auto",
        "Who makes the plans. auto: those beside the problems, and the builtin teacher where there are none.",
        choices=TRAINING_TEACHERS,
    )
    teacher_time: float = option(10.0, "Seconds the teacher may take for an instance.", above=0)
    allow_suboptimal: bool = option(False, "Whether plans that are not proved optimal are used too.")

    validate_every: int = option(None, "Steps between validations. [default: a tenth of the steps]", least=1)
    validation_search: str = option(None, "Search of the validation. [default: gbfs; levin: phs]", choices=SEARCHES)
    validation_time: float = option(3.0, "Seconds for one instance of the validation.", above=0)
    validation_expansions: int = option(1_000, "Expansions for one instance of the validation.", least=1)
    validation_instances: int = option(40, "Validate with at most so many instances; 0: with all.", least=0)

    log_every: int = option(
        100, "Steps between lines of the log; the checkpoint is written then.", least=1, result=False
    )
    tensorboard: str = option(None, "Folder for TensorBoard; needs the package tensorboard.", result=False)

    def __post_init__(self):
        if self.domain is None:
            raise PlanrankError("no domain to train on is given; expected the name of a domain or a folder")
        self._check("profile")
        for name, value in PROFILES[self.profile].items():
            self._default(name, value)
        self._check("loss")
        if self.loss == "levin":
            object.__setattr__(self, "policy", True)
        self._default("validation_search", "phs" if self.loss == "levin" else "gbfs")
        self._check("steps")
        self._default("validate_every", max(1, self.steps // 10))
        self._default("out", str(Path("planrank-models", f"{self.domain_name}.safetensors")))
        self._default("data", str(Path("planrank-data", self.domain_name, self.instances)))
        for one in fields(self):
            self._check(one.name)

    def _default(self, name: str, value) -> None:
        if getattr(self, name) is None:
            object.__setattr__(self, name, value)

    def _check(self, name: str) -> None:
        value = checked(FIELDS[name], getattr(self, name))
        object.__setattr__(self, name, value)

    @property
    def domain_name(self) -> str:
        return Path(self.domain).resolve().name

    def as_json(self) -> dict[str, object]:
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    def differing(self, other: dict[str, object]) -> list[str]:
        """The fields that can change the weights and are not as in `other`, a result of `as_json`."""
        mine = self.as_json()
        names = (one.name for one in fields(self) if one.metadata["result"])
        return [name for name in names if name not in other or mine[name] != other[name]]


FIELDS: dict[str, Field] = {one.name: one for one in fields(TrainConfig)}


def checked(one: Field, value):
    """The value if the field may have it, a list as a tuple and a whole number as a float where that is wanted."""
    if value is None and one.default is None:
        return None
    kind, rules = KINDS[one.type], one.metadata
    if kind is tuple and isinstance(value, list):
        value = tuple(value)
    if kind is float and type(value) is int:
        value = float(value)
    fits = type(value) is kind
    if fits and kind is tuple:
        # All of them names that there are, none twice.
        fits = 0 < len(value) == len({part for part in value if part in rules["choices"]})
    elif fits and rules["choices"] is not None:
        fits = value in rules["choices"]
    elif fits and kind in (int, float):
        fits = value < math.inf
        fits = fits and (rules["least"] is None or value >= rules["least"])
        fits = fits and (rules["above"] is None or value > rules["above"])
    if not fits:
        raise PlanrankError(f"{one.name} is {value!r}, expected {described(one)}")
    return value


def described(one: Field) -> str:
    rules = one.metadata
    if rules["choices"] is not None:
        some = "one or several different ones of" if KINDS[one.type] is tuple else "one of"
        return f"{some} {', '.join(rules['choices'])}"
    what = {"str": "a text", "int": "a whole number", "float": "a number", "bool": "true or false"}[one.type]
    if rules["least"] is not None:
        what += f" not below {rules['least']}"
    if rules["above"] is not None:
        what += f" above {rules['above']}"
    return what


def read_toml(file: str | Path) -> dict[str, object]:
    """The keys of a configuration file, checked one by one."""
    if not Path(file).is_file():
        raise PlanrankError("there is no such configuration file", file=str(file))
    found = datasets.read_toml(Path(file))
    unknown = [key for key in found if key not in FIELDS]
    if unknown:
        words = f"unknown key {', '.join(unknown)}; the known ones are {', '.join(FIELDS)}"
        raise PlanrankError(words, file=str(file))
    try:
        return {key: checked(FIELDS[key], value) for key, value in found.items()}
    except PlanrankError as e:
        raise PlanrankError(e.message, file=str(file)) from None


def configuration(file: str | Path | None, given: dict[str, object]) -> TrainConfig:
    """The file's keys, overruled by what is given beside it."""
    return TrainConfig(**({} if file is None else read_toml(file)) | given)


def default_text(one: Field) -> str | None:
    """The default as help shows it; None where the help text tells it."""
    by_profile = [f"{profile}: {values[one.name]}" for profile, values in PROFILES.items() if one.name in values]
    if by_profile:
        return "; ".join(by_profile).removeprefix("default: ")
    if one.default is None:
        return None
    if isinstance(one.default, bool):
        return "on" if one.default else "off"
    return ",".join(one.default) if isinstance(one.default, tuple) else str(one.default)
