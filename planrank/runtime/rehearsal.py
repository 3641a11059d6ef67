"""Uses the bridge once in every way planrank does, so that what Julia compiles for it can be recorded."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

import numpy as np

from planrank import julia, paths
from planrank.errors import PlanrankError
from planrank.learning.certificate import certify
from planrank.models import families
from planrank.models.model import Model
from planrank.problems.folders import outline
from planrank.search.forward import Search
from planrank.search.heuristic import Heuristic
from planrank.search.plans import validate
from planrank.search.solve import solve
from planrank.task import load


def rehearse() -> None:
    julia.call("workload")
    numbers = np.array(julia.view(julia.call("ramp", 5)))
    assert julia.call("sum_of", *julia.lend(numbers, np.float32)) == 10.0
    home = paths.shared() / "domains" / "blocksworld"
    domain, problem = home / "domain.pddl", home / "example.pddl"
    outline(problem)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("gbfs", "astar"):
            result = solve(domain, problem, name, "ff", time_limit=600, memory_limit=100_000)
            assert result.status == "solved" and result.plan, result
        plan = Path(folder, "plan")
        plan.write_text("\n".join(result.plan or []))
        validate(domain, problem, plan)
        task = load(domain.read_text(), problem.read_text())
        task.digest()
        _ = task.pre, task.neg, task.add, task.delete, task.goal, task.init, task.costs
        _ = task.schema_of_operator, task.predicate_of_fact
        Heuristic(task, "ff").values(task.packed(task.init)[None])
        search = Search(task, "gbfs")
        while len(states := search.expand()):
            search.insert(np.zeros(len(states)))
        search.statistics()
        search = Search(task, "phs")
        while count := len(search.expand()):
            search.insert(np.zeros(count), np.full(len(search.applicable().values), -1.0))
        _ = search.expanded
        family = families.get("hypergraph")
        for name, rank in (("gbfs", "states"), ("gbfs", "actions"), ("phs", "policy")):
            model = Model.fresh(family.signature(task), family.architecture_type(rank=rank))
            solve(domain, problem, name, model=model, time_limit=60)
        certify(task, Heuristic(task, "ff"), plan=result.plan)
        with contextlib.suppress(PlanrankError):
            load(plan, problem)


if __name__ == "__main__":
    rehearse()
