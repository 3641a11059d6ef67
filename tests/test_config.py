"""The configuration of training: one list of fields for the command, the TOML file and Python."""

import json
import subprocess
import sys
from dataclasses import fields

import pytest

from planrank.choices import STATE_LOSSES
from planrank.errors import Exit, PlanrankError
from planrank.learning.config import OPTIONS, PROFILES, TrainConfig, configuration, read_config


@pytest.fixture
def toml(tmp_path):
    def write(text):
        file = tmp_path / "config.toml"
        file.write_text(text)
        return file

    return write


def test_the_defaults():
    config = TrainConfig(domain="blocksworld")
    assert (config.loss, config.surrogate, config.steps, config.learning_rate) == ("lstar", "logistic", 10_000, 3e-3)
    assert config.out == "planrank-models/blocksworld.safetensors"


def test_a_profile_changes_what_was_not_given():
    assert TrainConfig(domain="ferry", profile="quick").steps == PROFILES["quick"]["steps"]
    assert TrainConfig(domain="ferry", profile="quick").instances == "quick"
    assert TrainConfig(domain="ferry", profile="quick", steps=7).steps == 7


def test_the_levin_loss_has_a_policy():
    levin = TrainConfig(domain="ferry", loss="levin")
    assert (levin.rank, levin.validation_search) == ("policy", "phs") and levin.architecture.scores_actions
    assert TrainConfig(domain="ferry", loss="levin", rank="policy") == levin
    assert TrainConfig(**levin.as_json() | {"messages": levin.messages, "pooling": levin.pooling}) == levin
    assert (TrainConfig(domain="ferry").rank, TrainConfig(domain="ferry").validation_search) == ("actions", "gbfs")


def test_a_rank_and_a_loss_that_do_not_fit():
    for loss in STATE_LOSSES:
        with pytest.raises(PlanrankError, match=f"a policy is trained by the Levin loss alone, and the loss is {loss}"):
            TrainConfig(domain="ferry", rank="policy", loss=loss)
        for rank in ("actions", "states"):
            assert TrainConfig(domain="ferry", rank=rank, loss=loss).architecture.rank == rank
    with pytest.raises(PlanrankError, match="the Levin loss trains a policy of actions, and states are to be ranked"):
        TrainConfig(domain="ferry", rank="states", loss="levin")


def test_the_folder_gives_the_model_its_name(tmp_path):
    assert TrainConfig(domain=f"{tmp_path}/mine/").out == "planrank-models/mine.safetensors"


def test_a_toml_file_may_give_every_field(toml):
    written = {
        "str": lambda f: f'"{f.metadata["choices"][0] if f.metadata["choices"] else f.default or "some"}"',
        "int": lambda f: "4",
        "float": lambda f: "2",
        "bool": lambda f: "true",
        "tuple[str, ...]": lambda f: '["max"]',
    }
    text = "".join(f"{one.name} = {written[one.type](one)}\n" for one in fields(TrainConfig))
    config = configuration(toml(text), {"select": False})  # which grid rules out
    assert config.steps == 4 and config.learning_rate == 2.0 and config.messages == ("max",) and config.grid
    assert isinstance(config.learning_rate, float)


def test_what_is_given_beats_the_file(toml):
    config = configuration(toml('domain = "ferry"\nsteps = 5\ndim = 4\n'), {"steps": 6})
    assert (config.domain, config.steps, config.dim) == ("ferry", 6, 4)


def test_unknown_keys_are_refused_by_name(toml):
    with pytest.raises(PlanrankError, match="unknown key step, lr; the known ones are domain, out, ") as e:
        read_config(toml("step = 5\nlr = 1\n"))
    assert e.value.file.endswith("config.toml")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('steps = "5"', "steps is '5', expected a whole number not below 1"),
        ("steps = 0", "steps is 0, expected"),
        ("steps = 1.5", "steps is 1.5, expected a whole number"),
        ("steps = true", "steps is True, expected"),
        ("learning_rate = 0", "learning_rate is 0.0, expected a number above 0"),
        ("learning_rate = nan", "learning_rate is nan, expected"),
        ("weight_decay = inf", "weight_decay is inf, expected"),
        ('loss = "l3"', "loss is 'l3', expected one of lstar, lgbfs"),
        ("residual = 1", "residual is 1, expected true or false"),
        ('messages = ["median"]', "messages is .*, expected one or several different ones of sum, mean, max"),
        ('messages = ["max", "max"]', "messages is "),
        ("messages = []", "messages is "),
        ("messages = [1]", "messages is "),
        ("steps = ", "cannot be read as TOML"),
    ],
)
def test_wrong_values_are_refused(toml, line, said):
    with pytest.raises(PlanrankError, match=said) as e:
        read_config(toml(line))
    assert e.value.file.endswith("config.toml") and e.value.exit_code == Exit.USAGE


def test_python_is_checked_as_the_file_is():
    for wrong in (
        {"steps": 0},
        {"states_per_step": 3},
        {"loss": "l3"},
        {"messages": "max"},
        {"residual": None},
        {"profile": "slow"},
    ):
        with pytest.raises(PlanrankError, match=next(iter(wrong))):
            TrainConfig(domain="ferry", **wrong)
    with pytest.raises(PlanrankError, match="no domain"):
        TrainConfig()


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(PlanrankError, match="no such configuration file"):
        read_config(tmp_path / "none.toml")


def test_differing_names_only_what_changes_the_weights():
    config = TrainConfig(domain="ferry")
    other = TrainConfig(domain="ferry", dim=4, messages=("max",), log_every=7, out="elsewhere.safetensors").as_json()
    assert config.differing(json.loads(json.dumps(other))) == ["dim", "messages"]
    assert config.differing(json.loads(json.dumps(config.as_json()))) == []
    assert config.differing(TrainConfig(domain="ferry", rank="states").as_json()) == ["rank"]


def test_every_field_is_an_option_and_help_loads_nothing_heavy():
    script = """
import sys
from planrank.cli.main import main
try:
    main(["train", "--help"])
except SystemExit as stop:
    assert stop.code == 0
assert not {"torch", "numpy", "juliacall", "rich", "matplotlib"} & set(sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    for name in OPTIONS:
        assert f"--{name.replace('_', '-')} " in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--loss", "l3"], "--loss"),
        (["--steps", "many"], "--steps"),
        ([], "no domain to train on"),
        (["--domain", "ferry", "--pooling", "sum,median"], "pooling is"),
        (["--domain", "ferry", "--select", "--grid"], "select and grid both say which networks are tried"),
        (["--domain", "ferry", "--no-residual"], "without residual connections facts forget whether they hold"),
        (["--config", "none.toml"], "none.toml: there is no such"),
        (["--domain", "ferry", "--rank", "policy", "--loss", "lstar"], "a policy is trained by the Levin loss alone"),
        (["--domain", "ferry", "--rank", "states", "--loss", "levin"], "the Levin loss trains a policy"),
        (["--domain", "ferry", "--rank", "all"], "--rank"),
        (["--domain", "ferry", "--shared", "--no-mixing"], "layers that share their weights need residual connections"),
        (["--domain", "ferry", "--layers", "0"], "layers is 0, expected a whole number not below 1"),
    ],
)
def test_bad_usage_is_one_sentence(planrank, arguments, said, tmp_path):
    done = planrank("train", *arguments, cwd=tmp_path)
    assert done.returncode == Exit.USAGE and said in done.stderr and "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
