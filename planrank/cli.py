"""The command line. Commands import what they need when they run, so that help and usage errors answer at once."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path

import click

from planrank import __version__
from planrank.choices import HEURISTICS, SEARCHES, TIES
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


PDDL_FILE = click.Path(path_type=Path)


def limit_options(command):
    """The two limits that every command which grounds takes."""
    amount = click.FloatRange(min=0)
    memory = click.option("--memory-limit", type=amount, metavar="MB", help="Resident memory of the whole command.")
    seconds = click.option("--time-limit", type=amount, metavar="S", help="Seconds for the whole command.")
    return seconds(memory(command))


@cli.command()
@click.argument("domain", type=PDDL_FILE)
@click.argument("problem", type=PDDL_FILE)
@click.option(
    "--search",
    type=click.Choice(SEARCHES),
    default="gbfs",
    show_default=True,
    help="A*, greedy best-first, weighted A*, uniform cost or breadth-first.",
)
@click.option(
    "--heuristic",
    type=click.Choice(HEURISTICS),
    default="ff",
    show_default=True,
    help="Estimate that guides the search (ucs and bfs use none).",
)
@click.option("--weight", type=click.FloatRange(min=0), default=3.0, show_default=True, help="Of h in wastar.")
@click.option("--batch", type=click.IntRange(min=1), default=1, show_default=True, help="Nodes expanded in one step.")
@click.option(
    "--ties",
    type=click.Choice(TIES),
    help="Which of equally good nodes comes first. [default: h_newest; bfs: oldest]",
)
@click.option(
    "--reopen/--no-reopen", default=None, help="Take cheaper paths to closed states. [default: not in gbfs, bfs]"
)
@click.option("--seed", type=int, default=0, show_default=True, help="For random ties.")
@limit_options
@click.option(
    "--plan-file", default="sas_plan", show_default=True, metavar="FILE", help="Where the plan goes; - prints it."
)
@click.option("--json", "json_file", metavar="FILE", help="Write the result as JSON too; - prints it.")
def solve(domain: Path, problem: Path, plan_file: str, json_file: str | None, **options) -> None:
    """Find a plan for PROBLEM of DOMAIN, validate it and write it down."""
    from planrank import plans
    from planrank.limits import process_started
    from planrank.search import EXIT_OF_STATUS
    from planrank.search import solve as find_plan

    for file in (plan_file, json_file):
        if file not in (None, "-"):
            plans.check_writable(Path(file))
    progress = show_progress if sys.stderr.isatty() else None
    result = find_plan(domain, problem, **options, started=process_started(), progress=progress)
    if progress:
        print("\r\x1b[K", end="", file=sys.stderr)

    # What is printed for programs has standard output to itself.
    log = sys.stderr if "-" in (plan_file, json_file) else sys.stdout
    if result.plan is not None:
        text = plans.plan_text(result.plan, result.plan_cost, result.unit_cost)
        if plan_file == "-":
            click.echo(text, nl=False)
        else:
            plans.write_atomically(Path(plan_file), text)
        print(f"Plan length: {result.plan_length} step(s).\nPlan cost: {result.plan_cost:g}", file=log)
    else:
        print(f"No plan: {result.status}; {result.reason}.", file=log)
    counters = result.statistics
    print(
        f"Expanded {counters.expanded} state(s).\nReopened {counters.reopened} state(s).\n"
        f"Evaluated {counters.evaluated} state(s).\nGenerated {counters.generated} state(s).\n"
        f"Dead ends: {counters.dead_ends} state(s).\nSearch time: {result.search_seconds:.6f}s\n"
        f"Total time: {result.total_seconds:.6f}s\nPeak memory: {result.peak_kb} KB",
        file=log,
    )
    write_json(json_file, result.as_json())
    sys.exit(EXIT_OF_STATUS[result.status])


def show_progress(counters, seconds: float) -> None:
    if seconds >= 1:
        line = (
            f"\r{seconds:.0f} s, expanded {counters.expanded:,}, best h {counters.best_h:g}, states {counters.states:,}"
        )
        print(line, end="\x1b[K", file=sys.stderr, flush=True)


def write_json(file: str | None, content: dict) -> None:
    from planrank.plans import write_atomically

    if file == "-":
        click.echo(json.dumps(content))
    elif file is not None:
        write_atomically(Path(file), json.dumps(content) + "\n")


@cli.command()
@click.argument("domain", type=PDDL_FILE)
@click.argument("problem", type=PDDL_FILE)
@click.argument("plan", type=PDDL_FILE)
def validate(domain: Path, problem: Path, plan: Path) -> None:
    """Replay PLAN step by step on the PDDL itself; a plan that fails is told where and why, exit code 31."""
    from planrank.search import validate as replay

    steps, cost = replay(domain, problem, plan)
    click.echo(f"Plan valid.\nPlan length: {steps} step(s).\nPlan cost: {cost:g}")


@cli.command()
@click.argument("domain", type=PDDL_FILE)
@click.argument("problem", type=PDDL_FILE)
@click.option("--json", "json_file", metavar="FILE", help="Write counts and hashes as JSON; - prints it.")
@limit_options
def ground(
    domain: Path, problem: Path, json_file: str | None, time_limit: float | None, memory_limit: float | None
) -> None:
    """Parse and ground PROBLEM of DOMAIN and say what is in it."""
    from planrank.limits import Limits, process_started
    from planrank.task import load

    task = load(domain, problem, Limits.of(time_limit, memory_limit, process_started()))
    if json_file != "-":
        click.echo(f"{task.fact_count} facts, {task.operator_count} actions")
        click.echo(f"parsed in {task.parse_seconds:.4f} s, grounded in {task.ground_seconds:.4f} s")
    if json_file is not None:
        write_json(json_file, task.digest())


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
    try:
        main()
    except SystemExit as stop:
        code = stop.code
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(BrokenPipeError):
            stream.flush()
    os._exit(code)
