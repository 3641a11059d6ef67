"""What people see of long work, and tables: the one place that draws.

Progress goes to standard error: a bar on a terminal, elsewhere a line now and then. rich is imported when something is
drawn, so that short commands do not wait for it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

T = TypeVar("T")

PATIENCE = 1.0  # seconds of work before a bar appears
SECONDS_BETWEEN_LINES = 30.0
SECONDS_BETWEEN_LINES_IF_VERBOSE = 2.0

QUIET, NORMAL, VERBOSE = -1, 0, 1
verbosity = NORMAL  # -q and -v set it


def is_quiet() -> bool:
    return verbosity == QUIET


def warn(text: str) -> None:
    """Even if quiet."""
    print(f"planrank: {text}", file=sys.stderr, flush=True)


def say(text: str) -> None:
    """Unless quiet."""
    if not is_quiet():
        warn(text)


def detail(text: str) -> None:
    """Only if verbose."""
    if verbosity == VERBOSE:
        warn(text)


class Progress:
    """How far some work is. `total` is None where nobody knows how much there is; `done` was done before."""

    def __init__(self, label: str, total: int | None = None, done: int = 0):
        self.label, self.total, self.done, self.beside = label, total, done, ""
        self.done_before = done
        self.started = self.last_line = time.monotonic()
        self.terminal = sys.stderr.isatty()
        self.bars: Bars | None = None

    def advance(self, count: int = 1) -> None:
        self.done += count
        self.draw()

    def show(self, beside: str) -> None:
        """Figures to stand beside the bar."""
        self.beside = beside
        self.draw()

    def reach(self, done: int, total: int) -> None:
        """So much of so much is done."""
        self.done, self.total = done, total
        self.draw()

    def draw(self) -> None:
        if is_quiet():
            return
        now = time.monotonic()
        if not self.terminal:
            pause = SECONDS_BETWEEN_LINES_IF_VERBOSE if verbosity == VERBOSE else SECONDS_BETWEEN_LINES
            if now - self.last_line >= pause:
                self.last_line = now
                say(f"{self.in_words()}, {now - self.started:.0f} s{self.time_left(now)}")
        elif self.bars is not None:
            self.bars.update(self.bars.task_ids[0], completed=self.done, beside=self.beside)
        elif now - self.started >= PATIENCE:
            self.bars = new_bars(self.total is not None)
            self.bars.add_task(self.label, total=self.total, completed=self.done, beside=self.beside)
            self.bars.start()

    def time_left(self, now: float) -> str:
        """An estimate, once there is something to make it from."""
        done, passed = self.done - self.done_before, now - self.started
        if self.total is None or not done or passed < PATIENCE:
            return ""
        return f", about {passed / done * (self.total - self.done):.0f} s left"

    def in_words(self) -> str:
        amount = "" if self.total is None else f": {self.done:,} of {self.total:,}"
        return f"{self.label}{amount}" + (f", {self.beside}" if self.beside else "")

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self.bars is not None:
            self.bars.stop()


def new_bars(with_total: bool) -> Bars:
    from rich import progress
    from rich.console import Console

    amount = [progress.BarColumn(), progress.MofNCompleteColumn()] if with_total else [progress.SpinnerColumn()]
    times = [progress.TimeElapsedColumn(), *([progress.TimeRemainingColumn()] if with_total else [])]
    text = progress.TextColumn("{task.description}"), progress.TextColumn("{task.fields[beside]}")
    return progress.Progress(text[0], *amount, text[1], *times, console=Console(stderr=True), transient=True)


def track(items: Sequence[T], label: str) -> Iterator[T]:
    """The items, with the progress over them."""
    with Progress(label, len(items)) as progress:
        for item in items:
            yield item
            progress.advance()


class Steps:
    """The steps of a long set-up: a line for each, and on a terminal a clock for the one that is running."""

    def __init__(self, quiet: bool = False):
        self.quiet = quiet or is_quiet()

    def say(self, text: str) -> None:
        if not self.quiet:
            print(text, file=sys.stderr, flush=True)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        started = time.monotonic()
        bars = None
        if not self.quiet and sys.stderr.isatty():
            bars = new_bars(with_total=False)
            bars.add_task(f"  {name}", total=None, beside="")
            bars.start()
        else:
            self.say(f"  {name} …")
        outcome = "stopped"
        try:
            yield
            outcome = "done"
        finally:
            if bars is not None:
                bars.stop()
            self.say(f"  {name}: {outcome}, {time.monotonic() - started:.1f} s")


def table(header: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """A table as text, columns as wide as they need to be; the first `left` columns are words, the others numbers."""
    from io import StringIO

    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    drawn = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1))
    for i, name in enumerate(header):
        drawn.add_column(name, justify="left" if i < left else "right", no_wrap=True)
    for row in rows:
        drawn.add_row(*row)
    out = StringIO()
    Console(file=out, width=10_000, color_system=None, markup=False, highlight=False).print(drawn)
    return "\n".join(line.rstrip() for line in out.getvalue().rstrip().splitlines())
