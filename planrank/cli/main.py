"""The command line: the group of commands, and how errors become one sentence and an exit code."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from types import FrameType
from typing import NoReturn

import click

from planrank.cli.certify import certify
from planrank.cli.evaluate import evaluate
from planrank.cli.generate import generate
from planrank.cli.improve import improve
from planrank.cli.inspect import ground, validate
from planrank.cli.installation import doctor, setup
from planrank.cli.label import label
from planrank.cli.levels import import_
from planrank.cli.options import verbosity_options
from planrank.cli.pages import report, show
from planrank.cli.solve import solve
from planrank.cli.train import train
from planrank.errors import Exit, PlanrankError, printable
from planrank.limits import ONE_THREAD

WELCOME = """\
planrank learns planning heuristics that rank states or actions, and searches with them.

  planrank solve problem.pddl         finds a plan
  planrank train --domain FOLDER      learns a heuristic for a domain from plans
  planrank evaluate --domain FOLDER   compares what was learned with classical heuristics

Once, at first: `planrank setup`. All commands: `planrank --help`. One of them: `planrank COMMAND --help`."""


class Group(click.Group):
    """Lists commands in the order of a session, not of the alphabet."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(
    cls=Group,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(package_name="planrank", prog_name="planrank")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Learn planning heuristics that rank states or actions, and search with them."""
    if ctx.invoked_subcommand is None:
        click.echo(WELCOME)


cli.params += verbosity_options()

COMMANDS = (
    setup,
    doctor,
    generate,
    import_,
    label,
    train,
    improve,
    solve,
    evaluate,
    report,
    show,
    certify,
    validate,
    ground,
)
for command in COMMANDS:
    cli.add_command(command)


class Terminated(KeyboardInterrupt):
    """A signal that ends a command as Ctrl-C does."""

    def __init__(self, code: Exit):
        self.code = code


def heed_signals() -> None:
    """Let a polite kill and a closed terminal end commands in order."""
    for name, code in (("SIGTERM", Exit.TERMINATED), ("SIGHUP", Exit.HUNG_UP)):
        number = getattr(signal, name, None)
        # One that is ignored, as under nohup, stays so.
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:

            def stop(_: int, __: FrameType | None, code: Exit = code) -> NoReturn:
                raise Terminated(code)

            signal.signal(number, stop)


def main(arguments: list[str] | None = None) -> None:
    """Run a command and leave with one of the exit codes of this field, never with a traceback."""
    heed_signals()
    output = sys.stdout
    try:
        code = cli.main(arguments, prog_name="planrank", standalone_mode=False)
    except PlanrankError as e:
        print(f"planrank: {e}", file=sys.stderr)
        code = e.exit_code
    except click.ClickException as e:
        meant: list[str] = getattr(e, "possibilities", None) or []
        del meant[1:]  # the nearest comes first
        print(f"planrank: {e.format_message()}", file=sys.stderr)
        context = getattr(e, "ctx", None)
        if context is not None:
            print(f"Try `{context.command_path} --help`.", file=sys.stderr)
        code = Exit.USAGE
    except (KeyboardInterrupt, click.Abort) as e:
        print("planrank: interrupted", file=sys.stderr)
        code = getattr(e.__cause__ or e, "code", Exit.INTERRUPTED)  # click puts its own in front
    except SystemExit:
        # When the reader of a pipe has gone, click replaces standard output and takes it for a failure.
        if sys.stdout is output:
            raise
        code = Exit.OK
    except OSError as e:
        # Files have their own sentences, so this is standard output or something as basic.
        print(
            f"planrank: {printable(e.filename or 'standard output')}: cannot be written: {e.strerror}", file=sys.stderr
        )
        code = Exit.USAGE
    except Exception as e:
        if os.environ.get("PLANRANK_DEBUG"):
            raise
        hint = "set PLANRANK_DEBUG=1 for the traceback"
        print(f"planrank: internal error: {type(e).__name__}: {e} ({hint})", file=sys.stderr)
        code = Exit.INTERNAL
    sys.exit(int(code or 0))


def run() -> None:
    """The command as installed. Leaves at once: tidying up after Julia would take longer than most searches."""
    os.environ.update(ONE_THREAD | os.environ)  # before NumPy is imported
    code = 0
    try:
        main()
    except SystemExit as stop:
        code = int(stop.code or 0)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        pass
    except OSError as e:
        print(f"planrank: standard output: cannot be written: {e.strerror}", file=sys.stderr)
        code = int(Exit.USAGE)
    with contextlib.suppress(OSError):
        sys.stderr.flush()
    os._exit(code)
