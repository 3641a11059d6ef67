"""What a grid model is tied to: the actions and predicates of a domain, and how a view file lets it see them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from planrank.models.grid.view import View
from planrank.models.signature import Signature
from planrank.task import Task

NO_VIEW = "no view file"


@dataclass(frozen=True)
class GridSignature(Signature):
    def planes(self, fixed: bool = False) -> int:
        """Of an image, or of that what is the same in all states."""
        found = [words for words in self.lines if words[0] == "plane"]
        return sum(int(words[1]) for words in found if not (fixed and words[2] == "changes"))

    @cached_property
    def places_of_actions(self) -> dict[str, int]:
        """Of how many places the score of an action is made, by the name of the action; in the order of the names."""
        return {words[1]: len(words) - 2 for words in self.lines if words[0] == "action"}

    @property
    def has_links(self) -> bool:
        return any(words[0] == "links" for words in self.lines)


def signature_of(task: Task, view: View | None) -> GridSignature:
    """Without a view it is one that no model has."""
    lines = [NO_VIEW] if view is None else view.lines
    return GridSignature("\n".join([*task.signature_text.splitlines(), *lines]))
