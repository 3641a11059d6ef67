"""Folders of instances: layouts, splits, and the plans that may be learned from."""

import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planrank import paths
from planrank.errors import PlanrankError
from planrank.problems.folders import Instance, find_instances, instance_of, resolve_domain, size_of
from planrank.problems.labelled_plans import LabelledPlan, checked_plan, labelled, labelled_plan_text, read_plan
from planrank.problems.problem_sets import Group, generate
from planrank.problems.splits import by_size, in_rounds, split, split_settings
from planrank.search.solve import solve

DOMAIN = "(define (domain d) (:predicates (p)))"
PROBLEM = "; of (define (domain d)\n(define (problem x) (:domain d) (:objects {}) (:init) (:goal (p)))"


def lay(folder: Path, *names: str) -> None:
    """Files of the kind their name says, each problem with as many objects as its number."""
    for name in names:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        digits = "".join(c for c in file.stem if c.isdigit())
        objects = " ".join(f"o{i}" for i in range(int(digits or 0)))
        file.write_text(DOMAIN if "domain" in name else PROBLEM.format(objects))


def pairs(folder: Path) -> list[tuple[str, str]]:
    return [
        (i.problem.relative_to(folder).as_posix(), i.domain.relative_to(folder).as_posix())
        for i in find_instances(folder)
    ]


@pytest.mark.parametrize(
    "names, expected",
    [
        (["domain.pddl", "p10.pddl", "p2.pddl"], [("p2.pddl", "domain.pddl"), ("p10.pddl", "domain.pddl")]),
        (["p01-domain.pddl", "p01-airport.pddl"], [("p01-airport.pddl", "p01-domain.pddl")]),
        (["p1-domain.pddl", "p1.pddl"], [("p1.pddl", "p1-domain.pddl")]),
        (["domain_p1.pddl", "domain.pddl", "p1.pddl"], [("p1.pddl", "domain_p1.pddl")]),
        (["domain-p1.pddl", "p1.pddl", ".hidden/p2.pddl"], [("p1.pddl", "domain-p1.pddl")]),
        (
            ["domain.pddl", "training/easy/p1.pddl", "testing/p2.pddl"],
            [("testing/p2.pddl", "domain.pddl"), ("training/easy/p1.pddl", "domain.pddl")],
        ),
        (["a/domain.pddl", "a/p1.pddl", "b/domain.pddl", "b/p1.pddl"],
         [("a/p1.pddl", "a/domain.pddl"), ("b/p1.pddl", "b/domain.pddl")]),
    ],
)  # fmt: skip
def test_layouts(tmp_path, names, expected):
    lay(tmp_path, *names)
    assert pairs(tmp_path) == expected


def test_files_are_known_by_what_they_say(tmp_path):
    (tmp_path / "domain.pddl").write_text(DOMAIN.upper())
    (tmp_path / "about-domains.pddl").write_text(PROBLEM.format("a"))
    assert [name for name, _ in pairs(tmp_path)] == ["about-domains.pddl"]


@pytest.mark.parametrize("group", ["airport", "openstacks", "psr-large", "trucks", "blocks"])
def test_the_collection_of_the_competitions(shared, group):
    folder = shared / "instances/ipc" / group
    assert len(find_instances(folder)) == 2
    assert all("domain" in i.domain.name and "domain" not in i.problem.name for i in find_instances(folder))


@pytest.mark.parametrize(
    "names, said",
    [
        (["p1.pddl"], "no domain file in this folder"),
        ([], "no domain file in this folder"),
        (["domain.pddl"], "no problems in this folder"),
        (["a/domain.pddl", "b/p1.pddl"], "no domain file for this problem"),
    ],
)
def test_folders_that_are_not_enough(tmp_path, names, said):
    lay(tmp_path, *names)
    with pytest.raises(PlanrankError, match=said) as error:
        find_instances(tmp_path)
    assert str(tmp_path) in str(error.value)


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(PlanrankError, match="not a folder"):
        find_instances(tmp_path / "nowhere")


def test_domains_by_name_or_folder(tmp_path):
    assert resolve_domain("ferry") == paths.shared() / "domains/ferry"
    assert resolve_domain(tmp_path) == tmp_path
    with pytest.raises(PlanrankError, match=r"neither a folder nor a domain called 'chess'.*blocksworld, elevators"):
        resolve_domain("chess")


@pytest.mark.parametrize(
    "objects, count",
    [
        ("a b c", 3),
        ("", 0),
        ("a b - block c - (either block table)\n d - block", 4),
        ("a ; not b c\n t-1 t-2 - tile", 3),
        ("a b) (:constants c", 2),
    ],
)
def test_size(tmp_path, objects, count):
    file = tmp_path / "p.pddl"
    file.write_text(f"(define (problem x)(:domain d)(:OBJECTS {objects})(:init (on a b)) (:goal (p)))")
    assert size_of(file) == count


def test_rounds_see_every_size_early(tmp_path):
    lay(tmp_path, "domain.pddl", "a1.pddl", "a3.pddl", "b1.pddl", "b2.pddl", "c1.pddl")
    assert [i.problem.stem for i in in_rounds(find_instances(tmp_path))] == ["a1", "b2", "a3", "b1", "c1"]


@pytest.fixture(scope="module")
def problems_of_sizes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sizes")
    names = [f"{letter}{size}.pddl" for size in range(1, 9) for letter in "abcdefghijkl"]
    lay(folder, "domain.pddl", *names)
    return find_instances(folder)


@given(data=st.data(), seed=st.integers(0, 5))
def test_a_split_shares_out_every_size(problems_of_sizes, data, seed):
    chosen = data.draw(st.lists(st.sampled_from(problems_of_sizes), unique=True, min_size=1))
    parts = split(chosen, seed)
    assert list(parts) == ["train", "validation", "test"]
    everything = [i for part in parts.values() for i in part]
    assert Counter(everything) == Counter(chosen)
    for part, share in zip(parts.values(), (0.5, 0.25, 0.25), strict=True):
        assert abs(len(part) - share * len(chosen)) <= 1
        in_part = by_size(part)
        for size, group in by_size(chosen).items():
            assert abs(len(in_part.get(size, [])) - share * len(group)) < 2
            assert len(group) < 4 or in_part[size]
    random.Random(seed).shuffle(chosen)
    assert split(chosen, seed) == parts


def test_seeds_split_differently(problems_of_sizes):
    assert split(problems_of_sizes, 0) != split(problems_of_sizes, 1)


def test_the_learning_track_keeps_its_test_set(tmp_path):
    names = [f"training/{a}{n}.pddl" for a in "abc" for n in (1, 2)] + ["testing/p7.pddl", "testing/p8.pddl"]
    lay(tmp_path, "domain.pddl", *names)
    parts = split(find_instances(tmp_path), 0)
    assert {i.problem.parent.name for i in parts["test"]} == {"testing"} and len(parts["test"]) == 2
    assert {i.problem.stem for i in parts["validation"]} < {"a2", "b2", "c2"}, "the largest are held back"
    assert (len(parts["train"]), len(parts["validation"])) == (4, 2)


def test_the_learning_track_may_have_a_validation_set(tmp_path):
    lay(tmp_path, "domain.pddl", "training/a1.pddl", "training/b2.pddl", "validation/c1.pddl", "testing/d1.pddl")
    parts = split(find_instances(tmp_path), 0)
    stems = {part: [i.problem.stem for i in found] for part, found in parts.items()}
    assert stems == {"train": ["a1", "b2"], "validation": ["c1"], "test": ["d1"]}


@pytest.mark.parametrize("fractions", [(0.5, 0.5), (0.5, 0.5, 0.5), (1.5, -0.25, -0.25)])
def test_fractions_that_are_none(fractions):
    with pytest.raises(PlanrankError, match="expected three that add up to 1"):
        split([], 0, fractions)


def test_settings_of_a_split(tmp_path):
    assert split_settings(tmp_path) == {"seed": 0, "fractions": (0.5, 0.25, 0.25)}
    (tmp_path / "sets.toml").write_text("[split]\nseed = 7\nfractions = [0.8, 0.1, 0.1]")
    assert split_settings(tmp_path) == {"seed": 7, "fractions": (0.8, 0.1, 0.1)}
    (tmp_path / "sets.toml").write_text("split = [")
    with pytest.raises(PlanrankError, match=r"sets.toml: cannot be read as TOML"):
        split_settings(tmp_path)


@given(
    st.builds(
        LabelledPlan,
        st.lists(st.sampled_from(["(pick-up b1)", "(stack b1 b2)", "(noop)"])),
        st.integers(0, 10**5).map(float) | st.sampled_from([0.5, 2.25]),
        st.sampled_from(["builtin astar lmcut", "me = you"]),
        st.booleans(),
    )
)
def test_plan_files_give_back_what_was_written(tmp_path_factory, plan):
    file = tmp_path_factory.mktemp("plan") / "p.plan"
    file.write_text(labelled_plan_text(plan, unit_cost=True))
    assert read_plan(file) == plan
    assert file.read_text().splitlines()[-1] == f"; cost = {plan.cost:g} (unit cost)"


def test_plans_of_others_are_not_taken_for_optimal(tmp_path):
    file = tmp_path / "p.plan"
    file.write_text("(A B)\n(C) ; why not\n\n")
    assert read_plan(file) == LabelledPlan(["(a b)", "(c)"], 2.0, "unknown", False)
    with pytest.raises(PlanrankError, match=r"q.plan: the plan cannot be read"):
        read_plan(tmp_path / "q.plan")


@pytest.fixture
def blocks(tmp_path) -> list[Instance]:
    """Three problems: the first with a proved plan, the second with another, the third with none."""
    made = generate("blocksworld", [Group(3, 0, {"blocks": (4, 4)})], tmp_path)
    for instance, proved in zip(made, (True, False), strict=False):
        result = solve(instance.domain, instance.problem, "astar", "lmcut")
        plan = LabelledPlan(result.plan, float(result.plan_cost), "test", proved)
        instance.plan_file.write_text(labelled_plan_text(plan, True))
    return [instance_of(i.domain, i.problem) for i in made]


def test_only_proved_plans_unless_others_are_allowed(blocks):
    assert [i.plan is not None for i in blocks] == [True, True, False]
    told = []
    found = labelled(blocks, say=told.append)
    assert [instance for instance, _ in found] == blocks[:1] and found[0][1].proved_optimal
    assert len(told) == 1 and told[0].startswith("of 3 instances 1 have no plan") and told[0].endswith("1 are used")
    assert "1 have a plan that is not proved optimal (--allow-suboptimal" in told[0]
    assert [instance for instance, _ in labelled(blocks, True, told.append)] == blocks[:2]
    told.clear()
    labelled(blocks[:1], say=told.append)
    assert told == []


def test_nothing_to_learn_from_is_an_error(blocks):
    with pytest.raises(PlanrankError, match=r"from: 1 have no plan.*; 1 have a plan that is"):
        labelled(blocks[1:])


def test_an_instance_solved_from_the_start_teaches_nothing(tmp_path):
    made = generate("ferry", [Group(1, 0, {"locations": (1, 1)})], tmp_path, trivial=True)
    made[0].plan_file.write_text("; cost = 0 (unit cost)\n; proved optimal = yes\n")
    with pytest.raises(PlanrankError, match="1 are solved from the start"):
        labelled(made)


def test_a_plan_for_another_problem_is_refused(blocks):
    blocks[1].plan_file.write_text(blocks[0].plan_file.read_text())
    with pytest.raises(PlanrankError) as error:
        labelled(blocks, allow_suboptimal=True)
    said = str(error.value)
    assert (
        said.startswith(f"{blocks[1].plan_file}: this is no plan for {blocks[1].problem.name}: ") and "\n" not in said
    )


LAMP = """(define (domain lamp) (:requirements :action-costs :negative-preconditions)
(:predicates (on) (red) (seen)) (:functions (total-cost) - number)
(:action press :parameters () :precondition (not (on)) :effect (and (on) (increase (total-cost) 2)))
(:action paint :parameters () :precondition () :effect (and (red) (increase (total-cost) {paint})))
(:action look :parameters () :precondition (on) :effect (and (seen) (increase (total-cost) 1)))
(:action idle :parameters () :precondition () :effect (and)))"""
LIGHT = """(define (problem p) (:domain lamp) (:init (= (total-cost) 0){init}) (:goal (seen))
(:metric minimize (total-cost)))"""


def lamp(folder: Path, *steps: str, paint: int = 0, init: str = "") -> Instance:
    """A problem whose only good plan is to press and look, and a plan said to be optimal."""
    (folder / "domain.pddl").write_text(LAMP.format(paint=paint))
    (folder / "p.pddl").write_text(LIGHT.format(init=init))
    (folder / "p.plan").write_text("\n".join([*steps, "; proved optimal = yes"]))
    return instance_of(folder / "domain.pddl", folder / "p.pddl")


def test_needless_steps_that_cost_nothing_leave_a_plan_optimal(tmp_path):
    told = []
    instance = lamp(tmp_path, "(PAINT) (idle)", "(press)", "(look", ") (idle) (paint)")
    before = instance.plan_file.read_bytes()
    assert labelled([instance], say=told.append) == [
        (instance, LabelledPlan(["(press)", "(look)"], 3.0, "unknown", True))
    ]
    assert told == ["1 of 1 plans were shortened (loops and needless steps left out)"]
    assert instance.plan_file.read_bytes() == before


def test_a_plan_that_can_be_made_cheaper_is_not_optimal(tmp_path):
    told = []
    instance = lamp(tmp_path, "(paint)", "(press)", "(look)", paint=4)
    with pytest.raises(PlanrankError, match="1 have a plan that is not proved optimal"):
        labelled([instance], say=told.append)
    said = "the plan is said to be proved optimal, but costs 7, and 3 without needless steps"
    assert told == [f"{instance.plan_file}: {said}"]
    ((_, plan),) = labelled([instance], True, told.append)
    assert plan == LabelledPlan(["(press)", "(look)"], 3.0, "unknown", False)


def test_a_plan_with_needless_steps_only_teaches_nothing(tmp_path):
    with pytest.raises(PlanrankError, match="1 are solved from the start"):
        labelled([lamp(tmp_path, "(press)", "(look)", init=" (seen)")], True, say=lambda text: None)


def test_a_plan_that_fails_on_its_way_is_refused_even_if_a_part_of_it_is_a_plan(tmp_path):
    with pytest.raises(PlanrankError, match=r"this is no plan for p\.pddl: line 3: step 3"):
        labelled([lamp(tmp_path, "(press)", "(look)", "(press)")], True)


@pytest.mark.parametrize("domain", ["blocksworld", "floortile", "satellite"])
def test_every_plan_of_the_learning_track_is_used(shared, domain):
    folder = shared / "instances/learning-track" / domain
    instances = [one for one in find_instances(folder) if one.plan is not None]
    found = labelled(instances, True, say=lambda text: None)
    assert [one for one, _ in found] == instances != []


def test_the_cost_of_a_plan_is_the_replayed_one(blocks):
    steps = read_plan(blocks[0].plan_file).steps
    blocks[0].plan_file.write_text("\n".join([*steps, "; cost = 1 (unit cost)"]))
    assert checked_plan(blocks[0]).cost == len(steps) > 1
