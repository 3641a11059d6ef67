"""The system image of the wheel road: PythonCall and planrank's Julia module as machine code.

Julia 1.6 keeps no machine code of packages, so without an image every start compiles for ten seconds and more.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from planrank import paths
from planrank.console import Steps
from planrank.errors import PlanrankError
from planrank.runtime import wheel
from planrank.runtime.processes import run

KEEP_IMAGES = 2


def key() -> str:
    """Changes with everything the image is made of, and with the processor it was made for."""
    digest = hashlib.sha256(wheel.recipe_digest().encode())
    for file in [*paths.julia_sources(), wheel.RECIPE / "image.jl", Path(__file__).with_name("rehearsal.py")]:
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    digest.update(processor().encode())
    return digest.hexdigest()[:16]


def asked_processor() -> str:
    """The processor that images are for, by Julia's name for it, where they are to serve other machines than this."""
    return os.environ.get("PLANRANK_PROCESSOR", "")


def processor() -> str:
    """What the compiler may use, of this machine if nothing else is asked; a cache folder may be shared by several."""
    if asked_processor():
        return f"{platform.machine()} {asked_processor()}"
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    features = [line for line in lines if line.startswith(("model name", "flags", "Features", "CPU part"))]
    return platform.machine() + "".join(sorted(set(features)))


def file() -> Path:
    return paths.cache() / "images" / f"{key()}.so"


def linker() -> str | None:
    candidates = [os.environ.get("CC", ""), "cc", "gcc", "clang"]
    return next((found for name in candidates if name and (found := shutil.which(name))), None)


def build(prefix: Path, steps: Steps) -> None:
    """Build the image for the sources as they are now; nothing is left behind if it fails."""
    made = file()
    made.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="image-", dir=paths.cache()) as folder:
        scratch = Path(folder)
        with steps.step("recording what a start compiles (about 1 minute)"):
            statements = record_statements(prefix, scratch)
        with steps.step("compiling the system image (about 3 minutes)"):
            arguments = [str(prefix / "project"), str(paths.shared()), str(statements)]
            target = [f"--cpu-target={asked_processor()}"] if asked_processor() else []
            options = [*target, f"--output-o={scratch / 'image.o'}"]
            wheel.run_julia(prefix, *options, str(wheel.RECIPE / "image.jl"), *arguments)
        with steps.step("linking"):
            link(prefix, scratch / "image.o", scratch / "image.so")
        os.replace(scratch / "image.so", made)
    if not asked_processor():
        with steps.step("trying it"):
            try:
                rehearse("the first use of the system image", {})
            except BaseException:  # Ctrl-C too: an image that is there counts as tried
                made.unlink()
                raise
    newest_first = sorted(made.parent.glob("*.so"), key=lambda p: p.stat().st_mtime, reverse=True)
    for old in newest_first[KEEP_IMAGES:]:
        old.unlink()


def record_statements(prefix: Path, scratch: Path) -> Path:
    """The `precompile` lines of a real run. juliacall 0.9.24 cannot ask Julia for them, so a copy of it is changed."""
    spec = find_spec("juliacall")
    if spec is None or spec.origin is None:
        raise PlanrankError("juliacall is not installed; run `pip install juliacall`", "runtime")
    original = Path(spec.origin).parent
    copy = scratch / "juliacall"
    shutil.copytree(original, copy)
    module = copy / "__init__.py"
    statements = scratch / "statements.jl"
    before = "argv = [CONFIG['exepath']]"
    text = module.read_text()
    if before not in text:
        raise PlanrankError(f"juliacall {wheel.JULIACALL} was expected, another one is installed", "runtime")
    module.write_text(text.replace(before, f"argv = [CONFIG['exepath'], '--trace-compile={statements}']"))
    folders = [str(scratch), str(paths.PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    # Only what is compiled matters here, not how well. What lies in the user's folder is not ours to import.
    options = {"PYTHON_JULIACALL_OPTIMIZE": "0", "PLANRANK_IMAGE": "no", "PYTHONSAFEPATH": "1"}
    rehearse("the rehearsal for the system image", options | {"PYTHONPATH": os.pathsep.join(folders)})
    return statements


def rehearse(doing: str, options: dict[str, str]) -> None:
    run(doing, [sys.executable, "-m", "planrank.runtime.rehearsal"], os.environ | options)


def link(prefix: Path, object_file: Path, target: Path) -> None:
    libraries = [f"-L{prefix / 'lib'}", f"-L{prefix / 'lib/julia'}", "-l:libjulia.so.1", "-l:libjulia-internal.so.1"]
    whole = ["-Wl,--whole-archive", str(object_file), "-Wl,--no-whole-archive"]
    run("linking the system image", [str(linker()), "-shared", "-o", str(target), *whole, *libraries])
