"""`planrank report`: what it reads, what it refuses, and the page in a browser."""

import json
import re
from pathlib import Path

import pytest
from pages import browser, opened  # noqa: F401

from planrank import PlanrankError, __version__
from planrank.errors import Exit
from planrank.journal import packed
from planrank.reports.page import embedded
from planrank.reports.report import domain_names, named, report
from planrank.reports.results import read_results, training_names


def row(problem="p1", guide="ff", domain="ferry", expanded=10, search="gbfs", status="solved", **more):
    solved = status == "solved"
    return {
        "domain": f"data/{domain}/domain.pddl", "problem": f"data/{domain}/{problem}.pddl",
        "instance_sha": domain + problem,
        "search": search, "guide": guide, "heuristic": None if guide.startswith("model:") else guide,
        "model": "m.safetensors" if guide.startswith("model:") else None,
        "model_sha": "1" if guide.startswith("model:") else None, "time_limit": 5.0, "memory_limit": None, "batch": 1,
        "cold": False, "plan_length": 5 if solved else None, "plan_cost": 5 if solved else None, "expanded": expanded,
        "evaluated": 2 * expanded, "generated": 3 * expanded, "reopened": 0, "dead_ends": 0, "expansions_per_step": 2.0,
        "search_seconds": 0.01 * expanded, "total_seconds": 0.01 * expanded if solved else None, "peak_kb": 1024,
        "status": status, "reason": "" if solved else "the time limit was met", "version": __version__,
    } | more  # fmt: skip


LOG = [
    {"step": 10, "seconds": 1.0, "loss": 1.5, "zero_one": 0.5},
    {"step": 20, "seconds": 2.0, "solved": 3, "of": 4, "expansions": 50, "plan_steps": 20},
    {"step": 20, "seconds": 2.0, "loss": 0.5, "zero_one": 0.1},
]


def write(file: Path, rows) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return file


@pytest.fixture
def journal(tmp_path) -> Path:
    rows = [row(f"p{i}", guide, expanded=(1 if guide.startswith("model") else 9) * i)
            for i in range(1, 13) for guide in ("ff", "model:mine")]  # fmt: skip
    rows += [row("p1", "ff", "blocks", 70), row("p1", "model:mine", "blocks", 700, status="out of time")]
    return write(tmp_path / "rows.jsonl", rows)


@pytest.fixture
def training(tmp_path) -> Path:
    write(tmp_path / "models/mine.training/layers2-seed0/log.jsonl", LOG)
    model = tmp_path / "models/mine.safetensors"
    model.touch()
    return model


def data_of(page: Path) -> dict:
    return json.loads(re.search(r'id="data">(.*?)</script>', page.read_text(), re.DOTALL)[1])


def test_runs_and_trainings_come_from_files_models_and_folders(journal, training, tmp_path):
    out = tmp_path / "report.html"
    assert report([journal, training], out).notices == []
    data = data_of(out)
    assert len(data["runs"]) == 26 and data["title"] == "planrank report" and data["version"] == __version__
    first = dict(zip(data["columns"], data["runs"][0], strict=True))
    assert (first["domain"], first["problem"], first["guide"], first["expanded"]) == ("ferry", "p1", "ff", 9)
    assert list(data["trainings"]) == ["mine"]
    assert [step for step, *_ in data["trainings"]["mine"]] == [10, 20, 20]
    everything = read_results([tmp_path])
    assert len(everything.runs) == 26 and list(everything.trainings) == ["mine"]
    assert len(read_results([journal, journal, tmp_path]).runs) == 26


def test_names_are_as_long_as_they_must_be():
    assert domain_names({"a/b/ferry"}) == {"a/b/ferry": "ferry"}
    assert domain_names({"a/b/ferry", "a/c/ferry"}) == {"a/b/ferry": "b/ferry", "a/c/ferry": "c/ferry"}
    assert domain_names({"/x/a/ferry", "b/spanner"}) == {"/x/a/ferry": "ferry", "b/spanner": "spanner"}
    assert domain_names({"/x/ferry", "ferry"}) == {"/x/ferry": "x/ferry", "ferry": "ferry"}
    assert domain_names({"/x/ferry", "x/ferry"}) == {"/x/ferry": "/x/ferry", "x/ferry": "x/ferry"}
    two = [row(guide="model:x", model="one/x", model_sha="1"), row(guide="model:x", model="two/x", model_sha="2")]
    assert [one["guide"] for one in named(two)] == ["model:x (one/x)", "model:x (two/x)"]
    assert [one["guide"] for one in named(two[:1])] == ["model:x"]


def test_trainings_are_called_by_what_tells_them_apart():
    two = [f"m/a.training/layers{n}-seed0/log.jsonl" for n in (1, 2)]
    assert training_names(two) == ["layers1-seed0", "layers2-seed0"]
    assert training_names([*two, "m/b.training/layers1-seed0/log.jsonl"]) == ["a layers1-seed0", "a layers2-seed0", "b"]
    assert training_names([two[0], "/elsewhere/b.training/layers1-seed0/log.jsonl"])[1].endswith("elsewhere b")
    assert training_names(["x/other.jsonl"]) == ["other.jsonl"] and training_names([]) == []


def test_models_of_one_domain_each_are_one_guide():
    def asked(*pairs):
        return named([row(domain=domain, guide=f"model:{sha}", model_sha=sha) for domain, sha in pairs])

    guides = [one["guide"] for one in [*asked(("ferry", "1"), ("spanner", "2")), *named([row(), row(domain="x")])]]
    assert guides == ["the domain's model"] * 2 + ["ff"] * 2
    for pairs in ((("ferry", "1"), ("ferry", "2")), (("ferry", "1"), ("spanner", "1")), (("ferry", "1"),)):
        assert [one["guide"] for one in asked(*pairs)] == [f"model:{sha}" for _, sha in pairs]


def test_what_a_benchmark_has_finished_is_reported(planrank, tmp_path):
    """A piece has the rows of a domain together, without the folders that their files lay in."""
    names = [*row(), "series"]
    lines = []
    for domain, series in (("ferry", None), ("spanner", "L*")):
        rows = [row(f"p{i}", domain=domain) | {"domain": "domain.pddl", "series": series} for i in range(3)]
        lines.append({"piece": [domain], "settings": "x", "about": None} | packed(rows, names))
    lines += [{"piece": [], "rows": 1}, lines[0] | {"same": 3}, lines[0] | {"rows": 9}]
    pieces = write(tmp_path / "track_pieces.jsonl", lines)
    done = planrank("report", pieces, "--out", tmp_path / "page.html")
    assert done.returncode == 0 and done.stdout == f"6 runs in {tmp_path}/page.html\n"
    assert "3 lines are damaged and left out, the first is line 3" in done.stderr
    data = data_of(tmp_path / "page.html")
    told = [dict(zip(data["columns"], one, strict=True)) for one in data["runs"]]
    assert [(one["domain"], one["problem"], one["guide"]) for one in told] == [
        (domain, f"p{i}", guide) for domain, guide in (("ferry", "ff"), ("spanner", "L*")) for i in range(3)
    ]


def test_the_command_says_how_much_it_found(journal, training):
    assert read_results([journal, training]).told == "26 runs and 1 training"
    assert read_results([training]).told == "1 training"


def test_nothing_in_the_data_can_end_the_script():
    text = embedded({"a": "</script><!-- \u2028", "b": float("inf"), "c": [float("nan"), 1.5]})
    assert "<" not in text and "\u2028" not in text
    assert json.loads(text) == {"a": "</script><!-- \u2028", "b": None, "c": [None, 1.5]}


def test_damaged_lines_and_other_versions_are_told(planrank, tmp_path, journal):
    lines = journal.read_text().splitlines()
    lines[4] = lines[4][:50]
    lines[5] = json.dumps(row("p91") | {"expanded": "many"})
    lines[6] = json.dumps(row("p90", version="0.0.1"))
    lines[7] = json.dumps({"status": "solved", "planner": "old"})
    journal.write_text("\n".join(lines))
    done = planrank("report", journal, "--out", tmp_path / "page.html")
    assert done.returncode == 0 and done.stdout == f"23 runs in {tmp_path}/page.html\n"
    assert done.stderr.splitlines() == [
        f"planrank: {journal}: 2 lines are damaged and left out, the first is line 5.",
        f"planrank: {journal}: 1 line is of another version of planrank and left out.",
        f"planrank: This is planrank {__version__}, but not all runs are: 1 of 0.0.1.",
    ]
    assert len(data_of(tmp_path / "page.html")["notices"]) == 3


@pytest.mark.parametrize(
    "content, said",
    [
        (b"", "there is nothing to report in"),
        (b'{"status": "solved", "search": "gbfs"}\n', "of another version of planrank: they do not say batch, cold,"),
        (b"not json\n{\n", "no line of this journal is a run, a step of a training or a round of an improvement"),
        (b'{"colour": 1}\n', "no line of this journal is a run, a step of a training or a round of an improvement"),
        (None, "there is no such file or folder"),
    ],
)
def test_what_cannot_be_reported_is_one_sentence(tmp_path, content, said):
    file = tmp_path / "rows.jsonl"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(PlanrankError, match=said) as caught:
        report([file], tmp_path / "page.html")
    assert str(file) in str(caught.value) and not (tmp_path / "page.html").exists()


def test_a_folder_may_have_other_journals(tmp_path, journal):
    (tmp_path / "load.jsonl").write_text('{"load": 1.5}\n')
    found = read_results([tmp_path])
    assert len(found.runs) == 26
    assert found.notices == [
        f"{tmp_path}/load.jsonl: no line of this journal is a run, a step of a training or a round of an improvement."
    ]


def test_other_json_and_lost_logs_are_refused(tmp_path):
    for content, said in (
        ("{}", "no results of planrank"),
        ('{"planrank_document": 7}', "of format 7"),
        ("[", "as JSON"),
    ):
        (tmp_path / "x.json").write_text(content)
        with pytest.raises(PlanrankError, match=said):
            read_results([tmp_path / "x.json"])
    with pytest.raises(PlanrankError, match="not beside it"):
        read_results([tmp_path / "lone.safetensors"])


def test_the_command_needs_results_and_a_place(planrank, tmp_path, journal):
    for arguments in (
        ["--out", "x.html"],
        [journal],
        [journal, "--out", tmp_path],
        [journal, "--out", "/nowhere/x.html"],
    ):
        done = planrank("report", *arguments)
        assert done.returncode == Exit.USAGE and "Traceback" not in done.stderr and done.stdout == ""


# In a browser


def column(page, table: str, number: int) -> list[str]:
    return [cell.strip() for cell in page.locator(f"#{table} tbody tr td:nth-child({number})").all_inner_texts()]


def test_the_page_sorts_filters_and_compares(browser, journal, training, tmp_path):  # noqa: F811
    document = {"planrank_document": 1, "title": "Claims", "sections": [
        {"title": "Verdicts", "text": "A test.", "header": ["claim", "p"],
         "rows": [["b", {"text": "0.30 ± 0.1 (0.5 ± 0), below", "mark": "bad"}], ["a", "0.04"]]}]}  # fmt: skip
    (tmp_path / "claims.json").write_text(json.dumps(document))
    report([journal, training, tmp_path / "claims.json"], tmp_path / "page.html", title="A <b>title</b>")
    with opened(browser, tmp_path / "page.html") as page:
        assert page.inner_text("h1") == "A <b>title</b>" and page.title() == "A <b>title</b>"
        # Sorting: words up first, numbers down first, and the other way round when pressed again.
        assert len(column(page, "runs", 1)) == 26
        page.click("#runs th:nth-child(6) button")
        expanded = [int(text.replace(",", "")) for text in column(page, "runs", 6)]
        assert expanded == sorted(expanded, reverse=True)
        page.click("#runs th:nth-child(6) button")
        assert (
            column(page, "runs", 6)[0] == "1"
            and page.get_attribute("#runs th:nth-child(6)", "aria-sort") == "ascending"
        )
        page.click("#runs th:nth-child(1) button")
        assert column(page, "runs", 1)[-1] == "p12" and column(page, "runs", 1)[0] == "p1"
        # Filtering by words, by domain, by guide.
        page.fill("input[placeholder^='filter: ferry']", "out of")
        assert column(page, "runs", 4) == ["model:mine"] and column(page, "runs", 5) == ["out of time"]
        page.fill("input[placeholder^='filter: ferry']", "p1")
        page.select_option("#domain", "ferry")
        assert len(column(page, "runs", 1)) == 8  # p1, p10, p11, p12: the filter stays
        page.fill("input[placeholder^='filter: ferry']", "")
        assert set(column(page, "summary", 3)) == {"ferry"} and len(column(page, "runs", 1)) == 24
        page.click(".chip:has-text('ff')")
        assert column(page, "summary", 1) == ["model:mine"] and len(column(page, "runs", 1)) == 12
        page.click(".chip:has-text('ff')")
        assert column(page, "summary", 10) in (["6.50", "58.5"], ["58.5", "6.50"])
        # The charts are there, and one guide is compared with the other problem by problem.
        page.select_option("#versus-y", "gbfs · mine")
        page.select_option("#versus-x", "gbfs · ff")
        assert "needs less on 12, more on 0 of 12 problems" in page.inner_text("#versus-told")
        assert page.locator("#versus .scatterlayer .point").count() == 12
        assert page.locator("#coverage .scatterlayer .trace").count() == 2
        assert page.locator("#lengths .boxlayer .trace").count() == 2
        assert column(page, "trainings", 4) == ["3 of 4"]
        assert page.locator("td.bad:not(.words)", has_text="0.30 ± 0.1").count() == 1  # a number


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_a_phone_and_follows_the_theme(browser, journal, tmp_path, scheme):  # noqa: F811
    report([journal], tmp_path / "page.html")
    with opened(browser, tmp_path / "page.html", width=380, scheme=scheme) as page:
        assert page.evaluate("document.documentElement.scrollWidth") == 380
        ground = "getComputedStyle(document.body).backgroundColor"
        before = page.evaluate(ground)
        assert page.get_attribute("html", "data-theme") == scheme
        page.click("#theme")
        assert page.get_attribute("html", "data-theme") == "dark"
        assert (page.evaluate(ground) == before) == (scheme == "dark")
        page.emulate_media(media="print")
        assert not page.is_visible("#filters") and page.is_visible("#summary")


def test_curves_that_a_training_has_not_are_not_drawn(browser, tmp_path):  # noqa: F811
    """Losses that compare nothing have no 0-1 loss."""
    log = write(tmp_path / "levin.jsonl", [{name: one[name] for name in one if name != "zero_one"} for one in LOG])
    report([log], tmp_path / "page.html")
    with opened(browser, tmp_path / "page.html") as page:
        titles = page.locator("figure h3").all_inner_texts()
        assert titles == ["Loss", "Validation: share solved", "Validation: expansions"]


def test_the_page_shows_how_a_model_improved(browser, tmp_path):  # noqa: F811
    rows = [
        {"round": 0, "seconds": 1.0, "which": "start", "held_out_size": "blocks 10", "held_out_level": 0,
         "held_out_solved": 1, "held_out_of": 4, "held_out_expansions": 500, "held_out_plan_steps": 20, "budget": 100},
        {"round": 1, "size": "blocks 10", "level": 0, "problem": "p", "by": "ff", "expanded": 9, "steps": 3,
         "seconds": 0.1, "solved": 0},
        {"round": 1, "seconds": 2.0, "which": "present", "held_out_size": "blocks 20", "held_out_level": 1,
         "held_out_solved": 3, "held_out_of": 4, "held_out_expansions": 60, "held_out_plan_steps": 40, "budget": 100},
        {"round": 1, "seconds": 2.5, "level": 0, "size": "blocks 10", "budget": 100, "solved": 4, "of": 5, "plans": 5,
         "loss": 0.25, "better": 1},
    ]  # fmt: skip
    model = tmp_path / "mine.safetensors"
    model.touch()
    write(tmp_path / "mine.improving/improve.jsonl", rows)
    assert list(report([model], tmp_path / "page.html").improvements) == ["mine"]
    with opened(browser, tmp_path / "page.html") as page:
        assert page.inner_text("h2:has-text('Improvement')") == "Improvement: mine"
        cells = page.locator("table tbody tr td").all_inner_texts()
        assert [cell.strip() for cell in cells] == [
            "1", "blocks 10", "100", "4 of 5", "5", "blocks 20", "3 of 4", "1.50", "yes", "2.50",
        ]  # fmt: skip
        page.wait_for_selector(".scatterlayer .trace")
        assert page.locator(".scatterlayer .trace").count() == 6
