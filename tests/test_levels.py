"""Levels of the grid domains: read as people have them, drawn, labelled; and tables of numbers as heuristics."""

import random
import re
from pathlib import Path

import numpy as np
import pytest

from planrank import Heuristic, PlanrankError, label, load, solve
from planrank.errors import Exit
from planrank.learning.ranking import entry_ranking_of_plan
from planrank.pictures import Picture, drawn_plan
from planrank.problems.folders import find_instances, own_domain_file
from planrank.problems.import_levels import import_levels
from planrank.problems.labelled_plans import read_plan
from planrank.problems.problem_sets import Group, generate
from planrank.problems.random_levels import parity, random_maze
from planrank.problems.random_problems import GENERATORS
from planrank.problems.teachers import read_lessons

TWO_LEVELS = """; 1
#####
#@$.#
#####

  title: the second one
 ####
##  #
#.$@#
#*  #
#####
"""
MAZE = "0 0 0 0 0  0 2 0 1 0  0 4 0 4 0  0 1 0 3 0  0 0 0 0 0"


def drawn_start(folder: Path, name: str) -> list[str]:
    task = load(folder / "domain.pddl", folder / f"{name}.pddl")
    return Picture(task).lines(task.packed(task.init))


def test_sokoban_levels_drawn_in_characters(planrank, tmp_path):
    (tmp_path / "two.txt").write_text(TWO_LEVELS)
    done = planrank("import", "sokoban", tmp_path / "two.txt", "--out", tmp_path / "out")
    assert done.returncode == 0 and "2 problems of sokoban" in done.stdout, done.stderr
    assert drawn_start(tmp_path / "out", "two-0001") == ["#####", "#@$.#", "#####"]
    # A corner that nobody can come to is not drawn, and the picture begins at the first place there is.
    assert drawn_start(tmp_path / "out", "two-0002") == ["#####", "##  #", "#.$@#", "#*  #", "#####"]
    plan = solve(tmp_path / "out/domain.pddl", tmp_path / "out/two-0001.pddl", "bfs").plan
    assert plan == ["(push p_2_2 p_3_2 p_4_2 right)"]


def test_the_same_level_in_numbers(tmp_path):
    (tmp_path / "n.txt").write_text("0 0 0 0 0 0 3 4 2 0 0 1 1 1 0 0 1 1 1 0 0 0 0 0 0\n")
    import_levels("sokoban", tmp_path / "n.txt", tmp_path / "out")
    assert drawn_start(tmp_path / "out", "n-0001") == ["#####", "#@$.#", "#   #", "#   #", "#####"]


def test_mazes_and_tiles_in_numbers(tmp_path):
    (tmp_path / "maze.txt").write_text(MAZE + "\n")
    (tmp_path / "tiles.txt").write_text("1 0 2 3 4 5 6 7 8\n\n0 2 1 3\n")
    import_levels("maze", tmp_path / "maze.txt", tmp_path / "maze")
    folder = tmp_path / "maze"
    assert drawn_start(folder, "maze-0001") == ["#####", "#@# #", "#o#o#", "# #.#", "#####"]
    assert solve(folder / "domain.pddl", folder / "maze-0001.pddl", "bfs").plan == [
        "(jump p_2_2 p_2_3 p_4_3)", "(step p_4_3 p_4_4)"]  # fmt: skip
    with pytest.raises(PlanrankError, match="parity") as error:
        import_levels("tiles", tmp_path / "tiles.txt", tmp_path / "tiles")
    assert (error.value.file, error.value.line) == (str(tmp_path / "tiles.txt"), 3)
    import_levels("tiles", tmp_path / "tiles.txt", tmp_path / "tiles", count=1)
    plan = solve(tmp_path / "tiles/domain.pddl", tmp_path / "tiles/tiles-0001.pddl", "astar", "table").plan
    assert plan == ["(move t_1 p_1_1 p_2_1)"]


WRONG = [
    ("sokoban", "####\n#$.#\n####", 1, "found no player"),
    ("sokoban", "#####\n#@$.#\n#####\n\n######\n#@@$.#\n######", 5, "found 2 players"),
    ("sokoban", "#####\n#@$.#\n#$  #\n#####", 1, "found 2 box(es) and 1 target(s)"),
    ("sokoban", "#####\n#@  #\n#####", 1, "found 0 box(es)"),
    ("sokoban", "#####\n#@$.\n#####", 2, "the border is open: row 2, column 5"),
    ("sokoban", "0 3 4 2 1", 1, "found 5 numbers, expected those of a square"),
    ("sokoban", "0 3 4 9", 1, "found the number 9"),
    ("maze", MAZE.replace("2", "1"), 1, "found 0 times 2, expected one agent"),
    ("maze", MAZE.replace("3", "1"), 1, "expected one goal"),
    ("maze", MAZE.replace("4", "1", 1), 1, "found 1 times 4, expected a portal and its twin"),
    ("maze", MAZE.replace("4", "1"), 1, "no way leads from the agent to the goal"),
    ("maze", "####\n#@ #\n####", 1, "expected a maze as a row of numbers"),
    ("tiles", "1 1 2 3", 1, "the tile 0 is missing"),
    ("tiles", "# a comment\n0 2 1 3", 2, "parity"),
    ("tiles", "nothing", 0, "there are no levels in this file"),
    ("chess", "0 2 1 3", 0, "there are no levels of 'chess'"),
]


@pytest.mark.parametrize("name, text, line, message", WRONG)
def test_bad_levels_get_one_sentence_with_file_and_line(tmp_path, name, text, line, message):
    (tmp_path / "levels.txt").write_text(text)
    with pytest.raises(PlanrankError) as error:
        import_levels(name, tmp_path / "levels.txt", tmp_path / "out")
    assert message in error.value.message and error.value.line == line
    assert line == 0 or f"levels.txt:{line}: " in str(error.value)
    assert not (tmp_path / "out").exists(), "all levels or none"


def test_import_of_a_file_that_is_not_there(planrank, tmp_path):
    done = planrank("import", "maze", tmp_path / "none.txt", "--out", tmp_path / "out")
    assert done.returncode == Exit.USAGE and "the levels cannot be read: No such file" in done.stderr


def test_published_levels_can_all_be_read(shared, tmp_path):
    for name, file, count in [
        ("sokoban", "sokoban-3boxes", 1000), ("sokoban", "boxoban-unfiltered-test", 1000), ("maze", "maze-15", 500),
        ("tiles", "tiles-6", 100),
    ]:  # fmt: skip
        assert import_levels(name, shared / f"instances/grids/{file}.txt", tmp_path / file) == count
    instance = find_instances(tmp_path / "maze-15")[0]
    assert solve(instance.domain, instance.problem, "bfs").status == "solved"


def test_generated_mazes_are_mazes():
    for seed in range(5):
        for opened in (1, 30, 100):
            rows = random_maze(random.Random(seed), 15, opened)
            numbers = [number for row in rows for number in row]
            assert numbers.count(2) == numbers.count(3) == 1 and all(numbers.count(4 + i) == 2 for i in range(4))
    few, many = (sum(n > 0 for row in random_maze(random.Random(1), 15, o) for n in row) for o in (1, 50))
    assert few < many


def test_tiles_by_a_walk_or_anywhere():
    for sizes, side in (({"side": 4}, 4), ({"side": 5, "walk": 7}, 5)):
        for seed in range(10):
            text = GENERATORS["tiles"](random.Random(seed), "t", **sizes)
            start = text[text.index("(:init") : text.index("(:goal")]
            at = {(int(y), int(x)): int(t) for t, x, y in re.findall(r"\(at t_(\d+) p_(\d+)_(\d+)\)", start)}
            numbers = [at.get((r + 1, c + 1), 0) for r in range(side) for c in range(side)]
            assert sorted(numbers) == list(range(side * side)) and parity(numbers, side) == 0


def test_the_table_of_tiles_is_the_manhattan_distance(tmp_path):
    problem = tmp_path / "p.pddl"
    problem.write_text(GENERATORS["tiles"](random.Random(1), "p", side=3, walk=14))
    task = load(own_domain_file("tiles"), problem)
    result = solve(own_domain_file("tiles"), problem, "astar", "table")
    states = entry_ranking_of_plan(task, result.plan).states
    names = [fact.strip("()").split() for fact in task.names("facts")]
    for state, value in zip(states, Heuristic(task, "table").values(states), strict=True):
        distance = 0
        for fact in (names[i] for i in task.facts_in(state)):
            if fact[0] == "at":
                row, column = divmod(int(fact[1][2:]), 3)
                _, x, y = fact[2].split("_")
                distance += abs(int(y) - 1 - row) + abs(int(x) - 1 - column)
        assert value == distance
    blind = solve(own_domain_file("tiles"), problem, "astar", "blind")
    assert blind.plan_length == result.plan_length and result.statistics.expanded < blind.statistics.expanded


def test_a_table_of_ones_own(planrank, tmp_path):
    generate("gripper", [Group(1, 0, {"balls": (2, 2)})], tmp_path)
    files = (tmp_path / "domain.pddl", next(tmp_path.glob("p0*.pddl")))
    table = tmp_path / "mine.toml"
    table.write_text('[[facts]]\nstate = "(at ?b rooma)"\nvalue = 2\n[numbers]\n"(at-robby rooma)" = 0.5\n')
    task = load(*files)
    start = task.packed(task.init)[None]
    names = [task.names("facts")[i] for i in task.init]
    expected = 2 * sum(name.endswith(" rooma)") and name.startswith("(at ball") for name in names)
    expected += 0.5 * ("(at-robby rooma)" in names)
    assert Heuristic(task, f"table:{table}").values(start) == pytest.approx([expected])
    done = planrank("solve", *files, "--heuristic", f"table:{table}", "--plan-file", tmp_path / "plan")
    assert done.returncode == 0 and f"Heuristic: table:{table}" in done.stdout, done.stdout + done.stderr
    done = planrank("solve", *files, "--heuristic", "table", "--plan-file", tmp_path / "plan")
    assert done.returncode == Exit.USAGE and "there is no table.toml beside the domain" in done.stderr


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "found no numbers"),
        ('[[facts]]\nstate = "(at ?b rooma)"\nvalue = "distance"', "a distance needs places"),
        ('[[facts]]\nstate = "(at ?b rooma)"\nvalue = "far"', "found 'far' as the value of a fact"),
        ('[[facts]]\nstate = "(at ?b)"\nvalue = 1', "found 1 terms in (at ?b), expected 2"),
        ('[[facts]]\ngoal = "(at ?b rooma)"\nvalue = 1', "facts without state or value"),
        ("[numbers]\nx = true", ""),
        ("things = 3", "unknown key things"),
    ],
)
def test_mistakes_in_a_table_are_named(tmp_path, text, message):
    generate("gripper", [Group(1, 0, {"balls": (2, 2)})], tmp_path)
    (tmp_path / "table.toml").write_text(text)
    task = load(tmp_path / "domain.pddl", next(tmp_path.glob("p0*.pddl")))
    if message:
        with pytest.raises(PlanrankError) as error:
            Heuristic(task, "table")
        assert message in str(error.value) and "table.toml" in str(error.value)
    else:
        Heuristic(task, "table")  # of facts that the task does not have nothing is asked


def test_teachers_of_the_grid_domains(tmp_path):
    for name, sizes in (("sokoban", {"boxes": (2, 2)}), ("maze", {"side": (9, 9)}), ("tiles", {"side": (4, 4)})):
        generate(name, [Group(2, 0, sizes)], tmp_path / name)
        instances = find_instances(tmp_path / name)
        label(instances, time_limit=5, allow_suboptimal=True)
        plans = [read_plan(instance.plan_file) for instance in instances]
        if name == "tiles":
            assert all(plan.teacher in ("builtin wastar table", "builtin astar table") for plan in plans)
            continue
        assert all(plan.proved_optimal and plan.teacher == "builtin astar blind" for plan in plans)
        for instance, plan in zip(instances, plans, strict=True):
            assert solve(instance.domain, instance.problem, "bfs").plan_length == len(plan.steps)


@pytest.mark.parametrize(
    "text, message",
    [
        ("[[searches]]\nsearch = 'dfs'", "search is 'dfs', expected one of"),
        ("[[searches]]\nheuristic = 'ff'", "a search is missing"),
        ("[[searches]]\nsearch = 'astar'\nspeed = 1", "unexpected keyword argument 'speed'"),
        ("search = 'astar'", r"expected \[\[searches\]\] and nothing else"),
    ],
)
def test_mistakes_in_a_teacher_file_are_named(tmp_path, text, message):
    (tmp_path / "teacher.toml").write_text(text)
    with pytest.raises(PlanrankError, match=message):
        read_lessons(tmp_path / "teacher.toml")


def test_a_plan_is_drawn(planrank, tmp_path):
    (tmp_path / "one.txt").write_text("######\n#@ $.#\n######\n")
    import_levels("sokoban", tmp_path / "one.txt", tmp_path)
    files = (tmp_path / "domain.pddl", tmp_path / "one-0001.pddl")
    done = planrank("solve", *files, "--search", "bfs", "--show", "--plan-file", tmp_path / "plan")
    assert done.returncode == 0, done.stderr
    assert "start   after 1  after 2" in done.stdout and "#@ $.#  # @$.#   #  @*#" in done.stdout
    task = load(*files)
    assert drawn_plan(task, [], 80).splitlines()[:3] == ["start", "######", "#@ $.#"]
    task_words = np.zeros(task.words, np.uint64)
    assert Picture(task).lines(task_words)[1] == "#   .#"


def test_a_domain_without_a_picture_is_not_drawn(planrank, tmp_path):
    generate("gripper", [Group(1, 0, {"balls": (1, 1)})], tmp_path)
    files = (tmp_path / "domain.pddl", next(tmp_path.glob("p0*.pddl")))
    done = planrank("solve", *files, "--show", "--plan-file", tmp_path / "plan")
    assert done.returncode == Exit.USAGE and "is drawn by the [[picture]] tables" in done.stderr
    assert not (tmp_path / "plan").exists()


def test_steady_pulls_make_other_levels_that_can_be_solved(tmp_path):
    texts = []
    for steady in ({}, {"steady": (90, 90)}):
        instances = generate("sokoban", [Group(6, 3, {"boxes": (2, 2)} | steady)], tmp_path / str(len(texts)))
        assert all(solve(one.domain, one.problem, "bfs").status == "solved" for one in instances)
        texts.append({one.problem.read_text().partition(":objects")[2] for one in instances})
    assert len(texts[0] | texts[1]) == 12
