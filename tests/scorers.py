"""Scorers made for tests, and the textbook's best-first search to compare with."""

from __future__ import annotations

import hashlib
import heapq
import itertools
import math

import numpy as np

from planrank import Heuristic, julia
from planrank.task import Rows


class Classical:
    """A classical heuristic where a model would be; its values as the user wrote the costs."""

    def __init__(self, task, name: str = "goalcount"):
        self.heuristic = Heuristic(task, name)

    def values(self, states: np.ndarray) -> np.ndarray:
        return self.heuristic.values(np.ascontiguousarray(states)).astype(np.float32)


class Distinct:
    """Values and scores made by chance from the state alone, so that no two are equal and order decides nothing."""

    def __init__(self, task, spread: float = 20.0):
        self.task = task
        self.spread = spread
        self.pre = [set(task.pre[o].tolist()) for o in range(task.operator_count)]
        self.neg = [set(task.neg[o].tolist()) for o in range(task.operator_count)]
        self.largest_batch = 0
        self.batches: list[int] = []

    def value(self, state: frozenset[int]) -> float:
        return float(np.float32(self.spread * self.chance(state) - 1))

    def chance(self, state: frozenset[int], *more) -> float:
        text = f"{sorted(state)}{more}".encode()
        return int.from_bytes(hashlib.sha256(text).digest()[:6], "little") / 2**48

    def scores(self, state: frozenset[int]) -> dict[int, float]:
        """u of the applicable operators; lower is better."""
        usable = (o for o, pre in enumerate(self.pre) if pre <= state and not self.neg[o] & state)
        return {o: float(np.float32(-4 * self.chance(state, o))) for o in usable}

    def q(self, state: frozenset[int]) -> dict[int, float]:
        """v + u, as single precision has it."""
        return {o: float(np.float32(self.value(state)) + np.float32(u)) for o, u in self.scores(state).items()}

    def policy(self, state: frozenset[int]) -> dict[int, float]:
        """The logarithms of softmax(-u)."""
        scores = self.scores(state)
        total = math.log(sum(math.exp(-u) for u in scores.values())) if scores else 0.0
        return {o: float(np.float32(-u - total)) for o, u in scores.items()}

    def values(self, states: np.ndarray) -> np.ndarray:
        self.note(states)
        return np.array([self.value(self.facts(row)) for row in states], np.float32)

    def values_and_scores(self, states: np.ndarray, actions: Rows):
        assert len(actions) == len(states)
        scores = []
        for i, row in enumerate(states):
            known = self.scores(self.facts(row))
            assert sorted(actions[i].tolist()) == sorted(known), "asked for just the applicable operators"
            scores += [known[o] for o in actions[i].tolist()]
        return self.values(states), np.array(scores, np.float32)

    def note(self, states: np.ndarray) -> None:
        self.largest_batch = max(self.largest_batch, len(states))
        self.batches.append(len(states))

    def facts(self, row: np.ndarray) -> frozenset[int]:
        return frozenset(self.task.facts_in(np.ascontiguousarray(row)).tolist())


def expansions(search, scorer: Distinct) -> list[frozenset[int]]:
    """The states that a search expands, in their order."""
    generated, expanded, new = [], [], search.expand(1)
    while search.status == "running":
        if len(new):
            generated += [scorer.facts(state) for state in new]
            search.insert(scorer.values(new), log_policy(search, scorer, new) if search.takes_policy else None)
        node, count = julia.call("take_best", search.handle)
        if search.status == "running":
            expanded.append(generated[node - 1])
        new = julia.view(julia.call("new_words", search.handle)).reshape(count, search.task.words)
    return expanded


def log_policy(search, scorer: Distinct, states: np.ndarray) -> np.ndarray:
    rows, logs = search.applicable(), []
    for i, state in enumerate(states):
        policy = scorer.policy(scorer.facts(state))
        logs += [policy[o] for o in rows[i].tolist()]
    return np.array(logs, np.float32)


def evaluations(search, scorer: Distinct) -> list[frozenset[int]]:
    """The states that a search over entries has evaluated, in their order."""
    found = []
    while len(new := search.expand(1)):
        found += [scorer.facts(state) for state in new]
        rows, values = search.applicable(), []
        for i, state in enumerate(new):
            q = scorer.q(scorer.facts(state))
            values += [q[o] for o in rows[i].tolist()]
        search.insert_actions(np.array(values, np.float32))
    return found


def textbook_evaluations(task, scorer: Distinct, search: str, weight: float = 3.0, reopen: bool | None = None):
    """States in the order in which a search over entries (state, action) evaluates them, its plan's cost, reopenings.

    By the definition: all entries lie in one list; the one with the least f = alpha (g + cost) + beta q is taken. A way
    that is better renews the entries of the state it leads to, if none was taken yet or states are reopened.
    """
    alpha, beta, by_itself = {"gbfs": (0, 1, False), "astar": (1, 1, True), "wastar": (1, weight, True)}[search]
    reopen = by_itself if reopen is None else reopen
    delete, add = ([set(rows[o].tolist()) for o in range(task.operator_count)] for rows in (task.delete, task.add))
    goals = [set(task.goal[i].tolist()) for i in range(len(task.goal))]
    g, q, evaluated, entries, begun = {}, {}, [], {}, set()

    def renew(state, cost):
        g[state] = cost
        for o, value in q[state].items():
            if value < math.inf:
                entries[state, o] = alpha * (cost + float(task.costs[o])) + beta * value

    def evaluate(state, cost):
        evaluated.append(state)
        q[state] = scorer.q(state)
        renew(state, cost)

    start = frozenset(task.init.tolist())
    if any(goal <= start for goal in goals):
        return evaluated, 0, 0
    evaluate(start, 0.0)
    reopened = 0
    while entries:
        state, o = min(entries, key=entries.__getitem__)
        del entries[state, o]
        begun.add(state)
        child, cost = frozenset(state - delete[o] | add[o]), g[state] + float(task.costs[o])
        if child not in g:
            if any(goal <= child for goal in goals):
                return evaluated, cost, reopened
            evaluate(child, cost)
        elif cost < g[child] and (reopen or child not in begun):
            reopened += child in begun
            begun.discard(child)
            renew(child, cost)
    return evaluated, None, reopened


def textbook_expansions(task, scorer: Distinct, search: str) -> list[frozenset[int]]:
    """States in the order in which A*, GBFS, PHS* or LevinTS expands them, by the definition."""
    delete, add = ([set(rows[o].tolist()) for o in range(task.operator_count)] for rows in (task.delete, task.add))
    goal = set(task.goal[0].tolist())

    def order(state, g, log_path) -> float:
        h = scorer.value(state)
        if search in ("astar", "gbfs"):
            return h + g * (search == "astar")
        g, h = g + 1, max(h, 0.0) * (search == "phs")
        return math.log(g + h) - log_path * (1 + h / g)

    def levin(g, log_path) -> float:
        return math.log(g + 1) - log_path

    start = frozenset(task.init.tolist())
    best, closed, expanded, clock = {start: (0, 0.0)}, set(), [], itertools.count()
    queue = [(order(start, 0, 0.0), next(clock), start, best[start])]
    while queue:
        _, _, state, path = heapq.heappop(queue)
        if best[state] != path or state in closed:
            continue
        if goal <= state:
            return expanded
        closed.add(state)
        expanded.append(state)
        for operator, log in scorer.policy(state).items():
            child = frozenset(state - delete[operator] | add[operator])
            found = (path[0] + int(task.costs[operator]), path[1] + log)
            if child in best:
                if search in ("astar", "gbfs"):
                    better = found[0] < best[child][0] and (search == "astar" or child not in closed)
                else:
                    better = child not in closed and levin(*found) < levin(*best[child])
                    better = better and (order(child, *found) < order(child, *best[child]))
                if not better:
                    continue
                closed.discard(child)
            best[child] = found
            heapq.heappush(queue, (order(child, *found), next(clock), child, found))
    return expanded
