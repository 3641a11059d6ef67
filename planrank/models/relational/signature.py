"""What a relational model is tied to: predicates with their arities, and actions with their parameters and effects."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from planrank.models.signature import Signature
from planrank.task import Task


@dataclass(frozen=True)
class RelationalSignature(Signature):
    def _numbers(self, kind: str) -> dict[str, list[int]]:
        return {words[1]: [int(word) for word in words[2:]] for words in self.lines if words[0] == kind}

    @cached_property
    def fluents(self) -> dict[str, int]:
        """The arity of each predicate that actions change."""
        return {name: arity for name, (arity,) in self._numbers("fluent").items()}

    @cached_property
    def relations(self) -> dict[str, int]:
        """Of these, those that are about objects …"""
        return {name: arity for name, arity in self.fluents.items() if arity}

    @cached_property
    def propositions(self) -> list[str]:
        """… and those that are not."""
        return [name for name, arity in self.fluents.items() if not arity]

    @cached_property
    def statics(self) -> dict[str, int]:
        """The arity of each predicate that no action changes."""
        return {name: arity for name, (arity,) in self._numbers("static").items()}

    @cached_property
    def actions(self) -> dict[str, tuple[int, int]]:
        """How many parameters and how many effects each action has."""
        return {name: (parameters, effects) for name, (parameters, effects) in self._numbers("action").items()}


def signature_of(task: Task) -> RelationalSignature:
    predicates, actions = task.declared
    edges = [words for line in task.signature_text.splitlines() if (words := line.split())[0] == "edge"]
    effects = {words[1]: words[::-1].index(":") for words in edges}
    fluent = {words[1] for line in task.signature_text.splitlines() if (words := line.split())[0] == "predicate"}
    lines = [f"domain {task.domain}"]
    for name, *parameters in sorted(predicates):
        if name in fluent or parameters:
            lines.append(f"{'fluent' if name in fluent else 'static'} {name} {len(parameters)}")
    lines += [f"action {name} {len(parameters)} {effects.get(name, 0)}" for name, *parameters in sorted(actions)]
    return RelationalSignature("\n".join(lines))
