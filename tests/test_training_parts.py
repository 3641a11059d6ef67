"""The parts of training that need no example: optimizer, order, candidates, log, curves."""

import json
import math
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from planrank import julia
from planrank.learning.config import TrainConfig
from planrank.learning.curves import drawing
from planrank.learning.log import TrainingLog
from planrank.learning.selection import Figures
from planrank.learning.train import candidates, name_of

julia.module()  # before torch

import torch  # noqa: E402
from pytorch_optimizer import AdaBelief  # noqa: E402

from planrank.learning import trainer  # noqa: E402
from planrank.models.hypergraph.architecture import Architecture  # noqa: E402


def scalar_adabelief(x, gradients, rate, decay, b1=0.9, b2=0.999, epsilon=1e-16):
    """One number, straight from the paper's algorithm."""
    m = s = 0.0
    for t, g in enumerate(gradients, 1):
        x -= rate * decay * x
        m = b1 * m + (1 - b1) * g
        s = b2 * s + (1 - b2) * (g - m) ** 2 + epsilon
        x -= rate * (m / (1 - b1**t)) / (math.sqrt(s / (1 - b2**t)) + epsilon)
    return x


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_adabelief_is_the_algorithm_of_the_paper(decay):
    rng = np.random.default_rng(0)
    start, gradients = rng.normal(size=5), rng.normal(size=(40, 5))
    gradients[:, 4] = 0  # a weight that nothing depends on
    parameter = torch.nn.Parameter(torch.tensor(start))
    optimizer = AdaBelief([parameter], lr=0.01, weight_decay=decay, foreach=False)
    for row in gradients:
        parameter.grad = torch.tensor(row)
        optimizer.step()
    expected = [scalar_adabelief(x, column, 0.01, decay) for x, column in zip(start, gradients.T, strict=True)]
    np.testing.assert_allclose(parameter.detach().numpy(), expected, rtol=1e-9)
    assert parameter[4].item() == pytest.approx(start[4] * (1 - 0.01 * decay) ** 40)


def test_adabelief_finds_a_minimum():
    parameter = torch.nn.Parameter(torch.tensor([3.0, -2.0]))
    optimizer = AdaBelief([parameter], lr=0.05, foreach=False)
    for _ in range(600):
        parameter.grad = None
        ((parameter - torch.tensor([1.0, 2.0])) ** 2).sum().backward()
        optimizer.step()
    np.testing.assert_allclose(parameter.detach().numpy(), [1, 2], atol=1e-2)


def test_every_epoch_is_a_permutation_of_its_own():
    def epoch(e, seed):
        return [trainer.instance_at(20 * e + i, 20, seed) for i in range(20)]

    assert all(sorted(epoch(e, 0)) == list(range(20)) for e in range(3))
    assert len({tuple(epoch(e, s)) for e in range(3) for s in range(3)}) == 9
    assert epoch(1, 0) == epoch(1, 0)


def test_the_learning_rate_falls_evenly_unless_it_is_held():
    falling = TrainConfig(domain="ferry", steps=100, learning_rate=0.5)
    held = TrainConfig(domain="ferry", steps=100, learning_rate=0.5, anneal=False)
    assert [trainer.learning_rate_at(step, falling) for step in (0, 50, 99)] == pytest.approx([0.5, 0.25, 0.005])
    assert {trainer.learning_rate_at(step, held) for step in (0, 50, 99)} == {0.5}


def test_the_grid_has_eighteen_networks_for_each_seed():
    found = candidates(TrainConfig(domain="ferry", grid=True, seeds=2, seed=5))
    assert len({name_of(one) for one in found}) == len(found) == 36
    assert {one.seed for one in found} == {5, 6}
    assert {(one.layers, one.dim) for one in found} == {(a, b) for a in (1, 2, 3) for b in (4, 8, 16)}
    assert candidates(TrainConfig(domain="ferry")) == [TrainConfig(domain="ferry")]


def test_solved_counts_before_expansions():
    assert Figures(5, 6, 900, 20).better_than(Figures(4, 6, 10, 20))
    assert Figures(5, 6, 90, 20).better_than(Figures(5, 6, 91, 20))
    assert not Figures(5, 6, 90, 20).better_than(Figures(5, 6, 90, 10))


def test_the_configuration_has_the_defaults_of_the_architecture():
    assert TrainConfig(domain="ferry").architecture == Architecture()


def test_networks_that_are_tried_have_the_defaults_of_their_family():
    tried = candidates(TrainConfig(domain="ferry", select=True))
    assert {(one.family, one.dim, one.detours) for one in tried} == {
        ("relational", 32, 1), ("hypergraph", 64, 0), ("hypergraph", 64, 1)
    }  # fmt: skip
    of_grids = {one.family: one for one in candidates(TrainConfig(domain="sokoban", family="grid", select=True))}
    assert (of_grids["grid"].learning_rate, of_grids["relational"].learning_rate) == (1e-3, 3e-3)
    narrow = candidates(TrainConfig(domain="ferry", select=True, dim=4))
    assert {one.dim for one in narrow} == {4}


def test_a_log_goes_on_where_the_checkpoint_was(tmp_path):
    file = tmp_path / "log.jsonl"
    with TrainingLog(file, None, "run") as log:
        for step in (10, 20, 30):
            log.write(step, 1.0, loss=0.5)
    with file.open("a") as stream:
        stream.write('{"step": 40, "lo')  # killed in the middle of a line
    with TrainingLog(file, None, "run", keep_until=20) as log:
        log.write(30, 2.0, loss=0.25)
    assert [json.loads(line)["step"] for line in file.read_text().splitlines()] == [10, 20, 30]
    assert [row["loss"] for row in log.rows] == [0.5, 0.5, 0.25]


def test_curves_are_drawn_from_any_log():
    rows = [{"step": 10, "loss": 0.5, "zero_one": None}, {"step": 10, "solved": 1, "of": 2, "expansions": 7}]
    for some in ([], rows[:1], rows, [*rows, {"step": 20, "loss": 0.0, "zero_one": 0.25}]):
        drawn = drawing("a <run> & more", some)
        ElementTree.fromstring(drawn)
        assert drawn == drawing("a <run> & more", some)
    # One line for each figure that the log has, as many points as it has rows.
    without, with_loss = drawing("run", []), drawing("run", rows[:1])
    assert with_loss.count("line2d") > without.count("line2d")
