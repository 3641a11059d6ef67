"""What the tests share: where things are, how the command is called, and the --slow switch."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
SHARED = REPOSITORY.parent / "shared"


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


def interrupt(process: subprocess.Popen) -> tuple[str, str]:
    """Press Ctrl-C and wait for the end; standard output and error. Nothing is left running if it does not come."""
    process.send_signal(signal.SIGINT)
    try:
        return process.communicate(timeout=60)
    finally:
        process.kill()
