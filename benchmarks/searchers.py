"""The programs that benchmarks/search.py compares. Each answers requests one by one with its counters and seconds."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path

from planrank.parallel.pool import REHEARSAL, Job, Pool
from planrank.problems import fast_downward

SEARCHES = {"blind": "astar", "ff": "gbfs", "lmcut": "astar"}
FAST_DOWNWARD_SEARCHES = {
    "blind": "astar(blind(),max_time={})",
    "ff": "eager_greedy([ff()],max_time={})",
    "lmcut": "astar(lmcut(),max_time={})",
}
MOST_MEMORY = 6 * 10**9

Figures = dict[str, float]


@dataclass(frozen=True)
class Request:
    """Search this problem for so many seconds, after parsing and grounding."""

    domain: str
    problem: str
    heuristic: str
    seconds: float


def planrank(requests: Sequence[Request]) -> Iterator[Figures | None]:
    """One process, in which Julia has compiled all it needs."""
    jobs = [Job("searchers:search_with_planrank", asdict(request)) for request in requests]
    for _, answer in Pool(1, REHEARSAL).map(jobs):
        if answer.error is not None:
            raise answer.error
        yield answer.value


def search_with_planrank(domain: str, problem: str, heuristic: str, seconds: float) -> Figures:
    from planrank import Heuristic, Search, load
    from planrank.limits import Limits

    task = load(domain, problem)
    search = Search(task, SEARCHES[heuristic], limits=Limits(memory=MOST_MEMORY))
    guide = Heuristic(task, heuristic)
    started = time.process_time()
    while search.run(guide) == "running" and time.process_time() - started < seconds:
        pass
    spent = time.process_time() - started
    seen = search.statistics()
    search.release()
    counted = {"expanded": seen.expanded, "evaluated": seen.evaluated, "generated": seen.generated}
    return rates(spent, counted) | {"extra_bytes": seen.state_bytes / seen.states - 8 * task.words}


def rates(seconds: float, counted: dict[str, int | None]) -> Figures:
    return {name: (count or 0) / seconds for name, count in counted.items()}


def fast_downward_in(folder: Path, requests: Sequence[Request]) -> Iterator[Figures | None]:
    """Translates each problem once; the search's own process tells its seconds of processor time."""
    for request in requests:
        problem = Path(request.problem)
        translated = folder / f"{problem.parent.name}-{problem.stem}.sas"
        if not translated.exists():
            files = [Path(request.domain).resolve(), problem.resolve()]
            fast_downward.run(["--translate", "--sas-file", translated, *files], None, folder=folder)
        search = FAST_DOWNWARD_SEARCHES[request.heuristic].format(request.seconds)
        done = fast_downward.run(["--plan-file", "plan", translated, "--search", search], None, folder=folder)
        spent = re.findall(r"Search time: ([\d.]+)s", done.log)
        counters = ("expanded", "evaluated", "generated")
        counted = {name: done.count(rf"{name.capitalize()} (\d+) state") for name in counters}
        yield rates(float(spent[-1]), counted) if spent else None


def pymimir(requests: Sequence[Request]) -> Iterator[Figures | None]:
    """A process for each request. It has no LM-cut, and does not ground every problem."""
    for request in requests:
        if request.heuristic == "lmcut" or not has_pymimir():
            yield None
            continue
        job = Job("searchers:search_with_pymimir", asdict(request), 10 * request.seconds + 60)
        ((_, answer),) = Pool(1).map([job])
        yield answer.value


def has_pymimir() -> bool:
    return find_spec("pymimir") is not None


def search_with_pymimir(domain: str, problem: str, heuristic: str, seconds: float) -> Figures:
    from pymimir.advanced import formalism, search

    parsed = formalism.Problem.create(domain, problem, formalism.ParserOptions())
    grounder = search.LiftedGrounder(parsed)
    actions = grounder.create_grounded_applicable_action_generator(search.MatchTreeOptions())
    repository = search.StateRepository.create(grounder.create_grounded_axiom_evaluator(search.MatchTreeOptions()))
    context = search.SearchContext.create(parsed, actions, repository)
    if heuristic == "blind":
        options, handler = search.AStarEagerOptions(), search.DefaultAStarEagerEventHandler(parsed, True)
        find, guide = search.find_solution_astar_eager, search.BlindHeuristic.create(parsed)
    else:
        options, handler = search.GBFSEagerOptions(), search.DefaultGBFSEagerEventHandler(parsed, True)
        find, guide = search.find_solution_gbfs_eager, search.FFHeuristic.create(grounder)
    options.event_handler = handler
    options.max_time_in_ms = int(1000 * seconds)
    started = time.process_time()
    find(context, guide, options)
    spent = time.process_time() - started
    seen = handler.get_statistics()
    counted = {"expanded": seen.get_num_expanded(), "generated": seen.get_num_generated()}
    return rates(spent, counted | {"evaluated": repository.get_state_count()})
