"""`planrank setup`: one Julia for planrank, by the shortest road that leads there."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import filelock

from planrank import paths
from planrank.console import Steps
from planrank.errors import PlanrankError
from planrank.runtime import image, record, wheel
from planrank.runtime.processes import run

NO_LINKER = (
    "no C compiler was found (cc, gcc or clang; CC names another): planrank works, but without a system image every "
    "command takes about 20 s to start; install one and run `planrank setup` again"
)


def set_up(road: str | None = None, steps: Steps | None = None) -> record.Runtime:
    """Make sure that planrank has a Julia and, on the wheel road, a system image. Does nothing if it has."""
    steps = steps or Steps()
    try:
        with locked(steps):
            return set_up_locked(road, steps)
    except OSError as e:
        place = e.filename or paths.cache()
        raise PlanrankError(f"set-up cannot write {place}: {e.strerror or e}", "runtime") from None


@contextmanager
def locked(steps: Steps) -> Iterator[None]:
    """One set-up at a time in a cache folder; what a killed one left half-made is removed."""
    cache = paths.cache()
    cache.mkdir(parents=True, exist_ok=True)
    lock = filelock.FileLock(cache / "setup.lock")
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        steps.say("another set-up is running here; waiting for it")
        lock.acquire()
    try:
        for leftover in [*cache.glob("image-*"), *cache.glob("making-*")]:
            shutil.rmtree(leftover, ignore_errors=True)
        yield
    finally:
        lock.release()


def set_up_locked(road: str | None, steps: Steps) -> record.Runtime:
    runtime = record.load()
    if runtime is None or (road is not None and road != runtime.road):
        runtime = choose_road(road, steps)
        record.save(runtime)
    if runtime.road == "wheel" and Path(runtime.prefix) != wheel_prefix():
        runtime = take_wheel_road(steps)
        record.save(runtime)
    if runtime.road == "wheel" and not image.file().exists():
        if image.linker() is None:
            steps.say(f"warning: {NO_LINKER}")
        elif os.environ.get("PLANRANK_IMAGE") != "no":
            image.build(Path(runtime.prefix), steps)
    return runtime


def choose_road(road: str | None, steps: Steps) -> record.Runtime:
    """The official road where Julia and its registry can be had, else the wheel road."""
    tried = []
    for name, take in (("official", take_official_road), ("wheel", take_wheel_road)):
        if road not in (None, name):
            continue
        try:
            return take(steps)
        except PlanrankError as e:
            tried.append(f"{name} road: {e}")
    raise PlanrankError("no Julia could be had; " + "; ".join(tried), "runtime")


def take_official_road(steps: Steps) -> record.Runtime:
    """juliapkg finds the user's Julia or downloads one, and installs PythonCall from Julia's registry."""
    # Without a limit a firewall that drops packets would hold this up for minutes.
    script = "import socket; socket.setdefaulttimeout(20); import juliapkg; juliapkg.resolve()"
    with steps.step("looking for Julia, or downloading it, by way of juliapkg"):
        try:
            run("juliapkg", [sys.executable, "-c", script])
        except PlanrankError as e:
            raise PlanrankError(f"{e}{julia_on_path()}", "runtime") from None
    with steps.step("compiling planrank's Julia module"):
        environment = os.environ | {"PLANRANK_ROAD": "official"}
        run("the first start of Julia", [sys.executable, "-m", "planrank.runtime.rehearsal"], environment)
    return record.Runtime("official")


def julia_on_path() -> str:
    """Which Julia the user has, if any: the usual reason why juliapkg went to look for another."""
    found = shutil.which("julia")
    if found is None:
        return ""
    try:
        version = run("julia", [found, "--version"]).strip().removeprefix("julia version ")
    except (PlanrankError, OSError):
        return f" ({found} does not run)"
    return f" ({found} is Julia {version})"


def wheel_prefix() -> Path:
    return paths.cache() / f"julia-{wheel.JULIA}-{wheel.recipe_digest()}"


def take_wheel_road(steps: Steps) -> record.Runtime:
    reason = wheel.why_not_here()
    if reason:
        raise PlanrankError(reason, "runtime")
    prefix = wheel_prefix()
    if not prefix.exists():
        making = paths.cache() / f"making-{os.getpid()}"
        try:
            wheel.assemble(making, steps)
            os.replace(making, prefix)
        finally:
            shutil.rmtree(making, ignore_errors=True)
    return record.Runtime("wheel", str(prefix))
