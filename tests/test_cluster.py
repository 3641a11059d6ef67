"""The pool on a Ray cluster of several machines, here all on this one: the answers of the local pool, also when a
machine is lost in the middle. Files that machines do not share are sent."""

import os
import signal
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest
from test_evaluate import FF, instances, model  # noqa: F401

from planrank import ImproveConfig, PlanrankError, TrainConfig, __version__, evaluate, improve, load, train
from planrank.errors import Exit
from planrank.improving import searching
from planrank.improving.ladder import LadderProblem
from planrank.improving.searching import Terms, search_all
from planrank.journal import read_rows
from planrank.models.hypergraph.architecture import Architecture
from planrank.models.hypergraph.signature import signature_of
from planrank.models.model import Model
from planrank.parallel import cluster as cluster_module
from planrank.parallel import transfer
from planrank.parallel.cluster import MOST_ATTEMPTS, Runner, connect, named
from planrank.parallel.pool import Job, Pool, pool_of
from planrank.problems.labelling import label
from planrank.problems.problem_sets import Group, generate, parse_sizes
from planrank.search.guides import Guide

needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="needs ray")


def test_without_ray_the_sentence_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(PlanrankError, match=r"needs Ray, which is not installed; `pip install planrank\[cluster\]`"):
        pool_of(cluster="auto")
    out = tmp_path / "m.safetensors"
    with pytest.raises(PlanrankError, match="needs Ray"):
        improve(ImproveConfig(domain="ferry", out=str(out), cluster="auto"))
    assert not out.with_suffix(".improving").exists()


@needs_ray
@pytest.mark.parametrize("address", ["127.0.0.1:9", "ray://127.0.0.1:9", "nowhere"])
def test_a_cluster_that_is_not_reached_is_one_sentence(planrank, address, tmp_path, instances):  # noqa: F811
    folder = instances[0].problem.parent
    done = planrank("evaluate", "--domain", folder, "--split", "all", "--heuristics", "ff", "--cluster", address)
    assert done.returncode == Exit.USAGE and done.stdout == ""
    assert f"no Ray cluster was reached at {address}" in done.stderr and "Traceback" not in done.stderr


@needs_ray
@pytest.mark.parametrize("command", ["train", "improve"])
def test_a_cluster_that_is_not_reached_is_told_before_anything_is_made(planrank, command, tmp_path):
    out = tmp_path / "m.safetensors"
    done = planrank(command, "--domain", "ferry", "--cluster", "nowhere", "--out", out, cwd=tmp_path)
    assert done.returncode == Exit.USAGE
    assert "no Ray cluster was reached at nowhere" in done.stderr
    assert not list(tmp_path.iterdir())


def test_files_are_told_by_their_contents(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "data"
    (folder / "a").mkdir(parents=True)
    (folder / "a/one").write_text("1")
    (folder / "two").write_text("2")
    (folder / ".two.lock").write_text("a lock stays at home")
    things = [transfer.sent(str(path), lambda sha, file: file.read_bytes()) for path in (folder, folder / "two")]
    assert [sorted(thing.files) for thing in things] == [["a/one", "two"], [""]]
    fetched = []

    def fetch(token):
        fetched.append(token)
        return token

    # In its place, as long as it is the same there.
    assert [transfer.at_hand(thing, fetch) for thing in things] == [str(folder), str(folder / "two")] and not fetched
    (folder / "two").write_text("changed since")
    copy, single = (Path(transfer.at_hand(thing, fetch)) for thing in things)
    assert transfer.contents(copy) == {"a/one": b"1", "two": b"2"} and single.read_text() == "2" and len(fetched) == 3
    assert Path(transfer.at_hand(things[0], fetch)) == copy and len(fetched) == 3  # it is there already
    (copy / "two").write_text("spoiled")
    transfer.at_hand(things[0], fetch)
    assert (copy / "two").read_text() == "2"
    transfer.bring_back(str(folder), {"two": b"3", "new/x": b"4"})
    assert transfer.contents(folder) == {"two": b"3", "new/x": b"4"} and (folder / ".two.lock").exists()
    places = {"data": "/elsewhere/data"}
    assert transfer.elsewhere({"a": ["data", "data/x", "database", 1, None]}, places) == {
        "a": ["/elsewhere/data", "/elsewhere/data/x", "database", 1, None]
    }


def test_a_machine_with_another_planrank_is_refused():
    with pytest.raises(PlanrankError, match=r"has planrank \S+, expected 0\.0\.0"):
        Runner(None, [], "0.0.0")


def test_a_machine_gets_julia_ready_whatever_its_jobs_are(monkeypatch, tmp_path):
    """Cold runs and trainings start processes of their own, which need it as workers do."""
    started = []

    class Setup:
        def __init__(self, command):
            started.append(command[2:])

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def wait(self, seconds):
            return len(started) - 1

    monkeypatch.setattr(cluster_module, "Process", Setup)
    Runner(None, [], __version__).ready()
    assert started == []  # it is ready: asking costs nothing
    monkeypatch.setattr(cluster_module.image, "file", lambda: tmp_path / "none.so")
    Runner(None, [], __version__).ready()
    assert started == [["planrank", "setup", "--quiet"]]
    monkeypatch.setattr(cluster_module.record, "load", lambda: None)
    with pytest.raises(PlanrankError, match=r"Julia could not be set up on \S+; `planrank setup` says why"):
        Runner(None, [], __version__).ready()


def test_errors_have_the_names_that_the_caller_knows():
    error = named(PlanrankError("no /sent/x here", "syntax", "/sent/x", 3, 4), {"/sent/x": "x.pddl"})
    assert str(error) == "x.pddl:3:4: no x.pddl here" and error.kind == "syntax" and named(None, {}) is None


class OtherMachine(Pool):
    """A pool whose files are all sent, to be used from elsewhere, and whose results are brought back."""

    def map(self, jobs):
        runner = Runner(self.prepare, [], __version__)
        try:
            for number, job in enumerate(jobs):
                paths = dict.fromkeys((*job.reads, *job.writes))
                things = {path: transfer.sent(path, lambda sha, file: [file.read_bytes()]) for path in paths}
                assert not [value for value in told(job.arguments) if os.sep in value and value not in paths]
                reply = runner.run(job, things)
                for path, content in reply["written"].items():
                    transfer.bring_back(path, content)
                yield number, reply["answer"]
        finally:
            runner.worker.end()


def told(value) -> list[str]:
    """The words in plain values."""
    if isinstance(value, dict):
        return [word for one in value.values() for word in told(one)]
    return [value] if isinstance(value, str) else []


def test_what_improves_a_model_is_searched_elsewhere(tmp_path, monkeypatch):
    """Nothing that such a job names is only here, and its plans come back."""
    monkeypatch.setattr(transfer, "paths", SimpleNamespace(cache=lambda: tmp_path / "cache"))
    monkeypatch.setattr(transfer, "is_here", lambda thing, path: False)
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(get=lambda content: content))
    made = generate("ferry", [Group(3, 0, parse_sizes(["locations=2-3", "cars=1-2"]))], tmp_path / "problems")
    problems = [LadderProblem(one.problem.stem, 0, str(one.domain), str(one.problem)) for one in made]
    fresh = Model.fresh(signature_of(load(made[0].domain, made[0].problem)), Architecture(layers=1, dim=4), 0)
    fresh.save(tmp_path / "model.safetensors")
    terms, found = Terms("gbfs", 200, 60.0, 2, "ff", 1000), []
    for where, pool in (("here", pool_of), ("there", lambda jobs, prepare, cluster: OtherMachine(1))):
        monkeypatch.setattr(searching, "pool_of", pool)
        (tmp_path / where).mkdir()
        cluster = None if where == "here" else "auto"
        done = search_all(tmp_path / "model.safetensors", problems, terms, tmp_path / where, cluster=cluster)
        found.append({one.name: (result.by, result.expanded, result.steps) for one, result in done})
    assert found[0] == found[1] and len(found[0]) == 3
    here, there = (transfer.contents(tmp_path / where) for where in ("here", "there"))
    assert here == there and len(here) == 6
    assert not [*search_all(tmp_path / "model.safetensors", [], terms, None, cluster="auto")]


def counted(rows: list[dict]) -> list[dict]:
    """What does not depend on the clock."""
    return [{key: value for key, value in row.items() if "seconds" not in key and key != "peak_kb"} for row in rows]


@pytest.fixture(scope="module")
def cluster():
    """A head without room for jobs, and two machines with a processor each."""
    ray = pytest.importorskip("ray", reason="needs ray")
    from ray.cluster_utils import Cluster

    found = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    found.first, found.second = (found.add_node(num_cpus=1, include_dashboard=False) for _ in range(2))
    yield found
    ray.shutdown()
    found.shutdown()


@needs_ray
def test_a_cluster_answers_as_the_local_pool_does(cluster):
    jobs = [Job("jobs_for_tests:double", {"number": n}) for n in range(6)]
    jobs += [Job(f"jobs_for_tests:{name}", {}) for name in ("refuse", "die", "divide")]
    jobs.append(Job("jobs_for_tests:sleep", {"seconds": 60}, seconds=1))
    here, there = (dict(pool.map(jobs)) for pool in (Pool(2), pool_of(cluster=cluster.address)))
    for number in range(len(jobs)):
        assert str(here[number].error) == str(there[number].error) and here[number].lost == there[number].lost
        assert number >= 6 or here[number].value["twice"] == there[number].value["twice"]


@needs_ray
@pytest.mark.slow
def test_commands_do_on_a_cluster_what_they_do_here(cluster, tmp_path, instances, model, monkeypatch):  # noqa: F811
    broken = tmp_path / "broken.pddl"
    broken.write_text("(define (problem")
    monkeypatch.chdir(tmp_path)  # where actors do not work
    some = [*instances, type(instances[0])(instances[0].domain, broken)]
    guides = [FF, Guide.of_model(model.relative_to(tmp_path))]
    rows = [evaluate(some, guides, ["gbfs", "astar"], 60, cluster=one) for one in (None, cluster.address)]
    assert counted(rows[0]) == counted(rows[1]) and [row["status"] for row in rows[0]].count("error") == 4

    sizes = parse_sizes(["locations=2-3", "cars=1-2"])
    folder = tmp_path / "ferry"
    found = label(generate("ferry", [Group(8, 0, sizes)], folder), cluster=cluster.address)
    assert all(outcome.plan is not None and outcome.plan.proved_optimal for outcome in found)
    check_trained_alike(tmp_path, {"cluster": cluster.address})


@needs_ray
@pytest.mark.slow
def test_a_model_improves_on_a_cluster_as_it_does_here(cluster, tmp_path):
    terms = {"domain": "ferry", "sizes": "locations=3,4 cars=2,3", "model": "fresh", "rounds": 1, "problems": 3}
    terms |= {"held_out": 2, "steps": 5, "expansions": 60, "search_time": 600.0}
    found = []
    for name, where in (("here", None), ("there", cluster.address)):
        config = ImproveConfig(**terms, cluster=where, out=str(tmp_path / f"{name}.safetensors"))
        better = improve(config, say=lambda text: None)
        rows = [{k: v for k, v in row.items() if k != "seconds"} for row in read_rows(config.folder / "improve.jsonl")]
        plans = transfer.contents(config.folder / "plans")
        weights = {name: array.tobytes() for name, array in better.weights.items()}
        found.append((sorted(map(str, rows)), plans, weights))
    assert found[0] == found[1] and found[0][1]


@pytest.mark.slow
def test_candidates_that_are_trained_apart_are_the_same(tmp_path):
    sizes = parse_sizes(["locations=2-3", "cars=1-2"])
    label(generate("ferry", [Group(8, 0, sizes)], tmp_path / "ferry"))
    check_trained_alike(tmp_path, {"jobs": 2})


def check_trained_alike(tmp_path, where) -> None:
    """As one after the other in one process; also when it goes on from what is there."""
    terms = {"domain": str(tmp_path / "ferry"), "steps": 20, "seeds": 2, "layers": 1, "dim": 4}
    models, told = [], []
    for name, how, resume in (("one", {}, False), ("apart", where, False), ("apart", where, True)):
        out = tmp_path / f"{name}.safetensors"
        said = []
        train(TrainConfig(**terms, **how, out=str(out), validation_time=60.0), resume=resume, say=said.append)
        models.append(Model.load(out))
        told.append(sorted(line for line in said if "-seed" in line))
        assert len(list(tmp_path.glob(f"{name}.training/*/log.jsonl"))) == 2
    assert told[0] == told[1] == told[2] and len(told[0]) == 2
    for other in models[1:]:
        assert {name: array.tobytes() for name, array in other.weights.items()} == {
            name: array.tobytes() for name, array in models[0].weights.items()
        }
        assert other.metadata["training"] == models[0].metadata["training"] | {
            "out": str(tmp_path / "apart.safetensors")
        }


@needs_ray
def test_a_machine_that_is_lost_costs_time_and_no_job(cluster, tmp_path):
    ray = connect(cluster.address)
    third = cluster.add_node(num_cpus=1, include_dashboard=False)
    deadline = time.monotonic() + 60
    while ray.cluster_resources().get("CPU", 0) < 3 and time.monotonic() < deadline:
        time.sleep(0.2)
    jobs = [Job("jobs_for_tests:note", {"folder": str(tmp_path), "number": n, "seconds": 1}) for n in range(9)]
    pool = pool_of(cluster=cluster.address)
    assert pool.processes == 3
    answers, lost = {}, False
    for number, answer in pool.map(jobs):
        answers[number] = answer.value
        if not lost:
            lost = True
            assert len(workers_of(ray)) == 3
            cluster.remove_node(third, allow_graceful=False)
    assert answers == {n: n for n in range(9)}
    begun = [file.name.partition("-")[0] for file in tmp_path.iterdir()]
    assert len(begun) >= 9 and {*begun} == {str(n) for n in range(9)}
    for _ in range(100):  # the pool's workers end with it
        if not (left := workers_of(ray)):
            break
        time.sleep(0.1)
    assert left == []


def workers_of(ray) -> list[str]:
    """The worker processes that actors of this cluster have started."""
    job = f"RAY_JOB_ID={ray.get_runtime_context().get_job_id()}".encode()
    running = [p.parent for p in Path("/proc").glob("[0-9]*/cmdline") if b"planrank.parallel.worker" in read(p)]
    return [folder.name for folder in running if job in read(folder / "environ").split(b"\0")]


def read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""


@needs_ray
@pytest.mark.slow
def test_a_job_that_ends_every_machine_is_given_up(cluster):
    jobs = [Job("jobs_for_tests:kill_whoever_started_me", {}), Job("jobs_for_tests:double", {"number": 2})]
    answers = dict(pool_of(1, cluster=cluster.address).map(jobs))
    assert answers[0].lost and f"was lost {MOST_ATTEMPTS} times" in str(answers[0].error)
    assert answers[1].value["twice"] == 4


@needs_ray
def test_connecting_leaves_the_signals_as_they_were(cluster):
    before = signal.getsignal(signal.SIGTERM)
    connect(cluster.address)
    assert signal.getsignal(signal.SIGTERM) == before and os.environ["RAY_USAGE_STATS_ENABLED"] == "0"
