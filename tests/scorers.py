"""Scorers made for tests, and the textbook's best-first search to compare with."""

from __future__ import annotations

import hashlib
import heapq
import itertools
import math

import numpy as np

from planrank import Heuristic, julia


class Classical:
    """A classical heuristic where a model would be; its values as the user wrote the costs."""

    def __init__(self, task, name: str = "goalcount"):
        self.heuristic = Heuristic(task, name)

    def values(self, states: np.ndarray) -> np.ndarray:
        return self.heuristic.values(np.ascontiguousarray(states)).astype(np.float32)


class Distinct:
    """Values and policies made by chance from the state alone, so that no two are equal and order decides nothing."""

    def __init__(self, task, spread: float = 20.0):
        self.task = task
        self.spread = spread
        self.pre = [set(task.pre[o].tolist()) for o in range(task.operator_count)]
        self.largest_batch = 0

    def value(self, state: frozenset[int]) -> float:
        return float(np.float32(self.spread * self.chance(state) - 1))

    def chance(self, state: frozenset[int], *more) -> float:
        text = f"{sorted(state)}{more}".encode()
        return int.from_bytes(hashlib.sha256(text).digest()[:6], "little") / 2**48

    def policy(self, state: frozenset[int]) -> dict[int, float]:
        scores = {o: 4 * self.chance(state, o) for o, pre in enumerate(self.pre) if pre <= state}
        total = math.log(sum(map(math.exp, scores.values()))) if scores else 0.0
        return {o: float(np.float32(score - total)) for o, score in scores.items()}

    def values(self, states: np.ndarray) -> np.ndarray:
        self.largest_batch = max(self.largest_batch, len(states))
        return np.array([self.value(self.facts(row)) for row in states], np.float32)

    def values_and_policy(self, states: np.ndarray):
        policies = [self.policy(self.facts(row)) for row in states]
        offsets = np.cumsum([0, *map(len, policies)])
        operators = np.array([o for policy in policies for o in policy], np.int64)
        logs = np.array([log for policy in policies for log in policy.values()], np.float32)
        return self.values(states), offsets, operators, logs

    def facts(self, row: np.ndarray) -> frozenset[int]:
        return frozenset(self.task.facts_in(np.ascontiguousarray(row)).tolist())


def expansions(search, scorer: Distinct) -> list[frozenset[int]]:
    """The states that a search expands, in their order."""
    generated, expanded, new = [], [], search.expand(1)
    while search.status == "running":
        if len(new):
            generated += [scorer.facts(state) for state in new]
            values, *policy = scorer.values_and_policy(new)
            search.insert(values, tuple(policy) if search.takes_policy else None)
        node, count = julia.call("take_best", search.handle)
        if search.status == "running":
            expanded.append(generated[node - 1])
        new = julia.view(julia.call("new_words", search.handle)).reshape(count, search.task.words)
    return expanded


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
