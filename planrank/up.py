"""planrank as an engine of unified-planning: `pip install planrank[up]`, and one line to make it known,

    environment.factory.add_engine("planrank", "planrank.up", "PlanrankEngine")

or, for optimal plans, "planrank-opt" with `PlanrankOptimalEngine`.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING, Any

try:
    import unified_planning as up
except ImportError:
    raise ImportError("planrank.up needs unified-planning; run `pip install planrank[up]`") from None
from unified_planning.engines import AnytimeGuarantee, Credits, Engine, LogMessage, OptimalityGuarantee
from unified_planning.engines import PlanGenerationResult as Generated
from unified_planning.engines import PlanGenerationResultStatus as Status
from unified_planning.engines.mixins import AnytimePlannerMixin, OneshotPlannerMixin
from unified_planning.engines.results import LogLevel
from unified_planning.exceptions import UPException, UPUsageError
from unified_planning.io import PDDLWriter
from unified_planning.model import Problem, ProblemKind
from unified_planning.plans import ActionInstance, SequentialPlan

from planrank import __version__
from planrank.choices import ADMISSIBLE, HEURISTICS, SEARCHES, heuristic_called
from planrank.errors import Exit, PlanrankError
from planrank.parallel.pool import Job, Pool

if TYPE_CHECKING:
    from planrank.search.anytime import Anytime

# What unified-planning calls the ways in which a command can end. Wrong usage is raised instead.
STATUS_OF_EXIT = {
    Exit.OK: Status.SOLVED_SATISFICING,
    Exit.UNSOLVABLE: Status.UNSOLVABLE_PROVEN,
    Exit.GAVE_UP: Status.UNSOLVABLE_INCOMPLETELY,
    Exit.OUT_OF_MEMORY: Status.MEMOUT,
    Exit.OUT_OF_TIME: Status.TIMEOUT,
    Exit.BAD_PDDL: Status.INTERNAL_ERROR,  # the text is not the user's
    Exit.INTERNAL: Status.INTERNAL_ERROR,
    Exit.UNSUPPORTED: Status.UNSUPPORTED_PROBLEM,
}

GRACE_SECONDS = 10.0

# What the README says that planrank reads, in the words of unified-planning.
SUPPORTED = {
    "problem_class": ["ACTION_BASED"],
    "typing": ["FLAT_TYPING", "HIERARCHICAL_TYPING"],
    "conditions_kind": [
        "NEGATIVE_CONDITIONS",
        "DISJUNCTIVE_CONDITIONS",
        "EQUALITIES",
        "EXISTENTIAL_CONDITIONS",
        "UNIVERSAL_CONDITIONS",
    ],
    "effects_kind": [
        "CONDITIONAL_EFFECTS",
        "FORALL_EFFECTS",
        "STATIC_FLUENTS_IN_BOOLEAN_ASSIGNMENTS",  # written as conditional effects
        "FLUENTS_IN_BOOLEAN_ASSIGNMENTS",
    ],
    "quality_metrics": ["ACTIONS_COST", "PLAN_LENGTH"],
    "actions_cost_kind": [
        "STATIC_FLUENTS_IN_ACTIONS_COST",
        "INT_NUMBERS_IN_ACTIONS_COST",
        "REAL_NUMBERS_IN_ACTIONS_COST",
    ],
    "initial_state": ["UNDEFINED_INITIAL_NUMERIC"],  # of costs: an action whose cost has no value is none
}

_forked = False


def note_fork() -> None:
    global _forked
    _forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=note_fork)


class PlanrankEngine(Engine, OneshotPlannerMixin, AnytimePlannerMixin):
    """One plan, or better and better ones.

    `search`, `heuristic`, `model`, `weight` and `batch` are those of `planrank.solve`. With none of the first three it
    is gbfs with a model that fits the domain, else lazy with hFF. `memory_limit` is in megabytes. `isolated` has each
    search done in a process of its own, which a crash or a memory limit of the system may end without harm.
    """

    def __init__(
        self,
        search: str | None = None,
        heuristic: str | None = None,
        model: str | None = None,
        weight: float = 3.0,
        batch: int = 1,
        memory_limit: float | None = None,
        isolated: bool = False,
    ):
        Engine.__init__(self)
        OneshotPlannerMixin.__init__(self)
        AnytimePlannerMixin.__init__(self)
        if search not in (None, *SEARCHES):
            raise UPUsageError(f"unknown search {search!r}; known: {', '.join(SEARCHES)}")
        if heuristic is not None and (heuristic := heuristic_called(heuristic)) not in HEURISTICS:
            raise UPUsageError(f"unknown heuristic {heuristic!r}; known: {', '.join(HEURISTICS)}")
        self.options: dict[str, Any] = {
            "search": search,
            "heuristic": heuristic,
            "model": None if model is None else str(model),
        }
        self.options |= {"weight": weight, "batch": batch, "memory_limit": memory_limit}
        self.isolated = isolated

    @property
    def name(self) -> str:
        return "planrank"

    @staticmethod
    def supported_kind() -> ProblemKind:
        kind = ProblemKind(version=2)
        for sort, features in SUPPORTED.items():
            for feature in features:
                getattr(kind, f"set_{sort}")(feature)
        return kind

    @staticmethod
    def supports(problem_kind: ProblemKind) -> bool:
        return problem_kind <= PlanrankEngine.supported_kind()

    @staticmethod
    def satisfies(optimality_guarantee: OptimalityGuarantee) -> bool:
        return optimality_guarantee == OptimalityGuarantee.SATISFICING

    @staticmethod
    def ensures(anytime_guarantee: AnytimeGuarantee) -> bool:
        return anytime_guarantee == AnytimeGuarantee.INCREASING_QUALITY

    @staticmethod
    def get_credits(**_: Any) -> Credits:
        return Credits(
            name="planrank",
            author="the planrank contributors, after Chrestien, Pevný, Edelkamp and Komenda (NeurIPS 2023)",
            contact="the issue tracker of planrank",
            website="https://arxiv.org/abs/2310.19463",
            license="MIT",
            short_description="Forward search with heuristics that were learned to rank, or with classical ones.",
            long_description=f"planrank {__version__}: forward search guided by heuristics that were learned to rank "
            "states or actions instead of estimating costs, where a model fits the domain, or by classical ones.",
        )

    def _solve(
        self,
        problem: up.model.AbstractProblem,
        heuristic: Callable[[up.model.State], float | None] | None = None,
        timeout: float | None = None,
        output_stream: IO[str] | None = None,
    ) -> Generated:
        if heuristic is not None:
            warnings.warn("planrank takes no heuristic written in Python by way of unified-planning", stacklevel=3)
        return self.attempt(Written.of(problem), self.options, timeout, output_stream)

    def _get_solutions(
        self, problem: up.model.AbstractProblem, timeout: float | None = None, output_stream: IO[str] | None = None
    ) -> Iterator[Generated]:
        """Plans that cost less than those before, and at last the best again, with what is known of it.

        If each search has a process of its own, or Julia was forked, all of them come when the last has.
        """
        written = Written.of(problem)
        if written.refused:
            yield self.without_plan(Exit.UNSUPPORTED, written.refused)
        else:
            yield from self.better_and_better(written, self.options | {"time_limit": timeout}, output_stream)

    def better_and_better(
        self, written: Written, options: dict[str, Any], output: IO[str] | None
    ) -> Iterator[Generated]:
        arguments: dict[str, Any] = {"domain": written.domain, "problem": written.text, "options": options}
        try:
            if self.runs_apart:
                found = self.apart("anytime_job", arguments, options["time_limit"])
            else:
                run = anytime(**arguments)
                for plan in run:
                    yield self.intermediate(written, plan.steps, plan.as_json())
                found = {"plans": [], "result": run.result().as_json()}
        except PlanrankError as e:
            if refuses_lmcut(e, options):
                yield from self.better_and_better(written, options | {"heuristic": "blind"}, output)
            else:
                yield self.failed(e)
            return
        for steps, figures in found["plans"]:
            yield self.intermediate(written, steps, figures)
        proved = bool(found["result"]["optimal"])
        yield self.generated(written, proved, found["result"], output)

    def intermediate(self, written: Written, steps: list[str], figures: dict[str, Any]) -> Generated:
        metrics = {"plan_cost": str(figures["cost"]), "seconds": str(figures["seconds"]), "by": str(figures["by"])}
        return Generated(Status.INTERMEDIATE, written.plan(steps), self.name, metrics)

    def attempt(
        self, written: Written, options: dict[str, Any], timeout: float | None, output: IO[str] | None
    ) -> Generated:
        """One search, or two if LM-cut is refused."""
        started = time.monotonic()
        if written.refused:
            return self.without_plan(Exit.UNSUPPORTED, written.refused)
        try:
            found = self.run(written, options | {"time_limit": timeout})
        except PlanrankError as e:
            if refuses_lmcut(e, options):
                left = None if timeout is None else max(0.0, timeout - (time.monotonic() - started))
                return self.attempt(written, options | {"heuristic": "blind"}, left, output)
            return self.failed(e)
        return self.generated(written, is_optimal(options), found, output)

    def failed(self, error: PlanrankError) -> Generated:
        """What to answer; wrong usage is raised."""
        if error.kind in ("usage", "runtime"):
            raise UPUsageError(str(error)) from None
        return self.without_plan(error.exit_code, str(error))

    def run(self, written: Written, options: dict[str, Any]) -> dict[str, Any]:
        """The result as JSON."""
        arguments: dict[str, Any] = {"domain": written.domain, "problem": written.text, "options": options}
        if not self.runs_apart:
            return solve_job(**arguments)
        return self.apart("solve_job", arguments, options["time_limit"])

    @property
    def runs_apart(self) -> bool:
        """Julia does not survive a fork, as unified-planning's parallel mode makes one."""
        from planrank import julia

        return self.isolated or (_forked and julia.is_running())

    def apart(self, job: str, arguments: dict[str, Any], limit: float | None) -> dict[str, Any]:
        """A job in a process of its own."""
        seconds = None if limit is None else limit + GRACE_SECONDS
        ((_, answer),) = Pool(1).map([Job(f"planrank.up:{job}", arguments, seconds)])
        if answer.error is None:
            return answer.value
        raise PlanrankError(answer.error.message, "internal") if answer.lost else answer.error

    def generated(self, written: Written, proved: bool, found: dict[str, Any], output: IO[str] | None) -> Generated:
        from planrank.search.log import log_lines
        from planrank.search.solve import EXIT_OF_STATUS

        lines = log_lines(found)
        if output is not None:
            output.write("".join(f"{line}\n" for line in lines))
        if found["plan"] is None:
            return self.without_plan(EXIT_OF_STATUS[found["status"]], found["reason"])
        optimal = proved and written.exact and bool(written.problem.quality_metrics)
        status = Status.SOLVED_OPTIMALLY if optimal else STATUS_OF_EXIT[Exit.OK]
        counters = (
            "plan_cost",
            "expanded",
            "evaluated",
            "generated",
            "search_seconds",
            "peak_kb",
            "search",
            "heuristic",
        )
        log = [LogMessage(LogLevel.INFO, "\n".join(lines))]
        metrics = {name: str(found[name]) for name in counters}
        return Generated(status, written.plan(found["plan"]), self.name, metrics, log)

    def without_plan(self, code: Exit, reason: str) -> Generated:
        level = LogLevel.INFO if code in (Exit.UNSOLVABLE, Exit.GAVE_UP) else LogLevel.ERROR
        return Generated(STATUS_OF_EXIT[code], None, self.name, log_messages=[LogMessage(level, reason)])


class PlanrankOptimalEngine(PlanrankEngine):
    """A* with LM-cut, or with another admissible heuristic; without information where there are conditional effects."""

    def __init__(self, heuristic: str = "lmcut", **options: Any):
        super().__init__("astar", heuristic, **options)
        if not is_optimal(self.options):
            raise UPUsageError(f"{heuristic} is not admissible, expected one of {', '.join(ADMISSIBLE)}")

    @property
    def name(self) -> str:
        return "planrank (optimal)"

    @staticmethod
    def satisfies(optimality_guarantee: OptimalityGuarantee) -> bool:
        return True


def is_optimal(options: dict[str, Any]) -> bool:
    if options["search"] == "ucs":
        return True
    return options["search"] == "astar" and options["model"] is None and options["heuristic"] in ADMISSIBLE


def refuses_lmcut(error: PlanrankError, options: dict[str, Any]) -> bool:
    """LM-cut refuses conditional effects, and blind search takes its place."""
    return error.kind == "unsupported" and options["heuristic"] == "lmcut" and "lmcut" in error.message


def solve_job(domain: str, problem: str, options: dict[str, Any]) -> dict[str, Any]:
    """Here or in a worker."""
    from planrank.search.solve import solve

    if options["search"] is None:
        options = options | {"search": usual_search(domain, problem, options)}
    return solve(domain, problem, **options).as_json()


def anytime(domain: str, problem: str, options: dict[str, Any]) -> Anytime:
    from planrank.search.anytime import solve_anytime

    if options["search"] is None:
        options = options | {"search": usual_search(domain, problem, options)}
    return solve_anytime(domain, problem, **options)


def anytime_job(**arguments: Any) -> dict[str, Any]:
    """In a worker: the plans with their figures, and the result as JSON."""
    run = anytime(**arguments)
    plans = [(plan.steps, plan.as_json()) for plan in run]
    return {"plans": plans, "result": run.result().as_json()}


def usual_search(domain: str, problem: str, options: dict[str, Any]) -> str:
    from planrank.limits import Limits
    from planrank.models.library import fitting_model
    from planrank.task import load

    if options["heuristic"] is not None or options["model"] is not None:
        return "gbfs"
    task = load(domain, problem, Limits.of(options["time_limit"], options["memory_limit"]))
    return "gbfs" if fitting_model(task) is not None else "lazy"


class Written:
    """A problem as PDDL text, and the way back. `refused` says why it cannot be written, `exact` that no number was
    rounded."""

    def __init__(self, problem: Problem):
        self.problem = problem
        self.writer = PDDLWriter(problem, rewrite_bool_assignments=True)
        self.domain = self.text = self.refused = ""
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                self.domain, self.text = self.writer.get_domain(), self.writer.get_problem()
            except (UPException, NotImplementedError, AssertionError) as e:
                self.refused = f"unified-planning cannot write this problem as PDDL: {str(e) or type(e).__name__}"
        for one in said:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
        self.exact = not any("cannot exactly represent" in str(one.message) for one in said)

    @classmethod
    def of(cls, problem: up.model.AbstractProblem) -> Written:
        if not isinstance(problem, Problem):
            raise UPUsageError(f"planrank solves classical problems, found {type(problem).__name__}")
        return cls(problem)

    def plan(self, steps: list[str]) -> SequentialPlan:
        """With the problem's own actions and objects."""
        manager = self.problem.environment.expression_manager
        instances = []
        for step in steps:
            action, *objects = (self.writer.get_item_named(name) for name in step.strip("()").split())
            instances.append(ActionInstance(action, tuple(manager.ObjectExp(one) for one in objects)))
        return SequentialPlan(instances, self.problem.environment)
