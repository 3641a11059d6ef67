"""Functions that the pool's tests have workers call."""

import os
import signal
import subprocess
import time

from planrank import PlanrankError


def double(number):
    return {"twice": 2 * number, "worker": os.getpid()}


def sleep(seconds):
    time.sleep(seconds)
    return "slept"


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def refuse():
    raise PlanrankError("not like this", "meaning", "a.pddl", 3, 4)


def divide():
    return 1 / 0


def prattle():
    """Prints, and starts a program that outlives the call."""
    print("this is no answer")
    subprocess.Popen(["sleep", "1000"])
    return "said"


def unprepared():
    raise PlanrankError("not ready", "runtime")


kept = []


def hoard(megabytes):
    kept.append(bytearray(os.urandom(1 << 20) * megabytes))
    return os.getpid()


def note(folder, number, seconds):
    """Leaves a file that says that it was begun."""
    open(os.path.join(folder, f"{number}-{os.getpid()}"), "w").close()
    time.sleep(seconds)
    return number


def kill_whoever_started_me():
    """In a cluster, that is the actor: as if its machine were gone."""
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(60)
