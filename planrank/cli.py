"""The command line. Commands import what they need when they run, so that help and usage errors answer at once."""

from __future__ import annotations

import os
import sys

import click

from planrank import __version__
from planrank.errors import Exit, PlanrankError


class Group(click.Group):
    """Lists commands in the order of a session, not of the alphabet."""

    def list_commands(self, context):
        return list(self.commands)


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="planrank")
def cli() -> None:
    """Learn planning heuristics that rank states, and search with them."""


@cli.command()
@click.option("--road", type=click.Choice(["official", "wheel"]), help="Take this road to Julia and no other.")
@click.option("--quiet", is_flag=True, help="Say nothing unless something goes wrong.")
def setup(road: str | None, quiet: bool) -> None:
    """Get Julia ready: find or fetch it, compile planrank's part. Does nothing the second time."""
    from planrank.runtime.progress import Progress
    from planrank.runtime.setup import set_up

    progress = Progress(quiet=quiet)
    runtime = set_up(road, progress)
    progress.say(f"Julia is ready ({runtime.road} road).")


@cli.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def doctor(as_json: bool) -> None:
    """Check the installation: what is there, how fast it starts, what to type if something is broken."""
    from planrank.doctor import run

    if not run(as_json, click.echo):
        sys.exit(Exit.USAGE)


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
