"""The examples of a training run: in memory as far as they fit, the others read from disk when asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from planrank.learning.examples import Example
from planrank.limits import available_memory

SHARE_OF_MEMORY = 0.25  # of what the machine has free, where no bound is given


def most_bytes(megabytes: int | None) -> int:
    return int(SHARE_OF_MEMORY * available_memory()) if megabytes is None else megabytes * 2**20


class ExampleStore(Mapping[str, Example]):
    """Examples by name. Every epoch asks for each once, so those that came first stay, and with them what was prepared
    for PyTorch; the rest is dropped when the next one is asked for."""

    def __init__(self, most_bytes: int):
        self.most_bytes, self.bytes_kept = most_bytes, 0
        self.makers: dict[str, Callable[[], Example]] = {}
        self.kept: dict[str, Example] = {}
        self.latest: tuple[str, Example] | None = None

    def add(self, name: str, make: Callable[[], Example]) -> None:
        """`make` reads or builds the example."""
        self.makers[name] = make

    def settle(self) -> None:
        """Keep the example that was used last if there is room for it, with all that belongs to it by now."""
        if self.latest is not None and self.latest[0] not in self.kept:
            name, example = self.latest
            size = bytes_of(example)
            if self.bytes_kept + size <= self.most_bytes:
                self.kept[name], self.bytes_kept = example, self.bytes_kept + size
        self.latest = None

    def __getitem__(self, name: str) -> Example:
        self.settle()
        if name in self.kept:
            return self.kept[name]
        self.latest = name, self.makers[name]()
        return self.latest[1]

    def __iter__(self) -> Iterator[str]:
        return iter(self.makers)

    def __len__(self) -> int:
        return len(self.makers)


def bytes_of(thing: Any) -> int:
    """Of all arrays and tensors in an object, however deep."""
    if isinstance(thing, np.ndarray):
        return int(thing.nbytes)
    if hasattr(thing, "element_size"):  # a tensor
        return int(thing.element_size() * thing.nelement())
    if isinstance(thing, dict):
        return sum(bytes_of(one) for one in thing.values())
    if isinstance(thing, list | tuple):
        return sum(bytes_of(one) for one in thing)
    if is_dataclass(thing):
        return sum(bytes_of(getattr(thing, one.name)) for one in fields(thing))
    return sum(bytes_of(one) for one in vars(thing).values()) if hasattr(thing, "__dict__") else 0
