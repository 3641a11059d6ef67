"""The bridge to Julia, and the only file that imports juliacall.

Julia starts at the first call, on one thread, before torch, and leaves signals to Python. Everything that goes
wrong in it comes out as `PlanrankError`.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from planrank import __version__, console, paths
from planrank.errors import PlanrankError
from planrank.runtime import image, record, wheel

STOPPING_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))

_module: Any = None
_juliacall: Any = None
_functions: dict[str, Any] = {}


def module() -> Any:
    """planrank's Julia module, started if it is not running yet."""
    global _module, _juliacall
    if _module is None:
        runtime = find_runtime()
        console.detail(f"Julia by the {runtime.road} road, system image: {usable_image(runtime) or 'none'}")
        # juliapkg tells on standard output, where plans and JSON go, what it looks at.
        quiet = contextlib.redirect_stdout(io.StringIO())
        with (
            signals_put_off(),
            writable_depot(variables(runtime)) as chosen,
            environment(chosen),
            without_juliapkg(runtime),
            process_as_it_was(),
            quiet,
        ):
            import juliacall

            _juliacall = juliacall
            _module = load_module(juliacall.Main)
            _module.ask_before_going_on(ctypes.cast(stop_asked, ctypes.c_void_p).value)
        if runtime.road == "wheel":
            # Its LLVM and this Julia's crash in one process. PyTorch does without triton if it cannot be imported.
            sys.modules.setdefault("triton", None)  # type: ignore[arg-type]
        found = str(_module.module_version())
        if found != __version__:
            raise PlanrankError(f"the Julia module is version {found}, expected {__version__}", "runtime")
    return _module


def is_running() -> bool:
    return _module is not None


def find_runtime() -> record.Runtime:
    if record.users_own() or os.environ.get("PLANRANK_ROAD") == "official":
        return record.Runtime("official")
    runtime = record.load()
    if runtime is None:
        raise PlanrankError("Julia is not set up yet; run `planrank setup`", "runtime")
    found = version("juliacall")
    if runtime.road == "wheel" and found != wheel.JULIACALL:
        fix = f"pip install juliacall=={wheel.JULIACALL}"
        raise PlanrankError(
            f"juliacall {found} is installed, but this Julia needs {wheel.JULIACALL}; run `{fix}`", "runtime"
        )
    return runtime


def usable_image(runtime: record.Runtime) -> Path | None:
    """The system image for the sources as they are now, unless it is missing or PLANRANK_IMAGE=no."""
    if runtime.road != "wheel" or os.environ.get("PLANRANK_IMAGE") == "no":
        return None
    file = image.file()
    return file if file.exists() else None


def variables(runtime: record.Runtime) -> dict[str, str]:
    """Variables to start with; what the user has set stays."""
    chosen = {"PYTHON_JULIACALL_THREADS": "1", "PYTHON_JULIACALL_HANDLE_SIGNALS": "no"}
    chosen["PYTHON_JULIACALL_AUTOLOAD_IPYTHON_EXTENSION"] = "no"
    chosen = {name: os.environ.get(name, value) for name, value in chosen.items()}
    if runtime.road == "wheel":
        chosen |= wheel.environment(Path(runtime.prefix))
        found = usable_image(runtime)
        if found:
            chosen["PYTHON_JULIACALL_SYSIMAGE"] = str(found)
        elif os.environ.get("PLANRANK_IMAGE") != "no":
            why = "no system image fits planrank's Julia sources, so starting takes about 20 s; run `planrank setup`"
            print(f"planrank: {why}", file=sys.stderr)
    return chosen


@contextlib.contextmanager
def writable_depot(chosen: dict[str, str]) -> Iterator[dict[str, str]]:
    """While Julia starts it notes in its first depot what it has looked at. Where the cache folder cannot be written,
    as in a container, it does so in a folder that goes again."""
    depots = chosen.get("JULIA_DEPOT_PATH", "")
    if not depots or can_be_written(Path(depots.split(os.pathsep)[0])):
        yield chosen
        return
    with tempfile.TemporaryDirectory(prefix="planrank-depot-") as scratch:
        yield chosen | {"JULIA_DEPOT_PATH": os.pathsep.join((scratch, depots))}


def can_be_written(folder: Path) -> bool:
    """It is made where it is missing: what set-up compiles first is kept there until the image is made of it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


@contextlib.contextmanager
def environment(chosen: dict[str, str]) -> Iterator[None]:
    """Set variables for the start only, so that other programs started from here do not see them."""
    before = {name: os.environ.get(name) for name in chosen}
    os.environ.update(chosen)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextlib.contextmanager
def without_juliapkg(runtime: record.Runtime) -> Iterator[None]:
    """Answer the two questions that juliacall asks juliapkg. To import it takes longer than to read a model."""
    if runtime.road != "wheel" or "juliapkg" in sys.modules:
        yield
        return
    stand_in: Any = ModuleType("juliapkg")
    stand_in.executable = lambda: os.environ["PYTHON_JULIAPKG_EXE"]
    stand_in.project = lambda: os.environ["PYTHON_JULIAPKG_PROJECT"]
    sys.modules["juliapkg"] = stand_in
    try:
        yield
    finally:
        del sys.modules["juliapkg"]


@contextlib.contextmanager
def process_as_it_was() -> Iterator[None]:
    """Undo what starting Julia does to the process, even when it is told to leave signals alone.

    It blocks Ctrl-C and termination in this thread and starts one that takes them, and crashes, until they are
    unblocked here; a thread that is older than Julia's gets them first. It makes pipes on standard input and output
    non-blocking, on which Python's own reading and writing fails.
    """
    if os.name != "posix":
        yield
        return
    signals = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    started = threading.Event()
    threading.Thread(target=started.wait, daemon=True).start()
    blocking = {}
    for stream in (0, 1, 2):
        with contextlib.suppress(OSError):  # a closed one
            blocking[stream] = os.get_blocking(stream)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, signals)
        started.set()
        for stream, was in blocking.items():
            os.set_blocking(stream, was)


def load_module(main: Any) -> Any:
    """From the system image if it is in there, else from the sources."""
    loaded = main.seval(
        'get(Base.loaded_modules, Base.PkgId(Base.UUID("5b1d4c52-7f0f-4f7a-9d3e-6f1f0c9a2e11"), "PlanRank"), nothing)'
    )
    if loaded is not None:
        return loaded
    main.seval("push!")(main.LOAD_PATH, str(paths.shared()))
    main.seval("import PlanRank")
    return main.PlanRank


_stop = 0  # the signal that asked to stop, 0 if none did


@ctypes.CFUNCTYPE(ctypes.c_int)
def stop_asked() -> int:
    """Julia calls this in long loops."""
    return _stop


def call_long(name: str, *arguments: Any) -> Any:
    """Like `call`, for functions that may take seconds: Julia asks meanwhile whether Ctrl-C was pressed.

    Every function that checks limits is called so: in a plain `call` Ctrl-C would be lost in the question.
    """
    with signals_put_off():
        return call(name, *arguments)


@contextlib.contextmanager
def signals_put_off() -> Iterator[None]:
    """A note is made of a signal, and heeded at the end: an exception raised in a callback from Julia would be lost."""
    global _stop
    if threading.current_thread() is not threading.main_thread():  # which alone receives signals
        yield
        return

    def remember(number: int, _: object) -> None:
        global _stop
        _stop = number

    handlers = {one: found for one in STOPPING_SIGNALS if callable(found := signal.getsignal(one))}
    for one in handlers:
        signal.signal(one, remember)
    try:
        yield
    finally:
        for one, handler in handlers.items():
            signal.signal(one, handler)
        if _stop:
            stopped_by, _stop = _stop, 0
            handlers[stopped_by](stopped_by, None)


def call(name: str, *arguments: Any) -> Any:
    """Call a function of the Julia module."""
    function = _functions.get(name)
    if function is None:
        # Looking a name up crosses the bridge too, so it is done once.
        function = _functions[name] = getattr(module(), name)
    try:
        return function(*arguments)
    except _juliacall.JuliaError as e:
        raise translated(e) from None


def translated(error: Any) -> PlanrankError:
    kind, message, file, line, column = module().error_fields(error.exception)
    if kind == "internal":
        message = f"internal error in Julia: {message.splitlines()[0]}"
        if os.environ.get("PLANRANK_DEBUG"):
            message += f"\n{error}"
    return PlanrankError(message, kind, file, line, column)


def view(array: Any) -> np.ndarray:
    """A Julia vector as a NumPy array over the same memory; Julia must not resize it afterwards."""
    return np.asarray(array)


def lend(array: np.ndarray, dtype: Any) -> tuple[int, int]:
    """Address and length of a NumPy array for Julia to borrow during one call; the caller keeps it alive."""
    if array.dtype != dtype or not array.flags.c_contiguous:
        raise TypeError(f"expected a contiguous array of {np.dtype(dtype)}, found {array.dtype}")
    return array.ctypes.data, array.size


def resident_bytes() -> int:
    """Memory of this process that is in use now."""
    return call("resident_bytes")


GARBAGE = 2**28
_lean = 0  # bytes in use after the last collection


def collect_garbage() -> None:
    """Give back what searches and scorers held that are done with, where that may be much: left to itself Julia waits
    for gigabytes."""
    global _lean
    if resident_bytes() > _lean + GARBAGE:
        _juliacall.Main.GC.gc()
        _lean = resident_bytes()
