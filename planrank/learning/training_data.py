"""What a run trains on and validates with: instances found or made, plans found or asked for, the split."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from planrank.choices import PATH_LOSSES, RANKING_LOSSES
from planrank.console import Progress, track
from planrank.errors import PlanrankError
from planrank.files import write_text
from planrank.learning.config import TrainConfig
from planrank.learning.example_store import ExampleStore, most_bytes
from planrank.learning.examples import Example, cached_example, example_file
from planrank.models import families
from planrank.models.signature import Signature
from planrank.parallel.pool import REHEARSAL, Job, Pool
from planrank.paths import own_domains
from planrank.problems.folders import Instance, find_instances, resolve_domain
from planrank.problems.labelled_plans import LabelledPlan, labelled
from planrank.problems.labelling import Outcome, label
from planrank.problems.problem_sets import generate, standard_set, standard_sets
from planrank.problems.splits import descending, in_rounds, parts_of, spread
from planrank.task import load

RECORD = "labelling.json"
VALIDATION = "validation"


@dataclass(frozen=True)
class TrainingData:
    training: list[tuple[Instance, LabelledPlan]]
    validation: list[Instance]

    def signature(self, family: str) -> Signature:
        """Of the one domain that all are of, however many files it is written in."""
        instances = [instance for instance, _ in self.training] + self.validation
        one_of_each = {instance.domain.read_bytes(): instance for instance in instances}
        found = {}
        for instance in one_of_each.values():
            signature = families.get(family).signature(load(instance.domain, instance.problem))
            found[signature.digest] = (signature, instance.domain)
        if len(found) > 1:
            first, second, *_ = [str(domain) for _, domain in found.values()]
            raise PlanrankError(f"these problems are of different domains, {first} and {second}; train one at a time")
        ((signature, _),) = found.values()
        return signature

    def digest(self, family: str) -> str:
        """Changes if a file, a plan or their order does: a checkpoint goes on with the same instances only."""
        found = hashlib.sha256()
        for domain in dict.fromkeys(instance.domain for instance, _ in self.training):
            found.update(b"".join(file.read_bytes() for file in families.get(family).further_files(domain)))
        for instance, plan in self.training:
            found.update(instance.domain.read_bytes() + instance.problem.read_bytes())
            found.update("\n".join(plan.steps).encode())
        for instance in self.validation:
            found.update(b"validation" + instance.domain.read_bytes() + instance.problem.read_bytes())
        return found.hexdigest()


def check_domain(config: TrainConfig) -> None:
    """What can be said at once of a name or folder that is none."""
    home = resolve_domain(config.domain)
    if config.domain not in own_domains():
        find_instances(home)


def gather(config: TrainConfig, say: Callable[[str], None]) -> TrainingData:
    """Find or make the instances, split them, and get the plans of those to train on."""
    folder = made_set(config) if config.domain in own_domains() else resolve_domain(config.domain)
    parts = parts_of(config.domain, folder, config.split_seed)
    training = in_rounds(parts["train"])[: config.max_instances or None]
    ask_teacher(config, folder, training, say)
    usable = labelled(training, config.allow_suboptimal, say)
    # Those that the teacher could not solve in time are larger than what is learned from: just right for validation.
    unlabelled = [instance for instance in training if not instance.plan_file.is_file()]
    larger = made_larger(config) or parts["validation"] + unlabelled
    return TrainingData(usable, spread(descending(larger), config.validation_instances))


def made_set(config: TrainConfig) -> Path:
    """The folder of one of the standard sets of an own domain; what is missing in it is made."""
    folder = Path(config.data)
    groups = standard_set(config.domain, config.instances)
    total = sum(group.count for group in groups)
    with Progress("problems", total) as progress:
        generate(config.domain, groups, folder, progress=lambda _: progress.advance())
    return folder


def made_larger(config: TrainConfig) -> list[Instance]:
    """Problems to validate with that are larger than those of the set "train", where an own domain has such a set."""
    if config.instances != "train" or config.domain not in own_domains():
        return []
    if VALIDATION not in standard_sets(config.domain):
        return []
    return generate(config.domain, standard_set(config.domain, VALIDATION), Path(f"{config.data}-{VALIDATION}"))


def ask_teacher(config: TrainConfig, folder: Path, instances: list[Instance], say: Callable[[str], None]) -> None:
    """Have plans made for instances without one.

    A record in the folder says which ones the teacher failed at, so that it is not asked again. Where there are plans
    but no record, somebody else has made them, and the teacher "auto" leaves it at that.
    """
    bare = [instance for instance in instances if not instance.plan_file.is_file()]
    record = folder / RECORD
    others_plans = len(bare) < len(instances) and not record.exists()
    if not bare or config.teacher == "none" or (config.teacher == "auto" and others_plans):
        return
    teacher = "builtin" if config.teacher == "auto" else config.teacher
    terms = {"teacher": teacher, "time": config.teacher_time, "suboptimal": config.allow_suboptimal}
    failed = read_record(record, terms)
    bare = [instance for instance in bare if name_in(folder, instance) not in failed]
    if not bare:
        return
    write_record(record, terms, failed)
    with Progress(f"plans by {teacher}", len(bare)) as progress:

        def done(outcome: Outcome) -> None:
            progress.advance()
            if outcome.plan is None:
                failed[name_in(folder, outcome.instance)] = outcome.reason
                write_record(record, terms, failed)

        options: dict[str, Any] = {"time_limit": config.teacher_time, "allow_suboptimal": config.allow_suboptimal}
        outcomes = label(bare, teacher, progress=done, **options)
    made = [outcome for outcome in outcomes if outcome.plan is not None]
    if not made and len(bare) == len(instances):
        reasons = ", ".join(sorted({outcome.reason for outcome in outcomes}))
        limit = f"the teacher {teacher} made none in {config.teacher_time:g} s each ({reasons})"
        raise PlanrankError(f"there are no plans beside the problems, and {limit}", file=str(folder))
    say(f"the teacher {teacher} made {len(made)} of {len(bare)} plans")


def name_in(folder: Path, instance: Instance) -> str:
    return str(instance.problem.relative_to(folder))


def read_record(file: Path, terms: dict[str, Any]) -> dict[str, str]:
    """Why the teacher failed where it did; nothing if it was another one or had other limits."""
    try:
        found = json.loads(file.read_text())
        return dict(found["failed"]) if found["terms"] == terms else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def write_record(file: Path, terms: dict[str, Any], failed: dict[str, str]) -> None:
    write_text(file, json.dumps({"terms": terms, "failed": failed}, indent=1) + "\n")


def example_options(config: TrainConfig) -> dict[str, Any]:
    """What examples depend on beside the plan and the network."""
    detours = config.detours if config.loss in RANKING_LOSSES else 0
    return {"path_only": config.loss in PATH_LOSSES, "detours": detours}


def examples_of(data: TrainingData, config: TrainConfig, say: Callable[[str], None]) -> ExampleStore:
    """By the name of the problem. Those not yet on disk are built; one that cannot be is named and left out."""
    found, reason = ExampleStore(most_bytes(config.examples_memory)), ""
    for instance, plan in track(data.training, "examples"):
        asked = (instance.domain, instance.problem, plan.steps, config.architecture)
        make = partial(cached_example, *asked, **example_options(config))
        file = example_file(*asked, **example_options(config))
        if not file.exists():
            try:
                example = make()
            except PlanrankError as e:
                reason = e.message
                say(left_out(instance, reason))
                continue
            if not file.exists():  # it could not be written
                make = partial(same, example)
        found.add(str(instance.problem), make)
    if not found:
        raise PlanrankError(f"no plan can be learned from: {reason}", file=str(data.training[0][0].problem.parent))
    return found


def same(example: Example) -> Example:
    return example


def left_out(instance: Instance, reason: str) -> str:
    return f"{instance.plan_file}: {reason}; left out"


def build_together(data: TrainingData, configs: list[TrainConfig], processes: int, say: Callable[[str], None]) -> None:
    """Build the examples of all these runs in several processes, so that each run finds them on disk."""
    jobs: dict[Path, tuple[Instance, Job]] = {}
    for config in configs:
        for instance, plan in data.training:
            file = example_file(
                instance.domain, instance.problem, plan.steps, config.architecture, **example_options(config)
            )
            if file not in jobs and not file.exists():
                told = {"domain": str(instance.domain), "problem": str(instance.problem), "steps": plan.steps}
                arguments = told | {"config": config.as_json()}
                jobs[file] = instance, Job(f"{__name__}:build_one", arguments)
    if not jobs:
        return
    instances, asked = zip(*jobs.values(), strict=True)
    with Progress("examples", len(asked)) as progress:
        for number, answer in Pool(processes, REHEARSAL).map(asked):
            progress.advance()
            if answer.error is not None:
                say(left_out(instances[number], answer.error.message))


def build_one(domain: str, problem: str, steps: list[str], config: dict[str, Any]) -> None:
    """A job: the example of a plan, which stays on disk."""
    asked = TrainConfig(**config)
    cached_example(Path(domain), Path(problem), steps, asked.architecture, **example_options(asked))
