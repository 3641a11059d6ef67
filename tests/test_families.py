"""The seam between planrank and a family of models: ten lines make one that trains, saves, loads, solves, certifies."""

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from planrank import Model, PlanrankError, Search, TrainConfig, certify, generate, label, load, paths, solve, train
from planrank.models import families
from planrank.models.family import Family
from planrank.models.signature import Signature
from planrank.problems.folders import find_instances
from planrank.problems.problem_sets import Group


@dataclass(frozen=True)
class Shape:
    family_name: ClassVar[str] = "goals"


class GoalFacts(Family):
    """A linear function of how many goal facts are true and how many there are."""

    name, architecture_type = "goals", Shape

    def signature(self, task):
        return Signature(f"domain {task.domain}\n{' '.join(task.names('predicates'))}")

    def weight_shapes(self, signature, architecture):
        return {"map": (2,), "shift.bias": (1,)}

    def encode(self, task, states, architecture, actions=None):
        true = np.array([np.isin(task.goal[0], task.facts_in(state)).sum() for state in states])
        return {"features": np.stack([true, np.full(len(states), len(task.goal[0]))], axis=1).astype(np.float32)}

    def forward(self, model, weights, inputs):
        return inputs["features"] @ weights["map"] + weights["shift.bias"], None


@pytest.fixture(scope="module", autouse=True)
def goal_facts():
    families.register(GoalFacts())


@pytest.fixture(scope="module")
def gripper(tmp_path_factory) -> Path:
    """Problems in which every ball brought home is progress: counting goal facts is a good guide."""
    folder = tmp_path_factory.mktemp("gripper")
    generate("gripper", [Group(8, 0, {"balls": (2, 4)})], folder)
    label(find_instances(folder))
    return folder


def test_a_family_of_ten_lines_does_all_that_models_do(gripper, tmp_path):
    out = tmp_path / "goals.safetensors"
    config = TrainConfig(domain=str(gripper), family="goals", steps=400, learning_rate=0.05, out=str(out))
    trained = train(config, say=lambda text: None)
    model = Model.load(out)
    assert model.family.name == "goals" and model.weights["map"].tobytes() == trained.weights["map"].tobytes()
    assert model.weights["map"][0] < 0, "a state with more goal facts must have the smaller value"
    assert model.metadata["figures"]["validation_solved"] == 2

    instance = find_instances(gripper)[-1]
    result = solve(instance.domain, instance.problem, model=out)
    assert result.status == "solved" and result.heuristic == "model:goals"
    task = load(instance.domain, instance.problem)
    certificate = certify(task, model.scorer(task), "gbfs")
    assert certificate.perfect is not None and certificate.optimal_cost <= result.plan_cost
    search = Search(task, "gbfs")
    while len(states := search.expand(k=2)):
        search.insert(model.scorer(task).values(states))
    assert search.status == "solved"


def test_a_model_of_a_family_that_is_not_there_is_refused(gripper, tmp_path, monkeypatch):
    instance = find_instances(gripper)[0]
    file = tmp_path / "goals.safetensors"
    task = load(instance.domain, instance.problem)
    Model.fresh(GoalFacts().signature(task), Shape()).save(file)
    monkeypatch.setattr(families, "_known", {})
    with pytest.raises(PlanrankError, match="no family of models called 'goals'; known: hypergraph"):
        Model.load(file)
    with pytest.raises(PlanrankError, match="no family of models called 'trees'"):
        TrainConfig(domain="ferry", family="trees")


def imported(file: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def test_nothing_outside_its_folder_knows_of_hypergraphs():
    """But for the public API and the configuration, which has the options that choose a network."""
    allowed = {"__init__.py", "learning/config.py"}
    for file in paths.PACKAGE.rglob("*.py"):
        name = str(file.relative_to(paths.PACKAGE))
        if name not in allowed and not name.startswith("models/hypergraph/"):
            assert not [module for module in imported(file) if "hypergraph" in module], name
