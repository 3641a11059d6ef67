"""The distinct parts of some of the states that parts were found of: rows are cut out, nothing is classified again."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np

from planrank.models.family import ScoredActions
from planrank.models.hypergraph.distinct_parts import Actions, EdgeGroup, Layer, Multisets, Parts, VertexGroup

Group = TypeVar("Group", EdgeGroup, VertexGroup)
COLUMNS: dict[type, tuple[str, ...]] = {EdgeGroup: ("ids", "features", "tails"), VertexGroup: ("ids", "before", "bags")}


def parts_of_states(parts: Parts, count: int, states: np.ndarray) -> Parts:
    """Of these of the `count` states, in this order. Parts keep their numbers, but for those that are known by their
    place: bags, and vertices before the first layer."""
    predicates = len(parts.readout.lengths) // count
    readout = some_lists(parts.readout, (states[:, None] * predicates + np.arange(predicates)).ravel())
    actions = actions_of_states(parts.actions, states)
    needed = [readout.ids, *(group.tails for group in actions.groups)]
    layers: list[Layer] = []
    for layer in reversed(parts.layers):
        vertices = some_groups(layer.vertices, needed)
        bags, new_bag = renumbered(len(layer.bags.lengths), [group.bags for group in vertices])
        vertices = [replace(group, bags=new_bag[group.bags]) for group in vertices]
        chosen = some_lists(layer.bags, bags - 1)
        edges = some_groups(layer.edges, [chosen.ids])
        needed = [*(group.before for group in vertices), *(group.tails for group in edges)]
        layers.insert(0, Layer(edges, chosen, vertices))
    first, new_first = renumbered(len(parts.flags), needed)
    edges = [replace(group, tails=new_first[group.tails]) for group in layers[0].edges]
    vertices = [replace(group, before=new_first[group.before]) for group in layers[0].vertices]
    layers[0] = replace(layers[0], edges=edges, vertices=vertices)
    return replace(parts, flags=parts.flags[first - 1], layers=layers, readout=readout, actions=actions)


def actions_of_states(actions: Actions, states: np.ndarray) -> Actions:
    scored = actions.scored
    if not len(scored.lengths):
        return actions
    offsets, rows = ranges(scored.lengths, states)
    # How many actions a state has is how many its scores are of.
    ends = np.cumsum(scored.counts)
    last = np.cumsum(scored.lengths)
    until = np.concatenate([[0], ends])[np.concatenate([[0], last])]
    action_offsets, action_rows = ranges(np.diff(until), states)
    moved = np.repeat(offsets[:-1] - (last - scored.lengths)[states], np.diff(action_offsets))
    places = scored.places[action_rows] + moved
    ids = actions.ids[rows]
    lengths = scored.lengths[states]
    return Actions(
        groups=some_groups(actions.groups, [ids]),
        ids=ids,
        states=np.repeat(np.arange(len(states), dtype=np.int32), lengths),
        scored=ScoredActions(lengths, scored.counts[rows], places.astype(np.int32)),
    )


def ranges(lengths: np.ndarray, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of lists that lie one after the other, some: where each begins then, and where their entries were."""
    first, own = (np.cumsum(lengths) - lengths)[chosen], lengths[chosen]
    offsets = np.concatenate([[0], np.cumsum(own)])
    return offsets, np.arange(offsets[-1]) + np.repeat(first - offsets[:-1], own)


def some_lists(lists: Multisets, chosen: np.ndarray) -> Multisets:
    _, rows = ranges(lists.lengths, chosen)
    return Multisets(lists.lengths[chosen], lists.ids[rows], lists.counts[rows])


def some_groups(groups: list[Group], needed: list[np.ndarray]) -> list[Group]:
    """Of each group those with the numbers that are needed; groups of which nothing is left are left out."""
    there = marked(sum(len(group.ids) for group in groups), needed)
    found = []
    for group in groups:
        rows = np.flatnonzero(there[group.ids])
        if len(rows):
            found.append(replace(group, **{name: getattr(group, name)[rows] for name in COLUMNS[type(group)]}))
    return found


def marked(count: int, needed: list[np.ndarray]) -> np.ndarray:
    """Which of the numbers 1 … count are needed; 0 stands for nothing."""
    there = np.zeros(count + 1, bool)
    for ids in needed:
        there[ids] = True
    there[0] = False
    return there


def renumbered(count: int, needed: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The numbers that are needed, and of each number the new one, counted from 1 again."""
    there = marked(count, needed)
    return np.flatnonzero(there), np.where(there, np.cumsum(there), 0)
