"""A model in the search: the same algorithm as ever, found by the domain, refused in one sentence."""

import json
import math
import os
import random
import subprocess
import sys
import time

import pytest
from conftest import interrupt, start_python
from scorers import Classical, Distinct, expansions, textbook_expansions

from planrank import Heuristic, PlanrankError, Search, julia, load, paths, solve
from planrank.errors import Exit
from planrank.models import library
from planrank.models.hypergraph.architecture import Architecture
from planrank.models.hypergraph.signature import signature_of
from planrank.models.model import Model
from planrank.problems.folders import own_domain_file
from planrank.problems.random_problems import GENERATORS
from planrank.search import forward
from planrank.search.solve import Patience

DOMAINS = paths.shared() / "domains"
BLOCKS = DOMAINS / "blocksworld/domain.pddl"
SIZES = {"blocksworld": {"blocks": 4}, "gripper": {"balls": 5}, "spanner": {"spanners": 3, "nuts": 2, "locations": 3}}


# Found before a test hides them.
DOMAIN_FILES = {name: own_domain_file(name) for name in GENERATORS}


def generate(folder, name, **size):
    problem = folder / f"{name}.pddl"
    problem.write_text(GENERATORS[name](random.Random(4), name, **size))
    return DOMAIN_FILES[name], problem


@pytest.fixture(params=sorted(SIZES))
def files(request, tmp_path):
    return generate(tmp_path, request.param, **SIZES[request.param])


@pytest.fixture
def blocks(tmp_path):
    return generate(tmp_path, "blocksworld", blocks=5)


def fresh(files, **shape) -> Model:
    return Model.fresh(signature_of(load(*files)), Architecture(**shape))


@pytest.fixture
def alone(tmp_path, monkeypatch):
    """Neither the user's models nor those that are library."""
    julia.module()  # while its sources are where they are
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(library.paths, "shared", lambda: tmp_path / "share")
    return tmp_path


@pytest.mark.parametrize("search", ["gbfs", "astar", "wastar"])
@pytest.mark.parametrize("batch", [1, 4])
def test_a_scorer_leads_the_same_way_as_the_heuristic_in_julia(files, search, batch):
    task = load(*files)
    inside, outside = Search(task, search, batch=batch), Search(task, search, batch=batch)
    while inside.run(Heuristic(task, "goalcount")) == "running":
        pass
    while outside.run(Classical(task)) == "running":
        pass
    assert inside.status == outside.status == "solved"
    assert inside.statistics() == outside.statistics()
    assert inside.plan() == outside.plan()


@pytest.mark.parametrize("search", ["gbfs", "astar"])
@pytest.mark.parametrize("spread", [3.0, 40.0])
def test_one_expansion_at_a_time_is_the_textbook_algorithm(files, search, spread):
    task = load(*files)
    scorer = Distinct(task, spread)
    expected = textbook_expansions(task, scorer, search)
    assert expansions(Search(task, search), scorer) == expected and len(expected) > 5
    searching = Search(task, search)
    while searching.step(scorer):
        pass
    assert searching.status == "solved" and searching.expanded == len(expected)


def test_a_batch_is_scored_in_one_call(files):
    task = load(*files)
    sizes = []
    for batch in (1, 8):
        scorer = Distinct(task)
        searching = Search(task, "astar", batch=batch)
        while searching.step(scorer):
            pass
        assert searching.status == "solved"
        sizes.append(scorer.largest_batch)
    assert sizes[0] < sizes[1]


@pytest.mark.parametrize("search", ["astar", "phs"])  # with entries: test_entry_search.py
def test_scoring_in_portions_changes_nothing(files, search, monkeypatch):
    task = load(*files)
    whole, parts = Search(task, search, batch=50), Search(task, search, batch=50)
    scorer, careful = Distinct(task), Distinct(task)
    while whole.step(scorer):
        pass
    monkeypatch.setattr(forward, "WORK_IN_A_PORTION", 1)
    while parts.step(careful):
        pass
    assert careful.largest_batch == min(16, scorer.largest_batch)
    assert parts.statistics() == whole.statistics() and parts.plan() == whole.plan()


@pytest.mark.parametrize("rank", ["actions", "states"])
def test_a_large_batch_of_a_large_task_keeps_the_time_limit(tmp_path, rank):
    """One batch would take far longer than the limit."""
    blocks = generate(tmp_path, "blocksworld", blocks=60)
    fresh(blocks, rank=rank).save(tmp_path / "mine.safetensors")
    result = solve(*blocks, "gbfs", model=tmp_path / "mine.safetensors", batch=2000, time_limit=4)
    assert result.status == "out of time" and result.total_seconds < 6


def test_values_are_in_the_costs_that_the_user_wrote(tmp_path):
    """Julia counts in halves here; A* must not take a value of 1 for half a step."""
    (tmp_path / "d.pddl").write_text("""(define (domain d) (:requirements :typing :action-costs) (:types place)
        (:predicates (at ?p - place) (road ?a ?b - place))
        (:functions (total-cost) - number (length ?a ?b - place) - number)
        (:action go :parameters (?a ?b - place) :precondition (and (at ?a) (road ?a ?b))
         :effect (and (at ?b) (not (at ?a)) (increase (total-cost) (length ?a ?b)))))""")
    rng = random.Random(1)
    roads = [(a, b) for a in range(12) for b in range(12) if a != b and rng.random() < 0.3]
    facts = "".join(f"(road p{a} p{b}) (= (length p{a} p{b}) {rng.randint(1, 9)}.5) " for a, b in roads)
    (
        tmp_path / "p.pddl"
    ).write_text(f"""(define (problem p) (:domain d) (:objects {" ".join(f"p{i}" for i in range(12))} -
        place) (:init (at p0) (= (total-cost) 0) {facts}) (:goal (at p11)) (:metric minimize (total-cost)))""")
    task = load(tmp_path / "d.pddl", tmp_path / "p.pddl")
    assert task.cost_scale > 1
    inside, outside = Search(task, "astar"), Search(task, "astar")
    while inside.run(Heuristic(task, "hmax")) == "running":
        pass
    while outside.run(Classical(task, "hmax")) == "running":
        pass
    assert inside.statistics() == outside.statistics() and inside.plan() == outside.plan()
    by_hand, evaluator = Search(task, "astar"), Heuristic(task, "hmax")  # the loop that the README shows
    while len(states := by_hand.expand(k=1)):
        by_hand.insert(evaluator.values(states))
    assert by_hand.statistics() == inside.statistics() and by_hand.plan() == inside.plan()
    assert set(task.costs) <= {n + 0.5 for n in range(1, 10)}


def test_the_model_asked_for_is_used(planrank, blocks, tmp_path):
    fresh(blocks).save(tmp_path / "mine.safetensors")
    done = planrank("solve", *blocks, "--model", tmp_path / "mine.safetensors", "--json", "-", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["heuristic"], found["model_file"]) == ("model:mine", str(tmp_path / "mine.safetensors"))
    assert "Heuristic: model mine (" in done.stderr
    assert planrank("validate", *blocks, tmp_path / "sas_plan").returncode == 0


def test_torch_is_not_imported_for_a_model(blocks, tmp_path):
    fresh(blocks).save(tmp_path / "mine.safetensors")
    script = """
import sys
from planrank.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit as stop:
    assert stop.code == 0
assert "torch" not in sys.modules
"""
    command = [sys.executable, "-c", script, "solve", *blocks, "--model", tmp_path / "mine.safetensors"]
    subprocess.run([*command, "--plan-file", "-"], check=True, capture_output=True, cwd=tmp_path)


def test_a_model_in_the_usual_folder_is_found_by_the_domain(planrank, blocks, tmp_path):
    (tmp_path / "planrank-models").mkdir()
    fresh(blocks).save(tmp_path / "planrank-models/towers.safetensors")
    done = planrank("solve", *blocks, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Heuristic: model towers (planrank-models/towers.safetensors)" in done.stdout


def test_which_model_is_found(blocks, alone):
    ferry = generate(alone, "ferry", locations=3, cars=2)
    task = load(*blocks)
    assert solve(*blocks).heuristic == "ff"
    home = alone / "share/domains/blocksworld"
    home.mkdir(parents=True)
    fresh(blocks).save(home / "model.json")
    assert solve(*blocks).heuristic == "model:blocksworld"
    assert solve(*ferry).heuristic == "ff"
    assert solve(*blocks, "bfs").heuristic == "blind"
    assert solve(*blocks, heuristic="hadd").heuristic == "hadd"
    (alone / "planrank-models").mkdir()
    fresh(ferry).save(alone / "planrank-models/a.safetensors")
    (alone / "planrank-models/b.safetensors").write_bytes(b"no model")
    assert solve(*blocks).heuristic == "model:blocksworld"
    fresh(blocks, rank="actions").save(alone / "planrank-models/c.safetensors")
    assert solve(*blocks).heuristic == "model:c"
    assert library.fitting_model(task, ("policy",)) is None
    fresh(blocks, rank="policy").save(home / "model.json")
    assert library.fitting_model(task, ("policy",)) == home / "model.json"
    assert library.fitting_model(task, ("states",)) is None
    assert library.fitting_model(task, ("policy", "actions")) == library.TRAINED / "c.safetensors"


def test_the_model_found_ranks_what_was_asked_for(blocks, alone):
    (alone / "planrank-models").mkdir()
    for number, rank in enumerate(("actions", "states", "policy")):
        file = alone / f"planrank-models/{rank}.safetensors"
        fresh(blocks, rank=rank).save(file)
        os.utime(file, (number, number))  # the policy is the newest
    assert solve(*blocks).heuristic == "model:policy"
    assert solve(*blocks, rank="actions").heuristic == "model:actions"
    assert solve(*blocks, rank="states").heuristic == "model:policy"
    assert solve(*blocks, "phs").heuristic == "model:policy"
    assert solve(*blocks, "phs", rank="states").heuristic == "model:policy"
    assert solve(*blocks, "lazy").heuristic == "ff"
    (alone / "planrank-models/policy.safetensors").unlink()
    assert solve(*blocks).heuristic == solve(*blocks, rank="states").heuristic == "model:states"
    assert solve(*blocks, "phs").heuristic == "model:actions"
    (alone / "planrank-models/states.safetensors").unlink()
    assert solve(*blocks).heuristic == "model:actions"
    assert solve(*blocks, rank="states").heuristic == "ff"


@pytest.mark.parametrize(
    "options, said",
    [
        ({"model": "states", "rank": "actions"}, "this model ranks states, and ranking actions was asked for"),
        ({"model": "policy", "rank": "actions"}, "this model ranks states, and ranking actions was asked for"),
        ({"model": "actions", "rank": "states"}, "this model ranks actions, and ranking states was asked for"),
        ({"heuristic": "ff", "rank": "actions"}, "the heuristic ff ranks states, and ranking actions was asked for"),
        ({"model": "states", "search": "phs"}, "phs needs a policy, which this model has not"),
        ({"model": "actions", "search": "lazy"}, "this model ranks actions: take gbfs, which does the same"),
        ({"rank": "actions"}, "no model that ranks actions was found for the domain blocksworld; `planrank train"),
        ({"rank": "actions", "search": "phs"}, "phs ranks no actions; astar, gbfs, wastar and dive do"),
        ({"rank": "actions", "search": "bfs"}, "bfs ranks no actions; astar, gbfs, wastar and dive do"),
        ({"rank": "actions", "search": "lazy"}, "lazy ranks no actions; astar, gbfs, wastar and dive do"),
        ({"rank": "states", "search": "dive"}, "dive ranks actions, and ranking states was asked for"),
        ({"heuristic": "ff", "search": "dive"}, "dive needs a model that ranks actions, not the heuristic ff"),
        ({"model": "states", "search": "dive"}, "dive needs a model that ranks actions, and this one does not"),
        ({"search": "dive"}, "no model that ranks actions was found for the domain blocksworld; `planrank train"),
        ({"model": "actions", "search": "bfs"}, "bfs is guided by nothing, so it takes no model"),
        ({"rank": "sideways"}, "unknown rank `sideways`; known: actions, states"),
        ({"rank": "policy", "model": "policy"}, "unknown rank `policy`; known: actions, states"),
    ],
)
def test_ranks_that_do_not_fit(blocks, alone, options, said):
    if "model" in options:
        fresh(blocks, rank=options["model"]).save(alone / "mine.safetensors")
        options = options | {"model": alone / "mine.safetensors"}
    with pytest.raises(PlanrankError) as error:
        solve(*blocks, **options)
    assert said in str(error.value) and error.value.exit_code == Exit.USAGE and "\n" not in str(error.value)


def test_ranks_that_do_not_fit_are_one_sentence_of_the_command(planrank, blocks, tmp_path):
    for rank in ("actions", "states"):
        fresh(blocks, rank=rank).save(tmp_path / f"{rank}.safetensors")
    bare = tmp_path / "bare.pddl"  # a domain that has no model
    bare.write_text(
        BLOCKS.read_text().replace("(domain blocksworld)", "(domain elsewhere)").replace("handempty", "idle")
    )
    problem = tmp_path / "elsewhere.pddl"
    problem.write_text(
        blocks[1].read_text().replace("(:domain blocksworld)", "(:domain elsewhere)").replace("handempty", "idle")
    )
    for files, arguments, said in [
        (blocks, ["--model", "states.safetensors", "--rank", "actions"], "ranks states, and ranking actions"),
        (blocks, ["--model", "actions.safetensors", "--rank", "states"], "ranks actions, and ranking states"),
        ((bare, problem), ["--rank", "actions"], "no model that ranks actions was found for the domain elsewhere"),
        (blocks, ["--rank", "policy"], "--rank"),
    ]:
        done = planrank("solve", *files, *arguments, cwd=tmp_path)
        assert done.returncode == Exit.USAGE and said in done.stderr and "Traceback" not in done.stderr, arguments
        assert not (tmp_path / "sas_plan").exists()


def test_stray_files_among_the_models_are_passed_by(planrank, blocks, tmp_path):
    folder = tmp_path / "planrank-models"
    folder.mkdir()
    (folder / "gone.safetensors").symlink_to(tmp_path / "nowhere")
    (folder / "damaged.safetensors").write_bytes(b"no model \x1b[2J")
    os.mkfifo(folder / "pipe.safetensors")
    done = planrank("solve", *blocks, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Heuristic: model blocksworld" in done.stdout
    assert done.stderr.count("is passed by") == 3 and "\x1b" not in done.stderr


def test_a_model_object_is_used_as_it_is(blocks):
    result = solve(*blocks, model=fresh(blocks))
    assert (result.status, result.heuristic, result.model_file) == ("solved", "model:blocksworld", None)


@pytest.mark.parametrize("case", ["missing", "damaged", "other domain", "both", "bfs"])
def test_models_that_cannot_be_used(blocks, alone, case):
    ferry = generate(alone, "ferry", locations=3, cars=2)
    fresh(ferry).save(alone / "ferry.safetensors")
    fresh(blocks).save(alone / "blocks.safetensors")
    (alone / "damaged.safetensors").write_bytes((alone / "blocks.safetensors").read_bytes()[:-20])
    options, said = {
        "missing": ({"model": alone / "none.safetensors"}, "no such model file"),
        "damaged": ({"model": alone / "damaged.safetensors"}, "damaged"),
        "other domain": ({"model": alone / "ferry.safetensors"}, "'ferry' and cannot read 'blocksworld'"),
        "both": ({"model": alone / "blocks.safetensors", "heuristic": "ff"}, "expected one of them"),
        "bfs": ({"model": alone / "blocks.safetensors", "search": "bfs"}, "takes no model"),
    }[case]
    with pytest.raises(PlanrankError, match=said) as error:
        solve(*blocks, **options)
    assert error.value.exit_code == Exit.USAGE and "\n" not in str(error.value)


@pytest.fixture
def endless(tmp_path):
    """A large task, and a model that knows nothing of it."""
    files = generate(tmp_path, "blocksworld", blocks=30)
    fresh(files, rank="states").save(tmp_path / "mine.safetensors")
    return files


@pytest.mark.parametrize("batch", [1, 64])
def test_the_time_limit_is_kept_with_a_model(endless, tmp_path, batch):
    result = solve(*endless, "astar", model=tmp_path / "mine.safetensors", batch=batch, time_limit=3)
    assert result.status == "out of time" and result.heuristic == "model:mine"
    assert result.statistics.expanded > 0 and result.total_seconds < 6


def test_ctrl_c_stops_a_search_with_a_model(endless, tmp_path):
    script = "import sys; from planrank.cli.main import main; main(sys.argv[1:])"
    arguments = ("solve", *map(str, endless), "--search", "astar", "--model", str(tmp_path / "mine.safetensors"))
    process = start_python(script, *arguments, cwd=tmp_path)
    time.sleep(4)
    _, errors = interrupt(process)
    assert process.returncode == Exit.INTERRUPTED
    assert "planrank: interrupted" in errors and "Traceback" not in errors


@pytest.mark.parametrize("name", sorted(GENERATORS))
def test_every_domain_of_planrank_has_a_model_that_is_found_and_guides(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where no model was trained
    files = generate(tmp_path, name)
    result = solve(*files, time_limit=60)
    # npuzzle is the domain of tiles, whose model sees the grid.
    expected = "tiles" if name == "npuzzle" else name
    assert (result.status, result.heuristic) == ("solved", f"model:{expected}")
    assert result.statistics.expanded <= 3 * result.plan_length


def test_where_two_families_fit_the_log_says_which_was_taken_and_why(planrank, tmp_path):
    files = generate(tmp_path, "npuzzle", side=3)
    done = planrank("solve", *files, "--plan-file", tmp_path / "plan", cwd=tmp_path)
    assert done.returncode == 0 and "Heuristic: model tiles" in done.stdout
    (line,) = [line for line in done.stderr.splitlines() if "several models fit" in line]
    assert "tiles/model.safetensors (grid) is taken, because it sees the grid" in line
    assert "and not" in line and "npuzzle/model.json (hypergraph)" in line


def test_a_model_that_finds_nothing_makes_way_for_hff(tmp_path):
    files = generate(tmp_path, "blocksworld", blocks=30)
    astray = fresh(files, dim=4, relaxed=False)
    assert solve(*files, model=astray, time_limit=0.5).status == "out of time"
    found = solve(*files, model=astray, time_limit=60, fallback=0.3)
    assert (found.status, found.search, found.heuristic) == ("solved", "lazy", "ff")
    alone = solve(*files, search="lazy", heuristic="ff")
    assert found.plan == alone.plan and found.statistics.expanded > alone.statistics.expanded
    quick = generate(tmp_path, "gripper", balls=1)
    assert solve(*quick, model=fresh(quick), fallback=60).search == "gbfs"


def test_a_model_that_comes_nearer_is_given_more_time(monkeypatch):
    clock = iter([0, 5, 15, 29, 31, 38, 47, 49])  # seconds
    monkeypatch.setattr("planrank.search.solve.time.time", lambda: next(clock))
    patience = Patience(30)
    told = [patience.is_over(best) for best in (math.inf, 9.0, 8.0, 8.0, 7.0, 7.0, 7.0)]
    assert told == [False] * 6 + [True]


def test_a_model_that_fills_the_memory_makes_way_for_hff(tmp_path, monkeypatch):
    """It has had all the memory; hFF, after it, has all that the model gives back."""

    def full(*_):
        raise PlanrankError("out of memory while scoring states", "memory")

    files = generate(tmp_path, "gripper", balls=2)
    model = fresh(files)
    monkeypatch.setattr(Model, "scorer", full)
    assert solve(*files, model=model).status == "out of memory"
    found = solve(*files, model=model, fallback=60)
    assert (found.status, found.search, found.heuristic) == ("solved", "lazy", "ff")
