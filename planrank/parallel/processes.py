"""A program that ends, with all that it started, when whoever started it ends, whatever ended that one."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from typing import Any

from planrank.limits import ONE_THREAD

# Waits until the other end of its standard input is closed, by us or by our death, then ends the program's whole group
# and clears its scratch folder away.
GUARD = 'while read -r _; do :; done; kill -s KILL -- "-$1" 2>/dev/null; rm -rf -- "$2"'


class Process:
    """A running program in a session of its own, so that Ctrl-C reaches only the process that ends the others.

    It has a scratch folder as its TMPDIR, `folder`. `end` must be called, also after the program has ended by itself.
    """

    def __init__(self, command: Sequence[str], *, environment: dict[str, str] | None = None, **options: Any):
        self.folder = tempfile.mkdtemp(prefix="planrank-")
        variables = ONE_THREAD | os.environ | {"TMPDIR": self.folder} | (environment or {})
        self.process = subprocess.Popen(command, env=variables, start_new_session=True, **options)
        guard = ["sh", "-c", GUARD, "guard", str(self.process.pid), self.folder]
        silent: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.guard = subprocess.Popen(guard, stdin=subprocess.PIPE, start_new_session=True, **silent)

    def wait(self, seconds: float | None = None) -> int | None:
        """The exit code; None if the program is still running after so many seconds."""
        try:
            return self.process.wait(None if seconds is None else max(seconds, 0))
        except subprocess.TimeoutExpired:
            return None

    def end(self) -> int:
        """End the program and all that it started; its exit code."""
        # The guard kills before we reap: until then no other program can have got this number.
        if self.guard.stdin is not None:
            self.guard.stdin.close()
        self.guard.wait()
        code = self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        return code

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


def ending(code: int) -> str:
    """An exit code in words."""
    return f"exit code {code}" if code >= 0 else signal.Signals(-code).name
