"""The documentation: every block of code in it runs, every public name is typed and documented, the site builds."""

import inspect
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest
from conftest import REPOSITORY

import planrank

DOCS = REPOSITORY / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
BLOCK = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.M | re.S)
NOT_RUN = "# not run: "
EXECUTED = {"console", "python", "pddl", "toml"}


@dataclass
class Block:
    language: str
    title: str | None
    text: str


def blocks(text: str) -> list[Block]:
    return [Block(*found.groups()) for found in BLOCK.finditer(text)]


def run_blocks(found: list[Block], folder: Path) -> None:
    """One after the other in a folder. Blocks with a title are files; Python without one is one program."""
    program = ""
    for block in found:
        if block.title is not None:
            file = folder / block.title
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text)
        elif block.language == "python":
            program += block.text + "\n"
        elif block.language == "console":
            run_program(program, folder)  # what is written above may be needed
            program = ""
            run_session(block.text, folder)
    run_program(program, folder)


def run_program(text: str, folder: Path) -> None:
    if text:
        done = subprocess.run([sys.executable, "-c", text], cwd=folder, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr[-2000:]


def run_session(text: str, folder: Path) -> None:
    """Each command must succeed, and print each line that is shown below it; numbers may differ."""
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
        command, *shown = re.sub(r"\\\n\s*", "", part).splitlines()
        if NOT_RUN in command:
            continue
        options = {"cwd": folder, "env": environment, "capture_output": True, "text": True, "timeout": 600}
        done = subprocess.run(["bash", "-c", command], **options)
        assert done.returncode == 0, (command, done.stdout[-1000:], done.stderr[-2000:])
        printed = {without_numbers(line) for line in (done.stdout + done.stderr).splitlines()}
        for line in shown:
            assert without_numbers(line) in printed, (command, line, done.stdout, done.stderr)


def without_numbers(line: str) -> str:
    return re.sub(r"\d[\d,.]*", "N", line).strip()


def is_slow(page: Path) -> bool:
    return "<!-- slow -->" in page.read_text()


def runs(page: Path) -> bool:
    return any(block.language in EXECUTED for block in blocks(page.read_text()))


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=str(page.relative_to(DOCS)), marks=[pytest.mark.slow] if is_slow(page) else [])
        for page in PAGES
        if runs(page)
    ],
)
def test_blocks_of_a_page_run(page, tmp_path):
    if "unified_planning" in page.read_text():
        pytest.importorskip("unified_planning")
    if "from lab" in page.read_text():
        pytest.importorskip("lab")
    run_blocks(blocks(page.read_text()), tmp_path)


def test_every_block_says_what_it_is():
    for page in PAGES:
        text = page.read_text()
        fences = re.findall(r"^```(.*)$", text, flags=re.M)
        assert len(fences) == 2 * len(blocks(text)), page
        assert {block.language for block in blocks(text)} <= EXECUTED | {"text", "ini"}, page


def test_commands_that_are_not_run_are_few_and_can_be_parsed():
    from planrank.cli.main import cli

    left_out = [line[2:] for page in PAGES for line in page.read_text().splitlines() if NOT_RUN in line]
    assert len(left_out) <= 8
    for line in left_out:
        program, *words = shlex.split(line.split("#")[0])
        if program == "planrank":
            cli.commands[words[0]].make_context(words[0], words[1:])


def readme_blocks() -> list[str]:
    """The indented ones."""
    text = (REPOSITORY / "README.md").read_text()
    return [re.sub("^    ", "", found, flags=re.M) for found in re.findall(r"(?:^ {4}.*\n|^\n(?= {4}))+", text, re.M)]


@pytest.mark.slow
def test_python_in_the_readme_runs(tmp_path):
    (program,) = [block for block in readme_blocks() if "import planrank" in block]
    for name, target in (("domain.pddl", "domain.pddl"), ("example.pddl", "problem.pddl")):
        shutil.copy(REPOSITORY / "domains/blocksworld" / name, tmp_path / target)
    run_program(program, tmp_path)


@pytest.mark.slow
def test_the_session_in_the_readme_is_that_of_make_run(tmp_path):
    """Its output is of one run; the commands are those of the Makefile, and they run."""
    (session,) = [block for block in readme_blocks() if block.lstrip().startswith("$ planrank train")]
    commands = re.findall(r"^\$ (.*)$", re.sub(r"\\\n\s*", "", session), flags=re.M)
    makefile = re.sub(r"\\\n\s*", "", (REPOSITORY / "Makefile").read_text())
    recipe = re.findall(r"^\t\$\(BIN\)/(planrank .*)$", makefile.split("\nrun:")[1].split("\n\n")[0], flags=re.M)
    assert commands == recipe[1:]  # after setup
    (tmp_path / "domains").symlink_to(REPOSITORY / "domains")
    run_session("".join(f"$ {command}\n" for command in commands), tmp_path)


def test_commands_in_the_readme_exist():
    from planrank.cli.main import cli

    text = (REPOSITORY / "README.md").read_text()
    assert set(re.findall(r"^\*\*`planrank (\w+)", text, flags=re.M)) == set(cli.commands)


# What the reference of Python shows beside what `planrank` itself has.
MORE = [
    "search.forward.Statistics", "task.Rows", "learning.certificate.Certificate", "learning.certificate.Check",
    "learning.certificate.Violation", "learning.ranking.Ranking", "learning.ranking.EntryRanking", "errors.Exit",
    "limits.Limits",
]  # fmt: skip


def public_things() -> dict[str, object]:
    from importlib import import_module

    found = {name: getattr(planrank, name) for name in planrank.__all__ if name != "__version__"}
    for name in MORE:
        module, _, last = name.rpartition(".")
        found[name] = getattr(import_module(f"planrank.{module}"), last)
    return found


def members(owner: type) -> dict[str, object]:
    """Methods and properties that it has of its own and that begin without _; and its constructor."""
    own = {name: value for name, value in vars(owner).items() if not name.startswith("_")}
    kinds = (property, cached_property, classmethod, staticmethod)
    return {name: value for name, value in own.items() if inspect.isfunction(value) or isinstance(value, kinds)}


def function_of(member: object) -> object:
    for attribute in ("fget", "func", "__func__"):
        member = getattr(member, attribute, None) or member
    return member


@pytest.mark.parametrize("name", public_things())
def test_every_public_name_is_documented_and_typed(name):
    thing = public_things()[name]
    functions = {name: thing}
    if inspect.isclass(thing):
        functions = {f"{name}.{member}": function_of(value) for member, value in members(thing).items()}
        assert inspect.getdoc(thing), name
    for called, function in functions.items():
        assert inspect.getdoc(function), f"{called} has no docstring"
        signature = inspect.signature(function)
        untyped = [one for one, parameter in signature.parameters.items() if parameter.annotation is parameter.empty]
        assert set(untyped) <= {"self", "cls"}, f"{called}: {untyped} without a type"
        assert signature.return_annotation is not signature.empty, f"{called} does not say what it returns"


def test_every_public_name_is_in_the_reference():
    text = (DOCS / "reference/python.md").read_text()
    shown = re.findall(r"^::: planrank\.(\S+)", text, flags=re.M)
    assert {*public_things(), "up.PlanrankEngine", "up.PlanrankOptimalEngine"} == set(shown)
    assert len(shown) == len(set(shown)), "a name is there twice, so links to it lead to the first"


def test_every_page_is_in_the_navigation():
    listed = set(re.findall(r"[\w/-]+\.md", (REPOSITORY / "mkdocs.yml").read_text()))
    assert listed == {str(page.relative_to(DOCS)) for page in PAGES}


def test_every_table_of_results_is_in_the_figures():
    shown = set(re.findall(r"<!-- results (\w+) -->", (DOCS / "figures.md").read_text()))
    assert shown == {file.stem for file in (REPOSITORY / "benchmarks/results").glob("*.md")}


def test_the_site_builds_without_a_warning(tmp_path):
    pytest.importorskip("mkdocs")
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "WARNING" not in done.stderr, done.stderr
    commands = (tmp_path / "site/reference/commands/index.html").read_text()
    assert "planrank certify" in commands and "--preferred" in commands
    assert "geometric mean" in (tmp_path / "site/figures/index.html").read_text()
    tour = (tmp_path / "site/python-tour/index.html").read_text()
    assert "A search of your own" in tour and "ranking_of_plan" in tour
    reference = (tmp_path / "site/reference/python/index.html").read_text()
    assert "planrank.solve" in reference and "time_limit" in reference


EXAMPLE = REPOSITORY / "examples/from_pddl_to_a_ranking.py"


def test_the_example_runs(tmp_path):
    done = subprocess.run([sys.executable, EXAMPLE], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "of them not in the right order" in done.stdout and "for an optimal plan" in done.stdout
    assert re.search(r"^the model (True|False) ", done.stdout, flags=re.M)


def test_the_notebook_is_the_same_as_the_script():
    jupytext = pytest.importorskip("jupytext")
    script, notebook = (jupytext.read(file) for file in (EXAMPLE, EXAMPLE.with_suffix(".ipynb")))
    ours, theirs = ([(cell.cell_type, cell.source) for cell in one.cells] for one in (script, notebook))
    assert ours == theirs, "run `jupytext --to ipynb examples/from_pddl_to_a_ranking.py`"
    assert not any(cell.get("outputs") for cell in notebook.cells)


@pytest.mark.slow
def test_the_notebook_runs(tmp_path):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(EXAMPLE.with_suffix(".ipynb"), as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    printed = "".join(output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", []))
    assert "the model True" in printed
