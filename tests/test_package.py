"""The package: what a built wheel holds, that it gives every command without a checkout, in other Pythons too."""

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Collection
from pathlib import Path

import pytest
from conftest import REPOSITORY

from planrank.cli.main import cli

CONSTRAINTS = REPOSITORY / "constraints.txt"
OTHER_PYTHONS = ("3.10", "3.12", "3.13")
# For most Pythons an index has torch with gigabytes of CUDA only, so elsewhere what needs it is left out.
TORCH = ("torch", "pytorch-optimizer")
NEED_TORCH = ("doctor", "train", "improve")

LEVEL = "######\n#@ $.#\n######\n"
SESSION = (
    ["setup"],
    ["doctor"],
    ["generate", "gripper", "--count", 6, "--size", "balls=1-2", "--out", "problems"],
    ["import", "sokoban", "levels.txt", "--out", "levels"],
    ["label", "problems"],
    ["train", "--domain", "./problems", "--profile", "quick", "--steps", 20, "--out", "small.safetensors"],
    ["improve", "--domain", "./problems", "--model", "small.safetensors", "--out", "better.safetensors",
     "--rounds", 1, "--problems", 1, "--held-out", 1, "--steps", 1],
    ["evaluate", "--domain", "problems", "--split", "all", "--limit", 2, "--out", "runs.jsonl"],
    ["report", "runs.jsonl", "--out", "report.html"],
    ["ground", "problems/p0001-balls2.pddl"],
    ["solve", "problems/p0001-balls2.pddl"],
    ["validate", "problems/p0001-balls2.pddl", "sas_plan"],
    ["show", "problems/p0001-balls2.pddl", "--out", "plan.html"],
    ["certify", "problems/p0001-balls2.pddl", "--heuristic", "lmcut"],
)  # fmt: skip


@pytest.fixture(scope="module")
def built_wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", f"--wheel-dir={folder}", str(REPOSITORY)]
    subprocess.run(build, check=True, capture_output=True)
    (built,) = folder.glob("planrank-*.whl")
    return built


def call_elsewhere(python: Path, folder: Path, *arguments: object) -> subprocess.CompletedProcess:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    command = [python, "-m", "planrank", *map(str, arguments)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)


def use_commands(python: Path, folder: Path, without: Collection[str] = ()) -> None:
    """Every command in one short session, from a folder with nothing in it."""
    (folder / "levels.txt").write_text(LEVEL)
    for arguments in SESSION:
        if arguments[0] not in without:
            done = call_elsewhere(python, folder, *arguments)
            assert done.returncode == 0, (arguments, done.stdout, done.stderr)


def test_the_session_has_every_command():
    assert {arguments[0] for arguments in SESSION} == set(cli.commands)


def test_what_a_built_wheel_holds(built_wheel):
    names = zipfile.ZipFile(built_wheel).namelist()
    assert {"planrank/juliapkg.json", "planrank/share/Project.toml", "planrank/share/julia/PlanRank.jl"} <= set(names)
    assert not [n for n in names if n.startswith(("julia/", "tests/", "benchmarks/", "docs/"))]
    assert {"planrank/py.typed", "planrank/up.py", "planrank/share/domains/blocksworld/model.json"} <= set(names)


def test_a_built_wheel_gives_every_command_without_a_checkout(built_wheel, tmp_path):
    """In an environment of its own, which borrows only planrank's dependencies from this one."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "elsewhere"], check=True)
    python = tmp_path / "elsewhere/bin/python"
    (packages,) = (tmp_path / "elsewhere").glob("lib/python*/site-packages")
    with zipfile.ZipFile(built_wheel) as archive:
        archive.extractall(packages)
    here = next(p for p in sys.path if p.endswith("site-packages"))
    (packages / "borrowed.pth").write_text(here)
    assert str(packages) in call_elsewhere(python, tmp_path, "doctor").stdout
    use_commands(python, tmp_path)


def environment_of(interpreter: str | Path, folder: Path, requirements: list[str | Path]) -> Path:
    """The Python of a fresh environment with these installed in it by pip."""
    subprocess.run([interpreter, "-m", "venv", folder], check=True)
    python = folder / "bin/python"
    install = [python, "-m", "pip", "install", "--quiet", "--constraint", CONSTRAINTS, *requirements]
    done = subprocess.run(install, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return python


@pytest.mark.slow
def test_the_wheel_installed_by_pip_in_a_clean_environment(built_wheel, tmp_path):
    use_commands(environment_of(sys.executable, tmp_path / "clean", [built_wheel]), tmp_path)


def interpreter_of(version: str) -> Path | None:
    """Where this Python is: on the path, or one that pyenv has installed."""
    found = shutil.which(f"python{version}")
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    candidates = [*([Path(found)] if found else []), *pyenv.glob(f"versions/{version}.*/bin/python")]
    # pyenv also has scripts on the path, for all versions, which do not run.
    runs = (
        one for one in candidates if subprocess.run([one, "-c", "import venv"], capture_output=True).returncode == 0
    )
    return next(runs, None)


def requirements_of(file: Path) -> list[str]:
    """What a wheel needs, without its extras."""
    with zipfile.ZipFile(file) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        lines = archive.read(metadata).decode().splitlines()
    return [line.removeprefix("Requires-Dist: ") for line in lines if line.startswith("Requires-Dist: ")
            and "extra ==" not in line]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("version", OTHER_PYTHONS)
def test_another_python(built_wheel, tmp_path, version):
    """All that needs no torch: models that come with planrank are searched with, but none is trained."""
    interpreter = interpreter_of(version)
    if interpreter is None:
        pytest.skip(f"there is no Python {version} here")
    needed = [one for one in requirements_of(built_wheel) if not one.startswith(TORCH)]
    python = environment_of(interpreter, tmp_path / "clean", needed)
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", built_wheel], check=True)
    use_commands(python, tmp_path, without=NEED_TORCH)
    assert "model gripper" in call_elsewhere(python, tmp_path, "solve", "problems/p0001-balls2.pddl").stdout


@pytest.mark.parametrize("version", (*OTHER_PYTHONS, "3.11"))
def test_each_python_has_one_version_of_each_package(version):
    """Markers tell which; some packages no longer come for the oldest Python."""
    from packaging.requirements import Requirement

    lines = [line for line in CONSTRAINTS.read_text().splitlines() if line and not line.startswith("#")]
    found = [Requirement(line) for line in lines]
    meant = [one.name for one in found if one.marker is None or one.marker.evaluate({"python_version": version})]
    assert sorted(meant) == sorted({one.name for one in found})
