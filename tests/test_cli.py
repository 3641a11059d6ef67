"""The command line itself: help, usage errors, exit codes, and that none of it starts Julia or torch."""

import subprocess
import sys

import pytest

from planrank.cli import main as cli
from planrank.errors import EXIT_OF_KIND, Exit, PlanrankError


def test_exit_codes_are_those_of_the_field():
    assert {code.name: code.value for code in Exit} == {
        "OK": 0, "UNSOLVABLE": 11, "GAVE_UP": 12, "OUT_OF_MEMORY": 22, "OUT_OF_TIME": 23, "BAD_PDDL": 31,
        "INTERNAL": 32, "UNSUPPORTED": 34, "USAGE": 36, "HUNG_UP": 129, "INTERRUPTED": 130, "TERMINATED": 143,
    }  # fmt: skip


def test_help_lists_commands(planrank):
    done = planrank("--help")
    assert done.returncode == 0
    assert "doctor" in done.stdout and "setup" in done.stdout


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["no-such-command"], "No such command"),
        (["doctor", "--no-such-option"], "No such option"),
        (["setup", "--road", "sideways"], "sideways"),
    ],
)
def test_usage_errors_are_one_sentence_and_exit_36(planrank, arguments, said):
    done = planrank(*arguments)
    assert done.returncode == Exit.USAGE
    assert said in done.stderr and "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["setup", "--help"], ["show", "--help"], ["nonsense"]]
)
def test_help_and_usage_errors_import_neither_julia_nor_torch(arguments):
    script = f"""
import sys
from planrank.cli.main import main
try:
    main({arguments!r})
except SystemExit:
    pass
heavy = sorted({{"juliacall", "juliapkg", "torch", "numpy"}} & set(sys.modules))
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


def test_importing_planrank_starts_nothing():
    script = "import planrank, sys; assert not {'juliacall', 'torch', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_internal_errors_leave_no_traceback(monkeypatch, capsys):

    def broken(*_, **__):
        raise ZeroDivisionError("boom")

    monkeypatch.delenv("PLANRANK_DEBUG", raising=False)
    monkeypatch.setattr(cli.cli, "main", broken)
    with pytest.raises(SystemExit) as stop:
        cli.main([])
    assert stop.value.code == Exit.INTERNAL
    assert "ZeroDivisionError: boom" in capsys.readouterr().err


@pytest.mark.parametrize("kind", EXIT_OF_KIND)
def test_every_kind_of_error_reaches_the_shell_as_its_exit_code(monkeypatch, capsys, kind):

    def failing(*_, **__):
        raise PlanrankError("found 'x', expected 'y'", kind, "p.pddl", 3, 7)

    monkeypatch.setattr(cli.cli, "main", failing)
    with pytest.raises(SystemExit) as stop:
        cli.main([])
    assert stop.value.code == EXIT_OF_KIND[kind]
    assert capsys.readouterr().err == "planrank: p.pddl:3:7: found 'x', expected 'y'\n"


def test_errors_survive_pickling():
    import pickle

    error = pickle.loads(pickle.dumps(PlanrankError("m", "syntax", "f", 1, 2)))
    assert (str(error), error.kind) == ("f:1:2: m", "syntax")
