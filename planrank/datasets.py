"""Folders of problems, the plans beside them, and how they are split for training."""

from __future__ import annotations

import math
import random
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from planrank import paths
from planrank.errors import PlanrankError
from planrank.plans import plan_text

FRACTIONS = (0.5, 0.25, 0.25)
PARTS = ("train", "validation", "test")
UNKNOWN = "unknown"


@dataclass(frozen=True)
class Instance:
    """A problem with its domain; `plan` is the file beside it, None where there is none yet."""

    domain: Path
    problem: Path
    plan: Path | None

    @property
    def plan_file(self) -> Path:
        """Where the plan is or would be."""
        return self.problem.with_suffix(".plan")


@dataclass(frozen=True)
class LabelledPlan:
    """A plan, who made it, and whether it is proved that none is cheaper."""

    steps: list[str]
    cost: float
    teacher: str
    proved_optimal: bool


def own_domains() -> list[str]:
    return sorted(file.parent.name for file in paths.shared().glob("domains/*/domain.pddl"))


def resolve_domain(name_or_folder: str | Path) -> Path:
    """The folder of one of planrank's own domains, or the folder given. A folder named like one is written ./name."""
    if str(name_or_folder) in own_domains():
        return paths.shared() / "domains" / name_or_folder
    folder = Path(name_or_folder)
    if not folder.is_dir():
        known = ", ".join(own_domains())
        raise PlanrankError(f"found neither a folder nor a domain called {str(folder)!r}; planrank's own are {known}")
    return folder


def find_instances(folder: str | Path) -> list[Instance]:
    """The problems in a folder and its subfolders, in the order of their names, numbers counted as numbers.

    The domain of a problem is a file made for it (p01-domain.pddl, domain_p01.pddl), else the domain.pddl beside it or
    in the nearest folder above.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise PlanrankError("this is not a folder", file=str(folder))
    files = [f for f in folder.rglob("*.pddl") if not any(p.startswith(".") for p in f.relative_to(folder).parts)]
    problems = sorted((f for f in files if not is_domain(f)), key=lambda f: natural(f.relative_to(folder)))
    if len(problems) == len(files):
        raise PlanrankError("there is no domain file in this folder, expected domain.pddl", file=str(folder))
    if not problems:
        raise PlanrankError("there are no problems in this folder beside its domain file", file=str(folder))
    return [instance_of(domain_of(problem, folder), problem) for problem in problems]


def instance_of(domain: Path, problem: Path) -> Instance:
    found = Instance(domain, problem, None)
    return replace(found, plan=found.plan_file) if found.plan_file.is_file() else found


def is_domain(file: Path) -> bool:
    with file.open(encoding="utf-8", errors="replace") as stream:
        start = without_comments(stream.read(20_000))
    kind = re.search(r"\(\s*define\s*\(\s*(domain|problem)\b", start, re.IGNORECASE)
    return kind.group(1).lower() == "domain" if kind else "domain" in file.name


def domain_of(problem: Path, folder: Path) -> Path:
    stem = problem.stem
    own = (f"{stem}-domain.pddl", f"{stem[:3]}-domain.pddl", f"domain_{stem}.pddl", f"domain-{stem}.pddl")
    candidates = [problem.parent / name for name in own]
    above = [place for place in (problem.parent, *problem.parent.parents) if place.is_relative_to(folder)]
    candidates += [place / "domain.pddl" for place in above]
    for candidate in candidates:
        if candidate.is_file() and candidate != problem:
            return candidate
    raise PlanrankError("found no domain file for this problem, expected domain.pddl beside it", file=str(problem))


def natural(path: Path) -> list[list[tuple[int, str]]]:
    """Sorts p2 before p10."""
    pieces = (re.split(r"(\d+)", part) for part in path.parts)
    return [[(int(p), "") if p.isdigit() else (-1, p) for p in part] for part in pieces]


def without_comments(text: str) -> str:
    return re.sub(r";[^\n]*", "", text)


def size_of(problem: Path) -> int:
    """The number of objects a problem declares: how large it is, without parsing it."""
    text = without_comments(problem.read_text(encoding="utf-8", errors="replace"))
    start = re.search(r"\(\s*:objects\b", text, re.IGNORECASE)
    if start is None:
        return 0
    depth, end = 1, start.end()
    while depth and end < len(text):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        end += 1
    names = re.sub(r"\s-\s+(\(.*?\)|[^\s()]+)", " ", text[start.end() : end - 1], flags=re.DOTALL)
    return len(names.split())


def by_size(instances: Iterable[Instance]) -> dict[int, list[Instance]]:
    groups: dict[int, list[Instance]] = {}
    for instance in instances:
        groups.setdefault(size_of(instance.problem), []).append(instance)
    return dict(sorted(groups.items()))


def in_rounds(instances: Iterable[Instance]) -> list[Instance]:
    """One of each size, from small to large, then the next of each: work that is cut short has seen all sizes."""
    groups = list(by_size(instances).values())
    longest = max(map(len, groups), default=0)
    return [group[i] for i in range(longest) for group in groups if i < len(group)]


def split(
    instances: Sequence[Instance], seed: int = 0, fractions: Sequence[float] = FRACTIONS
) -> dict[str, list[Instance]]:
    """Instances for training, validation and test, every part with its share of every size.

    Where the problems lie in folders called training and testing, as in the IPC's learning track, those of testing are
    the test part and the others are shared out between training and validation.
    """
    if len(fractions) != 3 or min(fractions) < 0 or not math.isclose(sum(fractions), 1):
        raise PlanrankError(f"found {tuple(fractions)} as fractions of the split, expected three that add up to 1")
    training = [i for i in instances if "training" in i.problem.parent.parts]
    testing = [i for i in instances if "testing" in i.problem.parent.parts]
    rest = fractions[0] + fractions[1]
    if training and testing and rest > 0:
        return deal(training, seed, (fractions[0] / rest, fractions[1] / rest, 0)) | {"test": testing}
    return deal(instances, seed, fractions)


def deal(instances: Sequence[Instance], seed: int, fractions: Sequence[float]) -> dict[str, list[Instance]]:
    """Shuffle within each size, then go through all sizes and give each instance to the part furthest behind."""
    rng = random.Random(seed)
    parts: dict[str, list[Instance]] = {part: [] for part in PARTS}
    dealt = 0
    for group in by_size(sorted(instances, key=lambda i: (natural(Path(i.problem.name)), str(i.problem)))).values():
        rng.shuffle(group)
        for instance in group:
            dealt += 1
            behind = [share * dealt - len(parts[part]) for part, share in zip(PARTS, fractions, strict=True)]
            parts[PARTS[behind.index(max(behind))]].append(instance)
    return parts


def split_settings(folder: str | Path) -> dict:
    """`seed` and `fractions` from the sets.toml of a domain's folder, as arguments of `split`."""
    found = read_toml(Path(folder) / "sets.toml").get("split", {})
    return {"seed": found.get("seed", 0), "fractions": tuple(found.get("fractions", FRACTIONS))}


def read_toml(file: Path) -> dict:
    """What a TOML file says; nothing where there is none."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    if not file.is_file():
        return {}
    try:
        return tomllib.loads(file.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as e:
        raise PlanrankError(f"cannot be read as TOML: {e}", file=str(file)) from None


def labelled_plan_text(plan: LabelledPlan, unit_cost: bool) -> str:
    """A plan file whose comments say who made the plan and whether it is proved optimal."""
    proved = "yes" if plan.proved_optimal else "no"
    notes = [*plan.steps, f"; teacher = {plan.teacher}", f"; proved optimal = {proved}"]
    return plan_text(notes, plan.cost, unit_cost)


def read_plan(file: str | Path) -> LabelledPlan:
    """A plan and what its comments say of it; one that says nothing is of an unknown teacher and not proved optimal."""
    try:
        lines = Path(file).read_text().splitlines()
    except (OSError, UnicodeDecodeError) as e:
        reason = getattr(e, "strerror", None) or "not text"
        raise PlanrankError(f"the plan cannot be read: {reason}", file=str(file)) from None
    notes = {key: value.strip() for key, value in re.findall(r"^\s*;\s*([\w ]+?)\s*=(.*)$", "\n".join(lines), re.M)}
    steps = [step.lower() for line in lines if (step := line.partition(";")[0].strip())]
    cost = re.match(r"\d+(\.\d+)?(e[+-]?\d+)?", notes.get("cost", ""))
    return LabelledPlan(
        steps,
        float(cost.group()) if cost else float(len(steps)),
        notes.get("teacher", UNKNOWN),
        notes.get("proved optimal") == "yes",
    )


def checked_plan(instance: Instance) -> LabelledPlan:
    """The plan beside a problem, replayed on it; a plan for another problem is refused."""
    from planrank.search import validate

    plan = read_plan(instance.plan_file)
    try:
        _, cost = validate(instance.domain, instance.problem, instance.plan_file)
    except PlanrankError as e:
        if e.file != str(instance.plan_file):
            raise
        place = f"line {e.line}: " if e.line else ""
        message = f"this is no plan for {instance.problem.name}: {place}{e.message}"
        raise PlanrankError(message, e.kind, file=e.file) from None
    return replace(plan, cost=float(cost))


def labelled(
    instances: Iterable[Instance],
    allow_suboptimal: bool = False,
    say: Callable[[str], None] = lambda text: print(f"planrank: {text}", file=sys.stderr),
) -> list[tuple[Instance, LabelledPlan]]:
    """The instances whose plans may be learned from, each plan checked; `say` is told how many are left out and why."""
    found, bare, empty, unproved = [], 0, 0, 0
    for instance in instances:
        if not instance.plan_file.is_file():
            bare += 1
            continue
        plan = checked_plan(instance)
        if not plan.steps:
            empty += 1
        elif not plan.proved_optimal and not allow_suboptimal:
            unproved += 1
        else:
            found.append((instance, plan))
    reasons = [
        (bare, "have no plan beside them (`planrank label` makes them)"),
        (empty, "are solved from the start, so nothing can be learned from them"),
        (unproved, "have a plan that is not proved optimal (--allow-suboptimal takes it)"),
    ]
    told = "; ".join(f"{count} {reason}" for count, reason in reasons if count)
    if not found:
        raise PlanrankError(f"no instance can be learned from: {told or 'there are none'}")
    if told:
        say(f"of {len(found) + bare + empty + unproved} instances {told}; {len(found)} are used")
    return found
