"""Patterns such as `(at ?tile ?cell)` over the atoms of a task, and places whose names say where they are.

View files and tables of numbers are written with these. Mistakes in them are named with their file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from planrank.errors import PlanrankError
from planrank.task import Task

SOURCES = ("state", "goal", "static")  # where the atoms of a pattern are looked for

Binding = dict[str, str]  # of variables to objects


@dataclass(frozen=True)
class Pattern:
    """Terms are variables, which begin with a question mark, or names of objects."""

    predicate: str
    terms: tuple[str, ...]

    @classmethod
    def parse(cls, text: Any, file: Path) -> Pattern:
        found = re.fullmatch(r"\(\s*([^\s()?]+)((?:\s+[^\s()]+)*)\s*\)", text) if isinstance(text, str) else None
        if found is None:
            raise PlanrankError(f'found {text!r}, expected an atom such as "(at ?tile ?cell)"', file=str(file))
        return cls(found[1].lower(), tuple(word.lower() for word in found[2].split()))

    def bound(self, arguments: tuple[str, ...], known: Binding) -> Binding | None:
        """What the variables are if this is an atom with these arguments; None if it is not."""
        binding = dict(known)
        for term, name in zip(self.terms, arguments, strict=True):
            if binding.setdefault(term, name if term.startswith("?") else term) != name:
                return None
        return binding

    def __str__(self) -> str:
        return f"({' '.join((self.predicate, *self.terms))})"


class Atoms:
    """The atoms of a task by predicate: those that a state may have, those of the goal, those that never change."""

    def __init__(self, task: Task):
        self.task = task
        self.objects = task.names("objects")
        self.arity = {words[0]: len(words) - 1 for words in task.declared[0]}

    @cached_property
    def predicates(self) -> list[str]:
        return self.task.names("predicates")

    @cached_property
    def facts(self) -> list[tuple[str, tuple[str, ...]]]:
        task, names = self.task, self.predicates
        return [
            (names[predicate], tuple(self.objects[i] for i in task.fact_arguments[fact]))
            for fact, predicate in enumerate(task.predicate_of_fact)
        ]

    @cached_property
    def by_source(self) -> dict[str, dict[str, list[tuple[int, tuple[str, ...]]]]]:
        """Of each source and predicate, the numbers of the facts (-1: it is none) and the arguments."""
        found: dict[str, dict[str, list[tuple[int, tuple[str, ...]]]]] = {source: {} for source in SOURCES}
        for fact, (predicate, arguments) in enumerate(self.facts):
            found["state"].setdefault(predicate, []).append((fact, arguments))
        if len(self.task.goal):
            for fact in self.task.goal[0].tolist():
                predicate, arguments = self.facts[fact]
                found["goal"].setdefault(predicate, []).append((fact, arguments))
        numbers, rows = self.task.static_atoms
        for i, number in enumerate(numbers.tolist()):
            arguments = tuple(self.objects[j] for j in rows[i])
            found["static"].setdefault(self.predicates[number], []).append((-1, arguments))
        return found

    def check(self, pattern: Pattern, file: Path) -> None:
        if pattern.predicate not in self.arity:
            known = ", ".join(self.arity)
            raise PlanrankError(
                f"unknown predicate {pattern.predicate!r} in {pattern}, expected {known}", file=str(file)
            )
        if len(pattern.terms) != self.arity[pattern.predicate]:
            expected = self.arity[pattern.predicate]
            raise PlanrankError(f"found {len(pattern.terms)} terms in {pattern}, expected {expected}", file=str(file))

    def matches(self, patterns: dict[str, Pattern]) -> Iterator[tuple[int, Binding]]:
        """Every way to find all patterns, by source, at once: the fact of the state (-1 if that has no part in it) and
        what the variables are."""
        ways: list[tuple[int, Binding]] = [(-1, {})]
        for source in SOURCES:
            if source not in patterns:
                continue
            pattern = patterns[source]
            atoms = self.by_source[source].get(pattern.predicate, [])
            shared = [i for i, term in enumerate(pattern.terms) if ways and term in ways[0][1]]
            index: dict[tuple[str, ...], list[tuple[int, tuple[str, ...]]]] = {}
            for fact, arguments in atoms:
                index.setdefault(tuple(arguments[i] for i in shared), []).append((fact, arguments))
            longer = []
            for fact, known in ways:
                for number, arguments in index.get(tuple(known[pattern.terms[i]] for i in shared), []):
                    binding = pattern.bound(arguments, known)
                    if binding is not None:
                        longer.append((number if source == "state" else fact, binding))
            ways = longer
        yield from ways


class Places:
    """Objects whose names say in which row and column they are, by a text such as "p_{column}_{row}"."""

    def __init__(self, text: Any, file: Path):
        self.file, self.text = file, text
        pieces = re.split(r"(\{row\}|\{column\})", text) if isinstance(text, str) else []
        if sorted(pieces[1::2]) != ["{column}", "{row}"]:
            message = f"found {text!r} as the names of places, expected a text with {{row}} and {{column}} in it"
            raise PlanrankError(message, file=str(file))
        groups = {"{row}": r"(?P<row>-?\d+)", "{column}": r"(?P<column>-?\d+)"}
        self.pattern = re.compile("".join(groups.get(piece) or re.escape(piece.lower()) for piece in pieces))

    def of(self, objects: list[str]) -> dict[str, tuple[int, int]]:
        """Row and column of every object that is a place, counted from the first there are."""
        found: dict[str, tuple[int, int]] = {}
        taken: dict[tuple[int, int], str] = {}
        for name in objects:
            if match := self.pattern.fullmatch(name):
                at = int(match["row"]), int(match["column"])
                if at in taken:
                    where = f"row {at[0]}, column {at[1]}"
                    message = f"the places {taken[at]} and {name} are both in {where}, expected one place in each"
                    raise PlanrankError(message, file=str(self.file))
                found[name] = at
                taken[at] = name
        if not found:
            some = ", ".join(objects[:3])
            message = f"no object is called {self.text!r}, so there are no places; the objects are {some}, …"
            raise PlanrankError(message, file=str(self.file))
        top, left = min(r for r, _ in taken), min(c for _, c in taken)
        return {name: (r - top, c - left) for name, (r, c) in found.items()}


def patterns_of(table: dict[str, Any], atoms: Atoms, file: Path) -> dict[str, Pattern]:
    """The patterns of a table of a TOML file, by source; checked against the domain."""
    found = {source: Pattern.parse(table[source], file) for source in SOURCES if source in table}
    for pattern in found.values():
        atoms.check(pattern, file)
    return found
