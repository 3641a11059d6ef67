"""The configuration of a training run: one dataclass, whose fields are the command's options and a TOML file's keys.

Imports neither NumPy nor torch, because help is made from it.
"""

from __future__ import annotations

from dataclasses import Field, asdict, dataclass, replace
from pathlib import Path
from typing import Any

from planrank import paths
from planrank.choices import LOSSES, REDUCTIONS, SEARCHES, SURROGATES, TRAINING_TEACHERS
from planrank.errors import PlanrankError
from planrank.files import read_toml
from planrank.models import families
from planrank.models.grid.architecture import GridArchitecture
from planrank.models.hypergraph.architecture import Architecture
from planrank.models.relational.architecture import RelationalArchitecture
from planrank.options import check_fields, checked, option, options_of, shown_default

# What a profile says of fields that were not given.
PROFILES: dict[str, dict[str, object]] = {
    "default": {"steps": 10_000, "instances": "train"},
    "quick": {"steps": 2_000, "instances": "quick"},
}
# What --select tries: which is the best depends on the domain. Those whose evaluations cost the least come first, and
# stay unless another one is clearly better.
SELECTION: list[dict[str, object]] = [
    {"family": "relational", "layers": 3, "relaxed": False},
    {"family": "relational", "layers": 3, "relaxed": True},
    {"family": "hypergraph", "value": "sum", "relaxed": False, "detours": 0},
    {"family": "hypergraph", "value": "held", "relaxed": True},
]
FEWEST_STATES = 4  # in a step: two of the plan, which are compared with each other, and two others
# And what a family says of them.
FAMILY_DEFAULTS: dict[str, dict[str, object]] = {
    "hypergraph": {"detours": 1, "states_per_step": 0, "learning_rate": 3e-3, "weight_decay": 0.3},
    "grid": {"detours": 0, "states_per_step": 32, "learning_rate": 1e-3, "weight_decay": 0.03},
}


def family_defaults(family: str) -> dict[str, object]:
    """Of the fields whose default depends on the family; says which families there are if this is none."""
    of_network = options_of(families.get(family).architecture_type)
    width = {"dim": of_network["dim"].default} if "dim" in of_network else {}
    return FAMILY_DEFAULTS.get(family, FAMILY_DEFAULTS["hypergraph"]) | width


def has_view(domain: str) -> bool:
    """Whether a view file lies beside the domain, which is a name or a folder."""
    return any((place / domain / "grid.toml").is_file() for place in (Path(), paths.shared() / "domains"))


@dataclass(frozen=True)
class TrainConfig(Architecture, GridArchitecture, RelationalArchitecture):
    """What to train on, what and how. Fields whose default is None take it from the profile or from other fields.

    The options of the networks are inherited, so that they are written down once; `architecture` has those of the
    family that is trained.
    """

    domain: str = option(
        None, "Name of one of planrank's domains, or a folder of a domain and problems in the IPC layout."
    )
    out: str = option(None, "The model file. [default: planrank-models/NAME.safetensors]", result=False)
    profile: str = option("default", "quick: fewer steps on smaller instances.", choices=tuple(PROFILES), result=False)
    family: str = option(
        "auto", "The kind of model: hypergraph, relational, grid; auto: grid where there is a view file grid.toml."
    )

    dim: int = option(None, "Size of the embeddings. [default: 64; relational: 32]", least=1, most=4096)

    loss: str = option("lstar", "What is minimised.", choices=LOSSES)
    surrogate: str = option("logistic", "Of the 0-1 loss in the ranking losses.", choices=SURROGATES)
    detours: int = option(
        None,
        "Where actions are ranked: states off the plan at each step, whose actions are to come later too. [default: 1; "
        "grid: 0]",
        least=0,
    )
    reduction: str = option("mean", "Of the terms of one instance.", choices=REDUCTIONS)
    steps: int = option(None, "Steps of one instance each.", least=1)
    learning_rate: float = option(None, "Of AdaBelief. [default: 0.003; grid: 0.001]", above=0)
    anneal: bool = option(True, "Whether the learning rate falls evenly to nothing over the steps.")
    weight_decay: float = option(
        None, "Share of the weights taken away in a step, times the learning rate. [default: 0.3; grid: 0.03]", least=0
    )
    states_per_step: int = option(
        None,
        "Look at so many states of an instance in a step, drawn anew each time and weighted so that on average nothing "
        "is left out; 0: at all. [default: 0; grid: 32]",
        least=0,
    )

    seed: int = option(0, "Of the first weights and of the order of the instances.", least=0)
    seeds: int = option(1, "Train so many times, with seed, seed + 1, …, and keep the best.", least=1)
    select: bool = option(
        False,
        "Try several networks that see and weigh different things with a quarter of the steps each, train the two that "
        "validate best in full, and the cheapest if it is not far behind, and keep the best one.",
    )
    grid: bool = option(False, "Train with layers 1, 2, 3, dim 4, 8, 16, with and without residual; keep the best.")

    jobs: int = option(
        None,
        "Train so many of these at once, and build so many examples at once. [default: 1; in a cluster as many as it "
        "has processors]",
        least=1,
        result=False,
    )
    examples_memory: int = option(
        None,
        "Megabytes for training examples, all --jobs together; those that do not fit are read from disk again and "
        "again. [default: a quarter of the memory that is free]",
        least=0,
        result=False,
    )
    cluster: str = option(None, "Train these on the machines of this Ray cluster: auto or an address.", result=False)

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
    allow_suboptimal: bool = option(
        None, "Whether plans that are not proved optimal are used too. [default: on; for planrank's own domains off]"
    )

    validate_every: int = option(None, "Steps between validations. [default: a tenth of the steps]", least=1)
    validation_search: str = option(None, "Search of the validation. [default: gbfs; levin: phs]", choices=SEARCHES)
    validation_time: float = option(5.0, "Seconds for one instance of the validation.", above=0)
    validation_expansions: int = option(1_000, "Expansions for one instance of the validation.", least=1)
    validation_instances: int = option(40, "Validate with at most so many instances; 0: with all.", least=0)

    log_every: int = option(
        100, "Steps between lines of the log; the checkpoint is written then.", least=1, result=False
    )
    tensorboard: str = option(None, "Folder for TensorBoard; needs the package tensorboard.", result=False)

    def __post_init__(self) -> None:
        if self.domain is None:
            raise PlanrankError("no domain to train on is given; expected the name of a domain or a folder")
        self._check("profile", "loss")
        for name, value in PROFILES[self.profile].items():
            self._default(name, value)
        self._check("rank")
        if self.loss == "levin":
            if self.rank == "states":
                raise PlanrankError(
                    "the Levin loss trains a policy of actions, and states are to be ranked; expected another"
                )
            object.__setattr__(self, "rank", "policy")
        elif self.rank == "policy":
            raise PlanrankError(f"a policy is trained by the Levin loss alone, and the loss is {self.loss}")
        self._default("allow_suboptimal", self.domain not in paths.own_domains())
        self._default("validation_search", "phs" if self.loss == "levin" else "gbfs")
        if self.family == "auto":
            object.__setattr__(self, "family", "grid" if has_view(self.domain) else "hypergraph")
        self._check("steps", "family")
        for name, value in family_defaults(self.family).items():
            self._default(name, value)
        self._default("validate_every", max(1, self.steps // 10))
        self._default("out", str(Path("planrank-models", f"{self.domain_name}.safetensors")))
        self._default("data", str(Path("planrank-data", self.domain_name, self.instances)))
        check_fields(self)
        if 0 < self.states_per_step < FEWEST_STATES:
            found = f"states_per_step is {self.states_per_step}"
            raise PlanrankError(f"{found}, expected 0, for all, or at least {FEWEST_STATES}")
        if self.select and self.grid:
            raise PlanrankError("select and grid both say which networks are tried; expected one of them")
        _ = self.architecture  # refuses what does not go together

    def with_network(self, **changed: Any) -> TrainConfig:
        """Another network, trained alike; where this one's family had its defaults, the other's has its own."""
        unsaid = {name: None for name, value in family_defaults(self.family).items() if getattr(self, name) == value}
        return replace(self, **unsaid | changed)

    def _default(self, name: str, value: object) -> None:
        if getattr(self, name) is None:
            object.__setattr__(self, name, value)

    def _check(self, *names: str) -> None:
        for name in names:
            checked(OPTIONS[name], getattr(self, name))

    @property
    def domain_name(self) -> str:
        """Of the folder, or of planrank's own domain."""
        return Path(self.domain).resolve().name

    @property
    def architecture(self) -> Any:
        """The shape of the network, of the type that its family has."""
        kind = families.get(self.family).architecture_type
        return kind(**{name: getattr(self, name) for name in options_of(kind)})

    def as_json(self) -> dict[str, Any]:
        """All options, as plain values."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    def differing(self, other: dict[str, Any]) -> list[str]:
        """The fields that can change the weights and are not as in `other`, a result of `as_json`."""
        mine = self.as_json()
        names = (name for name, one in OPTIONS.items() if one.metadata["result"])
        return [name for name in names if name not in other or mine[name] != other[name]]


# In the order in which help shows them: what is trained on first, then the network.
OPTIONS = {
    name: one
    for inherited in (False, True)
    for name, one in options_of(TrainConfig).items()
    if any(name in options_of(kind) for kind in TrainConfig.__bases__) == inherited
}


def read_config(file: str | Path, known: dict[str, Field[Any]] = OPTIONS) -> dict[str, Any]:
    """The keys of a configuration file, checked one by one."""
    if not Path(file).is_file():
        raise PlanrankError("there is no such configuration file", file=str(file))
    found = read_toml(Path(file))
    unknown = [key for key in found if key not in known]
    if unknown:
        words = f"unknown key {', '.join(unknown)}; the known ones are {', '.join(known)}"
        raise PlanrankError(words, file=str(file))
    try:
        return {key: checked(known[key], value) for key, value in found.items()}
    except PlanrankError as e:
        raise PlanrankError(e.message, file=str(file)) from None


def configuration(file: str | Path | None, given: dict[str, Any]) -> TrainConfig:
    """The file's keys, overruled by what is given beside it."""
    return TrainConfig(**({} if file is None else read_config(file)) | given)


def default_text(name: str) -> str | None:
    """The default of an option as help shows it; None where the help text says it."""
    by_profile = [f"{profile}: {values[name]}" for profile, values in PROFILES.items() if name in values]
    if by_profile:
        return "; ".join(by_profile).removeprefix("default: ")
    return shown_default(OPTIONS[name])
