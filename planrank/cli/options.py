"""What several commands share: how they look, which files and names they take."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from planrank import console
from planrank.choices import HEURISTICS, heuristic_called, is_table, known_instead_of

Action = Callable[..., Any]
PDDL_FILE = click.Path(path_type=Path)


class Command(click.Command):
    """A command with an example under its help, and -v and -q."""

    def __init__(self, *arguments: Any, examples: Sequence[str] = (), **options: Any):
        super().__init__(*arguments, **options)
        self.examples = examples
        self.params += verbosity_options()

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Examples" if len(self.examples) > 1 else "Example"):
            for example in self.examples:
                formatter.write(f"{'':{formatter.current_indent}}{example}\n")


def verbosity_options() -> list[click.Parameter]:
    def choose(ctx: click.Context, _: click.Parameter, value: int | None) -> None:
        if value is not None and not ctx.resilient_parsing:
            console.verbosity = value

    more: dict[str, Any] = {"callback": choose, "expose_value": False, "is_eager": True}
    verbose = ["-v", "--verbose", "verbosity"], "Say more about what is being done.", console.VERBOSE
    quiet = ["-q", "--quiet", "verbosity"], "Say nothing but results and errors.", console.QUIET
    return [click.Option(names, help=help, flag_value=value, **more) for names, help, value in (verbose, quiet)]


class Choice(click.Choice):
    """One of some names. An unknown one is answered with the nearest."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if self.choices == HEURISTICS:
            value = heuristic_called(value)
        if value not in self.choices:
            self.fail(f"{value!r} is not one of {known_instead_of(value, self.choices)}", param, ctx)
        return value


class HeuristicName(Choice):
    """A classical heuristic, or a table of numbers: the domain's own or table:FILE."""

    def __init__(self) -> None:
        super().__init__(HEURISTICS)

    def get_metavar(self, *_: Any, **__: Any) -> str:
        return f"[{'|'.join(HEURISTICS)}|table[:FILE]]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if is_table(value) else super().convert(value, param, ctx)


class Names(click.ParamType):
    """Words with commas between them, each one of those known if there is a list of them."""

    name = "names"

    def __init__(self, known: tuple[str, ...] | None = None):
        self.known = known

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        words = (word.strip() for word in value.split(",") if word.strip())
        words = (heuristic_called(word) if self.known == HEURISTICS else word for word in words)
        names = tuple(dict.fromkeys(words))
        for word in names:
            if self.known is None or (self.known == HEURISTICS and is_table(word)):
                continue
            if word not in self.known:
                self.fail(f"unknown name {word!r}, expected {known_instead_of(word, self.known)}", param, ctx)
        return names

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The word after the last comma; files where there is no list."""
        if self.known is None:
            return [CompletionItem(incomplete, type="file")]
        before, comma, word = incomplete.rpartition(",")
        return [CompletionItem(before + comma + name) for name in self.known if name.startswith(word)]


def complete_domain(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """planrank's own domains, and folders where these are taken too."""
    from planrank.paths import own_domains

    found = [CompletionItem(name) for name in own_domains() if name.startswith(incomplete)]
    folders = [CompletionItem(incomplete, type="dir")] if isinstance(param, click.Option) else []
    return folders + found  # bash forgets what comes before folders


def task_arguments(*more: str, optional: str | None = None) -> Callable[[Action], Action]:
    """The arguments [DOMAIN] PROBLEM and those named. Without DOMAIN the domain is looked for beside the problem.

    An optional argument can be given after both only: of two files the first is the domain.
    """
    expected = ("problem", *more)
    last = () if optional is None else (optional,)
    most = 1 + len(expected) + len(last)

    def decorator(command: Action) -> Action:
        @functools.wraps(command)
        def with_domain(files: tuple[Path, ...], **options: Any) -> Any:
            if len(files) < len(expected):
                raise click.UsageError(f"Missing argument '{expected[len(files)].upper()}'.")
            if len(files) > most:
                raise click.UsageError(f"Got unexpected extra argument '{files[most]}'.")
            names = expected if len(files) == len(expected) else ("domain", *expected, *last)
            named: dict[str, Any] = dict.fromkeys(last) | dict(zip(names, files, strict=False))
            if "domain" not in named:
                from planrank.problems.domain_files import domain_of

                named["domain"] = domain_of(named["problem"])
                console.detail(f"the domain is {named['domain']}")
            return command(**named, **options)

        shown = " ".join([*(name.upper() for name in expected), *(f"[{name.upper()}]" for name in last)])
        return click.argument("files", nargs=-1, type=PDDL_FILE, metavar=f"[DOMAIN] {shown}")(with_domain)

    return decorator


def limit_options(command: Action) -> Action:
    """The two limits that every command which grounds takes."""
    amount = click.FloatRange(min=0)
    memory = click.option("--memory-limit", type=amount, metavar="MB", help="Resident memory of the whole command.")
    seconds = click.option("--time-limit", type=amount, metavar="S", help="Seconds for the whole command.")
    return seconds(memory(command))


def pool_options(command: Action) -> Action:
    """Where work is done that is split into jobs."""
    cluster = click.option("--cluster", metavar="auto|ADDRESS", help="Work on the machines of this Ray cluster.")
    jobs = click.option(
        "--jobs",
        type=click.IntRange(min=1),
        metavar="N",
        help="Processes at a time. [default: 1; in a cluster as many as it has processors]",
    )
    return jobs(cluster(command))


def write_json(file: str | None, content: dict[str, Any]) -> None:
    from planrank.files import write_text

    if file == "-":
        click.echo(json.dumps(content))
    elif file is not None:
        write_text(Path(file), json.dumps(content) + "\n")
