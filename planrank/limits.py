"""How long a command may take, how much memory and how many processors it may use."""

from __future__ import annotations

import math
import os
import time
from dataclasses import dataclass
from pathlib import Path

NO_LIMIT = 2**62
# For the environment. The products in a search are small: threads would wait for each other most of the time.
ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}


@dataclass(frozen=True)
class Limits:
    """`deadline` is compared with `time.time()`; `memory` is bytes of resident memory of the whole process."""

    deadline: float = math.inf
    memory: int = NO_LIMIT

    @classmethod
    def of(cls, seconds: float | None = None, megabytes: float | None = None, started: float | None = None) -> Limits:
        """As users give them. Without a memory limit the machine's own is kept, so that it does not start to swap."""
        started = time.time() if started is None else started
        deadline = math.inf if seconds is None else started + seconds
        return cls(deadline, available_memory() if megabytes is None else int(megabytes * 2**20))

    def seconds_left(self) -> float:
        """Until the deadline; negative after it."""
        return self.deadline - time.time()


def process_started() -> float:
    """When this process began, as a value of `time.time()`; now, where the system does not say."""
    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        uptime = float(Path("/proc/uptime").read_text().split()[0])
        return time.time() - uptime + ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return time.time()


def available_memory() -> int:
    """Nearly all that the system can give without swapping; no limit where it does not say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        kilobytes = next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        return NO_LIMIT
    return int(0.95 * 1024 * kilobytes)
