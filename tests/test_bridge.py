"""The bridge to Julia: arrays without copies, errors, start-up in processes of its own."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from conftest import interrupt, start_python

from planrank import julia
from planrank.errors import Exit, PlanrankError
from planrank.runtime import record


def run_python(script: str, **environment) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", script]
    return subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, timeout=300)


def test_julia_vectors_are_viewed_in_place():
    vector = julia.call("ramp", 4)
    first, second = julia.view(vector), julia.view(vector)
    assert first.dtype == np.float32 and first.tolist() == [0, 1, 2, 3]
    first[2] = 40
    assert second[2] == 40
    assert julia.module().sum_of(*julia.lend(second, np.float32)) == 44


def test_julia_reads_numpy_memory_in_place():
    numbers = np.array([1, 2, 3.5], dtype=np.float32)
    assert julia.call("sum_of", *julia.lend(numbers, np.float32)) == 6.5
    numbers[0] = 10
    assert julia.call("sum_of", *julia.lend(numbers, np.float32)) == 15.5


def test_a_view_outlives_the_name_of_its_vector():
    view = julia.view(julia.call("ramp", 100_000))
    for _ in range(20):
        julia.call("ramp", 100_000)
    assert view[-1] == 99_999


@pytest.mark.parametrize("array", [np.zeros(4), np.zeros((4, 4), np.float32)[:, 1], np.zeros(4, np.int32)])
def test_only_arrays_that_need_no_copy_are_lent(array):
    with pytest.raises(TypeError, match="contiguous array of float32"):
        julia.lend(array, np.float32)


def test_other_julia_errors_become_internal_ones():
    with pytest.raises(PlanrankError) as caught:
        julia.call("sum_of", 0, -1)
    assert caught.value.kind == "internal"
    assert "InexactError" in caught.value.message and "\n" not in caught.value.message


@pytest.mark.parametrize("order", ["import planrank.julia as j; j.module(); import torch",
                                   "import torch; import planrank.julia as j; j.module()"])  # fmt: skip
def test_julia_and_torch_live_together_in_either_order(order):
    done = run_python(f"{order}\nassert torch.ones(3).sum() == 3; assert j.call('ramp', 3)[2] == 2; print('fine')")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "fine\n"


def test_julia_runs_on_one_thread_and_leaves_the_environment_alone():
    script = """
import os
before = dict(os.environ)
from planrank import julia
julia.module()
assert dict(os.environ) == before, set(os.environ.items()) ^ set(before.items())
import juliacall
print(juliacall.Main.Threads.nthreads())
"""
    done = run_python(script)
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr


def test_variables_of_the_user_win(monkeypatch):
    monkeypatch.setenv("PYTHON_JULIACALL_THREADS", "2")
    assert julia.variables(julia.find_runtime())["PYTHON_JULIACALL_THREADS"] == "2"
    monkeypatch.setenv("PYTHON_JULIAPKG_EXE", "/somewhere/julia")
    assert julia.find_runtime().road == "official"


def test_ctrl_c_between_calls_is_a_keyboard_interrupt():
    script = """
from planrank import julia
julia.module()
print("ready", flush=True)
try:
    while True:
        julia.call("ramp", 1000)
except KeyboardInterrupt:
    print("interrupted")
"""
    process = start_python(script)
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.2)
    output, _ = interrupt(process)
    assert (process.returncode, output) == (0, "interrupted\n")


@pytest.mark.parametrize(
    "evaluator",
    [
        'Heuristic(task, "lmcut")',
        "Model.fresh(signature_of(task), Architecture(layers=4)).scorer(task)",
    ],
)
def test_ctrl_c_is_not_lost_in_values_that_take_long(evaluator):
    script = f"""
import random
import numpy as np
from planrank import Heuristic, load, paths
from planrank.models.hypergraph.architecture import Architecture
from planrank.models.hypergraph.signature import signature_of
from planrank.models.model import Model
from planrank.problems.random_problems import GENERATORS
problem = GENERATORS["blocksworld"](random.Random(0), "many", blocks=40)
task = load(paths.shared() / "domains/blocksworld/domain.pddl", problem)
evaluator = {evaluator}
bits = np.random.default_rng(0).integers(0, 2**63, (3000, task.words), np.uint64)
few = task.packed(task.init)[None]
evaluator.values(few)
print("ready", flush=True)
try:
    while True:
        evaluator.values(np.concatenate([few, bits & few[0]]))
except KeyboardInterrupt:
    print("interrupted")
"""
    process = start_python(script)
    assert process.stdout.readline() == "ready\n"
    time.sleep(1)
    output, errors = interrupt(process)
    assert (process.returncode, output) == (0, "interrupted\n"), errors
    assert "Exception ignored" not in errors


def test_pipes_stay_blocking():
    """Julia would make them non-blocking, and a line that comes late would look like the end of the input."""
    script = """
import sys
from planrank import julia
for line in sys.stdin:
    print(int(julia.call("ramp", int(line))[-1]), flush=True)
"""
    process = start_python(script, stdin=subprocess.PIPE)
    try:
        for number in (3, 5):
            process.stdin.write(f"{number}\n")
            process.stdin.flush()
            assert process.stdout.readline() == f"{number - 1}\n"
            time.sleep(0.2)
    finally:
        process.kill()


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="needs POSIX signals")
def test_a_polite_kill_while_julia_starts_ends_in_order():
    """At moments spread over the start, in part of which Julia blocks signals and waits for them in its own thread."""
    script = """if True:
        import sys, time
        from planrank import julia
        from planrank.cli.main import Terminated, heed_signals
        try:
            heed_signals()
            print("heeded", flush=True)
            julia.module()
            time.sleep(60)
        except Terminated as e:
            sys.exit(e.code)"""
    for milliseconds in range(0, 240, 8):
        process = start_python(script)
        assert process.stdout.readline() == "heeded\n"
        time.sleep(milliseconds / 1000)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == Exit.TERMINATED, (milliseconds, errors)


def test_triton_is_not_loaded_beside_julia(tmp_path):
    """It comes with PyTorch for graphics cards, which imports it where it can; its LLVM would end the process."""
    if record.load() is None or record.load().road != "wheel":
        pytest.skip("needs a Julia by the wheel road")
    (tmp_path / "triton.py").write_text("import os; os.abort()")
    script = """
import importlib.util, sys
sys.path.insert(0, sys.argv[1])
assert importlib.util.find_spec("triton")
from planrank import julia
julia.module()
assert importlib.util.find_spec("triton") is None
import torch
torch.optim.Adam([torch.nn.Parameter(torch.ones(1))])
try:
    import triton
except ImportError:
    print("none")
"""
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "none\n"), done.stderr
