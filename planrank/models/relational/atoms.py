"""States of a task as atoms: which objects each is about, and what is known of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from planrank import julia
from planrank.limits import Limits
from planrank.models.relational.architecture import FLAGS, RelationalArchitecture
from planrank.models.relational.signature import signature_of
from planrank.search.heuristic import Heuristic
from planrank.task import Rows, Task

HOLDS, WAY, DISTANCE, NEEDED = 0, 3, 4, 5  # columns of the flags


class MostFirst(NamedTuple):
    """Objects by the number of messages that reach them: where these start, how many they are, for how many atoms."""

    objects: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray
    totals: np.ndarray


@dataclass(frozen=True)
class Links:
    """How the messages of atoms, one after the other, reach objects: in this order, so many for each of these. Where
    atoms were put together, `counts` says for how many of them each message stands."""

    order: np.ndarray
    lengths: np.ndarray
    objects: np.ndarray
    counts: np.ndarray | None = None

    @classmethod
    def to(cls, targets: np.ndarray) -> Links:
        order = np.argsort(targets, kind="stable")
        in_order = targets[order]
        first = np.flatnonzero(np.diff(in_order, prepend=-1))
        return cls(order, np.diff(first, append=len(targets)), in_order[first])

    @cached_property
    def most_first(self) -> MostFirst:
        starts = np.cumsum(self.lengths) - self.lengths
        totals = self.lengths if self.counts is None else np.add.reduceat(self.counts, starts)
        most = np.argsort(-self.lengths, kind="stable")
        return MostFirst(self.objects[most], starts[most], self.lengths[most], totals[most])


@dataclass(frozen=True)
class Atoms:
    """Atoms of one predicate: a row of objects for each, its flags, and the state it is of."""

    name: str
    objects: np.ndarray
    flags: np.ndarray
    states: np.ndarray


@dataclass(frozen=True)
class ActionGroup:
    """Actions of one name: their numbers, their states, their objects, and what is known of them."""

    name: str
    ids: np.ndarray
    states: np.ndarray
    objects: np.ndarray
    flags: np.ndarray


@dataclass(frozen=True)
class Seen:
    """States as a network sees them; object o of state i has the number i · objects + o. `constants` are the atoms that
    never change, `propositions` the flags of those about no object, a row for each state."""

    states: int
    objects: int
    atoms: list[Atoms]
    links: Links
    constants: list[tuple[str, np.ndarray]]
    constant_links: Links | None
    propositions: np.ndarray
    actions: list[ActionGroup] | None
    action_count: int


class Observer:
    """Looks at states of one task."""

    def __init__(self, task: Task, shape: RelationalArchitecture, limits: Limits | None = None):
        limits = limits or Limits()
        self.task, self.shape, self.signature = task, shape, signature_of(task)
        self.object_count = max(1, len(task.names("objects")))  # there is a mean over them
        found = julia.call_long("fact_flags", task.handle, shape.distances, limits.deadline, limits.memory)
        self.flags = flags_of(julia.view(found))
        self.goals = np.flatnonzero(self.flags[:, 1:3].any(axis=1))
        self.ff = Heuristic(task, "ff", limits) if shape.relaxed else None
        names = task.names("predicates")
        numbers = {name: number for number, name in enumerate(names)}
        self.predicates = [(name, numbers[name], arity) for name, arity in self.signature.fluents.items()]
        self.constants = self._constants(names) if shape.statics else []
        if shape.scores_actions:
            found = julia.call_long("operator_effects", task.handle, limits.deadline, limits.memory)
            offsets, self.effect_places, facts = (julia.view(part) for part in found)
            self.effects = Rows(offsets, facts)
            again = np.flatnonzero(np.diff(self.effect_places) == 0) + 1
            # Where a literal stands under a quantifier its facts are added up, which takes longer.
            self.has_lists = not np.isin(again, offsets).all()
            schemas = [name.split()[0] for name in task.names("schemas")]
            self.schemas_of = {
                name: [number for number, schema in enumerate(schemas) if schema == name]
                for name in self.signature.actions
            }

    def _constants(self, names: list[str]) -> list[tuple[str, np.ndarray]]:
        predicates, rows = self.task.static_atoms
        found = []
        for name, arity in self.signature.statics.items():
            chosen = np.flatnonzero(predicates == names.index(name)) if name in names else np.empty(0, np.int64)
            if len(chosen):
                first = rows.offsets[chosen]
                found.append((name, rows.values[first[:, None] + np.arange(arity)].astype(np.int64)))
        return found

    @cached_property
    def constant_links(self) -> Links | None:
        """Of one state."""
        return Links.to(np.concatenate([objects.ravel() for _, objects in self.constants])) if self.constants else None

    def look(self, states: np.ndarray, actions: Rows | None = None) -> Seen:
        count, words = len(states), np.ascontiguousarray(states, np.uint64)
        needed, helpful = self._relaxed(words)
        facts, of_state, flags = [], [], []
        for i in range(count):
            own, known = self._atoms(words[i], None if needed is None else needed[i])
            facts.append(own)
            flags.append(known)
            of_state.append(np.full(len(own), i))
        fact, state, flag = np.concatenate(facts), np.concatenate(of_state), np.concatenate(flags)
        atoms, propositions = self._by_predicate(fact, state, flag, count)
        targets = np.concatenate([np.empty(0, np.int64), *(one.objects.ravel() for one in atoms)])
        constants, constant_links = self._constants_of(count)
        groups = None
        if actions is not None:
            groups = self._groups(words, needed, helpful, actions)
        return Seen(
            count, self.object_count, atoms, Links.to(targets), constants, constant_links, propositions, groups,
            0 if actions is None else len(actions.values),
        )  # fmt: skip

    def _relaxed(self, states: np.ndarray) -> tuple[Rows | None, Rows | None]:
        if self.ff is None:
            return None, None
        address, _ = julia.lend(states, np.uint64)
        found = julia.call_long("relaxed_plans", self.task.handle, self.ff.handle, address, len(states))
        a, b, c, d = (julia.view(part) for part in found)
        return Rows(a, b), Rows(c, d)

    def _atoms(self, state: np.ndarray, needed: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """The facts that hold, are goals or needed, and their flags."""
        held = self.task.facts_in(state)
        parts = [held, self.goals] if needed is None else [held, self.goals, needed]
        facts = np.flatnonzero(marked(self.task.fact_count, *parts))
        flags = self.flags[facts]
        flags[np.searchsorted(facts, held), HOLDS] = 1
        if needed is not None:
            flags[np.searchsorted(facts, needed), NEEDED] = 1
        return facts, flags

    def _by_predicate(
        self, facts: np.ndarray, states: np.ndarray, flags: np.ndarray, count: int
    ) -> tuple[list[Atoms], np.ndarray]:
        predicates, arguments = self.task.predicate_of_fact[facts], self.task.fact_arguments
        atoms, propositions = [], []
        for name, number, arity in self.predicates:
            chosen = np.flatnonzero(predicates == number)
            of, known = states[chosen], flags[chosen]
            objects = arguments.values[arguments.offsets[facts[chosen], None] + np.arange(arity)]
            atoms.append(Atoms(name, objects + of[:, None] * self.object_count, known, of))
            if arity == 0:
                there = np.zeros((count, FLAGS), np.float32)
                there[of] = known
                propositions.append(there)
        return atoms, np.concatenate([np.ones((count, 1), np.float32), *propositions], axis=1)

    def _constants_of(self, count: int) -> tuple[list[tuple[str, np.ndarray]], Links | None]:
        if count == 1 or not self.constants:
            return self.constants, self.constant_links
        shift = np.arange(count)[:, None, None] * self.object_count
        constants = [(name, (objects + shift).reshape(-1, objects.shape[1])) for name, objects in self.constants]
        return constants, Links.to(np.concatenate([objects.ravel() for _, objects in constants]))

    def _groups(
        self, states: np.ndarray, needed: Rows | None, helpful: Rows | None, actions: Rows
    ) -> list[ActionGroup]:
        operators, lengths = actions.values, np.diff(actions.offsets)
        of_state = np.repeat(np.arange(len(states)), lengths)
        flags, place, row = self._flags_of_effects(states, needed, operators, of_state)
        first = np.zeros(len(operators), np.float32)
        if helpful is not None:
            for i in range(len(states)):
                part = slice(actions.offsets[i], actions.offsets[i + 1])
                first[part] = marked(self.task.operator_count, helpful[i])[operators[part]]
        schema, found = self.task.schema_of_operator[operators], []
        arguments = self.task.operator_arguments
        position = np.zeros(len(operators), np.int64)
        for name, (parameters, effects) in self.signature.actions.items():
            ids = np.flatnonzero(np.isin(schema, self.schemas_of[name]))
            if not len(ids):
                continue
            objects = arguments.values[arguments.offsets[operators[ids], None] + np.arange(parameters)]
            position[:] = -1
            position[ids] = np.arange(len(ids))
            known = np.zeros((len(ids), effects, FLAGS), np.float32)
            mine = np.flatnonzero(position[row] >= 0)
            where = (position[row[mine]], place[mine])
            if self.has_lists:
                np.add.at(known, where, flags[mine])
            else:
                known[where] = flags[mine]
            known = np.concatenate([known.reshape(len(ids), -1), first[ids, None]], axis=1)
            found.append(
                ActionGroup(name, ids, of_state[ids], objects + of_state[ids, None] * self.object_count, known)
            )
        return found

    def _flags_of_effects(
        self, states: np.ndarray, needed: Rows | None, operators: np.ndarray, of_state: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of each fact that an action changes: its flags, its place among the effects, and the action's place."""
        first = self.effects.offsets[operators].astype(np.int64)
        lengths = self.effects.offsets[operators + 1] - first
        row = np.repeat(np.arange(len(operators)), lengths)
        where = np.arange(len(row)) + np.repeat(first - np.cumsum(lengths) + lengths, lengths)
        facts, state = self.effects.values[where], of_state[row]
        flags = self.flags[facts]
        flags[:, HOLDS] = (states[state, facts >> 6] >> (facts & 63).astype(np.uint64)) & np.uint64(1)
        if needed is not None:
            ends = np.searchsorted(state, np.arange(len(states) + 1))
            for i, ends_of_rows in enumerate(pairwise(ends)):
                part = slice(*ends_of_rows)
                flags[part, NEEDED] = marked(self.task.fact_count, needed[i])[facts[part]]
        return flags, self.effect_places[where], row


def marked(count: int, *places: np.ndarray) -> np.ndarray:
    """Of so many, whether each is among these; cheaper than sorting them."""
    found = np.zeros(count, bool)
    for some in places:
        found[some] = True
    return found


def flags_of(numbers: np.ndarray) -> np.ndarray:
    """From the bits that Julia has: goal, goal as false, one more than the distance from a goal."""
    way = numbers >> 3
    found = np.zeros((len(numbers), FLAGS), np.float32)
    found[:, 1], found[:, 2] = (numbers >> 1) & 1, (numbers >> 2) & 1
    found[:, WAY], found[:, DISTANCE] = way > 0, np.maximum(way - 1, 0) / 10
    return found
