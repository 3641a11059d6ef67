"""Says what a long set-up is doing and how long each step takes."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Progress:
    """Steps as lines on standard error; on a terminal the running one counts its seconds."""

    def __init__(self, stream=None, quiet: bool = False):
        self.stream = stream or sys.stderr
        self.quiet = quiet

    def say(self, text: str) -> None:
        if not self.quiet:
            print(text, file=self.stream, flush=True)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        started = time.monotonic()
        finished = threading.Event()
        terminal = not self.quiet and self.stream.isatty()

        def tick() -> None:
            while not finished.wait(0.5):
                print(f"\r  {name} … {time.monotonic() - started:.0f} s", end="", file=self.stream, flush=True)

        if terminal:
            ticker = threading.Thread(target=tick, daemon=True)
            ticker.start()
        else:
            self.say(f"  {name} …")
        outcome = "stopped"
        try:
            yield
            outcome = "done"
        finally:
            if terminal:
                finished.set()
                ticker.join()
                print("\r\x1b[K", end="", file=self.stream)
            self.say(f"  {name}: {outcome}, {time.monotonic() - started:.1f} s")
