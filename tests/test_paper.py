"""benchmarks/paper.py: its tests of significance, its verdicts, and that it goes on where it was."""

import json
import math
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import REPOSITORY
from hypothesis import given
from hypothesis import strategies as st
from test_benchmarks import columns, needs_fast_downward, quick, run

from planrank.files import read_toml

sys.path.append(str(REPOSITORY / "benchmarks"))
import paper
import paper_cost
import paper_tables
from paper_budget import OTHERS, Paper
from paper_tables import Claim, both, cell_of, compared, holm, sign_test, verdict_of, votes, wilson

sys.path.remove(str(REPOSITORY / "benchmarks"))

TOLD = read_toml(REPOSITORY / "benchmarks/paper.toml")


def rows(expansions, seed=0, first=0):
    """A row for each problem; None: not solved."""
    return [
        {"instance_sha": f"p{first + i}", "seed": seed, "expanded": n or 0, "status": "solved" if n else "out of time",
         "plan_length": 3}
        for i, n in enumerate(expansions)
    ]  # fmt: skip


def test_the_sign_test_is_exact():
    assert sign_test(0, 0) == 1 and sign_test(5, 5) == 1 and sign_test(1, 0) == 1
    assert sign_test(6, 0) == sign_test(0, 6) == 2 / 2**6
    assert math.isclose(sign_test(9, 1), 2 * (10 + 1) / 2**10)


@given(st.integers(0, 40), st.integers(0, 40))
def test_the_sign_test_is_a_probability_and_knows_no_sides(wins, losses):
    assert 0 < sign_test(wins, losses) == sign_test(losses, wins) <= 1
    assert sign_test(max(wins, losses) + 1, min(wins, losses)) <= sign_test(wins, losses) + 1e-12


def test_many_tests_are_corrected():
    assert holm([]) == [] and holm([0.03]) == [0.03]
    assert [round(p, 3) for p in holm([0.01, 0.04, 0.03])] == [0.03, 0.06, 0.06]
    assert holm([0.9, 0.8]) == [1.0, 1.0]


def test_the_interval_of_a_share():
    low, high = wilson(50, 100)  # as tables of it have it
    assert round(low, 1) == 40.4 and round(high, 1) == 59.6
    assert (
        math.isclose(wilson(20, 20)[1], 100)
        and 80 < wilson(20, 20)[0] < 90
        and math.isclose(wilson(0, 20)[0], 0, abs_tol=1e-9)
    )


def test_a_problem_has_one_vote_however_many_seeds_there_are():
    assert votes(rows([1, 5, None, None]), rows([2, 4, 3, None])) == (1, 2)
    mine = rows([1, 1], seed=0) + rows([9, 1], seed=1) + rows([1, 1], seed=2)
    theirs = rows([2, 1], seed=0) + rows([2, 1], seed=1) + rows([2, 1], seed=2)
    assert votes(mine, theirs) == (1, 0)
    assert votes(rows([1], seed=0), rows([2], seed=1)) == (0, 0)  # nothing to pair


BETTER, WORSE, EVEN = [1] * 12, [2] * 12, [1, 2] * 6
SOME = both("astar", "lstar", "l2")


@pytest.mark.parametrize(
    "ferry, blocks, every, some",
    [
        ((BETTER, WORSE), (BETTER, WORSE), "holds", "holds"),
        ((BETTER, WORSE), (EVEN, EVEN[::-1]), "cannot be told", "holds"),
        ((BETTER, WORSE), (WORSE, BETTER), "does not hold", "does not hold"),
        ((EVEN, EVEN[::-1]), (EVEN, EVEN[::-1]), "cannot be told", "cannot be told"),
        ((BETTER, [None] * 12), (BETTER, [None] * 12), "holds", "holds"),
    ],
)
def test_verdicts(ferry, blocks, every, some):
    cells = {}
    for first, (line, (a, b)) in enumerate({"ferry": ferry, "blocks": blocks}.items()):
        cells[line] = {("astar", "lstar"): rows(a, first=100 * first), ("astar", "l2"): rows(b, first=100 * first)}
    domains = {line: line for line in cells}
    for expected, is_every in ((every, True), (some, False)):
        claim = Claim("", SOME, every=is_every)
        found = compared(claim, cells, domains)
        assert [one.where for one in found] == ["ferry", "blocks"]
        assert verdict_of(claim, found, 2)[0] == expected
        assert (verdict_of(claim, found, 3)[0] == "holds") == (expected == "holds" and not is_every)
    (pooled,) = compared(Claim("", SOME, pooled=True), cells, domains)
    assert pooled.where == "all domains" and pooled.wins + pooled.losses <= 24


def test_nothing_run_cannot_be_told():
    claim = paper_tables.CLAIMS[0]
    assert verdict_of(claim, compared(claim, {}, {}), 8) == ("cannot be told", "nothing that it compares was run")


def test_what_was_printed_is_whole():
    printed = TOLD["printed"]
    lines = set(printed["solved"])
    assert len(lines) == 16 and len(printed["columns"]) == 11
    for kind in ("solved", "deviation", "expanded", "length"):
        assert set(printed[kind]) == lines and all(len(row) == 11 for row in printed[kind].values())
    assert {line.split()[0] for line in lines} == set(TOLD["domains"])
    assert len(TOLD["budgets"]["full"]["networks"]) == 18
    # The paper's own table: ranking is nowhere below regression.
    assert paper_tables.printed_order(paper_tables.CLAIMS[0], printed) == "28 above, 4 level, 0 below"


def test_a_cell_says_what_was_printed_and_whether_it_differs():
    half = rows([5] * 10 + [None] * 10)
    assert cell_of("solved", half, set(), 50, 2) == "50 (50 ± 2)"
    assert cell_of("solved", half, set(), 90, 0) == {"text": "50 (90 ± 0), below", "mark": "bad"}
    assert cell_of("solved", half + rows([5] * 20, seed=1), set(), 20, 0)["text"] == "75 ± 35 (20 ± 0), above"
    assert cell_of("expanded", half, set(), 7, None) == "5 (7)"
    assert cell_of("expanded", half, set(), None, None) == "5" and cell_of("solved", [], set(), 9, 1) == "-"


def test_budgets_and_clusters_do_not_get_in_each_others_way(tmp_path, monkeypatch):
    def told(*words):
        monkeypatch.setattr(sys, "argv", ["paper.py", *words])
        return paper.parsed()

    assert told().jobs == 2 and told("--jobs", "3").jobs == 3 and told("--quick").jobs == 1
    assert told("--cluster", "auto").jobs is None  # as many as there are processors
    names = [Paper(told("--budget", budget, "--results", str(tmp_path)), tmp_path).pieces.file.name
             for budget in ("quick", "default", "full")]  # fmt: skip
    assert names == ["paper_quick_pieces.jsonl", "paper_pieces.jsonl", "paper_full_pieces.jsonl"]
    assert paper.train in paper.stages("auto") and paper.train not in paper.stages(None)


def test_rows_of_finished_pieces_keep_their_domains_on_the_page():
    """What is kept in pieces does not say where its files lay."""
    row = {"domain": "domain.pddl", "line": "tiles 4", "rank": "states", "seed": 0, "loss": "lstar",
           "instance_sha": "1", "problem": "p1.pddl", "search": "gbfs", "guide": "model:layers1"}  # fmt: skip
    shown = [paper.page_row(row), paper.page_row(row | {"seed": 2, "line": "ferry", "loss": "levin"})]
    assert [Path(one["domain"]).parent.name for one in shown] == ["tiles 4", "ferry"]
    assert [one["series"] for one in shown] == ["L*, ranking states", "Levin"]
    assert [Path(one["problem"]).stem for one in shown] == ["p1", "p1-seed2"] and shown[1]["instance_sha"] == "1-seed2"
    beside = paper.page_row(row | {"rank": OTHERS, "loss": None, "guide": "blind", "search": "bfs"})
    assert beside["series"] == "breadth-first search"


def test_what_many_machines_cost_is_counted():
    full, sweep = paper_cost.full_tables(), paper_cost.sweep()
    trainings = [one for one in full if one.is_training]
    # 3 seeds of 5 losses in 2 rankings and Levin's policy; 18 networks, of the grids' domains one.
    assert sum(one.count for one in trainings) == 3 * 11 * (5 * 18 + 3) and len(full) == 2 * len(trainings) == 16
    runs = {one.name: one.count for one in full if not one.is_training}
    assert runs["runs of ferry"] == 3 * (2 * 10 + 1) * 12
    assert sum(one.count for one in sweep) == 10_000 and all(one.seconds > 10 for one in sweep)
    work = [paper_cost.Work("trainings", 100, 36.0, True), paper_cost.Work("runs", 1000, 3.6, False)]
    handing = {"training": 3.6, "run": 0.36}
    hours = paper_cost.hours_of(work, handing, SimpleNamespace(machines=10, processors=2))
    assert [round(value, 3) for name, value in hours.items() if name != "the network"] == [0.1, 0.2, 0.01]


@pytest.mark.slow
@pytest.mark.skipif(find_spec("ray") is None, reason="needs ray")
def test_what_handing_out_costs_is_measured(tmp_path):
    found = columns(quick("paper_cost.py", tmp_path), "what", "jobs", "slowest")
    assert [(what, jobs) for what, jobs, _ in found] == [("full tables", "31,671"), ("10,000 trainings", "10,000")]


@needs_fast_downward
def test_quick_leaves_nothing_behind(tmp_path):
    tables = quick("paper.py", tmp_path)
    found = columns(tables, "claim", "ranking", "verdict")
    assert [claim for claim, *_ in found] == [claim.text for claim in paper_tables.CLAIMS]
    assert {rank for _, rank, _ in found} == {"states"} and {verdict for *_, verdict in found} == {"cannot be told"}
    ((domain, problems, solved),) = columns(tables, "domain", "problems", "A*, L*")[:1]
    assert (domain, problems) == ("ferry", "2") and "(98 ± 3)" in solved
    ((*_, lama),) = columns(tables, "domain", "breadth-first search", "LAMA-first")
    assert lama == "100"


@pytest.mark.slow
@needs_fast_downward
def test_it_goes_on_where_it_was_and_makes_a_page(tmp_path):
    options = ["--quick", "--work", "work"]
    run("paper.py", tmp_path, *options, "--stage", "prepare")
    run("paper.py", tmp_path, *options, "--stage", "train")
    assert "Unfinished" in (unfinished := run("paper.py", tmp_path, *options, "--stage", "report"))
    run("paper.py", tmp_path, *options)
    made = {file: file.stat().st_mtime_ns for file in Path(tmp_path, "work").rglob("*.safetensors")}
    journal, pieces = (tmp_path / "work/quick" / name for name in ("rows.jsonl", "paper_quick_pieces.jsonl"))
    pieces.unlink()
    first = journal.read_text()
    journal.write_text("\n".join(first.splitlines()[:-2]) + "\n" + first.splitlines()[-2][:40])  # as after a kill
    again = run("paper.py", tmp_path, *options)
    assert "Unfinished" not in again and again != unfinished
    assert {file: file.stat().st_mtime_ns for file in Path(tmp_path, "work").rglob("*.safetensors")} == made
    keys = [json.loads(line)["instance_sha"] for line in journal.read_text().splitlines() if line.endswith("}")]
    assert len(keys) == len(first.splitlines())
    told = run("paper.py", tmp_path, *options, "--stage", "cost").splitlines()[2].split(" | ")
    assert [told[0], told[1], told[3]] == ["| ferry", "3", "10"] and told[2].endswith("(3)") and "(10)" in told[4]
    assert "planrank_document" in (tmp_path / "work/quick/paper_quick.html").read_text()
    # What is finished need not be made again where the models are not: the tables are the same.
    shutil.rmtree(tmp_path / "work/quick/models")
    journal.unlink()
    assert table_lines(run("paper.py", tmp_path, *options)) == table_lines(again)
    assert not list(Path(tmp_path, "work").rglob("*.safetensors"))


def table_lines(printed):
    return [line for line in printed.splitlines() if line.startswith("|")]
