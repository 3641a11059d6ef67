"""The certificate of a perfect ranking: whether a search takes the states of an optimal plan and no others.

A heuristic ranks a task perfectly for f = alpha g + beta h if there is an optimal plan s_0 … s_l such that f(s_i) is
strictly below f of every other state in the open list, at each step i. Just then the search takes s_0 … s_l one after
the other under every way of breaking ties.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from planrank import julia
from planrank.errors import PlanrankError
from planrank.learning.ranking import Ranking, ranking_of_plan
from planrank.limits import Limits
from planrank.search.forward import Evaluator, Search
from planrank.search.heuristic import Heuristic
from planrank.search.plans import plain, plan_cost
from planrank.search.solve import drive
from planrank.task import Task

# Values of packed states.
Score = Callable[[np.ndarray], np.ndarray]

PATIENCE = 30.0  # seconds to look for an optimal plan when the verdict does not depend on it


@dataclass(frozen=True)
class Violation:
    """At step i the path's own state is not strictly better than another one in the open list."""

    step: int
    state: np.ndarray
    other: np.ndarray
    f: float
    other_f: float
    other_step: int | None  # where the plan comes to the other state, if it does


@dataclass(frozen=True)
class Check:
    """The definition looked at for one plan, optimal or not: how many pairs there are, and how many are violated.

    `violations` are the first of those. The states after the steps in `dead_ends` are valued infinite.
    """

    steps: list[str]
    cost: float
    pairs: int
    violated: int
    violations: list[Violation]
    dead_ends: list[int]

    @property
    def holds(self) -> bool:
        return self.violated == 0 and not self.dead_ends


@dataclass(frozen=True)
class Certificate:
    """`perfect` is None if it depends on an optimal cost that could not be found within the limits.

    `check` is for the plan given; without one, for the path of the search if the ranking is perfect for it, else for an
    optimal plan. `status` and `expanded` are those of the search itself, `proof` is the status of the search for an
    optimal plan, whose cost is `optimal_cost`; statuses are those of `planrank.search.solve.EXIT_OF_STATUS`.
    """

    perfect: bool | None
    reason: str
    check: Check | None
    optimal_cost: float | None
    status: str
    expanded: int
    proof: str


def merit(search: str, weight: float = 3.0) -> tuple[float, float]:
    """alpha and beta."""
    known = {"astar": (1.0, 1.0), "gbfs": (0.0, 1.0), "wastar": (1.0, weight), "ucs": (1.0, 0.0)}
    if search not in known:
        raise PlanrankError(f"a ranking cannot be certified for the search `{search}`; known: {', '.join(known)}")
    return known[search]


def score_of(evaluator: Evaluator) -> Score:
    """The evaluator's values, each asked for once: those of a model may differ in the last bit from batch to batch."""
    known: dict[bytes, np.float32] = {}

    def score(states: np.ndarray) -> np.ndarray:
        keys = [state.tobytes() for state in states]
        new = [i for i, key in enumerate(keys) if key not in known]
        if new:
            values = evaluator.values(np.ascontiguousarray(states[new])).astype(np.float32)
            known.update(zip((keys[i] for i in new), values, strict=True))
        return np.array([known[key] for key in keys], np.float32)

    return score


def check_plan(task: Task, steps: list[str], score: Score, alpha: float, beta: float, most: int | None = None) -> Check:
    """Definition 1 for one plan; all pairs, also those with states that come later on the path.

    At most so many violations are kept, all if `most` is None.
    """
    ranking = ranking_of_plan(task, steps)
    path_g, open_g = (whole_costs(costs, task.cost_scale) for costs in (ranking.path_g, ranking.open_g))
    values = as_stored(task, score(ranking.states)).astype(np.float64)
    path = values[: ranking.length + 1]
    path_f, open_f = merits(alpha, beta, path_g, path), merits(alpha, beta, open_g, values[ranking.open_state])
    pairs = violated = 0
    kept: list[Violation] = []
    for i in range(1, ranking.length + 1):  # a plan of thousands of steps has too many pairs for one matrix
        there = (ranking.open_from <= i) & (i < ranking.open_until)
        wrong = np.flatnonzero(there & ~(open_f > path_f[i]))
        pairs += int(there.sum())
        violated += len(wrong)
        room = None if most is None else most - len(kept)
        f = float(path_f[i]) / task.cost_scale
        kept += [violation(ranking, i, k, f, float(open_f[k]) / task.cost_scale) for k in wrong[:room]]
    steps = [step for line in steps if (step := line.partition(";")[0].strip())]
    dead_ends = np.flatnonzero(np.isposinf(path)).tolist()
    return Check(steps, plain(path_g[-1] / task.cost_scale), pairs, violated, kept, dead_ends)


def as_stored(task: Task, values: np.ndarray) -> np.ndarray:
    """As the search compares them."""
    return julia.view(julia.call("stored_values", task.handle, *julia.lend(values, np.float32)))


def violation(ranking: Ranking, i: int, k: int, f: float, other_f: float) -> Violation:
    other = int(ranking.open_state[k])
    later = other if ranking.open_later_on_path[k] else None
    return Violation(i, ranking.states[i], ranking.states[other], f, other_f, later)


def merits(alpha: float, beta: float, g: np.ndarray, h: np.ndarray) -> np.ndarray:
    """As the search computes them; a dead end stays one whatever beta is."""
    dead = np.isposinf(h)
    return np.where(dead, np.inf, alpha * g + beta * np.where(dead, 0, h))


def whole_costs(costs: np.ndarray, scale: int) -> np.ndarray:
    """As the search counts them, exactly."""
    whole = np.rint(costs.astype(np.float64) * scale)
    if len(whole) and whole.max() >= 2**23:
        raise PlanrankError(f"a cost of {whole.max() / scale:g} is too large to be certified", "unsupported")
    return whole


def certify(
    task: Task,
    evaluator: Evaluator,
    search: str = "astar",
    *,
    plan: list[str] | None = None,
    weight: float = 3.0,
    most: int | None = None,
    limits: Limits | None = None,
    progress: Callable | None = None,
) -> Certificate:
    """Whether an evaluator, a heuristic or the scorer of a model, ranks the task perfectly for this search.

    With a plan the question is asked for that plan only, and the answer is no unless it is optimal. At most so many
    violations are kept, all if `most` is None.
    """
    limits = limits or Limits()
    score = score_of(evaluator)
    asked = (score, *merit(search, weight), most)
    given = None if plan is None else check_plan(task, plan, *asked)
    if task.goal_count == 0:
        return without_plan("the goal cannot be reached even if nothing is ever made false", 0)

    forward = Search(task, search, weight=weight, limits=limits)
    path = follow(forward, score, limits)
    # The rest is only counted, and must leave time to find an optimal plan.
    status, _ = drive(forward, evaluator, halved(limits), progress, time.time())
    expanded = forward.statistics().expanded
    own_plan = forward.plan() if status == "solved" else None
    forward.release()

    check = given if path is None or given else check_plan(task, path, *asked)
    holds = check is not None and check.holds
    best, proof, why_none = optimal_plan(task, limits if holds else patient(limits), progress)
    if proof == "unsolvable":
        return without_plan(why_none, expanded)
    optimal_cost = None if best is None else plan_cost(task, best, "the optimal plan")
    known = (optimal_cost, status, expanded, proof)
    if check is not None and holds and optimal_cost is None:
        reason = f"every pair is in order for a plan of cost {check.cost:g}, but whether it is optimal is not known: "
        return Certificate(None, reason + why_none, check, *known)
    if check is not None and holds and check.cost == optimal_cost:
        reason = f"the search takes the states of an optimal plan of cost {optimal_cost:g} and no others"
        return Certificate(True, reason, check, *known)
    if given is None:
        shown = best or own_plan
        check = check_plan(task, shown, *asked) if shown else None
    return Certificate(False, why_not(check, given is not None, optimal_cost, why_none), check, *known)


def without_plan(why: str, expanded: int) -> Certificate:
    return Certificate(False, f"the task has no plan: {why}", None, None, "unsolvable", expanded, "unsolvable")


def why_not(check: Check | None, given: bool, optimal_cost: float | None, why_none: str) -> str:
    if check is None:
        return f"the search leaves the path it began, and no plan to compare with was found: {why_none}"
    if check.holds:
        return f"every pair is in order, but the plan given costs {check.cost:g} and an optimal one {optimal_cost:g}"
    whose = "the plan given" if given else "an optimal plan" if optimal_cost is not None else "the plan found"
    said = f"{check.violated} of {check.pairs} pairs are violated for {whose}, of cost {check.cost:g}"
    if check.dead_ends:
        said += f", and {len(check.dead_ends)} of its states are taken for dead ends"
    if optimal_cost is None:
        return f"{said}; whether it is optimal is not known: {why_none}"
    return said if check.cost == optimal_cost else f"{said}, which is not optimal: {optimal_cost:g} is enough"


def follow(search: Search, score: Score, limits: Limits) -> list[str] | None:
    """Let the search go on while each state it takes is a successor of the one before; the plan it took, if it did.

    Ties need no care here: if one decides, the pairs of the path say so.
    """
    steps: list[str] = []
    last = 0
    waiting = len(states := search.expand(1))
    while limits.seconds_left() > 0 and julia.resident_bytes() <= limits.memory:
        if waiting:
            search.insert(score(states))
        node, waiting = julia.call("take_best", search.handle)
        if waiting:
            states = julia.view(julia.call("new_words", search.handle)).reshape(waiting, -1)
        if node == 0 or search.status == "memory":
            return None
        if last:
            step = julia.call("joining_step", search.handle, last, node)
            if not step or search.statistics().reopened:  # a cheaper way to a state of the path: no optimal plan
                break
            steps.append(step)
        if search.status == "solved":
            return steps
        last = node
    if waiting:
        search.insert(score(states))
    return None


def optimal_plan(task: Task, limits: Limits, progress: Callable | None = None) -> tuple[list[str] | None, str, str]:
    """By A* with LM-cut, or with hmax where there are conditional effects; the plan, the status, the reason for it."""
    started = time.time()
    try:
        try:
            heuristic = Heuristic(task, "lmcut", limits)
        except PlanrankError as e:
            if e.kind != "unsupported":
                raise
            heuristic = Heuristic(task, "hmax", limits)
        search = Search(task, "astar", limits=limits)
        status, reason = drive(search, heuristic, limits, progress, started)
    except PlanrankError as e:
        if e.kind not in ("time", "memory"):
            raise
        return None, f"out of {e.kind}", e.message
    plan = search.plan() if status == "solved" else None
    search.release()
    return plan, status, reason


def halved(limits: Limits) -> Limits:
    left = limits.seconds_left()
    return Limits(time.time() + left / 2 if left < math.inf else math.inf, limits.memory)


def patient(limits: Limits) -> Limits:
    """The limits, or a short while where the user has given none."""
    return limits if limits.deadline < math.inf else Limits(time.time() + PATIENCE, limits.memory)
