"""What a hypergraph model is tied to: the fluent predicates of a domain and its kinds of edges."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from planrank.models.signature import Signature
from planrank.task import Task


@dataclass(frozen=True)
class EdgeType:
    """An action schema, or one of its conditional effects, as a kind of edge.

    `tails` are the predicates of its preconditions (`-` before negative ones), `heads` those of its effects (`-` before
    deletes), in the order of the schema. An action has those of its conditional effects among its heads too.
    """

    name: str
    tails: tuple[str, ...]
    heads: tuple[str, ...]


@dataclass(frozen=True)
class HypergraphSignature(Signature):
    @cached_property
    def predicates(self) -> tuple[str, ...]:
        return tuple(words[1] for words in self.lines if words[0] == "predicate")

    @cached_property
    def edges(self) -> tuple[EdgeType, ...]:
        found = []
        for words in self.lines:
            if words[0] == "edge":
                first, second = (i for i, word in enumerate(words) if word == ":")
                name = " ".join(words[1:first])
                found.append(EdgeType(name, tuple(words[first + 1 : second]), tuple(words[second + 1 :])))
        return tuple(found)

    @cached_property
    def action_kinds(self) -> list[int]:
        """The kinds of edges that are actions; their conditional effects have a number behind the name."""
        names = {edge.name for edge in self.edges}

        def is_effect(name: str) -> bool:
            action, _, number = name.rpartition("/")
            return action in names and number.isdigit()

        return [kind for kind, edge in enumerate(self.edges) if not is_effect(edge.name)]

    def relations(self, receivers: str) -> dict[str, list[tuple[int, int]]]:
        """For each predicate, the (edge type, place) pairs through which messages arrive, in the order Julia has.

        Places are those of the heads and, behind them, of the tails.
        """
        found: dict[str, list[tuple[int, int]]] = {name: [] for name in self.predicates}
        for kind, edge in enumerate(self.edges):
            for place, literal in enumerate(edge.heads + edge.tails):
                is_tail = place >= len(edge.heads)
                if receivers == "all" if is_tail else literal[0] == "+" or receivers == "effects":
                    found[literal[1:]].append((kind, place))
        return found

    def senders(self, kind: int, receivers: str) -> int:
        """How many literals the messages of a kind of edge are made of."""
        edge = self.edges[kind]
        return len(edge.tails) + (sum(head[0] == "+" for head in edge.heads) if receivers == "all" else 0)


def signature_of(task: Task) -> HypergraphSignature:
    return HypergraphSignature(task.signature_text)
