"""What set-up has chosen, written to the cache folder and read at every start."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from planrank import paths
from planrank.errors import PlanrankError

# Whoever sets one of these has chosen a Julia; it is taken as it is.
USERS_OWN = ("PYTHON_JULIAPKG_EXE", "PYTHON_JULIAPKG_PROJECT", "PYTHON_JULIACALL_SYSIMAGE", "PYTHON_JULIACALL_BINDIR")


@dataclass(frozen=True)
class Runtime:
    """`road` is "wheel" or "official"; `prefix` is the folder of the wheel road's Julia."""

    road: str
    prefix: str = ""


def users_own() -> list[str]:
    """Those that are set, in the environment or as Python's -X options."""
    as_option = {name: name.removeprefix("PYTHON_").lower().replace("_", "-") for name in USERS_OWN}
    return [name for name in USERS_OWN if os.environ.get(name) or sys._xoptions.get(as_option[name])]


def file() -> Path:
    return paths.cache() / "runtime.json"


def load() -> Runtime | None:
    """None where set-up has not run, or what it made is gone."""
    try:
        runtime = Runtime(**json.loads(file().read_text()))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as e:
        raise PlanrankError(f"cannot read {file()} ({e}); delete it and run `planrank setup`", "runtime") from None
    if runtime.road == "wheel" and not Path(runtime.prefix, "bin", "julia").exists():
        return None
    return runtime


def save(runtime: Runtime) -> None:
    target = file()
    scratch = target.with_suffix(f".{os.getpid()}")
    scratch.write_text(json.dumps(asdict(runtime)))
    os.replace(scratch, target)
