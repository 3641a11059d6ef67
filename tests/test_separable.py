"""Pairs that no weights can put in order: those of equal things, and no others."""

import json
import time

import pytest

from planrank import Model, PlanrankError, load, paths
from planrank.learning.separable import inseparable_pairs
from planrank.limits import Limits
from planrank.models import families

BLOCKS = paths.shared() / "domains/blocksworld/domain.pddl"
PROBLEM = """(define (problem p) (:domain blocksworld) (:objects {objects})
 (:init (handempty) {init}) (:goal (and {goal})))"""
TWO_PAIRS = PROBLEM.format(
    objects="a b c d - block",
    init=" ".join(f"(on-table {block}) (clear {block})" for block in "abcd"),
    goal="(on a c) (on b d)",
)
TURNED = PROBLEM.format(
    objects="a b c - block", init="(on-table c) (on b c) (on a b) (clear a)", goal="(on b a) (on c b)"
)
PLAN_OF_PAIRS = ["(pick-up a)", "(stack a c)", "(pick-up b)", "(stack b d)"]
PLAN_OF_TURNED = ["(unstack a b)", "(put-down a)", "(unstack b c)", "(stack b a)", "(pick-up c)", "(stack c b)"]


def fresh(task, family: str, rank: str) -> Model:
    kind = families.get(family)
    return Model.fresh(kind.signature(task), kind.architecture_type(rank=rank), seed=7)


@pytest.mark.parametrize("rank", ["actions", "states"])
@pytest.mark.parametrize("family", ["hypergraph", "relational"])
def test_two_towers_that_are_built_in_either_order(family, rank):
    task = load(BLOCKS.read_text(), TWO_PAIRS)
    pairs, hopeless = inseparable_pairs(task, PLAN_OF_PAIRS, fresh(task, family, rank))
    assert 1 <= hopeless < pairs


@pytest.mark.parametrize("rank", ["actions", "states"])
@pytest.mark.parametrize("family", ["hypergraph", "relational"])
def test_where_nothing_is_alike_weights_can_do_all(family, rank):
    task = load(BLOCKS.read_text(), TURNED)
    pairs, hopeless = inseparable_pairs(task, PLAN_OF_TURNED, fresh(task, family, rank))
    assert pairs > 0 and hopeless == 0


def test_what_a_star_has_paid_tells_things_apart(tmp_path):
    """Of two pairs of blocks the second is begun after two steps: then the cost of the way is another."""
    task = load(BLOCKS.read_text(), TWO_PAIRS)
    model = fresh(task, "hypergraph", "states")
    greedy, astar = (inseparable_pairs(task, PLAN_OF_PAIRS, model, search)[1] for search in ("gbfs", "astar"))
    assert astar <= greedy


def test_certify_says_how_many(planrank, tmp_path):
    (tmp_path / "p.pddl").write_text(TWO_PAIRS)
    (tmp_path / "p.plan").write_text("\n".join(PLAN_OF_PAIRS))
    fresh(load(BLOCKS.read_text(), TWO_PAIRS), "hypergraph", "actions").save(tmp_path / "m.safetensors")
    asked = ["certify", BLOCKS, tmp_path / "p.pddl", "--model", tmp_path / "m.safetensors", "--search", "gbfs"]
    done = planrank(*asked, "--plan", tmp_path / "p.plan", "--json", tmp_path / "c.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "c.json").read_text())
    assert 1 <= found["inseparable"] <= found["violated"]
    assert f"Of these pairs {found['inseparable']} cannot be put in order by any weights" in done.stdout


def test_the_time_limit_is_kept():
    task = load(BLOCKS.read_text(), TWO_PAIRS)
    model = fresh(task, "relational", "actions")
    with pytest.raises(PlanrankError, match="time limit") as error:
        inseparable_pairs(task, PLAN_OF_PAIRS, model, limits=Limits(deadline=time.time() - 1))
    assert error.value.kind == "time"
