"""Uses the bridge once in every way planrank does, so that what Julia compiles for it can be recorded."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

import numpy as np

from planrank import julia, paths
from planrank.certificate import certify
from planrank.errors import PlanrankError
from planrank.models import Architecture, Model, signature_of
from planrank.search import Heuristic, Search, solve, validate
from planrank.task import load

PROBLEM = """
(define (problem three-blocks) (:domain blocksworld) (:objects a b c - block)
  (:init (on-table a) (on-table b) (on c a) (clear c) (clear b) (handempty))
  (:goal (and (on a b) (on b c))))
"""


def rehearse() -> None:
    julia.call("workload")
    numbers = np.array(julia.view(julia.call("ramp", 5)))
    assert julia.call("sum_of", *julia.lend(numbers, np.float32)) == 10.0
    domain = paths.shared() / "domains" / "blocksworld" / "domain.pddl"
    with tempfile.TemporaryDirectory() as folder:
        problem = Path(folder, "problem.pddl")
        problem.write_text(PROBLEM)
        for name in ("gbfs", "astar"):
            result = solve(domain, problem, name, time_limit=600, memory_limit=100_000)
            assert result.status == "solved", result
        plan = Path(folder, "plan")
        plan.write_text("\n".join(result.plan))
        validate(domain, problem, plan)
        task = load(domain, problem)
        task.digest()
        _ = task.pre, task.neg, task.add, task.delete, task.goal, task.init, task.costs
        _ = task.schema_of_operator, task.predicate_of_fact
        Heuristic(task, "ff").values(task.packed(task.init)[None])
        search = Search(task, "gbfs")
        while len(states := search.expand()):
            search.insert(np.zeros(len(states)))
        search.statistics()
        search = Search(task, "phs")
        operators = np.arange(task.operator_count)
        while count := len(search.expand()):
            policy = np.arange(count + 1) * len(operators), np.tile(operators, count)
            search.insert(np.zeros(count), (*policy, np.full(count * len(operators), -1.0)))
        _ = search.expanded
        for name, policy in (("gbfs", False), ("phs", True)):
            model = Model.fresh(signature_of(task), Architecture(policy=policy))
            assert solve(domain, problem, name, model=model).status == "solved"
        certify(task, Heuristic(task, "ff"), plan=result.plan)
        with contextlib.suppress(PlanrankError):
            load(plan, problem)


if __name__ == "__main__":
    rehearse()
