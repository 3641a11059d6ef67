"""The command line: the group of commands, and how errors become one sentence and an exit code."""

from __future__ import annotations

import contextlib
import os
import sys

import click

from planrank import __version__
from planrank.commands.certify import certify
from planrank.commands.evaluate import evaluate
from planrank.commands.generate import generate
from planrank.commands.inspect import ground, validate
from planrank.commands.installation import doctor, setup
from planrank.commands.label import label
from planrank.commands.solve import solve
from planrank.commands.train import train
from planrank.errors import Exit, PlanrankError
from planrank.limits import ONE_THREAD


class Group(click.Group):
    """Lists commands in the order of a session, not of the alphabet."""

    def list_commands(self, context):
        return list(self.commands)


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="planrank")
def cli() -> None:
    """Learn planning heuristics that rank states, and search with them."""


for command in (setup, doctor, generate, label, train, solve, evaluate, certify, validate, ground):
    cli.add_command(command)


def main(arguments: list[str] | None = None) -> None:
    """Run a command and leave with one of the exit codes of this field, never with a traceback."""
    try:
        code = cli.main(arguments, prog_name="planrank", standalone_mode=False)
    except PlanrankError as e:
        print(f"planrank: {e}", file=sys.stderr)
        code = e.exit_code
    except click.ClickException as e:
        print(f"planrank: {e.format_message()}", file=sys.stderr)
        context = getattr(e, "ctx", None)
        if context is not None:
            print(f"Try `{context.command_path} --help`.", file=sys.stderr)
        code = Exit.USAGE
    except (KeyboardInterrupt, click.Abort):
        print("planrank: interrupted", file=sys.stderr)
        code = Exit.INTERRUPTED
    except BrokenPipeError:
        # The reader of a pipe has gone; Python would complain once more when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = Exit.OK
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
    try:
        main()
    except SystemExit as stop:
        code = stop.code
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(BrokenPipeError):
            stream.flush()
    os._exit(code)
