"""Families of models, by name. Nothing outside a family's own folder knows what its input looks like."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from planrank.choices import known_instead_of
from planrank.errors import PlanrankError

if TYPE_CHECKING:
    from planrank.models.family import Family

# Where each is, as module:object; imported when first asked for.
PLACES = {
    "hypergraph": "planrank.models.hypergraph.family:HYPERGRAPH",
    "grid": "planrank.models.grid.family:GRID",
    "relational": "planrank.models.relational.family:RELATIONAL",
}
_known: dict[str, Family] = {}


def names() -> list[str]:
    return list(dict.fromkeys([*PLACES, *_known]))


def register(family: Family) -> None:
    """Make a family known that does not come with planrank."""
    _known[family.name] = family


def get(name: str) -> Family:
    if name not in _known:
        if name not in PLACES:
            known = known_instead_of(name, names())
            raise PlanrankError(f"there is no family of models called {name!r}; known: {known}")
        module, _, place = PLACES[name].partition(":")
        _known[name] = getattr(import_module(module), place)
    return _known[name]
