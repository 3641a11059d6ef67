"""The Julia core's own tests, run with plain Julia: the one planrank was set up with, or the user's."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from planrank import julia, paths
from planrank.runtime import wheel


def test_the_julia_core_passes_its_own_tests():
    runtime = julia.find_runtime()
    if runtime.road == "wheel":
        prefix = Path(runtime.prefix)
        command, environment = str(prefix / "bin/julia"), os.environ | wheel.environment(prefix)
    else:
        command, environment = shutil.which("julia"), dict(os.environ)
        if command is None:
            pytest.skip("no julia on PATH")
    tests = paths.shared() / "julia/test/runtests.jl"
    arguments = [command, "--startup-file=no", f"--project={paths.shared()}", tests]
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
