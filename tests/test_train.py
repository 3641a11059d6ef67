"""Training with real models: what comes out, resuming after kill -9, and what bad input gets."""

import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from planrank import PlanrankError, julia, load, paths, solve
from planrank.choices import LOSSES
from planrank.errors import Exit
from planrank.learning import checkpoints, examples, training_data
from planrank.learning.config import TrainConfig
from planrank.learning.example_store import ExampleStore
from planrank.learning.examples import Example
from planrank.learning.selection import Figures, searched
from planrank.learning.train import candidates, chosen, finalists, name_of, train, trainings
from planrank.learning.training_data import TrainingData
from planrank.problems.folders import find_instances
from planrank.problems.labelled_plans import LabelledPlan, labelled_plan_text
from planrank.problems.random_problems import GENERATORS
from planrank.problems.splits import split

julia.module()  # before torch

import torch  # noqa: E402

from planrank.learning import trainer  # noqa: E402
from planrank.learning.trainable import Evaluated  # noqa: E402
from planrank.models.model import Model  # noqa: E402

BLOCKS = paths.shared() / "domains/blocksworld"
SMALL = {"dim": 4, "layers": 1, "steps": 60, "validate_every": 20, "log_every": 10}


def silent(text):
    pass


@pytest.fixture(scope="module")
def labelled(tmp_path_factory):
    """Twelve small blocks-world problems with optimal plans."""
    folder = tmp_path_factory.mktemp("blocks")
    domain = shutil.copy(BLOCKS / "domain.pddl", folder)
    rng = random.Random(1)
    for i in range(12):
        problem = folder / f"p{i:02}.pddl"
        problem.write_text(GENERATORS["blocksworld"](rng, f"p{i}", blocks=4 + i % 2))
        found = solve(domain, problem, "astar", "lmcut")
        plan = LabelledPlan(found.plan, found.plan_cost, "test", True)
        problem.with_suffix(".plan").write_text(labelled_plan_text(plan, unit_cost=True))
    return folder


@pytest.fixture
def config(labelled, tmp_path):
    def make(**options):
        return TrainConfig(**{"domain": str(labelled), "out": str(tmp_path / "m.safetensors")} | SMALL | options)

    return make


def weights_of(file):
    return {name: array.tobytes() for name, array in Model.load(file).weights.items()}


def test_a_model_is_trained_written_and_described(config, tmp_path):
    wanted = config(tensorboard=str(tmp_path / "board"))
    model = train(wanted, say=silent)
    loaded = Model.load(wanted.out)
    assert loaded.metadata["training"] == wanted.as_json() == model.metadata["training"]
    figures = loaded.metadata["figures"]
    assert figures["validation_of"] == 3 and figures["step"] in (20, 40, 60) and figures["training_instances"] == 6
    assert {"planrank", "torch", "numpy", "python"} <= loaded.metadata["versions"].keys()
    folder = tmp_path / "m.training" / name_of(wanted)
    rows = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows if "loss" in row] == [10, 20, 30, 40, 50, 60]
    assert [row["step"] for row in rows if "solved" in row] == [20, 40, 60]
    ElementTree.parse(folder / "curves.svg")
    assert any((tmp_path / "board").rglob("events*"))


def test_a_missing_tensorboard_is_told_at_once(config, tmp_path, monkeypatch):
    monkeypatch.setattr("planrank.learning.train.find_spec", lambda name: None)
    with pytest.raises(PlanrankError, match="TensorBoard is not installed; run `pip install tensorboard`"):
        train(config(tensorboard=str(tmp_path / "board")), say=silent)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_ray_is_told_at_once(config, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(PlanrankError, match="--cluster needs Ray, which is not installed"):
        train(config(cluster="auto", seeds=2), say=silent)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("rank", ["actions", "states"])
def test_training_lowers_the_loss(config, tmp_path, rank):
    wanted = config(steps=300, layers=2, dim=8, validate_every=300, log_every=50, rank=rank)
    train(wanted, say=silent)
    log = tmp_path / "m.training" / name_of(wanted) / "log.jsonl"
    rows = [row for row in map(json.loads, log.read_text().splitlines()) if "loss" in row]
    assert rows[-1]["loss"] < 0.7 * rows[0]["loss"] and rows[-1]["zero_one"] < rows[0]["zero_one"]


@pytest.mark.parametrize("rank", ["actions", "states"])
@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_trains(config, loss, rank):
    if loss == "levin":
        rank = "policy"
    model = train(config(loss=loss, steps=10, rank=rank), say=silent)
    assert model.rank == rank and model.scores_actions == (rank != "states")
    assert all(np.isfinite(array).all() for array in model.weights.values())


def test_the_best_weights_are_kept_by_copy(config, monkeypatch):
    """Validation that likes step 20 best must bring back the weights of step 20."""
    seen = []

    def likes_the_first(model, tasks, config):
        seen.append({name: array.tobytes() for name, array in model.weights.items()})
        return Figures(1, 1, 100 * len(seen), 1)

    monkeypatch.setattr(trainer, "figures_of", likes_the_first)
    wanted = config()
    model = train(wanted, say=silent)
    assert len({json.dumps({k: v.hex() for k, v in one.items()}) for one in seen}) == 3
    assert {name: array.tobytes() for name, array in model.weights.items()} == seen[0] == weights_of(wanted.out)
    assert model.metadata["figures"]["step"] == 20


def test_several_seeds_keep_the_best(config, tmp_path):
    told = []
    model = train(config(seeds=2, steps=20), say=told.append)
    tried = [line for line in told if "validation instances solved" in line]
    assert len(tried) == 2 and model.metadata["training"]["seed"] in (0, 1)
    assert len(list((tmp_path / "m.training").glob("*/checkpoint.safetensors"))) == 2
    alone = {
        seed: train(config(seed=seed, steps=20, out=str(tmp_path / f"s{seed}.safetensors")), say=silent)
        for seed in (0, 1)
    }
    figures = {s: (-m.metadata["figures"]["validation_solved"], m.metadata["figures"]["validation_expansions"])
               for s, m in alone.items()}  # fmt: skip
    assert model.metadata["training"]["seed"] == min(figures, key=figures.get)


@pytest.mark.parametrize("rank", ["actions", "states"])
def test_a_trained_model_beats_an_untrained_one(config, labelled, rank):
    wanted = config(steps=400, layers=2, dim=8, validate_every=400, rank=rank)
    trained = train(wanted, say=silent)
    tasks = [load(one.domain, one.problem) for one in split(find_instances(labelled))["test"]]
    untrained = Model.fresh(trained.signature, trained.architecture, wanted.seed)
    after, before = (searched(tasks, model.scorer, rank=rank, max_expansions=2000) for model in (trained, untrained))
    assert after.solved == len(tasks) and 2 * after.expansions < before.expansions


def test_the_grid_is_trained_and_the_best_network_kept(planrank, labelled, tmp_path):
    options = ("--grid", "--steps", 2, "--validation-instances", 1, "--max-instances", 2, "--out", "m.safetensors")
    done = planrank("train", "--domain", labelled, *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    tried = [line for line in done.stderr.splitlines() if "validation instances solved" in line]
    folders = {file.parent.name for file in (tmp_path / "m.training").glob("*/checkpoint.safetensors")}
    assert len(tried) == len(folders) == 18
    best = Model.load(tmp_path / "m.safetensors")
    figures = {line.split()[1].rstrip(":"): line for line in tried}
    mine = figures[f"{best.architecture}-seed0"]
    fewest = min(int(line.split()[-2].replace(",", "")) for line in tried if line.split()[2] == mine.split()[2])
    assert int(mine.split()[-2].replace(",", "")) == fewest


def command_of(config, *more):
    options = [part for name in ("domain", "out", "dim", "layers", "steps", "validate_every", "log_every", "seed")
               for part in (f"--{name.replace('_', '-')}", str(getattr(config, name)))]  # fmt: skip
    return [sys.executable, "-m", "planrank", "train", *options, *more]


@pytest.mark.parametrize("jobs", [None, 2])
def test_select_tries_networks_of_both_families_and_trains_the_best_two(config, jobs):
    said = []
    model = train(config(select=True, steps=80, jobs=jobs), say=said.append)
    names = [text.rpartition(":")[0] for text in said if "validation instances" in text]
    tried, (first, *_, second) = names[:4], names[4:]
    assert 2 <= len(names[4:]) <= 3
    assert sum(name.startswith("trial: objects-") for name in tried) == 2
    assert sum(name.startswith("trial: layers") for name in tried) == 2
    assert first != second and {f"trial: {first}", f"trial: {second}"} <= set(tried)
    training = model.metadata["training"]
    assert f"{model.architecture}-seed0" in names[4:]
    assert training["steps"] in (80, 20), "the better one of a trial and of what it was a trial for"
    assert Model.load(config().out).family.name == model.family.name == training["family"]


def test_the_cheapest_network_is_trained_in_full_unless_it_is_far_behind(config):
    networks = candidates(config(select=True))

    def picked(*figures):
        model = SimpleNamespace(metadata={"figures": {"seconds": 1.0}})
        outcomes = [trainer.Outcome(model, Figures(*one, 0)) for one in figures]
        return [networks.index(one) for one in finalists(list(zip(networks, outcomes, strict=True)), lambda text: None)]

    assert picked((12, 20, 900), (20, 20, 100), (20, 20, 90), (3, 20, 900)) == [0, 1, 2]
    assert picked((9, 20, 900), (20, 20, 100), (20, 20, 90), (3, 20, 900)) == [1, 2]
    assert picked((20, 20, 80), (20, 20, 100), (20, 20, 90), (3, 20, 900)) == [0, 2]


def test_of_networks_the_first_stays_unless_another_is_clearly_better():
    def picked(*figures):
        found = [(number, Figures(solved, 20, expansions, 0)) for number, (solved, expansions) in figures]
        outcomes = [(number, trainer.Outcome(None, one)) for number, one in found]
        return chosen(outcomes, Figures.clearly_better_than)[0]

    assert picked((0, (10, 1000)), (1, (10, 960)), (2, (9, 10))) == 0
    assert picked((0, (10, 1000)), (1, (10, 510)), (2, (10, 490))) == 2
    assert picked((0, (10, 1000)), (1, (11, 9000)), (2, (11, 8000))) == 1


def test_a_trial_that_did_better_than_the_whole_training_is_kept(config, monkeypatch):
    """The first trial's figures are made better than all that come later."""
    seen = iter([(9, 5), (9, 5), (3, 5), (2, 5), *[(8, 9)] * 20])  # solved, expansions

    def figures(*_):
        solved, expansions = next(seen)
        return Figures(solved, 10, expansions, 1)

    monkeypatch.setattr(trainer, "figures_of", figures)
    model = train(config(select=True, steps=80, validate_every=80))
    assert model.metadata["training"]["steps"] == 20
    assert trainings(config(select=True, steps=80))[4].steps == 20


def test_a_killed_run_goes_on_as_if_nothing_had_happened(config, tmp_path):
    whole = config(steps=1500, validate_every=500, out=str(tmp_path / "whole.safetensors"))
    killed = replace(whole, out=str(tmp_path / "killed.safetensors"))
    train(whole, say=silent)
    checkpoint = tmp_path / "killed.training" / name_of(killed) / trainer.CHECKPOINT
    for _ in range(2):
        process = subprocess.Popen(command_of(killed, "--resume"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            deadline = time.monotonic() + 60
            before = checkpoint.read_bytes() if checkpoint.exists() else b""
            while not checkpoint.exists() or checkpoint.read_bytes() == before:
                assert process.poll() is None, process.stderr.read().decode()
                assert time.monotonic() < deadline
                time.sleep(0.02)
        finally:
            process.send_signal(signal.SIGKILL)
            process.communicate()
        step = checkpoints.load(checkpoint)[1]["step"]
        assert 0 < step < 1500, "the run ended before it was killed"
    done = subprocess.run(command_of(killed, "--resume"), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert weights_of(killed.out) == weights_of(whole.out)
    ends = [checkpoints.load(file)[0] for file in sorted(tmp_path.glob("*.training/*/checkpoint.safetensors"))]
    for name in ("parameter", "mean", "variance", "best"):
        assert ends[0][name].tobytes() == ends[1][name].tobytes(), name
    rows = [json.loads(line) for line in checkpoint.with_name("log.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows if "loss" in row] == list(range(10, 1501, 10))


def test_a_checkpoint_of_another_rank_is_refused(config):
    train(config(steps=20), say=silent)
    said = "another configuration: rank was actions, now states; train without --resume"
    with pytest.raises(PlanrankError, match=said) as error:
        train(config(steps=20, rank="states"), resume=True, say=silent)
    assert error.value.exit_code == Exit.USAGE
    with pytest.raises(PlanrankError, match=r"loss was lstar, now levin, .*rank was actions, now policy"):
        train(config(steps=20, loss="levin"), resume=True, say=silent)


@pytest.mark.parametrize("rank", ["actions", "states", "policy"])
def test_training_that_goes_on_gives_the_same_weights(config, tmp_path, rank, monkeypatch):
    """Stopped after the checkpoint of step 40, and gone on with."""
    options = {"rank": rank, "loss": "levin" if rank == "policy" else "lstar", "states_per_step": 6}
    whole = config(out=str(tmp_path / "whole.safetensors"), **options)
    train(whole, say=silent)
    halves, real = config(**options), trainer.TrainingState.take_step

    def stops(state, *arguments):
        if state.step == 45:
            raise KeyboardInterrupt
        return real(state, *arguments)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(trainer.TrainingState, "take_step", stops)
        train(halves, say=silent)
    train(halves, resume=True, say=silent)
    assert weights_of(halves.out) == weights_of(whole.out)


@pytest.mark.parametrize("states", [0, 6])
def test_examples_that_do_not_fit_are_read_from_disk_and_give_the_same_weights(config, tmp_path, states, monkeypatch):
    found, read, real = [], [], examples.read_example
    monkeypatch.setattr(examples, "read_example", lambda file: (read.append(file), real(file))[1])
    for number, memory in enumerate((None, 0, 1)):
        told = config(out=str(tmp_path / f"{number}.safetensors"), examples_memory=memory, states_per_step=states)
        train(told, say=silent)
        found.append((weights_of(told.out), len(read)))
        read.clear()
    assert found[0][0] == found[1][0] == found[2][0]
    assert found[1][1] >= 60 > found[0][1], "one for each step, or one for each example"


def test_a_store_keeps_what_fits_with_all_that_belongs_to_it():
    made = []

    def example(number):
        made.append(number)
        return Example(None, {"numbers": np.zeros(100, np.int64)})

    store = ExampleStore(most_bytes=1700)
    for number in range(3):
        store.add(str(number), partial(example, number))
    assert list(store) == ["0", "1", "2"] and len(store) == 3 and not made
    store["0"].prepared["torch"] = [torch.zeros(50)]
    for _ in range(3):
        assert len([store[name] for name in store]) == 3
    assert store.kept.keys() == {"0"} and store.bytes_kept == 1000, "the second would fit, if the first were all"
    assert made.count(0) == 1 and made.count(1) == 3 and made.count(2) == 3


def test_examples_built_in_several_processes_are_those_built_in_one(config, labelled, tmp_path):
    folder = shutil.copytree(labelled, tmp_path / "copy")
    for problem in folder.glob("p*.pddl"):
        problem.write_text(f"{problem.read_text()}\n; {tmp_path}\n")  # so that no other run has built its example
    told, said = config(domain=str(folder)), []
    data = training_data.gather(told, silent)
    bad = TrainingData([*data.training, (data.training[0][0], LabelledPlan(["(none)"], 1, "test", True))], [])
    options = training_data.example_options(told)
    asked = [(one.domain, one.problem, plan.steps, told.architecture) for one, plan in data.training]
    assert not any(examples.example_file(*one, **options).exists() for one in asked)
    training_data.build_together(bad, [told, told], 2, said.append)
    for domain, problem, steps, shape in asked:
        kept = examples.read_example(examples.example_file(domain, problem, steps, shape, **options))
        fresh = examples.build_example(load(domain, problem), steps, shape, **options)
        assert all(np.array_equal(kept.encoded[name], array) for name, array in fresh.encoded.items())
    assert len(said) == 1 and said[0].endswith("left out") and "(none)" in said[0]


@pytest.mark.parametrize("rank", ["actions", "states"])
def test_both_ranks_are_trained_by_the_command_and_solve(planrank, labelled, tmp_path, rank):
    options = ("--steps", 30, "--dim", 4, "--layers", 1, "--max-instances", 4, "--out", "m.safetensors")
    (scratch := tmp_path / "scratch").mkdir()
    environment = os.environ | {"TMPDIR": str(scratch)}
    done = planrank("train", "--domain", labelled, "--rank", rank, *options, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    assert not list(scratch.iterdir())  # PyTorch would leave a folder there
    validated = re.search(r"Validation: (\d+) of (\d+) solved", done.stdout)
    assert ("--select" in done.stdout) == (validated[1] != validated[2])
    assert Model.load(tmp_path / "m.safetensors").rank == rank
    instance = find_instances(labelled)[0]
    arguments = ("--model", "m.safetensors", "--rank", rank, "--json", "-")
    done = planrank("solve", instance.domain, instance.problem, *arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["status"] == "solved" and (found["evaluated"] == found["expanded"]) == (rank == "actions")


def test_another_configuration_is_named(config):
    first = config(steps=20)
    train(first, say=silent)
    train(first, resume=True, say=silent)  # ends at once
    said = "another configuration: loss was lstar, now l2, learning_rate was 0.003, now 0.1;"
    with pytest.raises(PlanrankError, match=said):
        train(config(steps=20, loss="l2", learning_rate=0.1), resume=True, say=silent)


def test_other_instances_are_noticed(config, labelled, tmp_path):
    mine = tmp_path / "mine"
    shutil.copytree(labelled, mine)
    wanted = config(domain=str(mine), steps=20)
    train(wanted, say=silent)
    split(find_instances(mine))["train"][0].plan_file.unlink()
    with pytest.raises(PlanrankError, match="other instances or plans"):
        train(wanted, resume=True, say=silent)


@pytest.fixture
def breaks_at_step_26(monkeypatch):
    real, calls = Evaluated.loss, []

    def loss(*arguments, **options):
        calls.append(1)
        return real(*arguments, **options) * (float("nan") if len(calls) == 26 else 1)

    monkeypatch.setattr(Evaluated, "loss", loss)


def test_a_loss_that_is_not_finite_is_named_and_the_checkpoint_kept(config, tmp_path, breaks_at_step_26):
    with pytest.raises(PlanrankError, match=r"the loss became nan at step 26, on .*p\d+\.pddl; .* of step 20, is kept"):
        train(config(), say=silent)
    tensors, state = checkpoints.load(next(tmp_path.glob("m.training/*/checkpoint.safetensors")))
    assert state["step"] == 20 and all(np.isfinite(tensor).all() for tensor in tensors.values())


def test_a_full_disk_is_one_sentence_and_nothing_is_lost(config, tmp_path, breaks_at_step_26):
    """A limit on the size of files makes writing fail as a full disk does."""
    wanted = config()
    with pytest.raises(PlanrankError, match="step 20, is kept"):
        train(wanted, say=silent)
    checkpoint = next(tmp_path.glob("m.training/*/checkpoint.safetensors"))
    before = checkpoint.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(PlanrankError, match="cannot be written: File too large") as e:
            train(wanted, resume=True, say=silent)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert e.value.file == str(checkpoint) and checkpoint.read_bytes() == before
    train(wanted, resume=True, say=silent)
    whole = config(out=str(tmp_path / "whole.safetensors"))
    train(whole, say=silent)
    assert weights_of(wanted.out) == weights_of(whole.out)


def test_a_learning_rate_that_is_far_too_large_is_one_sentence(config):
    done = subprocess.run(
        command_of(config(), "--learning-rate", "1e30", "--loss", "l2"), capture_output=True, text=True
    )
    assert done.returncode == Exit.USAGE and "Traceback" not in done.stderr
    assert "try a smaller learning rate" in done.stderr


def test_two_runs_do_not_write_into_one_folder(config, tmp_path):
    from filelock import FileLock

    (tmp_path / "m.training").mkdir()
    with FileLock(tmp_path / "m.training/lock"), pytest.raises(PlanrankError, match="another run is training here"):
        train(config(), say=silent)


def test_a_folder_without_a_domain_file(planrank, tmp_path):
    (tmp_path / "empty").mkdir()
    done = planrank("train", "--domain", tmp_path / "empty", cwd=tmp_path)
    assert done.returncode == Exit.USAGE and "there is no domain file in this folder" in done.stderr
    done = planrank("train", "--domain", "blocks", cwd=tmp_path)
    assert done.returncode == Exit.USAGE and "found neither a folder nor a domain called 'blocks'" in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["empty"]


def test_a_folder_without_plans_and_without_a_teacher(config, labelled, tmp_path):
    bare = tmp_path / "bare"
    shutil.copytree(labelled, bare, ignore=shutil.ignore_patterns("*.plan", "*.json"))
    with pytest.raises(PlanrankError, match="no instance can be learned from: 6 have no plan"):
        train(config(domain=str(bare), teacher="none"), say=silent)
    with pytest.raises(PlanrankError, match="no plans beside the problems, and the teacher builtin made none"):
        train(config(domain=str(bare), teacher_time=1e-9), say=silent)


def test_a_plan_for_another_problem(config, labelled, tmp_path):
    mixed = tmp_path / "mixed"
    shutil.copytree(labelled, mixed)
    plans = [instance.plan_file for instance in split(find_instances(mixed))["train"]]
    plans[0].write_text(plans[1].read_text())
    with pytest.raises(PlanrankError, match=f"this is no plan for {plans[0].stem}.pddl") as e:
        train(config(domain=str(mixed)), say=silent)
    assert e.value.file == str(plans[0])


def test_problems_of_two_domains(config, labelled, tmp_path):
    mixed = tmp_path / "mixed"
    shutil.copytree(labelled, mixed)
    more = "(:action wish :parameters (?x - block) :precondition (clear ?x) :effect (on-table ?x))\n(:action"
    stem = split(find_instances(mixed))["train"][0].problem.stem
    (mixed / f"{stem}-domain.pddl").write_text((BLOCKS / "domain.pddl").read_text().replace("(:action", more, 1))
    with pytest.raises(PlanrankError, match=r"of different domains, .*domain\.pddl and .*domain\.pddl"):
        train(config(domain=str(mixed)), say=silent)


def go_astray(file):
    """Put a loop at the beginning of a plan of the blocks world, and steps after its goal."""
    lines = file.read_text().splitlines()
    steps, notes = [x for x in lines if x.startswith("(")], [x for x in lines if not x.startswith("(")]
    action, block, *below = steps[0].strip("()").split()
    undo = f"(stack {block} {below[0]})" if action == "unstack" else f"(put-down {block})"
    action, block, *below = steps[-1].strip("()").split()
    redo = f"(unstack {block} {below[0]})" if action == "stack" else f"(pick-up {block})"
    file.write_text("\n".join([steps[0], undo, *steps, redo, steps[-1], *notes]))


def test_plans_that_go_astray_are_shortened_and_learned_from(config, labelled, tmp_path):
    folder = tmp_path / "astray"
    shutil.copytree(labelled, folder)
    plans = [instance.plan_file for instance in split(find_instances(folder))["train"]]
    for file in plans[:4]:
        go_astray(file)
    before = [file.read_text() for file in plans]
    told = []
    model = train(config(domain=str(folder), steps=20, allow_suboptimal=True), say=told.append)
    assert model.metadata["figures"]["training_instances"] == len(plans) == 6
    assert told.count("4 of 6 plans were shortened (loops and needless steps left out)") == 1
    assert not any("; left out" in line for line in told)
    assert [file.read_text() for file in plans] == before
    straight = train(config(steps=20), say=silent)
    assert all(np.array_equal(model.weights[name], straight.weights[name]) for name in straight.weights)


def test_plans_without_proof_need_leave(config, labelled, tmp_path):
    unproved = tmp_path / "unproved"
    shutil.copytree(labelled, unproved)
    for plan in unproved.glob("*.plan"):
        plan.write_text(plan.read_text().replace("proved optimal = yes", "proved optimal = no"))
    with pytest.raises(PlanrankError, match="not proved optimal"):
        train(config(domain=str(unproved), steps=1, allow_suboptimal=False), say=silent)
    told: list[str] = []
    train(config(domain=str(unproved), steps=1), say=told.append)
    assert any("are not proved optimal" in line for line in told)


def test_the_teacher_is_not_asked_again_for_what_it_failed_at(config, labelled, tmp_path, monkeypatch):
    from planrank.learning import training_data

    folder = tmp_path / "some"
    shutil.copytree(labelled, folder)
    for instance in split(find_instances(folder))["train"][:2]:
        instance.plan_file.unlink()
    asked = []

    def fails(instances, *arguments, progress, **options):
        asked.append(len(instances))
        outcomes = [training_data.Outcome(instance, None, "out of time") for instance in instances]
        for outcome in outcomes:
            progress(outcome)
        return outcomes

    monkeypatch.setattr(training_data, "label", fails)
    train(config(domain=str(folder), steps=1), say=silent)  # plans of somebody else's: nobody is asked
    assert asked == []
    for _ in range(2):
        train(config(domain=str(folder), steps=1, teacher="builtin"), say=silent)
    assert asked == [2]
    train(config(domain=str(folder), steps=1, teacher_time=20.0), say=silent)  # with the record auto goes on, too
    assert asked == [2, 2]


def test_ctrl_c_says_how_to_go_on(config, tmp_path):
    process = subprocess.Popen(
        command_of(config(steps=1_000_000)), stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob("m.training/*/checkpoint.safetensors")) and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == Exit.INTERRUPTED and "--resume goes on" in said and "Traceback" not in said


@pytest.mark.slow
def test_an_own_domain_is_made_labelled_and_learned(planrank, tmp_path):
    done = planrank("train", "--domain", "blocksworld", "--profile", "quick", "--steps", "200", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "planrank-models/blocksworld.safetensors").exists()
