"""What a run trains on and validates with: instances found or made, plans found or asked for, the split."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from planrank.config import TrainConfig
from planrank.datasets import (
    Instance,
    LabelledPlan,
    find_instances,
    in_rounds,
    labelled,
    own_domains,
    resolve_domain,
    split,
    split_settings,
)
from planrank.errors import PlanrankError
from planrank.models import Signature, signature_of
from planrank.plans import write_atomically
from planrank.task import load

RECORD = "labelling.json"


@dataclass(frozen=True)
class Trainset:
    training: list[tuple[Instance, LabelledPlan]]
    validation: list[Instance]

    def signature(self) -> Signature:
        """Of the one domain that all are of, however many files it is written in."""
        instances = [instance for instance, _ in self.training] + self.validation
        one_of_each = {instance.domain.read_bytes(): instance for instance in instances}
        found = {}
        for instance in one_of_each.values():
            signature = signature_of(load(instance.domain, instance.problem))
            found[signature.digest] = (signature, instance.domain)
        if len(found) > 1:
            first, second, *_ = [str(domain) for _, domain in found.values()]
            raise PlanrankError(f"these problems are of different domains, {first} and {second}; train one at a time")
        ((signature, _),) = found.values()
        return signature

    def digest(self) -> str:
        """Changes if a file, a plan or their order does: a checkpoint goes on with the same instances only."""
        found = hashlib.sha256()
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


def gather(config: TrainConfig, say: Callable[[str], None]) -> Trainset:
    """Find or make the instances, split them, and get the plans of those to train on."""
    home = resolve_domain(config.domain)
    folder = made_set(config) if config.domain in own_domains() else home
    settings = split_settings(home)
    if config.split_seed is not None:
        settings["seed"] = config.split_seed
    parts = split(find_instances(folder), **settings)
    training = in_rounds(parts["train"])[: config.max_instances or None]
    ask_teacher(config, folder, training, say)
    usable = labelled(training, config.allow_suboptimal, say)
    return Trainset(usable, in_rounds(parts["validation"])[: config.validation_instances or None])


def made_set(config: TrainConfig) -> Path:
    """The folder of one of the standard sets of an own domain; what is missing in it is made."""
    from tqdm import tqdm

    from planrank.generation import generate, standard_set

    folder = Path(config.data)
    groups = standard_set(config.domain, config.instances)
    total = sum(group.count for group in groups)
    with tqdm(total=total, desc="problems", unit="problem", disable=None, leave=False) as bar:
        generate(config.domain, groups, folder, progress=lambda _: bar.update())
    return folder


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
    from tqdm import tqdm

    from planrank.labelling import label

    teacher = "builtin" if config.teacher == "auto" else config.teacher
    terms = {"teacher": teacher, "time": config.teacher_time, "suboptimal": config.allow_suboptimal}
    failed = read_record(record, terms)
    bare = [instance for instance in bare if name_in(folder, instance) not in failed]
    if not bare:
        return
    write_record(record, terms, failed)
    with tqdm(total=len(bare), desc=f"plans by {teacher}", unit="plan", disable=None, leave=False) as bar:

        def done(outcome) -> None:
            bar.update()
            if outcome.plan is None:
                failed[name_in(folder, outcome.instance)] = outcome.reason
                write_record(record, terms, failed)

        options = {"time_limit": config.teacher_time, "allow_suboptimal": config.allow_suboptimal}
        outcomes = label(bare, teacher, progress=done, **options)
    made = [outcome for outcome in outcomes if outcome.plan is not None]
    if not made and len(bare) == len(instances):
        reasons = ", ".join(sorted({outcome.reason for outcome in outcomes}))
        limit = f"the teacher {teacher} made none in {config.teacher_time:g} s each ({reasons})"
        raise PlanrankError(f"there are no plans beside the problems, and {limit}", file=str(folder))
    say(f"the teacher {teacher} made {len(made)} of {len(bare)} plans")


def name_in(folder: Path, instance: Instance) -> str:
    return str(instance.problem.relative_to(folder))


def read_record(file: Path, terms: dict) -> dict[str, str]:
    """Why the teacher failed where it did; nothing if it was another one or had other limits."""
    try:
        found = json.loads(file.read_text())
        return dict(found["failed"]) if found["terms"] == terms else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def write_record(file: Path, terms: dict, failed: dict[str, str]) -> None:
    write_atomically(file, json.dumps({"terms": terms, "failed": failed}, indent=1) + "\n")
