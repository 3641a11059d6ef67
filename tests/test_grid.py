"""Networks that see grids: view files, images, both kinds of arithmetic, training, search, a domain of one's own."""

import ast
import random
from pathlib import Path

import numpy as np
import pytest

from planrank import Model, PlanrankError, Search, TrainConfig, certify, julia, label, load, paths, solve, train
from planrank.choices import LOSSES
from planrank.learning.examples import build_example
from planrank.learning.ranking import entry_ranking_of_plan
from planrank.limits import Limits
from planrank.models import families, library
from planrank.models.grid.architecture import GridArchitecture
from planrank.models.grid.images import TURNS, Painter
from planrank.models.grid.numpy_arithmetic import NumpyArithmetic
from planrank.models.grid.signature import GridSignature
from planrank.models.grid.view import view_of
from planrank.problems.folders import find_instances, own_domain_file
from planrank.problems.problem_sets import Group, generate
from planrank.problems.random_problems import GENERATORS

julia.module()  # before torch

import torch  # noqa: E402

from planrank.learning.trainable import Trainable  # noqa: E402
from planrank.models.grid.torch_arithmetic import TorchArithmetic  # noqa: E402

SIZES = {"maze": {"side": 9}, "sokoban": {"boxes": 2, "side": 7, "pulls": 8}, "tiles": {"side": 3, "walk": 12}}
NETWORKS = [("small", "auto"), ("small", "mean"), ("coat", "auto"), ("coat", "sum"), ("map", "auto"), ("small", "cell")]

# A robot on a floor that is no square, whose places are called otherwise; one place is a hole, where nothing is.
OWN_DOMAIN = """(define (domain cleaning) (:requirements :strips :typing) (:types tile)
(:predicates (beside ?a ?b - tile) (robot ?t - tile) (dirty ?t - tile) (clean ?t - tile))
(:action go :parameters (?a ?b - tile) :precondition (and (beside ?a ?b) (robot ?a))
  :effect (and (robot ?b) (not (robot ?a))))
(:action wipe :parameters (?t - tile) :precondition (and (robot ?t) (dirty ?t))
  :effect (and (clean ?t) (not (dirty ?t)))))"""

OWN_VIEW = """places = "tile-{row}x{column}"
agent = "(robot ?cell)"
[[planes]]
place = true
[[planes]]
state = "(robot ?cell)"
[[planes]]
state = "(dirty ?cell)"
[[planes]]
goal = "(clean ?cell)"
[actions]
go = ["?a", "?b"]
wipe = ["?t"]
"""


def own_problem(rng: random.Random, rows: int = 3, columns: int = 4) -> str:
    cells = [(r, c) for r in range(5, 5 + rows) for c in range(columns)]
    cells.remove((6, 1))
    name = {cell: f"tile-{cell[0]}x{cell[1]}" for cell in cells}
    near = [(a, b) for a in cells for b in cells if abs(a[0] - b[0]) + abs(a[1] - b[1]) == 1]
    dirty = rng.sample(cells, 3)
    facts = [f"(beside {name[a]} {name[b]})" for a, b in near] + [f"(dirty {name[cell]})" for cell in dirty]
    goal = " ".join(f"(clean {name[cell]})" for cell in dirty)
    return f"""(define (problem floor) (:domain cleaning) (:objects {" ".join(name.values())} - tile)
    (:init (robot {name[rng.choice(cells)]}) {" ".join(facts)}) (:goal (and {goal})))"""


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    folder, found = tmp_path_factory.mktemp("levels"), {}
    for name, sizes in SIZES.items():
        problem = folder / f"{name}.pddl"
        problem.write_text(GENERATORS[name](random.Random(3), name, **sizes))
        found[name] = load(own_domain_file(name), problem), solve(own_domain_file(name), problem, "bfs").plan
    return found


@pytest.fixture(scope="module")
def own(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("cleaning")
    (folder / "domain.pddl").write_text(OWN_DOMAIN)
    (folder / "grid.toml").write_text(OWN_VIEW)
    for i in range(8):
        (folder / f"p{i}.pddl").write_text(own_problem(random.Random(i)))
    label(find_instances(folder))
    return folder


def states_of(task, plan) -> np.ndarray:
    return entry_ranking_of_plan(task, plan).states


def where(name: str) -> tuple[int, int]:
    _, column, row = name.split("_")
    return int(row), int(column)


def test_an_image_shows_what_the_atoms_say(tasks):
    """Every plane of the two domains written out by hand, from the names of facts alone."""
    for name in ("sokoban", "tiles"):
        task, plan = tasks[name]
        painter = Painter(task, view_of(task))
        names = [fact.strip("()").split() for fact in task.names("facts")]
        places = [where(one) for one in task.names("objects") if one.startswith("p_")]
        top, left = min(r for r, _ in places), min(c for _, c in places)
        goal = [names[i] for i in task.goal[0]]
        states = states_of(task, plan)
        for state, image in zip(states, painter.images().dense(states), strict=True):
            facts = [names[i] for i in task.facts_in(state)]
            expected = np.zeros_like(image)
            for r, c in places:
                expected[r - top, c - left, 0] = 1
            for fact in facts:
                r, c = where(fact[-1])
                pixel = expected[r - top, c - left]
                if fact[0] in ("player", "empty"):
                    pixel[1] = 1
                elif fact[0] == "box":
                    pixel[2] = 1
                elif fact[0] == "at":
                    (target,) = [where(one[2]) for one in goal if one[1] == fact[1]]
                    down, right = target[0] - r, target[1] - c
                    pixel[2], pixel[3] = down / 4, right / 4
                    pixel[4 + min(2, max(-2, down)) + 2] = pixel[9 + min(2, max(-2, right)) + 2] = 1
            for fact in goal if name == "sokoban" else ():
                r, c = where(fact[1])
                expected[r - top, c - left, 3] = 1
            assert np.allclose(image, expected)


def test_turned_images_are_those_of_turned_levels(tasks):
    task, _ = tasks["sokoban"]
    painter, states = Painter(task, view_of(task)), states_of(*tasks["sokoban"])
    first, seen = painter.images().dense(states), set()
    for turn in range(TURNS):
        image = first[:, ::-1] if turn & 1 else first
        image = image[:, :, ::-1] if turn & 2 else image
        image = image.transpose(0, 2, 1, 3) if turn & 4 else image
        found = painter.images(turn).dense(states)
        assert np.array_equal(found, image)
        seen.add((found.shape, found.tobytes()))
    assert len(seen) == TURNS


def test_displacements_are_turned_with_the_level(tasks):
    task, _ = tasks["tiles"]
    painter, states = Painter(task, view_of(task)), states_of(*tasks["tiles"])
    first = painter.images().dense(states)
    mirrored, swapped = painter.images(1).dense(states)[:, ::-1], painter.images(4).dense(states).transpose(0, 2, 1, 3)
    assert np.array_equal(mirrored[..., 2], -first[..., 2]) and np.array_equal(mirrored[..., 3], first[..., 3])
    assert np.array_equal(swapped[..., 2], first[..., 3]) and np.array_equal(swapped[..., 4:9], first[..., 9:14])
    assert np.array_equal(mirrored[..., 4:9], first[..., 8:3:-1])


@pytest.mark.parametrize("planes, weights", [(10, 1_662_065), (8, 1_640_529), (50, 2_092_785)])
def test_coat_has_as_many_weights_as_the_paper(planes, weights):
    signature = GridSignature(f"domain d\nplane {planes} changes x")
    shapes = families.get("grid").weight_shapes(signature, GridArchitecture(network="coat", rank="states"))
    assert sum(int(np.prod(shape)) for shape in shapes.values()) == weights


@pytest.mark.parametrize("network, readout", NETWORKS)
@pytest.mark.parametrize("rank", ["actions", "states"])
def test_numpy_and_pytorch_agree(tasks, network, readout, rank):
    with_agent = readout == "cell" or network == "map"
    for name in ["maze"] if with_agent else ["tiles"] if network == "coat" else ["sokoban", "tiles"]:
        task, plan = tasks[name]
        shape = GridArchitecture(network=network, readout=readout, rank=rank)
        model = Model.fresh(families.get("grid").signature(task), shape, seed=1)
        for weights in model.weights.values():
            weights += np.random.default_rng(2).normal(0, 0.01, weights.shape).astype(np.float32)
        example, net = build_example(task, plan, shape), Trainable(model, torch.float64)
        seen = net(example)
        if rank == "states":
            values = model.scorer(task).values(example.ranking.states)
        else:
            values, scores = model.scorer(task).values_and_scores(example.ranking.states, example.ranking.actions)
            assert scores == pytest.approx(seen.scores.detach().numpy(), rel=1e-3, abs=1e-4)
            assert np.ptp(scores) > 1e-4
        assert values == pytest.approx(seen.values.detach().numpy(), rel=1e-3, abs=1e-4)
        assert np.ptp(values) > 1e-5, "states must be told apart"
        other = net(example, 5).values.detach().numpy()
        assert other.shape == values.shape and not np.allclose(other, seen.values.detach().numpy(), rtol=1e-9)


def cheapest(ends, costs, steps, links) -> np.ndarray:
    """What `least` finds, cell by cell, until nothing changes."""
    _, height, width = ends.shape
    leads = dict(zip(*links.tolist(), strict=True))
    found, before = ends.copy(), None
    while before is None or (found != before).any():
        before = found.copy()
        for r, c in np.ndindex(height, width):
            for i, (down, right) in enumerate(np.ndindex(3, 3)):
                near = (r + down - 1, c + right - 1)
                if not (0 <= near[0] < height and 0 <= near[1] < width):
                    continue
                far = leads.get(near[0] * width + near[1])
                for side, cell in [(0, near)] + ([] if far is None else [(1, divmod(far, width))]):
                    way = costs[:, r, c] + steps[9 * side + i] + before[:, cell[0], cell[1]]
                    found[:, r, c] = np.minimum(found[:, r, c], way)
    return found


def test_a_map_adds_up_costs_along_the_cheapest_ways():
    """In both kinds of arithmetic, and the gradient is that of the costs of these ways."""
    rng = np.random.default_rng(0)
    maps, height, width = 2, 5, 6
    ends, costs = rng.uniform(5, 9, (maps, height, width)), rng.uniform(0, 2, (maps, height, width))
    ends[:, 4, 5] = 0.5
    steps, links = rng.uniform(0.1, 0.9, (18, maps)), np.array([[2, 27], [27, 2]])
    expected = cheapest(ends, costs, steps, links)
    assert (expected < ends).mean() > 0.5, "most ways must be worth going"
    images = [np.ascontiguousarray(one.transpose(1, 2, 0)[None]).astype(np.float32) for one in (ends, costs)]
    found = NumpyArithmetic().least(*images, steps.astype(np.float32), links)
    assert found[0].transpose(2, 0, 1) == pytest.approx(expected, rel=1e-5)
    tensors = [torch.from_numpy(one).requires_grad_() for one in (ends[None], costs[None], steps)]
    seen = TorchArithmetic().least(*tensors, torch.from_numpy(links))
    assert seen[0].detach().numpy() == pytest.approx(expected, rel=1e-9)
    assert torch.autograd.gradcheck(lambda *all: TorchArithmetic().least(*all, torch.from_numpy(links)), tensors)


def test_a_map_of_unusable_weights_is_refused(tasks):
    task, plan = tasks["maze"]
    model = Model.fresh(families.get("grid").signature(task), GridArchitecture(network="map"))
    model.weights["steps.bias"][0] = np.nan
    example = build_example(task, plan, model.architecture)
    with pytest.raises(PlanrankError, match="its weights are unusable"):
        model.scorer(task).values_and_scores(example.ranking.states, example.ranking.actions)


def test_a_batch_has_the_values_of_its_states(tasks):
    task, plan = tasks["sokoban"]
    model = Model.fresh(families.get("grid").signature(task), GridArchitecture(rank="states"))
    scorer, states = model.scorer(task), states_of(task, plan)
    one_by_one = np.concatenate([scorer.values(state[None]) for state in states])
    assert scorer.values(states) == pytest.approx(one_by_one, rel=1e-4, abs=1e-5)
    with pytest.raises(PlanrankError, match="another task's"):
        scorer.values(np.zeros((1, task.words + 1), np.uint64))
    with pytest.raises(PlanrankError, match="ranks states and scores no actions"):
        scorer.values_and_scores(states, None)


def test_the_time_limit_holds_while_a_map_is_made(tmp_path):
    problem = tmp_path / "p.pddl"
    problem.write_text(GENERATORS["maze"](random.Random(0), "p", side=15))
    task = load(own_domain_file("maze"), problem)
    model = Model.fresh(families.get("grid").signature(task), GridArchitecture(network="map"))
    with pytest.raises(PlanrankError, match="the time limit was met while the network") as error:
        model.scorer(task, Limits(deadline=0.0))
    assert error.value.kind == "time"


@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_trains_a_network(own, tmp_path, loss):
    task = load(own / "domain.pddl", own / "p0.pddl")
    out = tmp_path / "m.safetensors"
    settings = {"steps": 25, "validation_instances": 2, "validate_every": 25, "states_per_step": 4, "loss": loss}
    rank = "policy" if loss == "levin" else "states" if loss == "lbe" else "actions"
    rank = {} if loss == "levin" else {"rank": rank}
    config = TrainConfig(domain=str(own), out=str(out), **settings, **rank)
    assert config.family == "grid", "the folder has a view file"
    model = train(config, say=lambda text: None)
    fresh = Model.fresh(families.get("grid").signature(task), config.architecture, config.seed)
    assert all(np.abs(model.weights[name] - fresh.weights[name]).max() > 0 for name in model.weights if "map" in name)


def test_a_domain_of_ones_own_is_learned_solved_and_certified(own, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trained = train(TrainConfig(domain=str(own), steps=300, validate_every=100), say=lambda text: None)
    assert trained.metadata["figures"]["validation_solved"] == 2
    result = solve(own / "domain.pddl", own / "p7.pddl")
    assert result.status == "solved" and result.heuristic == f"model:{own.name}"
    assert result.statistics.expanded <= 4 * result.plan_length, "it must have learned something"
    task = load(own / "domain.pddl", own / "p7.pddl")
    certificate = certify(task, trained.scorer(task), "gbfs", rank="actions")
    assert certificate.optimal_cost <= result.plan_cost
    search = Search(task, "gbfs", rank="actions")
    scorer = trained.scorer(task)
    while search.step(scorer):
        pass
    assert search.status == "solved"


def test_resuming_gives_the_same_weights(own, tmp_path):
    settings = {"domain": str(own), "steps": 30, "log_every": 10, "validate_every": 100, "validation_instances": 1}
    whole = train(TrainConfig(**settings, out=str(tmp_path / "a.safetensors")), say=lambda text: None)
    part = TrainConfig(**settings, out=str(tmp_path / "b.safetensors"))
    from planrank.learning import trainer

    before = trainer.TrainingState.take_step

    def stops(self, example, name):
        if self.step == 20:
            raise KeyboardInterrupt
        return before(self, example, name)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(trainer.TrainingState, "take_step", stops)
        train(part, say=lambda text: None)
    again = train(part, resume=True, say=lambda text: None)
    assert all(whole.weights[name].tobytes() == again.weights[name].tobytes() for name in whole.weights)


def test_hypergraph_networks_learn_the_same_domain(own, tmp_path):
    config = TrainConfig(domain=str(own), family="hypergraph", steps=20, out=str(tmp_path / "h.safetensors"))
    model = train(config, say=lambda text: None)
    assert model.family.name == "hypergraph"
    assert solve(own / "domain.pddl", own / "p1.pddl", model=model).status == "solved"


@pytest.mark.slow
@pytest.mark.parametrize("family", ["grid", "hypergraph"])
@pytest.mark.parametrize("name", sorted(SIZES))
def test_both_families_do_everything_on_the_grid_domains(planrank, tmp_path, name, family):
    sizes = [word for key, value in SIZES[name].items() for word in ("--size", f"{key}={value}")]

    def run(*arguments):
        done = planrank(*arguments, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("generate", name, "--count", 8, *sizes, "--out", "set")
    run("label", "set", "--allow-suboptimal")
    options = ("--steps", 60, "--validation-instances", 1, "--out", "m.safetensors", "--allow-suboptimal")
    run("train", "--domain", "set", "--family", family, *options)
    problem = sorted((tmp_path / "set").glob("p*.pddl"))[0]
    files = ("set/domain.pddl", problem)
    assert "Heuristic: model m" in run("solve", *files, "--model", "m.safetensors", "--time-limit", 60)
    assert "/8" in run("evaluate", "--domain", "set", "--split", "all", "--model", "m.safetensors")
    assert planrank("certify", *files, "--model", "m.safetensors", cwd=tmp_path).returncode in (0, 12)


MISTAKES = [
    ('places = "tile-{row}x{column}"', 'places = "tile-{row}"', "with {row} and {column} in it"),
    ('places = "tile-{row}x{column}"', 'places = "cell-{row}x{column}"', "so there are no places"),
    ('places = "tile-{row}x{column}"\n', "", "the names of places are missing"),
    ('state = "(robot ?cell)"', 'state = "(robt ?cell)"', "unknown predicate 'robt'"),
    ('state = "(robot ?cell)"', 'state = "(robot ?cell ?x)"', "found 2 terms in (robot ?cell ?x), expected 1"),
    ('state = "(robot ?cell)"', 'state = "(robot ?where)"', "does not say where"),
    ('state = "(robot ?cell)"', 'state = "robot"', "expected an atom such as"),
    ('state = "(robot ?cell)"', 'state = "(robot ?cell)"\ndisplacement = 4', "which is not in (robot ?cell)"),
    ('state = "(robot ?cell)"', 'state = "(robot ?cell)"\none_hot = 2', "beside a displacement"),
    ('state = "(robot ?cell)"', 'stat = "(robot ?cell)"', "unknown key stat of a plane"),
    ("place = true", "place = false", "both or neither"),
    ("[actions]", "[action]", "unknown key action"),
    ('go = ["?a", "?b"]', 'run = ["?a", "?b"]', "unknown action 'run', expected one of go, wipe"),
    ('go = ["?a", "?b"]', 'go = ["?a", "?c"]', "found '?c' as a place of go, expected some of ?a, ?b"),
    ('agent = "(robot ?cell)"', 'agent = "(robot ?x)"', "expected an atom with ?cell in it"),
]


@pytest.mark.parametrize("right, wrong, message", MISTAKES)
def test_mistakes_in_a_view_file_are_named(tmp_path, right, wrong, message):
    assert right in OWN_VIEW
    (tmp_path / "domain.pddl").write_text(OWN_DOMAIN)
    (tmp_path / "grid.toml").write_text(OWN_VIEW.replace(right, wrong, 1))
    (tmp_path / "p.pddl").write_text(own_problem(random.Random(0)))
    task = load(tmp_path / "domain.pddl", tmp_path / "p.pddl")
    with pytest.raises(PlanrankError) as error:
        Painter(task, view_of(task))
    assert message in str(error.value) and "grid.toml" in str(error.value)
    assert library.fitting_model(task) is None, "other models and heuristics can still be used"


def test_two_places_in_one_spot_are_refused(tmp_path):
    (tmp_path / "domain.pddl").write_text(OWN_DOMAIN)
    (tmp_path / "grid.toml").write_text(OWN_VIEW)
    (tmp_path / "p.pddl").write_text(own_problem(random.Random(0)).replace("(:objects ", "(:objects tile-05x0 "))
    task = load(tmp_path / "domain.pddl", tmp_path / "p.pddl")
    with pytest.raises(PlanrankError, match="tile-05x0 and tile-5x0 are both in row 5, column 0"):
        Painter(task, view_of(task))


def test_a_network_without_a_view_is_refused(tmp_path):
    generate("gripper", [Group(2, 0, {"balls": (1, 2)})], tmp_path)
    with pytest.raises(PlanrankError, match=r"through a view file, expected grid\.toml beside it"):
        train(TrainConfig(domain=str(tmp_path), family="grid", steps=1), say=lambda text: None)
    (tmp_path / "own").mkdir()
    assert TrainConfig(domain="gripper").family == "hypergraph" and TrainConfig(domain="sokoban").family == "grid"


def test_a_map_needs_an_agent(tasks):
    task, plan = tasks["sokoban"]
    with pytest.raises(PlanrankError, match="needs to know where the agent is"):
        build_example(task, plan, GridArchitecture(network="map"))


def imported(file: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module}
    return found


def test_nothing_outside_its_folder_knows_of_grids():
    """But for the configuration, which has the options that choose a network."""
    for file in paths.PACKAGE.rglob("*.py"):
        name = str(file.relative_to(paths.PACKAGE))
        if name != "learning/config.py" and not name.startswith("models/grid/"):
            assert not [module for module in imported(file) if "models.grid" in module], name
