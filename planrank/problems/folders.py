"""Folders of problems in the IPC layout, and planrank's own domains."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from planrank import julia, paths
from planrank.choices import known_instead_of
from planrank.errors import PlanrankError
from planrank.files import read_toml
from planrank.paths import own_domains
from planrank.problems.domain_files import domain_of


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


def own_domain_file(name: str) -> Path:
    """The file of one of planrank's own domains; a domain may name another whose file it shares in its sets.toml."""
    home = paths.shared() / "domains"
    return home / read_toml(home / name / "sets.toml").get("domain", name) / "domain.pddl"


def resolve_domain(name_or_folder: str | Path) -> Path:
    """The folder of one of planrank's own domains, or the folder given. A folder named like one is written ./name."""
    if str(name_or_folder) in own_domains():
        return paths.shared() / "domains" / name_or_folder
    folder = Path(name_or_folder)
    if not folder.is_dir():
        known = known_instead_of(str(folder), own_domains())
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
    kind, _ = outline(file)
    return kind == "domain" if kind else "domain" in file.name


def size_of(problem: Path) -> int:
    """The number of objects a problem declares."""
    return outline(problem)[1]


def outline(file: Path) -> tuple[str, int]:
    """Whether a file is a "domain" or a "problem" (empty: neither), and how many objects it declares."""
    return julia.call_long("outline", str(file))


def natural(path: Path) -> list[list[tuple[int, str]]]:
    """Sorts p2 before p10."""
    pieces = (re.split(r"(\d+)", part) for part in path.parts)
    return [[(int(p), "") if p.isdigit() else (-1, p) for p in part] for part in pieces]
