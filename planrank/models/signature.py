"""What a model is tied to: a text about a domain that its family writes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Signature:
    """Models of a family read the tasks of every domain with the same lines, but for the first, `domain NAME`."""

    text: str

    @cached_property
    def lines(self) -> list[list[str]]:
        return [line.split() for line in self.text.splitlines()]

    @property
    def domain(self) -> str:
        return self.lines[0][1]

    @cached_property
    def digest(self) -> str:
        """Of all lines but the first: what the domain is called does not matter."""
        return hashlib.sha256(self.text.partition("\n")[2].encode()).hexdigest()[:16]
