"""A ground planning task: held by Julia, looked at from Python as arrays."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from planrank import julia
from planrank.limits import Limits


@dataclass(frozen=True)
class Rows:
    """Rows of varying length in two flat arrays: row i is `values[offsets[i]:offsets[i + 1]]`."""

    offsets: np.ndarray
    values: np.ndarray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> np.ndarray:
        if not 0 <= i < len(self):
            raise IndexError(f"row {i} of {len(self)}")
        return self.values[self.offsets[i] : self.offsets[i + 1]]

    def part(self, first: int, last: int) -> Rows:
        """The rows from `first` to before `last`."""
        offsets = self.offsets[first : last + 1]
        return Rows(offsets - offsets[0], self.values[offsets[0] : offsets[-1]])


class Task:
    """Facts and operators are numbered from 0. Arrays are views of Julia's memory, made when first asked for.

    `pre`, `neg`, `add` and `delete` are rows of facts, one row for each operator: needed, needed false, made true, made
    false. A state is a row of `words` 64-bit words; fact f is bit f % 64 of word f // 64.
    """

    def __init__(self, handle: Any, source: Source):
        self.handle = handle
        self.source = source  # the domain's file or text
        self.domain, self.problem = julia.call("task_names", handle)
        facts, operators, words, disjuncts, scale, unit = julia.call("dimensions", handle)
        self.fact_count: int = facts
        self.operator_count: int = operators
        self.words: int = words
        self.goal_count: int = disjuncts
        self.cost_scale: int = scale  # Julia counts costs in whole numbers: the user's costs times this
        self.unit_cost: bool = unit
        self.parse_seconds, self.ground_seconds = julia.call("task_seconds", handle)

    def __repr__(self) -> str:
        return f"<Task {self.problem}: {self.fact_count} facts, {self.operator_count} operators>"

    def names(self, what: str) -> list[str]:
        """Of "facts", "operators", "objects", "predicates" or "schemas"; made anew with each call."""
        joined = julia.call("joined_names", self.handle, what)
        return joined.split("\n") if joined else []

    def _rows(self, name: str) -> Rows:
        offsets, values = julia.call("task_rows", self.handle, name)
        return Rows(julia.view(offsets), julia.view(values))

    def _column(self, name: str) -> np.ndarray:
        return julia.view(julia.call("task_column", self.handle, name))

    @cached_property
    def pre(self) -> Rows:
        """Facts that must be true."""
        return self._rows("pre")

    @cached_property
    def neg(self) -> Rows:
        """Facts that must be false."""
        return self._rows("neg")

    @cached_property
    def add(self) -> Rows:
        """Facts that become true."""
        return self._rows("add")

    @cached_property
    def delete(self) -> Rows:
        """Facts that become false."""
        return self._rows("del")

    @cached_property
    def goal(self) -> Rows:
        """Facts that must be true, a row for each disjunct of the goal."""
        return self._rows("goal_pos")

    @cached_property
    def init(self) -> np.ndarray:
        """Facts that hold in the beginning."""
        return self._column("init")

    @cached_property
    def schema_of_operator(self) -> np.ndarray:
        """The number of each operator's action schema."""
        return self._column("op_schema")

    @cached_property
    def predicate_of_fact(self) -> np.ndarray:
        """The number of each fact's predicate."""
        return self._column("fact_predicate")

    @cached_property
    def fact_arguments(self) -> Rows:
        """The objects that each fact is about."""
        return self._rows("fact_args")

    @cached_property
    def operator_arguments(self) -> Rows:
        """The objects that each operator's parameters stand for."""
        return self._rows("op_args")

    @cached_property
    def static_atoms(self) -> tuple[np.ndarray, Rows]:
        """The atoms of the initial state that no action changes: their predicates and the objects they are about."""
        predicates, offsets, objects = (julia.view(part) for part in julia.call("static_atoms", self.handle))
        return predicates, Rows(offsets, objects)

    @cached_property
    def declared(self) -> tuple[list[list[str]], list[list[str]]]:
        """Predicates and actions of the domain, each as its name and those of its parameters."""
        predicates, actions = julia.call("declared", self.handle)
        return [line.split() for line in predicates.splitlines()], [line.split() for line in actions.splitlines()]

    @cached_property
    def signature_text(self) -> str:
        """What tasks of a domain have in common, whatever they are called: predicates, and literals of actions."""
        return julia.call("signature_text", self.handle)

    @cached_property
    def costs(self) -> np.ndarray:
        """Of the operators, as the user wrote them."""
        return julia.view(julia.call("task_costs", self.handle))

    def packed(self, facts: Iterable[int]) -> np.ndarray:
        """The state in which just these facts hold."""
        bits = np.zeros(64 * self.words, np.uint8)
        bits[list(facts)] = 1
        return np.packbits(bits, bitorder="little").view(np.uint64)

    def facts_in(self, state: np.ndarray) -> np.ndarray:
        """The facts that hold in a packed state."""
        return np.flatnonzero(np.unpackbits(state.view(np.uint8), bitorder="little"))

    def digest(self, limits: Limits | None = None) -> dict[str, object]:
        """How many facts and actions there are and which, as hashes of their sorted names."""
        limits = limits or Limits.of()
        return {
            "facts": self.fact_count,
            "actions": self.operator_count,
            "facts_sha": self._hash_of_names("facts", limits),
            "actions_sha": self._hash_of_names("operators", limits),
            "parse_seconds": self.parse_seconds,
            "ground_seconds": self.ground_seconds,
        }

    def _hash_of_names(self, what: str, limits: Limits) -> str:
        """`short_hash` of the sorted names, which are made piece by piece: together they may take gigabytes."""
        names = julia.call_long("sorted_names", self.handle, what, limits.deadline, limits.memory)
        count, size = julia.call("names_in_pieces", names)
        hashed = hashlib.sha256()
        for done in range(0, count, size):
            if done:
                hashed.update(b"\n")
            hashed.update(julia.call_long("names_piece", names, done).encode())
        return hashed.hexdigest()[:SHORT_HASH]


SHORT_HASH = 16  # hexadecimal digits


def short_hash(lines: list[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:SHORT_HASH]


# A file, or PDDL text: a string whose first character, but for spaces, is a bracket or begins a comment.
Source = str | os.PathLike[str]


def is_text(source: Source) -> bool:
    return isinstance(source, str) and source.lstrip()[:1] in ("(", ";")


def source_handle(source: Source, name: str) -> Any:
    """For Julia; `name` is what errors call a text."""
    if is_text(source):
        return julia.call("text_source", name, source)
    return julia.call("file_source", os.fspath(source))


def load(domain: Source, problem: Source, limits: Limits | None = None) -> Task:
    """Parse and ground. Each of the two is a file or PDDL text; errors call texts "domain" and "problem"."""
    limits = limits or Limits.of()
    sources = (source_handle(domain, "domain"), source_handle(problem, "problem"))
    return Task(julia.call_long("load", *sources, limits.deadline, limits.memory), domain)
