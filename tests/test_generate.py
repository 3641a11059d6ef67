"""`planrank generate`: distinct, solvable, checked problems, the same for the same seed."""

import random
import re
from collections import Counter

import pytest

from planrank import load, paths, solve
from planrank.errors import Exit, PlanrankError
from planrank.paths import own_domains
from planrank.problems.folders import resolve_domain
from planrank.problems.problem_sets import Group, check_sizes, generate, parse_range, shape, standard_set
from planrank.problems.random_levels import LEVELS
from planrank.problems.random_problems import GENERATORS, numbered, parity, towers
from planrank.problems.splits import split_settings

SMALL = {
    "blocksworld": {"blocks": (2, 5)}, "elevators": {"passengers": (1, 3)}, "gripper": {"balls": (1, 4)},
    "ferry": {"locations": (2, 4), "cars": (1, 3)}, "npuzzle": {"side": (2, 3)},
    "spanner": {"nuts": (1, 3), "locations": (1, 4)}, "maze": {"side": (7, 10)},
    "sokoban": {"boxes": (1, 3)}, "tiles": {"side": (2, 3)},
}  # fmt: skip


def contents(folder):
    return {file.name: file.read_text() for file in folder.iterdir()}


def test_the_same_seed_gives_the_same_files(planrank, tmp_path):
    options = ("--count", 8, "--size", "locations=2-3", "--size", "cars=1-2")
    for folder, seed in (("a", 3), ("b", 3), ("c", 4)):
        done = planrank("generate", "ferry", *options, "--seed", seed, "--out", tmp_path / folder)
        assert done.returncode == 0 and "8 problems of ferry" in done.stdout, done.stderr
    assert contents(tmp_path / "a") == contents(tmp_path / "b") != contents(tmp_path / "c")
    assert (tmp_path / "a/domain.pddl").read_text() == (paths.shared() / "domains/ferry/domain.pddl").read_text()


def test_a_set_that_was_cut_short_is_completed(tmp_path):
    # Small ferries are often trivial, so draws are rejected on the way, and must be again.
    sizes = {"locations": (2, 2), "cars": (1, 3)}
    generate("ferry", [Group(9, 0, sizes)], tmp_path / "whole")
    generate("ferry", [Group(4, 0, sizes)], tmp_path / "parts")
    before = {file.name: file.stat().st_mtime_ns for file in (tmp_path / "parts").iterdir()}
    generate("ferry", [Group(9, 0, sizes)], tmp_path / "parts")
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")
    assert before.items() <= {file.name: file.stat().st_mtime_ns for file in (tmp_path / "parts").iterdir()}.items()


@pytest.mark.parametrize("name", sorted(SMALL))
def test_problems_are_distinct_solvable_and_not_trivial(name, tmp_path):
    made = generate(name, [Group(8, 5, SMALL[name])], tmp_path)
    texts = [instance.problem.read_text().replace(instance.problem.stem, "", 1) for instance in made]
    assert len({text if name in LEVELS else shape(text) for text in texts}) == len(made) == 8
    for instance in made:
        result = solve(instance.domain, instance.problem, "astar" if name == "spanner" else "gbfs", "ff", time_limit=60)
        assert result.status == "solved" and result.plan_length > 0, instance


@pytest.mark.parametrize("name", sorted(GENERATORS))
def test_standard_sets(name):
    sets = {which: standard_set(name, which) for which in ("quick", "train", "paper", "large")}
    for groups in sets.values():
        for group in groups:
            check_sizes(name, group.sizes)
    settings = split_settings(resolve_domain(name))
    assert settings["seed"] == 0 and (name in LEVELS or settings["fractions"] == (0.5, 0.25, 0.25))
    large = [{key: high for key, (low, high) in group.sizes.items()} for group in sets["large"]]
    asked = {
        "blocksworld": [{"blocks": 30}, {"blocks": 50}], "elevators": [{"passengers": 30}], "gripper": [{"balls": 80}],
        "ferry": [{"locations": 20, "cars": 40}], "npuzzle": [{"side": 5}], "spanner": [{"nuts": 30, "locations": 30}],
        "maze": [{"side": 100, "open": 10}], "sokoban": [{"boxes": 10}], "tiles": [{"side": 8}],
    }  # fmt: skip
    assert large == asked[name]


def test_every_domain_has_a_generator():
    assert sorted(GENERATORS) == own_domains()


def test_spanner_is_learned_without_spare_spanners(tmp_path):
    generate("spanner", standard_set("spanner", "quick"), tmp_path)
    for problem in tmp_path.glob("p*.pddl"):
        text = problem.read_text()
        assert text.count("(usable ") == text.count("(loose ")


def test_trivial_problems_only_when_asked(planrank, tmp_path):
    options = ("generate", "ferry", "--count", 3, "--size", "locations=1", "--size", "cars=1-3")
    done = planrank(*options, "--out", tmp_path / "no")
    assert done.returncode == Exit.USAGE and "found only 0 distinct problems" in done.stderr
    assert planrank(*options, "--trivial", "--out", tmp_path / "yes").returncode == 0
    for problem in (tmp_path / "yes").glob("p*.pddl"):
        assert solve(tmp_path / "yes/domain.pddl", problem).plan == []


def test_two_blocks_make_three_problems(tmp_path):
    # Of 9 pairs of states 3 are trivial, and renaming the blocks pairs up the other 6.
    assert len(generate("blocksworld", [Group(3, 0, {"blocks": (2, 2)})], tmp_path / "three")) == 3
    with pytest.raises(PlanrankError, match="found only 3 distinct problems"):
        generate("blocksworld", [Group(4, 0, {"blocks": (2, 2)})], tmp_path / "four")


@pytest.mark.parametrize("name", sorted(GENERATORS.keys() - LEVELS.keys()))
def test_shape_ignores_names_and_order(name):
    text = GENERATORS[name](random.Random(1), "one")
    head, start, goal = re.split(r"(?=\(:init)|(?=\(:goal)", text)
    objects = sorted(set(re.findall(r"[\w-]+", head.partition("(:objects")[2])))
    rng = random.Random(2)
    others = [f"x{i}" for i in range(len(objects))]
    rng.shuffle(others)
    new = dict(zip(objects, others, strict=True))

    def renamed(part: str) -> str:
        atoms = [match.split() for match in re.findall(r"\(([^()]+)\)", part)]
        rng.shuffle(atoms)
        return " ".join(f"({atom[0]} {' '.join(new[name] for name in atom[1:])})" for atom in atoms)

    other = f"(:init {renamed(start)}) (:goal (and {renamed(goal)})))"
    assert shape(other) == shape(text)
    assert shape(GENERATORS[name](random.Random(1), "one", **{key: 6 for key in list(SMALL[name])})) != shape(text)


def test_block_states_are_uniform():
    blocks = numbered("b", 3)
    rng = random.Random(0)
    found = Counter(frozenset(tuple(map(str, tower)) for tower in towers(blocks, rng)) for _ in range(13_000))
    assert len(found) == 13
    assert all(850 < count < 1150 for count in found.values()), found


def test_parity_tells_what_a_puzzle_can_reach():
    neighbours = {0: (1, 2), 1: (0, 3), 2: (0, 3), 3: (1, 2)}
    reached = {(1, 2, 3, 0)}
    frontier = list(reached)
    while frontier:
        tiles = frontier.pop()
        hole = tiles.index(0)
        for square in neighbours[hole]:
            moved = list(tiles)
            moved[hole], moved[square] = moved[square], 0
            if tuple(moved) not in reached:
                reached.add(tuple(moved))
                frontier.append(tuple(moved))
    assert len(reached) == 12 and {parity(list(tiles), 2) for tiles in reached} == {parity([1, 2, 3, 0], 2)}


def test_large_problems_ground(tmp_path):
    generate("elevators", [Group(1, 0, {"passengers": (30, 30)})], tmp_path)
    assert load(tmp_path / "domain.pddl", tmp_path / "p0001-passengers30.pddl").fact_count > 60


@pytest.mark.parametrize("text, expected", [("5", (5, 5)), ("3-8", (3, 8)), (" 3 - 8 ", (3, 8))])
def test_ranges(text, expected):
    assert parse_range(text) == expected


@pytest.mark.parametrize(
    "options, said",
    [
        (("chess",), "no generator for 'chess'; planrank has them for blocksworld"),
        (("ferry", "--size", "boats=3"), "ferry has no size called 'boats'; it has locations, cars"),
        (("ferry", "--size", "cars=8-3"), "found '8-3' as a size, expected a number or a range"),
        (("ferry", "--size", "cars"), "expected KEY=VALUE"),
        (("ferry", "--size", "cars=0"), "expected at least 1"),
        (("ferry", "--set", "huge"), "ferry has no set 'huge'; it has quick, train"),
        (("ferry", "--set", "train", "--count", "3"), "give either it or them"),
        (("spanner", "--size", "nuts=4", "--size", "spanners=2"), "2 spanner(s) cannot tighten 4 nut(s)"),
    ],
)
def test_what_cannot_be_made(planrank, tmp_path, options, said):
    done = planrank("generate", *options, "--out", tmp_path / "out")
    assert done.returncode == Exit.USAGE
    assert said in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("sizes", [{"blocks": (4, 4)}, {"blocks": (3, 3)}])
def test_sets_do_not_mix(tmp_path, sizes):
    generate("blocksworld", [Group(3, 0, {"blocks": (4, 4)})], tmp_path)
    before = contents(tmp_path)
    with pytest.raises(PlanrankError, match=r"p0001-blocks4.pddl: this file is of another set"):
        generate("blocksworld", [Group(3, 1, sizes)], tmp_path)
    assert contents(tmp_path) == before
