"""Progress and tables: a bar on a terminal, a line now and then elsewhere, nothing for short work."""

from conftest import drawn_on_a_terminal

from planrank import console

WORK = """
import sys, time
from planrank import console
console.PATIENCE = 0.0
with console.Progress("digging", 3) as progress:
    for i in range(3):
        progress.show(f"depth {i}")
        progress.advance()
        time.sleep(0.15)
assert "rich" in sys.modules
"""


def test_a_bar_on_a_terminal():
    drawn, written = drawn_on_a_terminal(WORK, TERM="xterm-256color")
    assert written == b""
    assert b"digging" in drawn and b"/3" in drawn and b"depth 2" in drawn


def test_lines_elsewhere(capsys, monkeypatch):
    with console.Progress("digging", 3) as progress:
        progress.advance()
    assert capsys.readouterr().err == ""  # too short to speak of
    monkeypatch.setattr(console, "SECONDS_BETWEEN_LINES", 0.0)
    with console.Progress("digging", 3) as progress:
        progress.show("depth 7")
        progress.advance(2)
    said = capsys.readouterr().err.splitlines()
    assert said == ["planrank: digging: 0 of 3, depth 7, 0 s", "planrank: digging: 2 of 3, depth 7, 0 s"]


def test_how_long_it_will_take(capsys, monkeypatch):
    monkeypatch.setattr(console, "SECONDS_BETWEEN_LINES", 0.0)
    progress = console.Progress("digging", 100, done=40)
    progress.started -= 20
    progress.show("depth 7")
    progress.advance(10)
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "planrank: digging: 40 of 100, depth 7, 20 s"  # what was done before says nothing of the speed
    assert said[1] == "planrank: digging: 50 of 100, depth 7, 20 s, about 100 s left"


def test_steps_are_lines_with_their_time(capsys):
    steps = console.Steps()
    with steps.step("laying out"):
        pass
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "  laying out …" and lines[1].startswith("  laying out: done, ")
    with console.Steps(quiet=True).step("laying out"):
        pass
    assert capsys.readouterr().err == ""


def test_a_table_is_as_wide_as_it_must_be():
    drawn = console.table(["Name", "Count"], [["a [b]", "1"], ["x" * 200, "1,000"]]).splitlines()
    assert drawn[2].split() == ["a", "[b]", "1"] and drawn[2].index("1") == drawn[3].index(",") + 3
    assert len(drawn[3]) == 200 + 3 + 5
