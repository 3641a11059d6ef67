"""`planrank doctor`: what the installation consists of, how fast it starts, and what is wrong with it."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType

from planrank import __version__, paths
from planrank.errors import PlanrankError

ENOUGH_DISK_MB = 1500


@dataclass
class Check:
    name: str
    value: str
    problem: str = ""
    warning: str = ""

    def line(self) -> str:
        mark = "✗" if self.problem else "!" if self.warning else "✓"
        more = self.problem or self.warning
        return f"{mark} {self.name:<15} {self.value}" + (f"\n{'':17} {more}" if more else "")


def examine() -> Iterator[Check]:
    """Look at everything, going on after a failure. Julia comes before torch, as everywhere."""
    yield Check("planrank", f"{__version__} in {paths.PACKAGE}")
    yield Check("Python", f"{platform.python_version()} in {sys.prefix}")
    for package in ("juliacall", "torch", "numpy"):
        try:
            yield Check(package, version(package))
        except PackageNotFoundError:
            yield Check(package, "missing", f"run `pip install {package}`")
    yield from examine_disk()
    yield from examine_julia()
    yield from examine_torch()


def examine_julia() -> Iterator[Check]:
    from planrank import julia

    try:
        runtime = julia.find_runtime()
        used = julia.usable_image(runtime)
        started = time.perf_counter()
        julia.module()
        start_seconds = time.perf_counter() - started
        first_call = call_seconds(julia)
        later_call = min(call_seconds(julia) for _ in range(20))
        julia_version = str(julia.call("julia_version"))
    except PlanrankError as e:
        fix = "" if "planrank setup" in str(e) or "pip install" in str(e) else "; run `planrank setup`"
        yield Check("Julia", "not usable", f"{e}{fix}")
        return
    except Exception as e:
        first = (str(e).splitlines() or [""])[0]
        yield Check("Julia", "does not start", f"{type(e).__name__}: {first}; run `planrank setup`")
        return
    yield Check("Julia", f"{julia_version}, {runtime.road} road")
    if used:
        yield Check("system image", str(used))
    elif runtime.road == "wheel":
        asked = os.environ.get("PLANRANK_IMAGE") == "no"
        why = "left out, as PLANRANK_IMAGE=no asks" if asked else "commands start slowly; run `planrank setup`"
        yield Check("system image", "none", warning=why)
    yield Check("start of Julia", f"{start_seconds:.2f} s")
    yield Check("first call", f"{1000 * first_call:.2f} ms")
    yield Check("later call", f"{1e6 * later_call:.0f} µs")


def call_seconds(julia: ModuleType) -> float:
    """One call with arrays both ways, checked."""
    import numpy as np

    started = time.perf_counter()
    numbers = julia.view(julia.call("ramp", 1000))
    total = julia.call("sum_of", *julia.lend(numbers, np.float32))
    seconds = time.perf_counter() - started
    if total != 499500:
        raise PlanrankError(f"the bridge gave {total} instead of 499500", "internal")
    return seconds / 2


def examine_torch() -> Iterator[Check]:
    started = time.perf_counter()
    try:
        import torch

        assert torch.ones(2).sum().item() == 2
    except Exception as e:
        yield Check("import of torch", "fails", f"{type(e).__name__}: {e}; run `pip install torch`")
        return
    yield Check("import of torch", f"{time.perf_counter() - started:.2f} s")


def examine_disk() -> Iterator[Check]:
    folder = paths.cache()
    while not folder.exists():
        folder = folder.parent
    megabytes = shutil.disk_usage(folder).free // 2**20
    warning = "" if megabytes >= ENOUGH_DISK_MB else f"a set-up needs about {ENOUGH_DISK_MB} MB"
    yield Check("cache folder", str(paths.cache()))
    yield Check("free disk", f"{megabytes} MB", warning=warning)


def run(as_json: bool, echo: Callable[[str], object]) -> bool:
    """Examine and report, a line as soon as it is known; whether all is well."""
    checks = []
    for check in examine():
        checks.append(check)
        if not as_json:
            echo(check.line())
    healthy = not any(check.problem for check in checks)
    if as_json:
        values = {check.name: check.value for check in checks}
        problems = {check.name: check.problem for check in checks if check.problem}
        warnings = {check.name: check.warning for check in checks if check.warning}
        echo(json.dumps({"healthy": healthy, "checks": values, "problems": problems, "warnings": warnings}))
    else:
        echo("planrank is ready." if healthy else "planrank is not ready: see the lines marked ✗.")
    return healthy
