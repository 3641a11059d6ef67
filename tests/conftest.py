"""What the tests share: where things are, how the command is called, and the --slow switch."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

REPOSITORY = Path(__file__).resolve().parent.parent
SHARED = REPOSITORY.parent / "shared"

settings.register_profile("planrank", deadline=None)  # a busy machine is no failure
settings.load_profile("planrank")


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="run the long tests too")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--slow"):
        return
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="long; runs with --slow"))


@pytest.fixture
def shared() -> Path:
    """The folder of instances and oracles beside the checkout, where there is one."""
    if not SHARED.is_dir():
        pytest.skip("needs ../shared")
    return SHARED


@pytest.fixture
def planrank():
    """Calls the command as a user would, in a process of its own."""

    def call(*arguments, **options) -> subprocess.CompletedProcess:
        command = [sys.executable, "-m", "planrank", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=300, **options)

    return call


def start_python(script: str, *arguments: str, **options) -> subprocess.Popen:
    """A Python process that can be interrupted: a shell may have started pytest with Ctrl-C ignored."""

    def heed_ctrl_c() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "preexec_fn": heed_ctrl_c}
    return subprocess.Popen([sys.executable, "-c", script, *arguments], **pipes, **options)


def drawn_on_a_terminal(script: str, **environment: str) -> tuple[bytes, bytes]:
    """What a Python process draws on its standard error, which is a terminal, and what it writes to standard output."""
    ours, theirs = pty.openpty()
    variables = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "TERM")}
    pipes = {"stdout": subprocess.PIPE, "stderr": theirs}
    process = subprocess.Popen([sys.executable, "-c", script], env=variables | environment, **pipes)
    os.close(theirs)
    drawn = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        drawn += piece
    os.close(ours)
    written = process.communicate(timeout=30)[0]
    assert process.returncode == 0
    return drawn, written


def interrupt(process: subprocess.Popen) -> tuple[str, str]:
    """Press Ctrl-C and wait for the end; standard output and error. Nothing is left running if it does not come."""
    process.send_signal(signal.SIGINT)
    try:
        return process.communicate(timeout=60)
    finally:
        process.kill()
