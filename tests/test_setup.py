"""Set-up: roads, locks, interruptions, bad luck. The downloads are stood in for; everything around them is real."""

import json
import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from conftest import start_python

from planrank import julia, paths
from planrank.console import Steps
from planrank.errors import Exit, PlanrankError
from planrank.runtime import image, record, setup, wheel
from planrank.runtime.processes import reason

# Runs `planrank setup` with a wheel road that takes a second and writes down that it was taken.
DRIVER = """
import sys, time
from pathlib import Path
from planrank.cli.main import main
from planrank.errors import PlanrankError
from planrank.runtime import image, setup, wheel

def official(steps):
    raise PlanrankError("no network", "runtime")

def assemble(prefix, steps):
    with steps.step("assembling"):
        (prefix / "bin").mkdir(parents=True)
        print("started", flush=True)
        time.sleep(1)
        (prefix / "bin" / "julia").write_text("")

def build(prefix, steps):
    with steps.step("compiling"):
        image.file().parent.mkdir(exist_ok=True)
        image.file().write_text("")

setup.take_official_road, wheel.assemble, image.build = official, assemble, build
wheel.why_not_here = lambda: None
image.linker = lambda: "cc"
main(["setup", *sys.argv[1:]])
"""


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("PLANRANK_IMAGE", raising=False)
    for name in record.USERS_OWN:
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "planrank"


def start(*arguments) -> subprocess.Popen:
    return start_python(DRIVER, *arguments)


def finish(process: subprocess.Popen) -> tuple[int, str, str]:
    output, errors = process.communicate(timeout=60)
    return process.returncode, output, errors


def test_a_fresh_set_up_then_nothing_to_do(cache):
    code, output, errors = finish(start())
    assert (code, output) == (0, "started\n"), errors
    assert "assembling: done" in errors and "compiling: done" in errors
    code, output, errors = finish(start())
    assert (code, output, errors) == (0, "", "Julia is ready (wheel road).\n")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_set_up_leaves_nothing_half_made_and_can_be_resumed(cache, how):
    process = start()
    assert process.stdout.readline() == "started\n"
    process.send_signal(how)
    code, _, errors = finish(process)
    assert "Traceback" not in errors
    assert not list(cache.glob("julia-*")) and not record.file().exists()
    if how == signal.SIGINT:
        assert code == Exit.INTERRUPTED and "planrank: interrupted" in errors
        assert not list(cache.glob("making-*"))
    assert record.load() is None
    assert finish(start())[0] == 0
    assert record.load().road == "wheel"
    assert not list(cache.glob("making-*"))


def test_two_set_ups_at_once_do_the_work_once(cache):
    first = start()
    assert first.stdout.readline() == "started\n"
    second = start()
    code, output, errors = finish(second)
    assert (code, output) == (0, ""), errors
    assert "another set-up is running here" in errors
    assert finish(first)[0] == 0


def test_changed_julia_sources_make_another_image_and_the_old_one_is_not_used(cache, monkeypatch, tmp_path, capsys):
    assert finish(start())[0] == 0
    runtime = record.load()
    assert julia.usable_image(runtime) == image.file()
    changed = tmp_path / "changed.jl"
    changed.write_text("# a new line")
    sources = paths.julia_sources()
    monkeypatch.setattr(paths, "julia_sources", lambda: [*sources, changed])
    assert julia.usable_image(runtime) is None
    assert "PYTHON_JULIACALL_SYSIMAGE" not in julia.variables(runtime)
    assert "no system image fits planrank's Julia sources" in capsys.readouterr().err


def test_the_image_can_be_left_out(cache, monkeypatch, capsys):
    assert finish(start())[0] == 0
    monkeypatch.setenv("PLANRANK_IMAGE", "no")
    assert julia.usable_image(record.load()) is None
    julia.variables(record.load())
    assert capsys.readouterr().err == ""


def test_an_image_belongs_to_one_kind_of_processor(monkeypatch):
    here = image.key()
    monkeypatch.setattr(image, "processor", lambda: "another")
    assert image.key() != here


def test_an_image_for_other_machines(cache, monkeypatch):
    """A container is made on one machine and run on others."""
    here = image.key()
    monkeypatch.setenv("PLANRANK_PROCESSOR", "haswell")
    there = image.key()
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(Path, "read_text", lambda *_: "flags: others")
        assert image.key() == there != here
    asked = []
    monkeypatch.setattr(image, "record_statements", lambda prefix, scratch: scratch / "statements.jl")
    monkeypatch.setattr(image.wheel, "run_julia", lambda prefix, *options: asked.append(options))
    monkeypatch.setattr(image, "link", lambda prefix, object_file, target: target.write_text("an image"))
    cache.mkdir()
    image.build(cache, Steps(quiet=True))
    assert asked[0][0] == "--cpu-target=haswell" and image.file().read_text() == "an image"


def test_an_image_that_does_not_work_is_not_kept(cache, monkeypatch):
    def rehearse(doing: str, options: dict[str, str]) -> None:
        assert image.file().exists()
        raise PlanrankError(f"{doing} failed", "runtime")

    monkeypatch.setattr(image, "record_statements", lambda prefix, scratch: scratch / "statements.jl")
    monkeypatch.setattr(image.wheel, "run_julia", lambda prefix, *options: "")
    monkeypatch.setattr(image, "link", lambda prefix, object_file, target: target.write_text("an image"))
    monkeypatch.setattr(image, "rehearse", rehearse)
    cache.mkdir()
    with pytest.raises(PlanrankError, match="the first use of the system image failed"):
        image.build(cache, Steps(quiet=True))
    assert not image.file().exists()


def test_a_cache_folder_that_cannot_be_written_will_do(tmp_path, monkeypatch):
    """As in a container. Julia would not start if its first depot could not be written."""
    depot = tmp_path / "not made yet"
    chosen = {"JULIA_DEPOT_PATH": f"{depot}{os.pathsep}share"}
    with julia.writable_depot(chosen) as found:
        assert found == chosen and depot.is_dir(), "the image is made of what set-up compiles into it"
    monkeypatch.setattr(os, "access", lambda *_: False)
    with julia.writable_depot(chosen) as found:
        scratch, *depots = found["JULIA_DEPOT_PATH"].split(os.pathsep)
        assert Path(scratch).is_dir() and depots == [str(depot), "share"]
    assert not Path(scratch).exists()
    with julia.writable_depot({}) as found:
        assert found == {}, "the official road has its own depot"


@pytest.mark.parametrize(
    ("stderr", "said"),
    [
        ("ERROR: LoadError: it broke\nStacktrace:\n [1] top-level scope\n", "LoadError: it broke"),
        ("Traceback:\n  File x\nValueError: it broke\n", "ValueError: it broke"),
        ("Traceback:\njuliacall.JuliaError: it broke\nStacktrace:\n [1] f()\n   @ M a.jl:63\n",
         "juliacall.JuliaError: it broke"),
        ("cc1: no such file\n", "cc1: no such file"),
        ("", "no message"),
    ],
)  # fmt: skip
def test_why_a_program_failed_is_the_line_that_names_the_error(stderr, said):
    assert reason(stderr) == said


def test_a_lost_runtime_is_noticed(cache):
    assert finish(start())[0] == 0
    Path(record.load().prefix, "bin", "julia").unlink()
    assert record.load() is None
    with pytest.raises(PlanrankError, match="run `planrank setup`"):
        julia.find_runtime()


def test_an_unreadable_record_is_said_so(cache):
    cache.mkdir()
    record.file().write_text("{ half")
    with pytest.raises(PlanrankError, match=r"runtime\.json.*delete it"):
        record.load()


def test_all_roads_tried_are_named(cache, monkeypatch):
    def closed(name):
        def road(steps):
            raise PlanrankError(f"{name} is closed", "runtime")

        return road

    monkeypatch.setattr(setup, "take_official_road", closed("first"))
    monkeypatch.setattr(setup, "take_wheel_road", closed("second"))
    with pytest.raises(PlanrankError, match=r"official road: first is closed; wheel road: second is closed"):
        setup.set_up(steps=Steps(quiet=True))
    with pytest.raises(PlanrankError) as caught:
        setup.set_up("wheel", Steps(quiet=True))
    assert "first" not in str(caught.value)


def test_another_system_than_linux_is_told_so(cache, monkeypatch):
    monkeypatch.setattr(wheel.platform, "system", lambda: "Plan 9")
    with pytest.raises(PlanrankError, match="not Plan 9"):
        setup.take_wheel_road(Steps(quiet=True))


def test_no_compiler_means_a_warning_and_no_image(cache, monkeypatch, capsys):
    prefix = setup.wheel_prefix()
    (prefix / "bin").mkdir(parents=True)
    (prefix / "bin" / "julia").write_text("")
    monkeypatch.setattr(image, "linker", lambda: None)
    assert setup.set_up("wheel").prefix == str(prefix)
    assert "no C compiler was found" in capsys.readouterr().err


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), OSError(30, "Read-only file system")])
def test_a_full_or_read_only_disk_is_one_sentence(cache, monkeypatch, error):
    def fail(prefix, steps):
        prefix.mkdir()
        raise error

    monkeypatch.setattr(wheel, "assemble", fail)
    monkeypatch.setattr(wheel, "why_not_here", lambda: None)
    with pytest.raises(PlanrankError, match=f"set-up cannot write .*: {error.strerror}"):
        setup.set_up("wheel", Steps(quiet=True))
    assert not list(cache.glob("making-*")) and not list(cache.glob("julia-*"))


def test_a_cache_that_cannot_be_made_is_one_sentence(planrank, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    done = planrank("setup", env=os.environ | {"XDG_CACHE_HOME": str(blocked)})
    assert done.returncode == Exit.USAGE
    assert done.stderr.startswith("planrank: set-up cannot write") and done.stderr.count("\n") == 1


def small_wheel(folder: Path) -> Path:
    """A wheel laid out like the one that carries Julia, with one library in it three times."""
    file = folder / "tiny-1.0-py3-none-any.whl"
    root = "PMPC.jl/pmpcjl/"
    with zipfile.ZipFile(file, "w") as archive:
        for name in ("lib/libjulia.so.1", "lib/libjulia.so.1.6", "lib/libjulia.so"):
            archive.writestr(root + name, b"a library")
        archive.writestr(root + "lib/libPMPC.so", b"an image")
        archive.writestr(root + "share/julia/cert.pem", b"")
        archive.writestr(root + "include/julia.h", b"not wanted")
        archive.writestr("tiny/__init__.py", b"not wanted")
        archive.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        archive.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("tiny-1.0.dist-info/RECORD", "")
    return file


def test_only_what_is_needed_is_unpacked_and_nothing_twice(tmp_path):
    wheel.unpack_julia(small_wheel(tmp_path), tmp_path / "prefix")
    found = {str(p.relative_to(tmp_path / "prefix")) for p in (tmp_path / "prefix").rglob("*") if not p.is_dir()}
    libraries = {"lib/libjulia.so.1", "lib/libjulia.so.1.6", "lib/libjulia.so"}
    assert found == libraries | {"lib/julia/sys.so", "share/julia/cert.pem"}
    assert sum((tmp_path / "prefix" / name).is_symlink() for name in libraries) == 2
    assert (tmp_path / "prefix/lib/libjulia.so").read_bytes() == b"a library"


def test_a_download_is_kept_only_if_its_hash_is_right(tmp_path):
    (tmp_path / "index").mkdir()
    file = small_wheel(tmp_path / "index")
    options = ["--no-index", f"--find-links={file.parent}"]
    fetched = wheel.download("tiny==1.0", tmp_path / "good", wheel.sha256_of(file), *options)
    assert fetched.read_bytes() == file.read_bytes()
    with pytest.raises(PlanrankError, match=r"tiny-1\.0.* was refused: its sha256 is"):
        wheel.download("tiny==1.0", tmp_path / "bad", "0" * 64, *options)


def test_pip_works_in_the_folder_that_goes_with_the_downloads(tmp_path, monkeypatch):
    seen = {}

    def run(doing, command, environment):
        seen.update(environment)
        raise PlanrankError("killed")

    monkeypatch.setattr(wheel, "run", run)
    with pytest.raises(PlanrankError, match="killed"):
        wheel.download("tiny==1.0", tmp_path / "downloads", "0" * 64)
    assert seen["TMPDIR"] == str(tmp_path / "downloads") and Path(seen["TMPDIR"]).is_dir()


def test_a_corrupted_download_leaves_nothing(cache, monkeypatch, tmp_path):
    (tmp_path / "index").mkdir()
    file = small_wheel(tmp_path / "index")
    original = wheel.download

    def corrupted(requirement, folder, sha256, *options):
        return original("tiny==1.0", folder, sha256, "--no-index", f"--find-links={file.parent}")

    monkeypatch.setattr(wheel, "download", corrupted)
    monkeypatch.setattr(wheel, "why_not_here", lambda: None)
    with pytest.raises(PlanrankError, match="was refused"):
        setup.set_up("wheel", Steps(quiet=True))
    assert [p.name for p in cache.iterdir()] == ["setup.lock"]


def test_a_package_that_cannot_be_had_is_one_sentence(tmp_path):
    with pytest.raises(PlanrankError) as caught:
        wheel.download("no-such-thing==1.0", tmp_path, "0" * 64, "--no-index")
    assert "no-such-thing" in caught.value.message and "\n" not in caught.value.message


def test_doctor_says_what_to_type(planrank, tmp_path):
    environment = {k: v for k, v in os.environ.items() if k not in record.USERS_OWN}
    done = planrank("doctor", env=environment | {"XDG_CACHE_HOME": str(tmp_path)})
    assert done.returncode == Exit.USAGE
    assert "run `planrank setup`" in done.stdout and "not ready" in done.stdout
    assert "Traceback" not in done.stderr


def test_doctor_finds_this_installation_healthy(planrank):
    done = planrank("doctor")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("planrank is ready.\n")


@pytest.mark.slow
def test_the_real_wheel_road_from_nothing(cache, planrank):
    if wheel.why_not_here():
        pytest.skip(wheel.why_not_here())
    environment = os.environ | {"XDG_CACHE_HOME": str(cache.parent), "PLANRANK_IMAGE": "no"}
    done = planrank("setup", "--road", "wheel", env=environment)
    assert done.returncode == 0, done.stderr
    assert planrank("doctor", env=environment).returncode == 0


def fake(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def set_up_with(folder: Path, cache: Path) -> subprocess.CompletedProcess:
    """`planrank setup` by the official road without a network, with the programs in a folder before all others."""
    environment = os.environ | {
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "PYTHON_JULIAPKG_OFFLINE": "yes",
        "JULIA_DEPOT_PATH": str(cache / "depot"),
    }
    command = [sys.executable, "-m", "planrank", "setup", "--road", "official"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("version", ["1.5.4", "2.1.0"])
def test_a_julia_that_is_too_old_or_too_new_is_not_taken(cache, tmp_path, version):
    fake(tmp_path / "bin", "julia", f'echo "julia version {version}"')
    done = set_up_with(tmp_path / "bin", cache)
    assert done.returncode == Exit.USAGE and "Traceback" not in done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("planrank: no Julia could be had; official road: juliapkg failed: ")
    assert "could not find Julia" in last and f"{tmp_path}/bin/julia is Julia {version}" in last
    assert record.load() is None


def test_a_julia_that_does_not_run_is_not_taken(cache, tmp_path):
    fake(tmp_path / "bin", "julia", "exit 1")
    done = set_up_with(tmp_path / "bin", cache)
    assert done.returncode == Exit.USAGE and "julia does not run" in done.stderr.splitlines()[-1]


# Knows its version, and ends at the first thing that needs more.
FITTING = 'case "$*" in --version) echo "julia version 1.10.5";; *) exit 3;; esac'


def test_a_julia_that_fits_is_taken(cache, tmp_path):
    fake(tmp_path / "bin", "julia", FITTING)
    done = set_up_with(tmp_path / "bin", cache)
    last = done.stderr.splitlines()[-1]
    assert done.returncode == Exit.USAGE and "could not find Julia" not in last and "exit status 3" in last


@pytest.mark.parametrize("version, taken", [("1.5.4", False), ("1.10.5", True)])
def test_a_julia_that_juliaup_has_is_taken_if_it_fits(cache, tmp_path, monkeypatch, version, taken):
    fake(tmp_path / "bin", "juliaup", "exit 0")
    fake(tmp_path / "bin", "julia", 'echo "julia version 1.5.4"')
    fake(tmp_path, "theirs", FITTING)
    builds = {f"{version}+0.{arch}.linux.gnu": {"BinaryPath": str(tmp_path / "theirs")} for arch in ("x64", "aarch64")}
    (tmp_path / "depot/juliaup").mkdir(parents=True)
    (tmp_path / "depot/juliaup/juliaup.json").write_text(json.dumps({"InstalledVersions": builds}))
    monkeypatch.setenv("JULIAUP_DEPOT_PATH", str(tmp_path / "depot"))
    done = set_up_with(tmp_path / "bin", cache)
    last = done.stderr.splitlines()[-1]
    assert done.returncode == Exit.USAGE
    assert ("exit status 3" if taken else "could not find Julia") in last, last


def test_the_users_own_julia_is_started_as_it_is():
    """The wheel road's own, named by the variables of juliapkg as a user would."""
    runtime = record.load()
    if runtime is None or runtime.road != "wheel":
        pytest.skip("needs a Julia by the wheel road")
    environment = os.environ | wheel.environment(Path(runtime.prefix))
    environment["PYTHON_JULIACALL_SYSIMAGE"] = str(image.file())
    command = [sys.executable, "-m", "planrank", "doctor"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "official road" in done.stdout
