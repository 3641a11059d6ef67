"""Atoms that never change, put together where their objects look alike: `above` has a pair for any two of 200 floors,
and most floors are alike. What the network computes stays the same."""

from __future__ import annotations

from functools import cache

import numpy as np

from planrank.models.relational.atoms import Links

Senders = list[tuple[str, np.ndarray]]  # the name of a predicate, and for each of its atoms a row of objects
MANY = 8  # messages for each object; with fewer there is little to be saved
ROOM = 16  # places in a table for each message; where more would be needed, the messages differ too much


def together(senders: Senders, links: Links, vertices: np.ndarray) -> tuple[Senders, Links]:
    """One atom of each kind, and how many atoms of that kind send to each object; `senders` and `links` as they are
    where that would not pay. `vertices` has a row for each object."""
    messages, count = len(links.order), len(vertices)
    if messages < MANY * count:
        return senders, links
    kind_of, example_of = alike(vertices)
    found, keys, total = [], [], 0
    for name, objects in senders:
        arity = objects.shape[1]
        if len(example_of) ** arity > ROOM * messages:
            return senders, links
        code = np.ravel_multi_index(tuple(kind_of[objects].T), (len(example_of),) * arity)
        there = np.zeros(len(example_of) ** arity, bool)
        there[code] = True
        distinct = np.flatnonzero(there)
        number = np.empty(len(there), np.int64)
        number[distinct] = np.arange(len(distinct))
        found.append((name, example_of[np.stack(np.unravel_index(distinct, (len(example_of),) * arity), axis=1)]))
        keys.append((objects, total + arity * number[code][:, None] + np.arange(arity)))
        total += arity * len(distinct)
    if total * count > ROOM * messages:
        return senders, links
    counts = np.bincount(np.concatenate([(objects * total + row).ravel() for objects, row in keys]))
    sent = np.flatnonzero(counts > 0)
    objects = sent // total
    first = np.flatnonzero(np.diff(objects, prepend=-1))
    return found, Links(sent % total, np.diff(first, append=len(sent)), objects[first], counts[sent])


def alike(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each row the number of its kind, and of each kind one row. Rows of a kind are equal; equal ones may be of
    several kinds."""
    words = np.ascontiguousarray(rows).view(np.uint32).astype(np.uint64)
    _, first, kind = np.unique(words @ odd_factors(words.shape[1]), return_index=True, return_inverse=True)
    if not (rows[first][kind] == rows).all():  # different rows of the same hash
        return np.arange(len(rows)), np.arange(len(rows))
    return kind, first


@cache
def odd_factors(count: int) -> np.ndarray:
    """Of a hash."""
    return np.random.default_rng(0).integers(1 << 63, size=count, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
