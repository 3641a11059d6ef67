"""`planrank improve`: a model that gets better by itself, going on after a kill, and what bad input gets."""

import json
import random
import shutil
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

from planrank import Model, PlanrankError, julia, load, paths, validate
from planrank.errors import Exit
from planrank.improving.choice import hardness, weighted_sample
from planrank.improving.config import ImproveConfig, configuration
from planrank.improving.ladder import LadderProblem, ladder_of, levels_of, parse_ladder
from planrank.improving.searching import Found, Terms, search_all
from planrank.improving.state import STATE, Known
from planrank.journal import Journal, read_rows
from planrank.learning.selection import Figures
from planrank.paths import own_domains
from planrank.problems.folders import own_domain_file
from planrank.problems.problem_sets import Group, generate
from planrank.problems.random_problems import GENERATORS
from planrank.problems.splits import parts_of
from planrank.reports.results import read_results

julia.module()  # before torch

from planrank.improving.improve import Run, improve  # noqa: E402
from planrank.improving.learning import Learner  # noqa: E402

TINY = {"rounds": 2, "problems": 3, "held_out": 2, "steps": 10, "expansions": 60, "model": "fresh"}
BLOCKS = TINY | {"domain": "blocksworld", "sizes": "blocks=3,4"}


def silent(text):
    pass


def weights_of(file) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in Model.load(file).weights.items()}


def rows_of(config: ImproveConfig) -> list[dict]:
    return [
        {name: value for name, value in row.items() if name != "seconds"}
        for row in read_rows(config.folder / "improve.jsonl")
    ]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory) -> ImproveConfig:
    config = ImproveConfig(**BLOCKS, out=str(tmp_path_factory.mktemp("whole") / "m.safetensors"))
    improve(config, say=silent)
    return config


def test_the_command_from_end_to_end(planrank, tmp_path):
    options = [f"--{name.replace('_', '-')}={value}" for name, value in BLOCKS.items()]
    done = planrank("improve", *options, "--out", "m.safetensors", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.endswith("Model written to m.safetensors.\n"), done.stderr
    assert "begins with random weights" in done.stderr and "round 2:" in done.stderr
    done = planrank("report", "m.safetensors", "--out", "page.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_what_a_run_leaves_behind(uninterrupted):
    config, rows = uninterrupted, rows_of(uninterrupted)
    model = Model.load(config.out)
    assert model.metadata["improving"]["options"] == config.as_json()
    ElementTree.parse(config.folder / "curves.svg")
    assert [row["round"] for row in rows if "better" in row] == [1, 2]
    best = model.metadata["improving"]["round"]
    assert best == max(row["round"] for row in rows if row.get("better"))
    searches = [row for row in rows if "by" in row]
    assert len(searches) >= 6 and any(row["solved"] for row in searches)
    for row in searches:
        place = config.folder / "plans" / f"{row['round']:03}" / row["problem"]
        plan = place.with_name(place.name + ".plan")
        assert plan.is_file() == bool(row["by"])
        if row["by"]:
            level, visit, *name = row["problem"].split("-")
            problem = config.folder / "problems" / level / visit / ("-".join(name) + ".pddl")
            assert validate(own_domain_file("blocksworld"), problem, plan)[0] == row["steps"]
    results = read_results([Path(config.out)])
    assert list(results.improvements) == ["m"] and len(results.improvements["m"]) == len(rows)


class Killed(BaseException):
    """As if the process had died there."""


@pytest.mark.parametrize("written", [0, 1, 4, 8])
def test_a_killed_run_goes_on_to_the_same_result(uninterrupted, tmp_path, monkeypatch, written):
    config = ImproveConfig(**BLOCKS, out=str(tmp_path / "m.safetensors"))
    add, left = Journal.add, [written]

    def dies(self, row):
        if left[0] == 0:
            raise Killed
        left[0] -= 1
        add(self, row)

    with monkeypatch.context() as patched:
        patched.setattr(Journal, "add", dies)
        with pytest.raises(Killed):
            improve(config, say=silent)
    improve(config, resume=True, say=silent)
    assert weights_of(config.out) == weights_of(uninterrupted.out)
    assert rows_of(config) == rows_of(uninterrupted)


def test_more_rounds_can_be_added_and_other_options_not(uninterrupted, tmp_path):
    shorter = ImproveConfig(**BLOCKS | {"rounds": 1}, out=str(tmp_path / "m.safetensors"))
    improve(shorter, say=silent)
    changed = ImproveConfig(**BLOCKS | {"steps": 30, "seed": 2}, out=shorter.out)
    with pytest.raises(PlanrankError, match="of other options: steps, seed; improve without --resume"):
        improve(changed, resume=True, say=silent)
    assert improve(shorter, resume=True, say=silent).metadata["improving"]["options"] == shorter.as_json()
    longer = ImproveConfig(**BLOCKS, out=shorter.out)
    improve(longer, resume=True, say=silent)
    assert weights_of(longer.out) == weights_of(uninterrupted.out)


def test_worse_weights_are_given_up(uninterrupted, tmp_path, monkeypatch):
    tried = []

    def spoilt(self, present, lessons, round, check_time):
        tried.append({name: array.tobytes() for name, array in present.weights.items()})
        return Model.fresh(present.signature, present.architecture, seed=round), 1.0

    monkeypatch.setattr(Learner, "learn", spoilt)
    monkeypatch.setattr(Figures, "better_than", lambda self, other: False)
    monkeypatch.setattr(Run, "try_out", lambda self, model, level, round, which: Figures(which == "best", 2, 9, 9))
    config = ImproveConfig(**BLOCKS | {"model": uninterrupted.out}, out=str(tmp_path / "m.safetensors"))
    improve(config, say=silent)
    assert weights_of(config.out) == weights_of(uninterrupted.out) == tried[0] == tried[1]
    assert Model.load(config.out).metadata["improving"]["round"] == 0


def test_hours_end_a_run_that_can_go_on(uninterrupted, tmp_path):
    told = []
    config = ImproveConfig(**BLOCKS, hours=1e-6, out=str(tmp_path / "m.safetensors"))
    improve(config, say=told.append)
    assert "hours are over; --resume goes on with round 1" in told[-1]
    Model.load(config.out)
    improve(ImproveConfig(**BLOCKS, out=config.out), resume=True, say=silent)
    assert weights_of(config.out) == weights_of(uninterrupted.out)


def test_searches_in_several_processes_give_the_same(uninterrupted, tmp_path):
    model = uninterrupted.folder / "start.safetensors"
    problems = ladder_of("blocksworld", "blocks=4,5", tmp_path / "problems", 4, 3, 7).held_out(1)
    terms = Terms("gbfs", 40, 60.0, 2, "ff", 1000)
    found = []
    for jobs in (1, 2):
        folder = tmp_path / str(jobs)
        folder.mkdir()
        outcome = {p.name: (f.by, f.expanded, f.steps) for p, f in search_all(model, problems, terms, folder, jobs)}
        found.append((outcome, {file.name: file.read_text() for file in folder.iterdir()}))
    assert found[0] == found[1] and len(found[0][0]) == 3 and found[0][1]


def test_where_nothing_is_solved_hff_helps_and_the_budget_grows(tmp_path):
    told = []
    options = BLOCKS | {"sizes": "blocks=5", "expansions": 1, "most_expansions": 3, "rounds": 3}
    config = ImproveConfig(**options, out=str(tmp_path / "m.safetensors"))
    improve(config, say=told.append)
    rows = [row for row in rows_of(config) if "by" in row]
    assert {row["by"] for row in rows if row["round"] == 1} == {""}
    assert {row["by"] for row in rows if row["round"] == 2} == {"ff"}
    assert [row["budget"] for row in rows_of(config) if "better" in row] == [1, 2, 3]
    assert "nothing new is solved: 2 expansions from now on" in told
    strays = sorted((config.folder / "plans/002").glob("*.strays"))
    assert any(file.read_text() for file in strays)  # where the model went, although it did not find the plan


@pytest.mark.parametrize(
    "options",
    [
        {"domain": "tiles", "sizes": "side=2 walk=3,4", "fallback": "teacher", "loss": "lgbfs"},
        {"domain": "gripper", "sizes": "balls=1-3", "loss": "l2"},
    ],
)
def test_other_families_losses_and_teachers(tmp_path, options):
    config = ImproveConfig(
        **TINY | {"rounds": 2, "steps": 3, "problems": 2, "held_out": 1} | options, out=str(tmp_path / "m.safetensors")
    )
    model = improve(config, say=silent)
    assert model.family.name == ("grid" if options["domain"] == "tiles" else "hypergraph")


@pytest.mark.parametrize("rank, loss", [("states", "lstar"), ("policy", "levin")])
def test_models_that_rank_states_improve_too(tmp_path, rank, loss):
    from planrank.learning.config import TrainConfig
    from planrank.models.hypergraph.signature import signature_of

    problem = generate("blocksworld", [Group(1, 1, {"blocks": (3, 3)})], tmp_path / "one")[0]
    training = TrainConfig(domain="blocksworld", rank=rank, loss=loss, dim=4, layers=1)
    start = Model.fresh(signature_of(load(problem.domain, problem.problem)), training.architecture)
    start.metadata["training"] = training.as_json()
    start.save(tmp_path / "start.safetensors")
    options = BLOCKS | {"model": str(tmp_path / "start.safetensors"), "rounds": 2, "steps": 5}
    config = ImproveConfig(**options, out=str(tmp_path / "m.safetensors"))
    model = improve(config, say=silent)
    assert model.rank == rank and Learner(config, start).training.loss == loss
    assert all(np.isfinite(array).all() for array in model.weights.values())


@pytest.fixture
def folder(tmp_path) -> Path:
    generate("blocksworld", [Group(24, 1, {"blocks": (3, 5)})], tmp_path / "mine")
    return tmp_path / "mine"


def test_a_folder_is_a_ladder_whose_test_problems_are_not_touched(folder):
    ladder = ladder_of(str(folder), None, folder / "none", 4, 2, 0)
    parts = {part: {str(one.problem) for one in found} for part, found in parts_of(folder).items()}
    searched = [ladder.fresh(level, 1, 100, ()) for level in range(len(ladder))]
    held_out = [ladder.held_out(level) for level in range(len(ladder))]
    assert ladder.sizes == ["3 objects", "4 objects", "5 objects"]
    names = [{one.problem for found in some for one in found} for some in (searched, held_out)]
    assert not names[0] & names[1] and names[0] | names[1] <= parts["train"] | parts["validation"]
    assert len(names[0]) > len(parts["train"]) - 2
    assert all(1 <= len(found) <= 2 for found in held_out)
    first = ladder.fresh(0, 1, 3, ())
    again = ladder.fresh(0, 2, 3, {one.name for one in first})
    assert len(first) == 3 and not {one.name for one in first} & {one.name for one in again}
    coarse = ladder_of(str(folder), None, folder / "none", 100, 2, 0)
    assert coarse.sizes == ["3 to 5 objects"] and coarse.next_level(0) == 0


def test_a_folder_is_improved_on_without_writing_into_it(folder, tmp_path):
    before = sorted(folder.iterdir())
    config = ImproveConfig(**TINY | {"domain": str(folder)}, out=str(tmp_path / "m.safetensors"))
    improve(config, say=silent)
    assert sorted(folder.iterdir()) == before
    assert {row["size"] for row in rows_of(config) if "by" in row} <= {"3 objects", "4 objects", "5 objects"}


@pytest.mark.parametrize("domain", own_domains())
def test_every_domain_has_sizes_to_grow_by(domain, tmp_path):
    ladder = ladder_of(domain, None, tmp_path, 2, 2, 0)
    assert len(ladder) >= 4
    assert len(ladder.held_out(0)) == len(ladder.fresh(0, 1, 2, ())) == 2
    texts = {Path(one.problem).read_text().split(")", 1)[1] for one in ladder.held_out(0) + ladder.fresh(0, 1, 2, ())}
    assert len(texts) == 4


def test_what_is_held_out_is_not_made_again_to_learn_from(tmp_path):
    ladder = ladder_of("blocksworld", "blocks=3", tmp_path, 5, 10, 0)
    held_out = {ladder.identity(one) for one in ladder.held_out(0)}
    found = [one for round in range(1, 5) for one in ladder.fresh(0, round, 5, ())]
    assert 0 < len(found) < 20 and not {ladder.identity(one) for one in found} & held_out
    none_left = ladder_of("gripper", "balls=1", tmp_path / "g", 1, 2, 0)
    with pytest.raises(PlanrankError, match="all problems of balls 1 are held out; allow other sizes"):
        for round in range(1, 4):
            none_left.fresh(0, round, 1, ())


def test_sizes_in_words():
    assert parse_ladder("blocks=10,12-14") == {"blocks": ["10", "12-14"]}
    assert levels_of("ferry", parse_ladder("cars=2,3-4 locations=5")) == [
        {"cars": (2, 2), "locations": (5, 5)},
        {"cars": (3, 4), "locations": (5, 5)},
    ]


def test_costly_problems_are_drawn_more_often():
    def known(name, by, expanded, steps):
        return Known(LadderProblem(name, 0, "", ""), Found(by, expanded, steps), by, steps, 1)

    some = [known("easy", "model", 10, 10), known("dear", "model", 640, 10), known("unsolved", "", 1000, 0)]
    assert [hardness(one) for one in some] == [0.1, 6.1, 10.0]
    drawn = [weighted_sample(random.Random(i), some, [hardness(one) for one in some], 2) for i in range(300)]
    count = {one.problem.name: sum(one in pair for pair in drawn) for one in some}
    assert count["easy"] < 30 and 250 < count["dear"] < count["unsolved"]
    assert all(len({one.problem.name for one in pair}) == 2 for pair in drawn)


def test_a_configuration_file(tmp_path):
    file = tmp_path / "improve.toml"
    file.write_text('domain = "gripper"\nrounds = 7\nsizes = "balls=4,8"\n')
    assert configuration(file, {"rounds": 2}) == ImproveConfig(domain="gripper", rounds=2, sizes="balls=4,8")
    file.write_text("steep = 1\n")
    with pytest.raises(PlanrankError, match="unknown key steep"):
        configuration(file, {})


def test_what_bad_input_gets(planrank, folder, tmp_path):
    def told(*arguments) -> str:
        done = planrank("improve", "--out", "m.safetensors", *arguments, cwd=tmp_path)
        assert done.returncode in (Exit.USAGE, Exit.BAD_PDDL) and "Traceback" not in done.stderr, done.stderr
        return done.stderr.splitlines()[-1]

    assert "expected the name of a domain or a folder" in told()
    assert "no size called 'boxes'; it has blocks" in told("--domain", "blocksworld", "--sizes", "boxes=3")
    assert "Did you mean 'blocksworld'?" in told("--domain", "blockworld")
    assert not [file for file in tmp_path.iterdir() if file.name.startswith("m.")]


@pytest.mark.parametrize(
    "options, said",
    [
        ({"sizes": "blocks"}, "expected KEY=SIZE,SIZE,…"),
        ({"sizes": "blocks=5,x"}, "found 'x' as a size"),
        ({"domain": "ferry", "sizes": "cars=1,2 locations=2,3,4"}, "lists of different lengths"),
        ({"domain": "nowhere", "sizes": None}, "found neither a folder nor a domain called 'nowhere'"),
        ({"model": str(paths.shared() / "domains/ferry/model.json")}, "made for the domain 'ferry' and cannot read"),
        ({"model": "none.safetensors"}, "none.safetensors"),
        ({"loss": "levin"}, "the loss levin trains a policy, and this model ranks actions"),
        ({"domain": "{folder}"}, "the problems of a folder have the sizes they have"),
        ({"domain": "{empty}", "sizes": None}, "there is no domain file in this folder"),
        ({"domain": "{few}", "sizes": None}, "too few problems"),
        ({"most_expansions": 3}, "most_expansions is 3, expected not below expansions, which is 60"),
        ({"out": "model.json"}, "expected the name of a .safetensors file"),
    ],
)
def test_what_cannot_be_improved(folder, tmp_path, options, said):
    (tmp_path / "empty").mkdir()
    (tmp_path / "few").mkdir()
    for name in ("domain.pddl", next(folder.glob("p0001*")).name):
        shutil.copy(folder / name, tmp_path / "few")
    places = {name: str(tmp_path / name) for name in ("empty", "few")} | {"folder": str(folder)}
    options = {key: value.format(**places) if isinstance(value, str) else value for key, value in options.items()}
    with pytest.raises(PlanrankError, match=said) as found:
        improve(ImproveConfig(**BLOCKS | {"out": str(tmp_path / "m.safetensors")} | options), say=silent)
    assert "\n" not in str(found.value)


def test_a_run_to_go_on_with_must_be_there_and_whole(tmp_path):
    config = ImproveConfig(**BLOCKS | {"rounds": 1}, out=str(tmp_path / "m.safetensors"))
    with pytest.raises(PlanrankError, match="there is no run to go on with"):
        improve(config, resume=True, say=silent)
    improve(config, say=silent)
    (config.folder / STATE).write_bytes(b"{}")
    with pytest.raises(PlanrankError, match="not a whole checkpoint"):
        improve(config, resume=True, say=silent)


def test_what_is_solved_already_is_said(uninterrupted, tmp_path):
    told = []
    options = BLOCKS | {"model": uninterrupted.out, "sizes": "blocks=3", "rounds": 1, "problems": 2, "held_out": 1}
    config = ImproveConfig(**options | {"expansions": 1000}, out=str(tmp_path / "m.safetensors"))
    improve(config, say=told.append)
    assert any("no problems are larger than those it solves: blocks 3 are the largest" in line for line in told)
    assert json.loads((config.folder / "improve.jsonl").read_text().splitlines()[0])["held_out_solved"] == 1


def test_the_seconds_of_a_search_bound_its_grounding_too(tmp_path):
    """A problem that cannot be grounded in them counts as not solved, with all the expansions it might have had."""
    problem = tmp_path / "large.pddl"
    problem.write_text(GENERATORS["blocksworld"](random.Random(1), "large", blocks=250))
    large = LadderProblem("large", 0, str(own_domain_file("blocksworld")), str(problem))
    model = paths.shared() / "domains/blocksworld/model.json"
    ((_, found),) = search_all(model, [large], Terms("gbfs", 9, 0.02, 0), None, jobs=1)
    assert (found.by, found.expanded) == ("", 9)
