"""Finds the domain of a problem by its name, as other planners do. Needs no Julia."""

from __future__ import annotations

from pathlib import Path

from planrank.errors import PlanrankError


def domain_of(problem: Path, top: Path | None = None) -> Path:
    """A file made for the problem (p01-domain.pddl, domain_p01.pddl, domain-p01.pddl), else the domain.pddl beside it
    or in the nearest folder above, up to `top`; without one, up to the folder above the problem's."""
    here = problem.parent
    stem, end = problem.stem, problem.suffix
    # p01-domain.pddl belongs to p01-airport1-p1.pddl too.
    own = (f"{stem}-domain{end}", f"{stem[:3]}-domain.pddl", f"domain_{problem.name}", f"domain-{problem.name}")
    candidates = [here / name for name in own]
    above = [place for place in (here, *here.parents) if top is not None and place.is_relative_to(top)]
    candidates += [place / "domain.pddl" for place in (above if top is not None else (here, here / ".."))]
    for candidate in candidates:
        if candidate.is_file() and candidate.name != problem.name:
            return candidate
    if top is None and not problem.exists():
        raise PlanrankError("this file does not exist, expected a problem in PDDL", file=str(problem))
    raise PlanrankError("found no domain file for this problem, expected domain.pddl beside it", file=str(problem))
