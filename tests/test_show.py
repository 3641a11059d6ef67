"""`planrank show`: the search followed, the states drawn, the page in a browser."""

import random

import pytest
from pages import browser, opened  # noqa: F401
from test_report import data_of

from planrank import PlanrankError, Search, load, paths, show, solve, validate
from planrank.errors import Exit
from planrank.learning.certificate import merit, score_of
from planrank.limits import Limits
from planrank.models.hypergraph.architecture import Architecture
from planrank.models.hypergraph.signature import signature_of
from planrank.models.model import Model
from planrank.problems.random_problems import GENERATORS
from planrank.reports.trace import record
from planrank.reports.views import Board, Towers, fact_of, places_of, view_of
from planrank.search.guides import Guide

DOMAINS = paths.shared() / "domains"


def problem(folder, name, seed=1, **sizes):
    file = folder / f"{name}.pddl"
    file.write_text(GENERATORS[name](random.Random(seed), name, **sizes))
    return DOMAINS / name / "domain.pddl", file


def untrained(folder, name, rank, **sizes):
    """What a network that has learned nothing says."""
    signature = signature_of(load(*problem(folder, name, **sizes)))
    Model.fresh(signature, Architecture(layers=1, dim=4, rank=rank)).save(folder / "untrained.safetensors")
    return name, Guide.of_model(folder / "untrained.safetensors"), sizes


GUIDES = {
    "ff": lambda _: ("blocksworld", Guide.of_heuristic("ff"), {"blocks": 6}),
    "blind": lambda _: ("npuzzle", Guide.of_heuristic("blind"), {"side": 2}),
    "goalcount": lambda _: ("ferry", Guide.of_heuristic("goalcount"), {"locations": 3, "cars": 3}),
    "actions": lambda folder: untrained(folder, "blocksworld", "actions", blocks=4),
    "states": lambda folder: untrained(folder, "ferry", "states", locations=3, cars=2),
}


@pytest.mark.parametrize("name", ["gbfs", "astar"])
@pytest.mark.parametrize("which", GUIDES)
def test_a_search_that_is_followed_goes_the_same_way(tmp_path, which, name):
    """Each node is reached from its parent by its step, and the whole is the tree of an undisturbed search."""
    domain, guide, sizes = GUIDES[which](tmp_path)
    task = load(*problem(tmp_path, domain, **sizes))
    evaluator, rank = guide.evaluator(task), guide.rank(name)
    search = Search(task, name, rank=rank)
    trace = record(search, score_of(evaluator), merit(name), 1_000_000, Limits())
    alone = Search(task, name, rank=rank)
    evaluator = guide.evaluator(task)  # anew: what it keeps may change the last digit of a value
    while alone.run(evaluator, 60) == "running":
        pass
    assert trace.ended and search.plan() == alone.plan() and search.statistics() == alone.statistics()
    reopened = search.statistics().reopened
    expanded_again = 0 if rank == "actions" else reopened  # a state keeps its entries
    assert len(trace.nodes) == search.statistics().expanded - expanded_again + 1
    # The way back from the goal is the plan, unless a state was reached again by a cheaper path.
    steps, node = [], trace.nodes[-1]
    while node.parent is not None:
        steps.append(node.step)
        node = trace.nodes[node.parent]
    assert reopened or steps[::-1] == search.plan()
    operators = {operator: i for i, operator in enumerate(task.names("operators"))}
    for node in trace.nodes[1:]:
        if node.state is not None:
            before = {*task.facts_in(trace.nodes[node.parent].state).tolist()}
            o = operators[node.step]
            assert before - {*task.delete[o].tolist()} | {*task.add[o].tolist()} == {
                *task.facts_in(node.state).tolist()
            }
    assert all(node.open >= 0 for node in trace.nodes)


def test_when_nothing_is_left_nothing_is_open(tmp_path):
    """All states of a small puzzle whose goal cannot be reached."""
    domain, file = problem(tmp_path, "npuzzle", side=2)
    text = file.read_text()
    goal = text[text.index("(:goal") :]
    file.write_text(text.replace(goal, "(:goal (and (at t_1 p_1_1) (at t_1 p_2_2))))"))
    task = load(domain, file)
    search = Search(task, "gbfs")
    trace = record(search, score_of(Guide.of_heuristic("blind").evaluator(task)), merit("gbfs"), 1000, Limits())
    assert trace.ended and search.status == "exhausted" and trace.nodes[-1].open == 0 and len(trace.nodes) == 12


def test_blocks_are_towers(tmp_path):
    domain, file = problem(tmp_path, "blocksworld", blocks=4)
    task = load(domain, file)
    view = view_of(task, domain)
    assert isinstance(view, Towers)
    facts = [fact_of(name) for name in ("(on a b)", "(on-table b)", "(on-table c)", "(clear a)", "(holding d)")]
    right = Towers({("on", "a", "b"), ("on-table", "b")}).scene(facts)
    assert right["towers"] == [
        [{"name": "b", "right": True}, {"name": "a", "right": True}],
        [{"name": "c", "right": False}],
    ]
    assert right["held"] == ["d"]
    # Goals seldom say what the lowest block stands on: on the table is right, where nothing else is wanted of it.
    assert Towers({("on", "a", "b")}).scene(facts)["towers"] == right["towers"]
    # A block on a wrong one is not where it belongs.
    wrong = Towers({("on", "a", "b"), ("on", "b", "c")}).scene(facts)["towers"]
    assert not any(block["right"] for block in wrong[0]) and wrong[1] == [{"name": "c", "right": True}]


def test_places_with_rows_and_columns_are_boards(tmp_path):
    domain, file = problem(tmp_path, "npuzzle", side=3)
    task = load(domain, file)
    view = view_of(task, domain)
    assert isinstance(view, Board)
    names = task.names("facts")
    scene = view.scene([fact_of(names[fact]) for fact in task.init])
    assert (scene["rows"], scene["columns"], len(scene["cells"]), len(scene["items"])) == (3, 3, 9, 8)
    assert scene["targets"] == [] and len({tuple(item["at"]) for item in scene["items"]}) == 8


def test_a_file_beside_the_domain_says_what_a_place_is(tmp_path):
    objects = ["p_1_2", "p_1_3", "p_2_2", "p_2_3", "t_1", "x_7_7"]
    by_name = {"p_1_2": (0, 0), "p_1_3": (1, 0), "p_2_2": (0, 1), "p_2_3": (1, 1)}
    assert places_of(objects, tmp_path / "grid.toml") == by_name
    (tmp_path / "grid.toml").write_text('places = "p_{row}_{column}"')
    assert places_of(objects, tmp_path / "grid.toml") == {name: place[::-1] for name, place in by_name.items()}
    assert places_of(["a", "b", "c_1_1"], tmp_path / "none.toml") == {}
    scene = Board(by_name, {("box", "p_1_2")}).scene([("box", "p_2_3"), ("player", "p_1_2"), ("clear", "p_2_2")])
    assert [(item["at"], item["predicate"]) for item in scene["items"]] == [((1, 1), "box"), ((0, 0), "player")]
    assert scene["targets"] == [(0, 0)]


def test_other_domains_are_facts(tmp_path):
    domain, file = problem(tmp_path, "ferry", locations=3, cars=2)
    assert view_of(load(domain, file), domain) is None


def test_the_page_of_a_given_plan_says_what_the_ranking_prefers(tmp_path):
    domain, file = problem(tmp_path, "blocksworld", seed=5, blocks=7)
    best = solve(domain, file, "astar", "lmcut")
    plan, out = tmp_path / "p.plan", tmp_path / "page.html"
    plan.write_text("\n".join(best.plan).upper() + "\n; cost = 1 (unit cost)\n")
    found = show(domain, file, out, plan, heuristic="goalcount", search="astar", expansions=20)
    data = data_of(out)
    assert found.plan == best.plan == data["steps"][1:] and data["given"] and data["cost"] == best.plan_cost
    assert len(data["nodes"]) == 20 and not data["whole"] and data["counters"]["expanded"] == found.expanded > 20
    assert len(data["ranking"]) == len(best.plan) and any(step["wrong"] for step in data["ranking"])
    for step in data["ranking"]:
        assert (step["wrong"] > 0) == (step["other"] <= step["f"]) and len(step["rivals"]) == min(step["wrong"], 5)
        assert all(rival["what"] for rival in step["rivals"]) and step["open"] > step["wrong"]
    facts = data["facts"]
    last = {facts[fact] for fact in data["states"][len(best.plan)]["facts"]}
    assert {facts[fact] for fact in data["goal"]} <= last


def test_the_command_tells_what_it_cannot_show(planrank, tmp_path):
    domain, file = problem(tmp_path, "blocksworld", blocks=4)
    out = tmp_path / "page.html"
    bad = tmp_path / "bad.plan"
    bad.write_text("(stack a b)\n")
    done = planrank("show", domain, file, bad, "--out", out)
    assert done.returncode == Exit.BAD_PDDL and str(bad) in done.stderr and "Traceback" not in done.stderr
    done = planrank("show", domain, file, "--heuristic", "blind", "--time-limit", 0, "--out", out)
    assert done.returncode == Exit.OUT_OF_TIME and not out.exists()
    solved = tmp_path / "solved.pddl"
    text = file.read_text()
    goal = text[text.index("(:goal") :]
    solved.write_text(text.replace(goal, "(:goal (and (handempty))))"))
    with pytest.raises(PlanrankError, match="the goal holds at the start"):
        show(domain, solved, out, heuristic="ff")


def test_the_slider_and_the_keys_move_through_the_plan(browser, tmp_path):  # noqa: F811
    domain, file = problem(tmp_path, "blocksworld", seed=4, blocks=6)
    out = tmp_path / "page.html"
    steps = show(domain, file, out, heuristic="goalcount").plan
    assert validate(domain, file, "\n".join(steps))[0] == len(steps)
    off = [node for node in data_of(out)["nodes"] if node["on"] is None]
    with opened(browser, out) as page:

        def at():
            return page.inner_text("#action"), page.inner_text("#step"), page.input_value("#slider")

        assert at() == ("The start", f"0 / {len(steps)}", "0")
        goals = page.locator("#goal .fact").count()
        assert goals == len(data_of(out)["goal"]) and page.locator("#goal .fact.missing").count() > 0
        page.keyboard.press("ArrowRight")
        assert at() == (steps[0], f"1 / {len(steps)}", "1")
        assert page.locator("#changed .fact.new").count() > 0 and page.locator("#changed .fact.gone").count() > 0
        page.focus("#slider")
        page.keyboard.press("ArrowRight")  # once, although the slider would move by itself too
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowLeft")
        assert at() == (steps[1], f"2 / {len(steps)}", "2")
        page.keyboard.press("End")
        assert at()[1] == f"{len(steps)} / {len(steps)}"
        assert page.locator("#drawing svg text").count() == 6
        assert page.locator("#goal .fact.missing").count() == 0 and page.locator("#goal .fact").count() == goals
        page.click("#steps li:nth-child(3)")
        assert at()[0] == steps[1] and page.get_attribute("#steps li:nth-child(3)", "aria-current") == "step"
        page.eval_on_selector("#slider", "s => { s.value = 1; s.dispatchEvent(new Event('input')); }")
        assert at()[0] == steps[0] and steps[0] in page.inner_text("#rivals")
        assert page.locator("#tree .scatterlayer .point").count() >= len(data_of(out)["nodes"])
        assert off
        page.evaluate(f"look({data_of(out)['nodes'].index(off[0])})")  # as pressing it in the tree does
        assert at()[0] == f"Off the plan: {off[0]['step']}"


@pytest.mark.parametrize("name, sizes", [("npuzzle", {"side": 3}), ("ferry", {"locations": 3, "cars": 2})])
def test_other_pages_open_on_a_phone(browser, tmp_path, name, sizes):  # noqa: F811
    domain, file = problem(tmp_path, name, **sizes)
    show(domain, file, tmp_path / "page.html")
    with opened(browser, tmp_path / "page.html", width=380, scheme="dark") as page:
        assert page.evaluate("document.documentElement.scrollWidth") == 380
        assert page.locator("#drawing svg").count() == (name == "npuzzle")
        assert (page.locator("#drawing .fact").count() > 0) == (name == "ferry")
