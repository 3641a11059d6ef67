"""Model files: what is written is read back; what is damaged, edited or of another kind is refused in one sentence."""

import json
import os
from dataclasses import asdict, fields

import numpy as np
import pytest
from test_search import generate

from planrank import PlanrankError, load, paths, solve
from planrank.choices import RANKS
from planrank.errors import Exit
from planrank.learning.examples import build_example, cached_example
from planrank.limits import Limits
from planrank.models import files
from planrank.models.hypergraph.architecture import Architecture
from planrank.models.hypergraph.signature import signature_of
from planrank.models.model import Model
from planrank.task import Rows


@pytest.fixture
def blocks(tmp_path):
    return generate(tmp_path, "blocksworld", 1)


@pytest.fixture
def model(blocks):
    return Model.fresh(signature_of(load(*blocks)), Architecture(), seed=1)


@pytest.mark.parametrize("name", ["model.safetensors", "model.json"])
def test_a_model_survives_its_file(tmp_path, blocks, model, name):
    model.metadata = {"figures": {"solved": 3}}
    model.save(tmp_path / name)
    again = Model.load(tmp_path / name)
    assert again.architecture == model.architecture
    assert (again.signature, again.metadata) == (model.signature, model.metadata)
    assert all(np.array_equal(again.weights[key], model.weights[key]) for key in model.weights)
    task = load(*blocks)
    states = task.packed(task.init)[None]
    assert again.scorer(task).values(states) == model.scorer(task).values(states)
    assert files.read_header(tmp_path / name)["signature_digest"] == model.signature.digest


@pytest.mark.parametrize("name", ["model.safetensors", "model.json"])
def test_damaged_files_are_refused(tmp_path, model, name):
    file = tmp_path / name
    model.save(file)
    whole = file.read_bytes()
    for cut in (0, 1, 7, 100, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:cut])
        with pytest.raises(PlanrankError, match=r"damaged|changed after") as error:
            Model.load(file)
        assert str(error.value).startswith(f"{file}: ")
    with pytest.raises(PlanrankError, match=r"no such|cannot be read"):
        Model.load(tmp_path / f"missing-{name}")


def test_an_edited_file_is_refused(tmp_path, model):
    binary, text = tmp_path / "m.safetensors", tmp_path / "m.json"
    model.save(binary)
    content = bytearray(binary.read_bytes())
    content[-3] ^= 0x40  # one bit of one weight
    binary.write_bytes(content)
    model.save(text)
    text.write_text(text.read_text().replace("blocksworld", "blockswarld"))
    for file in (binary, text):
        with pytest.raises(PlanrankError, match="changed after it was written"):
            Model.load(file)


def test_another_version_is_named(tmp_path, model):
    file = tmp_path / "m.json"
    model.save(file)
    content = json.loads(file.read_text())
    content["header"]["format"] = "planrank model 99"
    file.write_text(json.dumps(content))
    with pytest.raises(PlanrankError, match="this is a 'planrank model 99', expected 'planrank model 1'"):
        Model.load(file)


def test_a_model_of_another_domain_is_refused_by_name(tmp_path, model):
    ferry = load(*generate(tmp_path, "ferry", 1))
    with pytest.raises(PlanrankError, match="made for the domain 'blocksworld' and cannot read 'ferry'"):
        model.scorer(ferry)


@pytest.mark.parametrize("limits, kind", [(Limits(deadline=0.0), "time"), (Limits(memory=1), "memory")])
def test_scorers_keep_the_limits_of_their_search(blocks, model, limits, kind):
    task = load(*blocks)
    with pytest.raises(PlanrankError, match=f"out of {kind} while preparing the search") as error:
        model.scorer(task, limits).values(task.packed(task.init)[None])
    assert error.value.kind == kind


def test_states_of_another_task_are_refused(tmp_path, blocks, model):
    task = load(*blocks)
    with pytest.raises(PlanrankError, match="these states have 3 words, expected 1"):
        model.scorer(task).values(np.zeros((2, 3), np.uint64))


@pytest.mark.parametrize(
    "wrong, said",
    [
        ({"layers": 0}, "layers is 0, expected a whole number not below 1"),
        ({"pooling": ("median",)}, "one or several different ones of sum, mean, max"),
        ({"messages": ()}, "one or several different ones of sum, mean, max"),
        ({"receivers": "none"}, "receivers is 'none', expected one of adds, effects, all"),
        ({"rank": "all"}, "rank is 'all', expected one of actions, states, policy"),
    ],
)
def test_impossible_architectures_are_refused(wrong, said):
    with pytest.raises(PlanrankError, match=said):
        Architecture(**wrong)


def test_a_model_that_ranks_states_says_so(blocks):
    task = load(*blocks)
    model = Model.fresh(signature_of(task), Architecture(rank="states"))
    actions = Rows(np.array([0, 1], np.int32), np.zeros(1, np.int32))
    with pytest.raises(PlanrankError, match="ranks states and scores no actions; train one with --rank actions"):
        model.scorer(task).values_and_scores(task.packed(task.init)[None], actions)


def older(file, model, **options):
    """A file as it was written before there was `rank`."""
    architecture = asdict(model.architecture)
    architecture.pop("rank")
    return written(file, model, architecture=json.dumps(architecture | options))


@pytest.mark.parametrize("name", ["model.safetensors", "model.json"])
@pytest.mark.parametrize("options", [{}, {"policy": False}])
def test_files_older_than_rank_rank_states(tmp_path, blocks, name, options):
    states = Model.fresh(signature_of(load(*blocks)), Architecture(rank="states"), seed=1)
    found = Model.load(older(tmp_path / name, states, **options))
    assert found.architecture == states.architecture and found.rank == "states" and not found.scores_actions
    assert solve(*blocks, model=tmp_path / name).status == "solved"


@pytest.mark.parametrize("name", ["model.safetensors", "model.json"])
def test_a_policy_of_an_older_kind_is_refused(tmp_path, blocks, planrank, name):
    states = Model.fresh(signature_of(load(*blocks)), Architecture(rank="states"), seed=1)
    file = older(tmp_path / name, states, policy=True)
    said = "this model has a policy of an older kind; train it again with `planrank train --loss levin`"
    with pytest.raises(PlanrankError, match=said) as error:
        Model.load(file)
    assert error.value.exit_code == Exit.USAGE and "\n" not in str(error.value)
    if name == "model.json":
        done = planrank("solve", *blocks, "--model", file, cwd=tmp_path)
        assert done.returncode == Exit.USAGE and said in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("rank", RANKS)
def test_what_a_model_ranks_is_in_its_file(tmp_path, blocks, rank):
    model = Model.fresh(signature_of(load(*blocks)), Architecture(rank=rank), seed=1)
    model.save(tmp_path / "m.json")
    again = Model.load(tmp_path / "m.json")
    assert again.rank == rank and again.scores_actions == (rank != "states")
    assert again.ranked_by("gbfs") == ("actions" if rank == "actions" else "states")
    assert again.ranked_by("phs") == "states"
    assert any(key.startswith("action") for key in again.weights) == again.scores_actions
    other = {"states": "actions"}.get(rank, "states")
    architecture = json.dumps(asdict(model.architecture) | {"rank": other})
    with pytest.raises(PlanrankError, match="weights in this model file do not fit its architecture"):
        Model.load(written(tmp_path / "wrong.json", model, architecture=architecture))


def same_arrays(ours: dict, theirs: dict) -> bool:
    return ours.keys() == theirs.keys() and all(np.array_equal(ours[name], theirs[name]) for name in ours)


@pytest.mark.parametrize("rank", ["actions", "states"])
def test_examples_are_kept_on_disk_and_damaged_ones_made_again(tmp_path, blocks, rank):
    plan = solve(*blocks).plan
    shape = Architecture(rank=rank)
    fresh = build_example(load(*blocks), plan, shape)
    for _ in range(2):
        kept = cached_example(*blocks, plan, shape, folder=tmp_path / "examples")
        assert same_arrays(kept.encoded, fresh.encoded)
        assert np.array_equal(kept.ranking.states, fresh.ranking.states)
        assert kept.ranking.length == len(plan) and type(kept.ranking) is type(fresh.ranking)
        assert same_arrays(
            *({f.name: getattr(one.ranking, f.name) for f in fields(fresh.ranking)} for one in (kept, fresh))
        )
    (file,) = (tmp_path / "examples").iterdir()
    file.write_bytes(file.read_bytes()[:50])
    again = cached_example(*blocks, plan, shape, folder=tmp_path / "examples")
    assert same_arrays(again.encoded, fresh.encoded)
    cached_example(*blocks, plan, Architecture(layers=1, rank=rank), folder=tmp_path / "examples")
    assert len(list((tmp_path / "examples").iterdir())) == 2
    other = {"states": "actions", "actions": "states"}[rank]
    cached_example(*blocks, plan, Architecture(rank=other), folder=tmp_path / "examples")
    assert len(list((tmp_path / "examples").iterdir())) == 3


def test_examples_of_other_sources_are_not_used(tmp_path, blocks, monkeypatch):
    plan, folder = solve(*blocks).plan, tmp_path / "examples"
    cached_example(*blocks, plan, Architecture(), folder=folder)
    (before,) = folder.iterdir()
    changed = tmp_path / "changed.jl"
    changed.write_text("# as if somebody had worked on the Julia code")
    sources = [*paths.julia_sources(), changed]
    monkeypatch.setattr(paths, "julia_sources", lambda: sources)
    paths.sources_digest.cache_clear()
    try:
        cached_example(*blocks, plan, Architecture(), folder=folder)
    finally:
        paths.sources_digest.cache_clear()
    assert len({before, *folder.iterdir()}) == 2


def written(file, model, weights=None, **changed):
    """A file with a right digest, whatever it says."""
    model.save(file)
    header, own = files.read(file)
    header.pop("format")
    files.write(file, header | changed, own if weights is None else weights)
    return file


def architecture_with(model, **changed) -> str:
    return json.dumps({"layers": 2, "dim": 64, "rank": "actions"} | changed)


HOSTILE = {
    "a billion layers": lambda m: {"architecture": architecture_with(m, layers=10**9)},
    "a huge embedding": lambda m: {"architecture": architecture_with(m, dim=10**12)},
    "true layers": lambda m: {"architecture": architecture_with(m, layers=True)},
    "layers as text": lambda m: {"architecture": architecture_with(m, layers="2")},
    "half a layer": lambda m: {"architecture": architecture_with(m, layers=1.5)},
    "an unknown rank": lambda m: {"architecture": architecture_with(m, rank="sideways")},
    "a rank that is a number": lambda m: {"architecture": architecture_with(m, rank=1)},
    "unknown option": lambda m: {"architecture": architecture_with(m, colour="red")},
    "no object": lambda m: {"architecture": "[]"},
    "deep brackets": lambda m: {"architecture": "[" * 100_000},
    "deep metadata": lambda m: {"metadata": "[" * 100_000},
    "metadata is a list": lambda m: {"metadata": "[1]"},
    "a number of 400 digits": lambda m: {"architecture": architecture_with(m).replace("32", "1" + "0" * 400)},
    "a number of 5,000 digits": lambda m: {"architecture": architecture_with(m).replace("32", "1" + "0" * 5000)},
    "empty signature": lambda m: {"signature": ""},
    "a signature of one word": lambda m: {"signature": "domain"},
    "a signature that makes no sense": lambda m: {"signature": "domain x\nedge a : : :\nedge\npredicate"},
    "a hundred thousand predicates": lambda m: {
        "signature": "domain x\n" + "".join(f"predicate p{i}\n" for i in range(100_000))
    },
    "a family of 300 letters": lambda m: {"family": "f" * 300},
    "an escape": lambda m: {"family": "\x1b[2J\x1b[31m"},
}


@pytest.mark.parametrize("name", ["model.safetensors", "model.json"])
@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_headers_are_refused_in_one_sentence(tmp_path, model, name, case):
    file = written(tmp_path / name, model, **HOSTILE[case](model))
    with pytest.raises(PlanrankError) as error:
        Model.load(file)
    said = str(error.value)
    assert said.startswith(f"{file}: ") and said.isprintable() and error.value.exit_code == Exit.USAGE


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        '{"header": ' + "[" * 200_000 + "}}",
        '{"header": {"format": "planrank model 1\\ud800"}, "weights": {}}',
        '{"header": {"format": "planrank model 1", "a": 1}, "shapes": {}, "weights": {}}',
        '{"header": {"format": "planrank model 1"}, "shapes": {"a": [1]}, "weights": {"a": [1e400]}}',
        '{"header": {"format": "planrank model 1"}, "shapes": {"a": [1]}, "weights": {"a": [1' + "0" * 400 + "]}}",
        '{"header": {"format": "planrank model 1"}, "shapes": {"a": [1]}, "weights": {"a": ["1"]}}',
        '{"header": {"format": "planrank model 1"}, "shapes": {"a": [1]}, "weights": {"a": [true]}}',
        '{"header": {"format": "planrank model 1"}, "shapes": {"a": [-1]}, "weights": {"a": [1, 2]}}',
        '{"header": {"format": "planrank model 1"}, "shapes": {"a": [1000000000000]}, "weights": {"a": [1]}}',
    ],
)
def test_hostile_texts_are_refused(tmp_path, text):
    file = tmp_path / "m.json"
    file.write_text(text)
    with pytest.raises(PlanrankError, match=r"damaged|changed after"):
        Model.load(file)


@pytest.mark.parametrize("kind", ["BF16", "F8_E4M3", "F64", "I32"])
def test_weights_of_another_type_are_refused(tmp_path, model, kind):
    file = tmp_path / "m.safetensors"
    model.save(file)
    content = file.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = content[8 : 8 + length].replace(b'"F32"', f'"{kind}"'.encode())
    file.write_bytes(len(header).to_bytes(8, "little") + header + content[8 + length :])
    with pytest.raises(PlanrankError, match="damaged"):
        Model.load(file)


def test_only_regular_files_of_a_sensible_size_are_read(tmp_path, model):
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "zero.safetensors").symlink_to("/dev/zero")
    (tmp_path / "nowhere.safetensors").symlink_to(tmp_path / "gone")
    (tmp_path / "folder.json").mkdir()
    with (tmp_path / "large.safetensors").open("wb") as stream:
        stream.truncate(files.LARGEST_FILE + 1)
    expected = {
        "pipe.json": "no regular file",
        "zero.safetensors": "no regular file",
        "folder.json": "no regular file",
        "nowhere.safetensors": "no such model file",
        "large.safetensors": "too large",
    }
    for name, said in expected.items():
        with pytest.raises(PlanrankError, match=said):
            Model.load(tmp_path / name)


def test_huge_weights_are_one_sentence(tmp_path, blocks, model, recwarn):
    huge = {name: np.full_like(array, 1e38) for name, array in model.weights.items()}
    loaded = Model.load(written(tmp_path / "m.safetensors", model, huge))
    with pytest.raises(PlanrankError, match="gives values that are no numbers"):
        solve(*blocks, model=loaded)
    assert not [warning for warning in recwarn if "overflow" in str(warning.message)]
