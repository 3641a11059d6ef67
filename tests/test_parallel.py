"""The pool of workers: answers, errors, deaths, time limits, and that nothing is left behind."""

import os
import time
from pathlib import Path

import pytest

from planrank.parallel.pool import Job, Pool
from planrank.parallel.processes import Process


def job(name, seconds=None, **arguments):
    return Job(f"jobs_for_tests:{name}", arguments, seconds)


@pytest.fixture
def scratch(tmp_path, monkeypatch) -> Path:
    """Where scratch folders go, so that what is left behind is seen."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def children() -> set[str]:
    return set(Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split())


def test_every_job_is_answered_and_the_work_is_shared(scratch):
    answers = dict(Pool(2).map([job("double", number=n) for n in range(20)]))
    assert {n: answer.value["twice"] for n, answer in answers.items()} == {n: 2 * n for n in range(20)}
    assert len({answer.value["worker"] for answer in answers.values()}) <= 2
    assert list(Pool(3).map([])) == [] and list(scratch.iterdir()) == []


def test_errors_cross_as_they_are():
    answers = dict(Pool(1).map([job("refuse"), job("divide"), job("nowhere"), job("double", number=1)]))
    error = answers[0].error
    assert (error.message, error.kind, error.file, error.line, error.column) == (
        "not like this",
        "meaning",
        "a.pddl",
        3,
        4,
    )
    assert str(answers[1].error) == "ZeroDivisionError: division by zero" and answers[1].error.kind == "internal"
    assert "nowhere" in str(answers[2].error)
    assert answers[3].value["twice"] == 2 and not any(answer.lost for answer in answers.values())


def test_a_worker_that_dies_or_hangs_costs_its_own_job_only():
    jobs = [job("die"), Job("jobs_for_tests:sleep", {"seconds": 60}, seconds=1)]
    jobs += [job("double", number=n) for n in (1, 2)]
    started = time.monotonic()
    answers = dict(Pool(1).map(jobs))
    assert answers[0].lost and "SIGKILL" in str(answers[0].error)
    assert answers[1].lost and "gave no answer in time" in str(answers[1].error)
    assert [answers[n].value["twice"] for n in (2, 3)] == [2, 4] and time.monotonic() - started < 30


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks at /proc")
def test_nothing_is_left_when_the_caller_stops_in_the_middle(scratch):
    before = children()
    answers = Pool(2).map([job("prattle"), Job("jobs_for_tests:sleep", {"seconds": 1000})])
    assert next(answers)[1].value == "said"
    assert children() - before
    answers.close()
    assert children() == before and list(scratch.iterdir()) == []
    sleeping = [p for p in Path("/proc").glob("[0-9]*/environ") if str(scratch).encode() in readable(p)]
    assert sleeping == []


def readable(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""


def test_a_worker_that_cannot_prepare_says_so_for_each_job():
    answers = dict(Pool(1, prepare="jobs_for_tests:unprepared").map([job("double", number=1)]))
    assert answers[0].error.message == "not ready"


def test_a_program_is_ended_with_what_it_started(scratch):
    with Process(["sh", "-c", "sleep 1000 & sleep 1000"]) as process:
        assert process.wait(0.3) is None and Path(process.folder).is_dir()
    assert process.process.returncode == -9 and list(scratch.iterdir()) == []
    with Process(["sh", "-c", "exit 7"]) as process:
        assert process.wait(10) == 7


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="looks at /proc")
def test_a_worker_that_keeps_much_memory_is_replaced():
    jobs = [job("hoard", megabytes=n) for n in (1, 1, 300, 1)]
    first, second, third, last = (answer.value for _, answer in sorted(Pool(1).map(jobs)))
    assert first == second == third != last
