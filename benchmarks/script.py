"""How every benchmark script is called and ends."""

from __future__ import annotations

import argparse
import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tables import RESULTS

from planrank.cli.main import heed_signals
from planrank.errors import PlanrankError
from planrank.limits import ONE_THREAD

os.environ.update(ONE_THREAD | os.environ)  # as the command does; scripts import this before NumPy


def parser(doc: str, results: bool = True) -> argparse.ArgumentParser:
    """With the options that all scripts have; help shows the head of the script's file."""
    found = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("--quick", action="store_true", help="tiny problems, nothing written: does it run?")
    if results:
        found.add_argument("--results", type=Path, default=RESULTS, metavar="FOLDER", help="the table goes here")
    return found


def add_pool(parser: argparse.ArgumentParser, jobs: int = 2) -> None:
    """Where jobs run."""
    parser.add_argument("--jobs", type=int, default=jobs, metavar="N", help="processes at a time")
    parser.add_argument("--cluster", metavar="auto|ADDRESS", help="of a Ray cluster, whose machines do the work")


def parse(parser: argparse.ArgumentParser, *needed: str, quick: dict[str, object] | None = None) -> argparse.Namespace:
    """The options. With --quick, what was not given is as `quick` has it, and results go nowhere; without, the `needed`
    ones must be given."""
    options = parser.parse_args()
    if options.quick:
        unset = {
            name: value for name, value in (quick or {}).items() if getattr(options, name) == parser.get_default(name)
        }
        vars(options).update(unset | {"results": None})
        return options
    for name in needed:
        if getattr(options, name) is None:
            parser.error(f"--{name} is needed, unless --quick is given")
    return options


def names(known: Sequence[str]) -> Callable[[str], list[str]]:
    """The type of an option that takes words with commas between them."""

    def read(text: str) -> list[str]:
        words = [word.strip() for word in text.split(",") if word.strip()]
        for word in words:
            if word not in known:
                raise argparse.ArgumentTypeError(f"unknown name {word!r}, expected {', '.join(known)}")
        return words

    return read


Stages = dict[str, Callable[[Any], None]]


def add_stages(parser: argparse.ArgumentParser, stages: Stages, work: str) -> None:
    """For a script that works in stages and keeps what it makes in a folder."""
    parser.add_argument("--stage", choices=stages, help="only this one; by default all, in this order")
    parser.add_argument("--work", type=Path, default=Path(work), help="models and rows are kept here")


def run_stages(stages: Stages, chosen: str | None, bench: Any) -> None:
    for stage in [chosen] if chosen else stages:
        stages[stage](bench)


def run(main: Callable[[], None]) -> None:
    """Run a script; what goes wrong or is interrupted ends it with a sentence instead of a traceback."""
    heed_signals()
    try:
        main()
    except PlanrankError as e:
        raise SystemExit(str(e)) from None
    except KeyboardInterrupt:
        raise SystemExit("interrupted; where rows are kept in a file, the same command goes on from there") from None


@contextlib.contextmanager
def folder_for(work: Path | None) -> Iterator[Path]:
    """The folder, made if there is none; None: one that is gone afterwards."""
    if work is None:
        with tempfile.TemporaryDirectory(prefix="planrank-") as folder:
            yield Path(folder)
    else:
        work.mkdir(parents=True, exist_ok=True)
        yield work.resolve()
