"""Runs guides and searches on many instances and writes down what came of each, so that it can go on after a stop."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from planrank.choices import ACTION_SEARCHES, POLICY_SEARCHES, SEARCHES
from planrank.errors import PlanrankError
from planrank.evaluation.jobs import COUNTERS, GRACE_SECONDS
from planrank.files import digest
from planrank.journal import Journal, alone_with, read_rows
from planrank.parallel.pool import REHEARSAL, Answer, Job, Pool, pool_of
from planrank.problems.folders import Instance
from planrank.search.guides import Guide

Row = dict[str, Any]

# What makes two runs the same; the other entries of a row say how it went.
KEY = ("instance_sha", "heuristic", "model_sha", "search", "batch", "time_limit", "memory_limit", "cold")
LATER_KEY = ("fallback",)  # rows of older versions have none of these


def evaluate(
    instances: Iterable[Instance],
    guides: Sequence[Guide],
    searches: Sequence[str] = ("gbfs",),
    time_limit: float | None = 5.0,
    *,
    memory_limit: float | None = None,
    batch: int = 1,
    fallback: float | None = None,
    jobs: int | None = None,
    cluster: str | None = None,
    cold: bool = False,
    out: str | Path | None = None,
    progress: Callable[[Row, int, int], None] | None = None,
) -> list[Row]:
    """A row for every instance, search and guide that suits it, in this order.

    Rows are added to the file `out` as they come, and those it has already are not run again. A run counts as solved
    only within its time limit, from parsing to the validated plan in a process that has Julia started, and with `cold`
    for a whole `planrank solve`. `fallback` is that of `planrank.solve`, for models. `jobs` and `cluster` are those of
    `planrank.parallel.pool.pool_of`. `progress` is given each new row, how many are done and how many there are.
    """
    settings = {"time_limit": time_limit, "memory_limit": memory_limit, "batch": batch, "cold": cold}
    settings["fallback"] = fallback
    wanted = runs(instances, guides, searches, settings)
    function = "planrank.evaluation.jobs:solve_cold" if cold else "planrank.evaluation.jobs:solve_here"
    done = run_missing(wanted, function, pool_of(jobs, None if cold else REHEARSAL, cluster), out, progress)
    # Names and places as they are now: a row may come from a file written elsewhere.
    return [done[key_of(run)] | run for run in wanted]


def run_missing(
    wanted: Sequence[Row],
    function: str,
    pool: Pool,
    out: str | Path | None,
    progress: Callable[[Row, int, int], None] | None = None,
) -> dict[tuple, Row]:
    """The rows of these runs by their keys, from the file `out` or made by a job's function and added to it."""
    with alone_with(out):
        rows = [] if out is None else read_rows(out)
        done = {key_of(row): row for row in rows if row.keys() >= {"status", *KEY}}
        missing = list({key_of(run): run for run in wanted if key_of(run) not in done}.values())
        journal = Journal(out)
        jobs = [Job(function, {"run": run}, seconds_for(run), reads=files_of(run)) for run in missing]
        for number, answer in pool.map(jobs):
            row = finished(missing[number], answer)
            journal.add(row)
            done[key_of(row)] = row
            if progress is not None:
                progress(row, len(wanted) - len(missing) + journal.added, len(wanted))
    return done


def files_of(run: Row) -> tuple[str, ...]:
    return tuple(run[name] for name in ("domain", "problem", "model") if run[name] is not None)


def seconds_for(run: Row) -> float | None:
    """A worker that keeps to its limits answers soon after them; one that does not is ended."""
    return None if run["time_limit"] is None else run["time_limit"] + GRACE_SECONDS


def runs(instances: Iterable[Instance], guides: Sequence[Guide], searches: Sequence[str], settings: Row) -> list[Row]:
    """Everything to be run, as the first part of its row."""
    for search in searches:
        if search not in SEARCHES:
            raise PlanrankError(f"unknown search {search!r}; known: {', '.join(SEARCHES)}")
        if not any(guide.suits(search) for guide in guides):
            needed = "the heuristic blind"
            if search in POLICY_SEARCHES:
                needed = "a model with a policy"
            elif search in ACTION_SEARCHES:
                needed = "a model that ranks actions"
            raise PlanrankError(f"{search} needs {needed}, and none was given")
    wanted = [
        {"search": search, "guide": guide.name, "heuristic": guide.heuristic, "model": guide.file, "model_sha": sha}
        for search in searches
        for guide, sha in uniquely_named(guides)
        if guide.suits(search)
    ]
    found = []
    for instance in instances:
        files = {"domain": str(instance.domain), "problem": str(instance.problem)}
        place = files | {"instance_sha": digest(instance.domain, instance.problem)}
        found += [place | one | settings for one in wanted]
    if not found:
        raise PlanrankError("there are no instances to evaluate on")
    return found


def uniquely_named(guides: Sequence[Guide]) -> list[tuple[Guide, str | None]]:
    """Each guide and the digest of its model's file. Models of the same name are told apart by their files."""
    names = [guide.name for guide in guides]
    found: list[tuple[Guide, str | None]] = []
    for guide in guides:
        if guide.model is not None and guide.file is None:
            raise PlanrankError(f"{guide.name} is in no file; save it first, so that other processes can read it")
        if guide.file and names.count(guide.name) > 1:
            guide = replace(guide, name=f"model:{guide.file}")
        found.append((guide, None if guide.file is None else digest(Path(guide.file))))
    return found


def key_of(row: Row) -> tuple:
    return tuple(row.get(name) for name in KEY + LATER_KEY)


def finished(run: Row, answer: Answer) -> Row:
    """A row: every key is there, None where the run did not get so far."""
    from planrank import __version__

    if answer.error is not None:
        status = "killed" if answer.lost else "error"
        how: Row = {"status": status, "reason": str(answer.error)}
    else:
        how = answer.value
    row = (
        run
        | {"version": __version__}
        | dict.fromkeys((*COUNTERS, "expansions_per_step", "search_seconds", "total_seconds", "peak_kb"))
        | how
    )
    if row["status"] == "solved" and run["time_limit"] is not None and row["total_seconds"] > run["time_limit"]:
        row |= {"status": "out of time", "reason": "the plan came after the time limit"}
    if row["status"] == "solved" and row["plan_length"]:
        row["expansions_per_step"] = row["expanded"] / row["plan_length"]
    return row
