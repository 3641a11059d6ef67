"""The view file grid.toml beside a PDDL domain: how states of its tasks become images.

    places = "p_{column}_{row}"     # the names of objects that are places; all others are none
    agent = "(at ?cell)"            # optional: the fact that says where the one agent is
    links = "(twin ?cell ?target)"  # optional, for maps: what is far away, but near in steps; it never changes

    [[planes]]                      # 1 on every place
    place = true

    [[planes]]                      # 1 where an atom of the state, of the goal, or one that never changes is
    state = "(box ?cell)"

    [[planes]]                      # two atoms with a variable in common: how far it is from ?cell to ?target
    state = "(at ?tile ?cell)"
    goal = "(at ?tile ?target)"
    displacement = 4                # in rows and in columns, divided by this
    one_hot = 2                     # optional: also a plane for each distance of -2 … 2 rows and columns, or beyond

    [actions]                       # the places that an action is scored by
    move = ["?from", "?to"]

Every plane is linear in the facts: an image is a constant of the task and some numbers for each fact of the state.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planrank.atoms import SOURCES, Atoms, Pattern, Places, patterns_of
from planrank.errors import PlanrankError
from planrank.files import read_toml
from planrank.problems.companions import companion
from planrank.task import Task

NAME = "grid.toml"
CELL, TARGET = "?cell", "?target"
KEYS = {"places", "agent", "links", "planes", "actions", "picture"}  # the last is for planrank/pictures.py
PLANE_KEYS = {"place", "displacement", "one_hot", *SOURCES}


@dataclass(frozen=True)
class Plane:
    """One [[planes]] of the file, which may be several planes of the image. Without patterns: 1 on every place."""

    patterns: dict[str, Pattern]
    displacement: float = 0.0  # what it is divided by; 0: there is none
    one_hot: int | None = None

    @property
    def count(self) -> int:
        if not self.displacement:
            return 1
        return 2 + (0 if self.one_hot is None else 2 * (2 * self.one_hot + 1))

    @property
    def changes(self) -> bool:
        return "state" in self.patterns

    def __str__(self) -> str:
        words = [f"{source} {pattern}" for source, pattern in self.patterns.items()] or ["place"]
        words += [f"displacement {self.displacement:g}"] if self.displacement else []
        return " ".join(words + ([] if self.one_hot is None else [f"one_hot {self.one_hot}"]))


@dataclass(frozen=True)
class View:
    """A view file, checked against a domain. `actions` has for each action the numbers of its parameters."""

    file: Path
    places: Places
    planes: tuple[Plane, ...]
    actions: dict[str, tuple[int, ...]]
    agent: Pattern | None
    links: Pattern | None

    @property
    def lines(self) -> list[str]:
        """What a model is tied to beside the domain itself."""
        found = [f"places {self.places.text}", f"agent {self.agent or '-'}"]
        found += [f"links {self.links}"] if self.links else []
        found += [f"plane {one.count} {'changes' if one.changes else 'stays'} {one}" for one in self.planes]
        return found + [" ".join(["action", name, *map(str, numbers)]) for name, numbers in self.actions.items()]


def view_of(task: Task) -> View | None:
    """The view of a task's domain; None where nobody has written a view file."""
    file = companion(task.source, task.signature_text, NAME)
    return None if file is None else read_view(file, task)


def read_view(file: Path, task: Task) -> View:
    content, atoms = read_toml(file), Atoms(task)
    unknown = [key for key in content if key not in KEYS]
    if unknown:
        raise PlanrankError(f"unknown key {', '.join(unknown)}, expected {', '.join(sorted(KEYS))}", file=str(file))
    if "places" not in content:
        raise PlanrankError('the names of places are missing, expected places = "p_{column}_{row}"', file=str(file))
    planes = content.get("planes")
    if not isinstance(planes, list) or not planes:
        raise PlanrankError("there are no planes, expected at least one [[planes]]", file=str(file))
    agent = read_atom(content, "agent", "state", [CELL], atoms, file)
    links = read_atom(content, "links", "static", [CELL, TARGET], atoms, file)
    return View(
        file,
        Places(content["places"], file),
        tuple(read_plane(table, atoms, file) for table in planes),
        read_actions(content.get("actions", {}), task, file),
        agent,
        links,
    )


def read_atom(
    content: dict[str, Any], key: str, source: str, needed: list[str], atoms: Atoms, file: Path
) -> Pattern | None:
    """An atom that stands alone, with all the variables that it needs."""
    if key not in content:
        return None
    found = patterns_of({source: content[key]}, atoms, file)[source]
    missing = [term for term in needed if term not in found.terms]
    if missing:
        raise PlanrankError(f"found {found} as {key}, expected an atom with {missing[0]} in it", file=str(file))
    return found


def read_plane(table: dict[str, Any], atoms: Atoms, file: Path) -> Plane:
    unknown = [key for key in table if key not in PLANE_KEYS]
    if unknown:
        expected = ", ".join(sorted(PLANE_KEYS))
        raise PlanrankError(f"unknown key {', '.join(unknown)} of a plane, expected {expected}", file=str(file))
    patterns = patterns_of(table, atoms, file)
    terms = {term for pattern in patterns.values() for term in pattern.terms}
    shown = " and ".join(map(str, patterns.values()))
    if bool(patterns) == bool(table.get("place", False)):
        raise PlanrankError(
            "found a plane with both or neither of place = true and an atom, expected one of them", file=str(file)
        )
    if patterns and CELL not in terms:
        raise PlanrankError(f"{shown} does not say where, expected {CELL} in it", file=str(file))
    displacement, one_hot = table.get("displacement", 0), table.get("one_hot")
    if "displacement" in table and not (type(displacement) in (int, float) and displacement > 0):
        raise PlanrankError(f"found {displacement!r} as displacement, expected a number above 0", file=str(file))
    if displacement and TARGET not in terms:
        raise PlanrankError(f"a displacement goes from {CELL} to {TARGET}, which is not in {shown}", file=str(file))
    if one_hot is not None and not (displacement and type(one_hot) is int and 0 <= one_hot <= 64):
        found = f"found {one_hot!r} as one_hot"
        raise PlanrankError(f"{found}, expected a whole number up to 64 beside a displacement", file=str(file))
    return Plane(patterns, float(displacement), one_hot)


def read_actions(table: dict[str, Any], task: Task, file: Path) -> dict[str, tuple[int, ...]]:
    """All actions of the domain, by name; those that the file does not name have no places."""
    parameters = {words[0]: words[1:] for words in task.declared[1]}
    for name, wanted in table.items():
        if name not in parameters:
            known = ", ".join(parameters)
            raise PlanrankError(f"unknown action {name!r}, expected one of {known}", file=str(file))
        missing = [word for word in wanted if word not in parameters[name]] if isinstance(wanted, list) else [wanted]
        if missing:
            expected = f"some of {', '.join(parameters[name])}"
            raise PlanrankError(f"found {missing[0]!r} as a place of {name}, expected {expected}", file=str(file))
    return {name: tuple(parameters[name].index(word) for word in table.get(name, ())) for name in sorted(parameters)}


def missing_view(domain: str) -> PlanrankError:
    return PlanrankError(f"networks of the family grid see {domain} through a view file, expected {NAME} beside it")
