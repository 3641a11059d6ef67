"""What people type: left-out domains, other planners' names, typos, -v and -q, completion, colours."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from conftest import REPOSITORY, drawn_on_a_terminal

from planrank.choices import HEURISTICS, heuristic_called
from planrank.cli.main import cli
from planrank.errors import Exit, PlanrankError
from planrank.problems.domain_files import domain_of

BLOCKS = REPOSITORY / "domains/blocksworld"


@pytest.fixture
def folder(tmp_path) -> Path:
    """A problem with its domain beside it."""
    for name in ("domain.pddl", "example.pddl"):
        shutil.copy(BLOCKS / name, tmp_path)
    return tmp_path


def touched(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).touch()
    return folder


@pytest.mark.parametrize(
    "problem, domain",
    [
        ("p01.pddl", "domain.pddl"),
        ("p01.pddl", "p01-domain.pddl"),
        ("p01-airport1-p1.pddl", "p01-domain.pddl"),
        ("p01.pddl", "domain_p01.pddl"),
        ("p01.pddl", "domain-p01.pddl"),
        ("task", "domain-task"),
        ("testing/p01.pddl", "domain.pddl"),
    ],
)
def test_the_domain_is_found_as_fast_downward_finds_it_or_in_the_folder_above(tmp_path, problem, domain):
    touched(tmp_path, problem, domain)
    assert domain_of(tmp_path / problem).samefile(tmp_path / domain)


def test_a_domain_made_for_the_problem_comes_before_the_common_one(tmp_path):
    touched(tmp_path, "p01.pddl", "domain.pddl", "p01-domain.pddl")
    assert domain_of(tmp_path / "p01.pddl").name == "p01-domain.pddl"


def test_a_domain_is_not_its_own_problem_and_one_two_folders_above_is_nobodys(tmp_path):
    touched(tmp_path, "domain.pddl")
    (tmp_path / "a").mkdir()
    touched(tmp_path / "a", "b/p01.pddl")
    for problem in ("domain.pddl", "a/b/p01.pddl"):
        with pytest.raises(PlanrankError, match=r"found no domain file .*, expected domain\.pddl beside it"):
            domain_of(tmp_path / problem)


def test_every_command_on_a_problem_finds_its_domain(planrank, folder):
    solved = planrank("solve", "example.pddl", "--heuristic", "hFF", cwd=folder)
    assert solved.returncode == 0 and "Heuristic: ff\n" in solved.stdout, solved.stderr
    checked = planrank("validate", "example.pddl", "sas_plan", cwd=folder)
    assert checked.stdout.startswith("Plan valid."), checked.stderr
    grounded = planrank("ground", "example.pddl", cwd=folder)
    assert "29 facts" in grounded.stdout, grounded.stderr
    certified = planrank("certify", "example.pddl", "--heuristic", "LM-cut", cwd=folder)
    assert "Expanded" in certified.stdout, certified.stderr


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["solve"], "Missing argument 'PROBLEM'"),
        (["validate", "p.pddl"], "Missing argument 'PLAN'"),
        (["solve", "d.pddl", "p.pddl", "q.pddl"], "unexpected extra argument 'q.pddl'"),
        (["solve", "nowhere.pddl"], "nowhere.pddl: this file does not exist"),
        (["slove", "p.pddl"], "Did you mean 'solve'?"),
        (["solve", "p.pddl", "--heuristics", "ff"], "Did you mean '--heuristic'?"),
        (["solve", "p.pddl", "--search", "gfbs"], "Did you mean 'gbfs'?"),
        (["solve", "p.pddl", "--heuristic", "hmx"], "Did you mean 'hmax'?"),
        (["train", "--domain", "x", "--loss", "l-star"], "Did you mean 'lstar'?"),
        (["evaluate", "--domain", "x", "--search", "gbfs,astr"], "Did you mean 'astar'?"),
        (["solve", "p.pddl", "--serch", "gbfs"], "No such option '--serch'. Did you mean '--search'?"),
        (["evaluate", "--domain", "blocksworl"], "Did you mean 'blocksworld'?"),
        (["train", "--domain", "griper"], "Did you mean 'gripper'?"),
        (["generate", "spaner", "--out", "x"], "Did you mean 'spanner'?"),
        (["generate", "ferry", "--size", "car=3", "--out", "x"], "Did you mean 'cars'?"),
        (["generate", "ferry", "--set", "lagre", "--out", "x"], "Did you mean 'large'?"),
        (["import", "sokobn", "levels.txt", "--out", "x"], "Did you mean 'sokoban'?"),
    ],
)
def test_what_is_missing_or_mistyped_is_said_with_the_nearest_right_word(planrank, tmp_path, arguments, said):
    done = planrank(*arguments, cwd=tmp_path)
    assert done.returncode == Exit.USAGE and done.stdout == ""
    assert said in done.stderr and "Traceback" not in done.stderr


def test_a_reader_that_has_seen_enough_is_no_failure():
    """As in `planrank train --help | head -1`."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "planrank", "train", "--help"]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


def test_names_of_other_planners():
    names = {"hff": "ff", "FF": "ff", "add": "hadd", "max": "hmax", "LM-cut": "lmcut", "goal_count": "goalcount"}
    assert {name: heuristic_called(name) for name in names} == names
    assert all(heuristic_called(name) == name for name in (*HEURISTICS, "cea", ""))


def test_planrank_alone_shows_the_three_commands_that_matter(planrank):
    done = planrank()
    assert done.returncode == 0 and done.stderr == ""
    shown = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("  planrank ")]
    assert shown == ["solve", "train", "evaluate"]


@pytest.mark.parametrize("name", list(cli.commands))
def test_help_has_examples_that_can_be_typed(name):
    command = cli.commands[name]
    context = click.Context(command, info_name=f"planrank {name}")
    assert command.examples
    for example in command.examples:
        assert f"\n  {example}\n" in command.get_help(context) + "\n"
        program, found, *arguments = shlex.split(example)
        assert (program, found) == ("planrank", name)
        command.make_context(name, arguments)


def test_the_list_of_commands_says_what_each_does_without_dots(planrank):
    listed = planrank("--help").stdout.split("Commands:\n")[1].splitlines()
    assert [line.split()[0] for line in listed] == list(cli.commands)
    assert all(line.endswith(".") and not line.endswith("..") for line in listed), listed


def test_quiet_says_nothing_and_verbose_says_more(planrank, folder):
    quiet = planrank("solve", "example.pddl", "-q", cwd=folder)
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "") and (folder / "sas_plan").exists()
    usual = planrank("solve", "example.pddl", cwd=folder)
    assert usual.stdout and usual.stderr == ""
    verbose = planrank("-v", "solve", "example.pddl", cwd=folder)
    assert "29 facts, 40 actions" in verbose.stderr and "the domain is domain.pddl" in verbose.stderr
    assert verbose.stdout.splitlines()[0] == usual.stdout.splitlines()[0]


def test_quiet_still_says_why_there_is_no_plan(planrank, folder):
    done = planrank("solve", "example.pddl", "--time-limit", 0, "-q", cwd=folder)
    assert done.returncode == Exit.OUT_OF_TIME and done.stdout == ""
    assert done.stderr.startswith("planrank: no plan: out of time; ") and done.stderr.count("\n") == 1


def guides_in(file: Path) -> set[str]:
    return {json.loads(line)["guide"] for line in file.read_text().splitlines()}


def test_evaluate_compares_the_model_that_solve_would_take(planrank, folder):
    arguments = ["evaluate", "--domain", ".", "--split", "all", "--heuristics", "hff", "--out"]
    done = planrank(*arguments, "with.jsonl", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert guides_in(folder / "with.jsonl") == {"model:blocksworld", "ff"}
    assert "model:blocksworld fits this domain" in done.stderr
    done = planrank(*arguments, "without.jsonl", "--model", "none", cwd=folder)
    assert done.returncode == 0 and guides_in(folder / "without.jsonl") == {"ff"}, done.stderr


def completions(shell: str, line: str, cwd: Path) -> list[str]:
    """What click answers to a shell that asks for the end of a line."""
    words = line.split(" ")
    asked = {"_PLANRANK_COMPLETE": f"{shell}_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    if shell == "fish":
        asked["COMP_CWORD"] = words[-1]
    done = subprocess.run(
        [sys.executable, "-m", "planrank"], env=os.environ | asked, cwd=cwd, capture_output=True, text=True
    )
    return done.stdout.split()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell, folder):
    has = {
        "planrank so": "solve",
        "planrank solve --heur": "--heuristic",
        "planrank solve --search wa": "wastar",
        "planrank train --domain spa": "spanner",
        "planrank generate fer": "ferry",
        "planrank evaluate --search gbfs,ast": "gbfs,astar",
    }
    for line, end in has.items():
        assert end in ",".join(completions(shell, line, folder)), line


def test_completion_written_for_bash_works_in_bash(folder):
    """The lines of the documentation, in a shell that has never heard of planrank."""
    script = """
PATH="$1:$PATH"
eval "$(_PLANRANK_COMPLETE=bash_source planrank)"
COMP_WORDS=(planrank solve --sea) COMP_CWORD=2
_planrank_completion planrank
echo "${COMPREPLY[@]}"
COMP_WORDS=(planrank train --domain spa) COMP_CWORD=3
_planrank_completion planrank 2>/dev/null
echo "${COMPREPLY[@]}"
"""
    binaries = str(Path(sys.executable).parent)
    command = ["bash", "--norc", "-c", script, "bash", binaries]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.stdout.split() == ["--search", "spanner"], done.stderr


def test_no_colours_where_they_are_not_wanted():
    script = """
from planrank import console
console.PATIENCE = 0.0
with console.Progress("digging", 3) as progress:
    progress.advance()
"""
    coloured = b"\x1b[38;5;"
    assert coloured in drawn_on_a_terminal(script, TERM="xterm-256color")[0]
    plain = drawn_on_a_terminal(script, TERM="xterm-256color", NO_COLOR="1")[0]
    assert b"digging" in plain and coloured not in plain and b"\x1b[3" not in plain


def test_show_finds_its_domain_too(planrank, folder):
    done = planrank("show", "example.pddl", "--out", "page.html", cwd=folder)
    assert done.returncode == 0 and (folder / "page.html").exists(), done.stderr
    assert (
        planrank("solve", "example.pddl", "-q", "--search", "astar", "--heuristic", "lmcut", cwd=folder).returncode == 0
    )
    done = planrank("show", "domain.pddl", "example.pddl", "sas_plan", "--out", "page.html", cwd=folder)
    assert done.returncode == 0 and done.stdout.startswith("A plan of 8 step(s)"), done.stderr
    done = planrank("show", "domain.pddl", "example.pddl", "sas_plan", "x", "--out", "page.html", cwd=folder)
    assert done.returncode == Exit.USAGE and "extra argument 'x'" in done.stderr
