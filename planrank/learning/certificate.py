"""The certificate of a perfect ranking: whether a search takes the states of an optimal plan and no others.

A heuristic ranks a task perfectly for f = alpha g + beta h if there is an optimal plan s_0 … s_l such that f(s_i) is
strictly below f of every other state in the open list, at each step i. Just then the search takes s_0 … s_l one after
the other under every way of breaking ties.

Where actions are ranked, the open list has entries (s, a) with f = alpha (g(s) + cost(a)) + beta q(s, a). An entry that
leads to a state already known does nothing when it is taken: the plan is optimal, so it cannot be a better path. And
it does not matter which of the entries that lead to s_i at the cost g(s_i) is taken. So at each step i the lowest f of
these must be strictly below that of every other entry of s_0 … s_{i-1} that does not lead to one of s_0 … s_{i-1}; of
those that lead to s_i at a higher cost too. Just then the search takes the same states at the same costs under every
way of breaking ties, those of an optimal plan, and evaluates no others.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from planrank import julia
from planrank.errors import PlanrankError
from planrank.learning.ranking import entry_ranking_of_plan, ranking_of_plan
from planrank.limits import Limits
from planrank.search.forward import Evaluator, Search
from planrank.search.heuristic import Heuristic
from planrank.search.plans import plain, plan_cost
from planrank.search.solve import drive
from planrank.task import Rows, Task

# Values of packed states; where actions are ranked, of these: there is a row of them for each state.
Score = Callable[[np.ndarray, Rows | None], np.ndarray]

PATIENCE = 30.0  # seconds to look for an optimal plan when the verdict does not depend on it


@dataclass(frozen=True)
class Violation:
    """At step i the path's own state, or entry, is not strictly better than another one in the open list.

    Of entries, `state` and `other` are the states that the actions are taken in.
    """

    step: int
    state: np.ndarray
    other: np.ndarray
    f: float
    other_f: float
    other_step: int | None  # where the plan comes to the other state, or to what the other entry leads to, if it does
    other_action: str | None = None  # of the other entry …
    other_after: int | None = None  # … and after which step of the plan it could be taken


@dataclass(frozen=True)
class Check:
    """The definition looked at for one plan, optimal or not: how many pairs there are, and how many are violated.

    `violations` are the first of those. The states after the steps in `dead_ends`, or all entries that lead
    to them, are valued infinite.
    """

    steps: list[str]
    cost: float
    pairs: int
    violated: int
    violations: list[Violation]
    dead_ends: list[int]

    @property
    def holds(self) -> bool:
        """Whether every pair is in the right order."""
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
    """The evaluator's values, each asked for once: those of a model may differ in the last bit from batch to batch. A
    search that merges asks for fewer actions of a state."""
    known: dict[bytes, np.ndarray] = {}

    def score(states: np.ndarray, actions: Rows | None = None) -> np.ndarray:
        keys = [state.tobytes() for state in states]
        if actions is not None:
            keys = [key + actions.part(i, i + 1).values.tobytes() for i, key in enumerate(keys)]
        new = [i for i, key in enumerate(keys) if key not in known]
        if new and actions is None:
            values = evaluator.values(np.ascontiguousarray(states[new])).astype(np.float32)
            known.update(zip((keys[i] for i in new), values[:, None], strict=True))
        elif actions is not None:
            known.update((keys[i], action_values(evaluator, states[i : i + 1], actions.part(i, i + 1))) for i in new)
        return np.concatenate([known[key] for key in keys])

    return score


def action_values(evaluator: Evaluator, state: np.ndarray, actions: Rows) -> np.ndarray:
    """q of the actions of one state."""
    if isinstance(evaluator, Heuristic):
        raise PlanrankError("a classical heuristic ranks states, and ranking actions was asked for")
    values, scores = evaluator.values_and_scores(np.ascontiguousarray(state), actions)
    return (values + scores).astype(np.float32)


@dataclass(frozen=True)
class Compared:
    """What the definition compares for one plan: at step i `path_f[i]` with `open_f[k]` for all k with `open_from[k] <=
    i < open_until[k]`. `name` makes a violation of i, k and the two."""

    cost: float
    path_f: np.ndarray
    open_f: np.ndarray
    open_from: np.ndarray
    open_until: np.ndarray
    name: Callable[[int, int, float, float], Violation]


def compared_states(task: Task, steps: list[str], score: Score, alpha: float, beta: float) -> Compared:
    ranking = ranking_of_plan(task, steps)
    path_g, open_g = (whole_costs(costs, task.cost_scale) for costs in (ranking.path_g, ranking.open_g))
    values = as_stored(task, score(ranking.states, None))
    path_f = merits(alpha, beta, path_g, values[: ranking.length + 1])
    open_f = merits(alpha, beta, open_g, values[ranking.open_state])

    def name(i: int, k: int, f: float, other_f: float) -> Violation:
        other = int(ranking.open_state[k])
        later = other if ranking.open_later_on_path[k] else None
        return Violation(i, ranking.states[i], ranking.states[other], f, other_f, later)

    return Compared(path_g[-1], path_f, open_f, ranking.open_from, ranking.open_until, name)


def compared_entries(task: Task, steps: list[str], score: Score, alpha: float, beta: float) -> Compared:
    ranking = entry_ranking_of_plan(task, steps)
    length, leads_to = ranking.length, ranking.leads_to
    path_g, cost = (whole_costs(costs, task.cost_scale) for costs in (ranking.path_g, ranking.action_cost))
    actions = ranking.actions.part(0, length)
    after = np.repeat(np.arange(length), np.diff(actions.offsets))
    open_g = path_g[after] + cost
    open_f = merits(alpha, beta, open_g, as_stored(task, score(ranking.states[:length], actions)))
    # Costs may be zero: entries of later states that lead back to s_i at the cost g(s_i) are none of its own.
    own = (leads_to > after) & (open_g == path_g[leads_to])
    path_f = np.full(length + 1, np.inf)
    path_f[0] = -np.inf  # where nothing is chosen
    np.minimum.at(path_f, leads_to[own], open_f[own])
    open_until = np.where(leads_to < 0, length + 1, leads_to + ~own)
    names = cache(task.names)  # of very many operators, and perhaps none is wanted

    def name(i: int, k: int, f: float, other_f: float) -> Violation:
        j, later = int(after[k]), int(leads_to[k])
        states = ranking.states[i - 1], ranking.states[j]
        return Violation(i, *states, f, other_f, None if later < 0 else later, names("operators")[ranking.action[k]], j)

    return Compared(path_g[-1], path_f, open_f, after + 1, open_until, name)


def check_plan(
    task: Task,
    steps: list[str],
    score: Score,
    alpha: float,
    beta: float,
    most: int | None = None,
    rank: str = "states",
) -> Check:
    """Definition 1 for one plan; all pairs, also those with states that come later on the path.

    At most so many violations are kept, all if `most` is None.
    """
    compared = (compared_entries if rank == "actions" else compared_states)(task, steps, score, alpha, beta)
    pairs = violated = 0
    kept: list[Violation] = []
    for i in range(1, len(compared.path_f)):  # a plan of thousands of steps has too many pairs for one matrix
        there = (compared.open_from <= i) & (i < compared.open_until)
        wrong = np.flatnonzero(there & ~(compared.open_f > compared.path_f[i]))
        pairs += int(there.sum())
        violated += len(wrong)
        room = None if most is None else most - len(kept)
        f = float(compared.path_f[i]) / task.cost_scale
        kept += [compared.name(i, k, f, float(compared.open_f[k]) / task.cost_scale) for k in wrong[:room]]
    steps = [step for line in steps if (step := line.partition(";")[0].strip())]
    dead_ends = np.flatnonzero(np.isposinf(compared.path_f)).tolist()
    return Check(steps, plain(compared.cost / task.cost_scale), pairs, violated, kept, dead_ends)


def as_stored(task: Task, values: np.ndarray) -> np.ndarray:
    """As the search compares them."""
    return julia.view(julia.call("stored_values", task.handle, *julia.lend(values, np.float32)))


def merits(alpha: float, beta: float, g: np.ndarray, h: np.ndarray) -> np.ndarray:
    """As the search computes them; a dead end stays one whatever beta is."""
    h = h.astype(np.float64)
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
    rank: str = "states",
    plan: list[str] | None = None,
    weight: float = 3.0,
    most: int | None = None,
    limits: Limits | None = None,
    progress: Callable | None = None,
) -> Certificate:
    """Whether an evaluator, a heuristic or the scorer of a model, ranks the task perfectly for this search.

    `rank` says what it ranks: "states", or "actions" if it is the scorer of a model that ranks these. With a plan the
    question is asked for that plan only, and the answer is no unless it is optimal. At most so many violations are
    kept, all if `most` is None.
    """
    limits = limits or Limits()
    score = score_of(evaluator)
    asked = (score, *merit(search, weight), most, rank)
    given = None if plan is None else check_plan(task, plan, *asked)
    if task.goal_count == 0:
        return without_plan("the goal cannot be reached even if nothing is ever made false", 0)

    forward = Search(task, search, rank=rank, weight=weight, limits=limits)
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
    last = 1 if search.ranks_actions else 0  # with entries, the initial state is not taken but there
    waiting = len(states := search.expand(1))
    while limits.seconds_left() > 0 and julia.resident_bytes() <= limits.memory:
        if waiting:
            insert(search, states, score)
        node, waiting = julia.call("take_best", search.handle)
        if waiting:
            states = julia.view(julia.call("new_words", search.handle)).reshape(waiting, -1)
        if node == 0 or search.status == "memory":
            return None
        if last:
            step = julia.call("joining_step", search.handle, last, node)
            # A cheaper way to a state of the path: no optimal plan.
            if not step or search.statistics().reopened or (search.ranks_actions and not waiting):
                break
            steps.append(step)
        if search.status == "solved":
            return steps
        last = node
    if waiting and search.status == "running":
        insert(search, states, score)
    return None


def insert(search: Search, states: np.ndarray, score: Score) -> None:
    if search.ranks_actions:
        search.insert_actions(score(states, search.applicable()))
    else:
        search.insert(score(states, None))


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
