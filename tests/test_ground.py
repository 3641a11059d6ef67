"""Parsing and grounding as users call it, against the oracle file, Fast Downward's translator and pymimir."""

import json
import random
import re
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import interrupt, start_python
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planrank import julia, load, paths
from planrank.errors import Exit, PlanrankError
from planrank.limits import Limits
from planrank.problems.folders import outline, own_domain_file
from planrank.problems.random_problems import GENERATORS
from planrank.search.plans import validate
from planrank.task import short_hash

DOMAINS = paths.shared() / "domains"
BEYOND_STRIPS = {"conditional", "universal", "existential", "disjunction", "derived"}

ADL_DOMAIN = """
(define (domain lamps)
  (:requirements :adl)
  (:types lamp switch)
  (:predicates (lit ?l - lamp) (wired ?s - switch ?l - lamp) (pressed ?s - switch) (broken))
  (:action press
    :parameters (?s - switch)
    :precondition (and (not (pressed ?s)) (or (not (broken)) (exists (?l - lamp) (lit ?l))))
    :effect (and (pressed ?s) (forall (?l - lamp) (when (wired ?s ?l) (lit ?l))))))
"""
ADL_PROBLEM = """
(define (problem two-lamps) (:domain lamps)
  (:objects l1 l2 - lamp s1 s2 - switch)
  (:init (wired s1 l1) (wired s2 l2))
  (:goal (forall (?l - lamp) (lit ?l))))
"""


def write(folder: Path, domain: str, problem: str) -> tuple[Path, Path]:
    (folder / "domain.pddl").write_text(domain)
    (folder / "problem.pddl").write_text(problem)
    return folder / "domain.pddl", folder / "problem.pddl"


@pytest.fixture(params=sorted(GENERATORS))
def generated(request, tmp_path) -> tuple[Path, Path]:
    problem = tmp_path / "problem.pddl"
    problem.write_text(GENERATORS[request.param](random.Random(7), "generated"))
    return own_domain_file(request.param), problem


def test_arrays_of_a_task(tmp_path):
    task = load(*write(tmp_path, (DOMAINS / "blocksworld/domain.pddl").read_text(), """
        (define (problem two) (:domain blocksworld) (:objects a b - block)
          (:init (on a b) (on-table b) (clear a) (handempty)) (:goal (on b a)))"""))  # fmt: skip
    facts, operators = task.names("facts"), task.names("operators")
    assert len(facts) == task.fact_count and len(operators) == task.operator_count
    unstack = operators.index("(unstack a b)")
    assert {facts[f] for f in task.pre[unstack]} == {"(on a b)", "(clear a)", "(handempty)"}
    assert {facts[f] for f in task.add[unstack]} == {"(holding a)", "(clear b)"}
    assert {facts[f] for f in task.delete[unstack]} == {"(clear a)", "(handempty)", "(on a b)"}
    assert {facts[f] for f in task.init} == {"(on a b)", "(on-table b)", "(clear a)", "(handempty)"}
    assert [facts[f] for f in task.goal[0]] == ["(on b a)"]
    assert task.names("schemas")[task.schema_of_operator[unstack]] == "unstack"
    assert task.names("predicates")[task.predicate_of_fact[facts.index("(on b a)")]] == "on"
    assert task.costs.tolist() == [1] * task.operator_count
    assert task.pre.values.dtype == np.int32 and task.pre.offsets[0] == 0


def test_ground_command(planrank, tmp_path, generated):
    done = planrank("ground", *generated, "--json", tmp_path / "out.json")
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "out.json").read_text())
    assert list(found) == ["facts", "actions", "facts_sha", "actions_sha", "parse_seconds", "ground_seconds"]
    assert f"{found['facts']} facts, {found['actions']} actions" in done.stdout


def test_limits_of_the_ground_command(planrank, generated):
    assert planrank("ground", *generated, "--time-limit", 0).returncode == Exit.OUT_OF_TIME
    assert planrank("ground", *generated, "--memory-limit", 1).returncode == Exit.OUT_OF_MEMORY


def test_the_oracle_agrees_on_the_actions_of_adl_tasks(shared):
    """Facts may differ there, as the README says; derived predicates are refused by name."""
    known = json.loads((shared / "oracle" / "grounding.json").read_text())
    compared, refused, different = 0, 0, []
    for problem, expected in known.items():
        if not BEYOND_STRIPS & set(expected.get("features", [])):
            continue
        try:
            found = load(shared / "instances" / expected["domain"], shared / "instances" / problem).digest()
        except PlanrankError as e:
            assert e.kind == "unsupported" and "derived" in expected["features"]
            refused += 1
            continue
        compared += 1
        if found["actions_sha"] != expected["actions_sha"]:
            different.append(problem)
    assert (compared, refused, different) == (60, 8, [])


EXPLOSION = """
(define (domain explosion) (:predicates (p ?a) (q ?a ?b ?c ?d ?e ?f ?g ?h))
  (:action a :parameters (?a ?b ?c ?d ?e ?f ?g ?h)
    :precondition (and (p ?a) (p ?b) (p ?c) (p ?d) (p ?e) (p ?f) (p ?g) (p ?h))
    :effect (q ?a ?b ?c ?d ?e ?f ?g ?h)))
"""


@pytest.fixture
def explosion(tmp_path) -> tuple[Path, Path]:
    """More ground actions than any machine has room for."""
    objects = [f"o{i}" for i in range(40)]
    init = " ".join(f"(p {o})" for o in objects)
    goal = f"(q {' '.join(objects[:8])})"
    problem = f"(define (problem x) (:domain explosion) (:objects {' '.join(objects)}) (:init {init}) (:goal {goal}))"
    return write(tmp_path, EXPLOSION, problem)


def test_grounding_stops_at_its_limits(planrank, explosion):
    done = planrank("ground", *explosion, "--time-limit", 2)
    assert (done.returncode, done.stderr) == (Exit.OUT_OF_TIME, "planrank: out of time while grounding\n")
    done = planrank("ground", *explosion, "--memory-limit", 900)
    assert (done.returncode, done.stderr) == (Exit.OUT_OF_MEMORY, "planrank: out of memory while grounding\n")
    done = planrank("solve", *explosion, "--time-limit", 2, "--plan-file", "-")
    assert done.returncode == Exit.OUT_OF_TIME and "out of time while grounding" in done.stderr


def test_parsing_and_hashing_keep_their_limits(tmp_path):
    """A deadline that is over ends each of them with its own sentence."""
    many = " ".join(f"o{i}" for i in range(5_000))
    problem = f"(define (problem x) (:domain lamps) (:objects {many} - lamp) (:init) (:goal (broken)))"
    late, cramped = Limits(0.0), Limits(memory=1)
    for limits, kind in ((late, "time"), (cramped, "memory")):
        with pytest.raises(PlanrankError, match=f"out of {kind} while parsing") as caught:
            load(ADL_DOMAIN, problem, limits)
        assert caught.value.kind == kind
        with pytest.raises(PlanrankError, match=f"out of {kind} while reading files"):
            load(*write(tmp_path, ADL_DOMAIN, problem), limits)
        with pytest.raises(PlanrankError, match=f"out of {kind} while parsing"):
            validate(ADL_DOMAIN, problem, "(press s1)", limits)
    task = load(ADL_DOMAIN, problem.replace("- lamp", "- switch"))
    with pytest.raises(PlanrankError, match="out of time while sorting names"):
        task.digest(late)


def test_the_digest_is_that_of_the_sorted_names(generated):
    task = load(*generated)
    found = task.digest()
    for key, names in (("facts_sha", task.names("facts")), ("actions_sha", task.names("operators"))):
        assert found[key] == short_hash(sorted(names))
    assert (found["facts"], found["actions"]) == (task.fact_count, task.operator_count)


@pytest.mark.parametrize("do", [outline, lambda file: load(file, file), lambda file: validate(file, file, file)])
def test_ctrl_c_stops_parsing(monkeypatch, tmp_path, do):
    """As if it had been pressed just before."""
    domain, _ = write(tmp_path, ADL_DOMAIN, ADL_PROBLEM)
    monkeypatch.setattr(julia, "_stop", signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        do(domain)


def test_ctrl_c_stops_grounding(explosion):
    script = "import sys; from planrank.cli.main import main; main(sys.argv[1:])"
    process = start_python(script, "ground", *map(str, explosion))
    time.sleep(2.5)
    _, errors = interrupt(process)
    assert (process.returncode, errors.strip()) == (Exit.INTERRUPTED, "planrank: interrupted")


def test_the_oracle_agrees_to_the_last_name(shared):
    """On everything that no planner needs to compile away, which is 236 instances."""
    known = json.loads((shared / "oracle" / "grounding.json").read_text())
    compared, different = 0, []
    for problem, expected in known.items():
        if "features" not in expected or BEYOND_STRIPS & set(expected["features"]):
            continue
        found = load(shared / "instances" / expected["domain"], shared / "instances" / problem).digest()
        compared += 1
        if any(found[key] != expected[key] for key in ("facts", "actions", "facts_sha", "actions_sha")):
            different.append(problem)
    assert (compared, different) == (236, [])


def test_the_translator_agrees_live(generated):
    pytest.importorskip("fast_downward.translate")
    from fast_downward.translate import instantiate, normalize, options, pddl_parser

    options.set_options(["domain", "problem"])
    lifted = pddl_parser.open(*map(str, generated))
    normalize.normalize(lifted)
    _, facts, actions, *_ = instantiate.explore(lifted)
    task = load(*generated)
    assert short_hash(sorted(action.name for action in actions)) == task.digest()["actions_sha"]
    fluent = {f"({' '.join([f.predicate, *f.args])})" for f in facts}
    assert fluent == set(task.names("facts"))


def test_pymimir_agrees_live(generated):
    pytest.importorskip("pymimir")
    from pymimir.advanced.formalism import ParserOptions, Problem
    from pymimir.advanced.search import LiftedGrounder

    problem = Problem.create(*map(str, generated), ParserOptions())
    assert len(LiftedGrounder(problem).create_ground_actions()) == load(*generated).operator_count


def test_the_package_pddl_reads_the_same_lifted_things(generated):
    import pddl

    domain, problem = pddl.parse_domain(generated[0]), pddl.parse_problem(generated[1])
    task = load(*generated)
    assert task.domain == domain.name and task.problem == problem.name
    assert set(task.names("objects")) == {str(o) for o in problem.objects}
    assert set(task.names("schemas")) == {a.name for a in domain.actions}
    assert set(task.names("predicates")) == {p.name for p in domain.predicates}


def test_adl(tmp_path):
    task = load(*write(tmp_path, ADL_DOMAIN, ADL_PROBLEM))
    assert {"(lit l1)", "(lit l2)", "(pressed s1)", "(pressed s2)"} == set(task.names("facts"))
    assert set(task.names("operators")) == {"(press s1)", "(press s2)"}


@pytest.mark.parametrize(
    "before, after, code, said",
    [
        ("(lit ?l - lamp)", "(lit ?l - lmap)", Exit.BAD_PDDL, "domain.pddl:5:26: unknown type 'lmap'"),
        ("(pressed ?s) (forall", "(presed ?s) (forall", Exit.BAD_PDDL, "unknown predicate 'presed'"),
        ("(when (wired ?s ?l)", "(when (wired ?s)", Exit.BAD_PDDL, "wired"),
        ("(when (wired ?s ?l)", "(when (wired ?l ?s)", Exit.BAD_PDDL, "wired"),
        ("?s - switch)\n", "?x - switch)\n", Exit.BAD_PDDL, "?s"),
        (":action press", ":durative-action press", Exit.UNSUPPORTED, "durative"),
        ("(:action press", "(:derived (broken) (lit l1)) (:action press", Exit.UNSUPPORTED, "derived"),
        ("(lit ?l))))))", "(lit ?l)))))", Exit.BAD_PDDL, "domain.pddl:2:1"),
        ("lamp switch)", "lamp - switch switch - lamp)", Exit.BAD_PDDL, "lamp"),
        ("lamp switch)", "lamp switch number)", Exit.BAD_PDDL, "domain.pddl:4:23: the type 'number' is PDDL's own"),
    ],
)
def test_mistakes_get_one_sentence(planrank, tmp_path, before, after, code, said):
    assert before in ADL_DOMAIN
    done = planrank("ground", *write(tmp_path, ADL_DOMAIN.replace(before, after), ADL_PROBLEM))
    assert done.returncode == code, done.stderr
    assert said in done.stderr and done.stderr.count("\n") == 1
    assert re.match(r"planrank: \S+\.pddl:\d+:\d+: ", done.stderr)


@pytest.mark.parametrize("which", [0, 1])
def test_files_that_are_not_there(planrank, generated, tmp_path, which):
    files = list(generated)
    files[which] = tmp_path / "missing.pddl"
    done = planrank("ground", *files)
    assert done.returncode == Exit.USAGE and "missing.pddl: there is no such file" in done.stderr


def test_swapped_files_and_another_domain(planrank, generated, tmp_path):
    assert planrank("ground", *reversed(generated)).returncode == Exit.BAD_PDDL
    other = tmp_path / "lamps.pddl"
    other.write_text(ADL_DOMAIN)
    done = planrank("ground", other, generated[1])
    assert done.returncode == Exit.BAD_PDDL and done.stderr.count("\n") == 1


JUNK = ["", "(" * 100_000, ")" * 10, "x" * 2_000_000, "\0\1\2", "ÿþ", "(define)", "(define (domain d))", ";", "(((a)))"]


@pytest.mark.parametrize("junk", JUNK, ids=range(len(JUNK)))
@pytest.mark.parametrize("where", [0, 1])
def test_junk(tmp_path, junk, where):
    texts = [ADL_DOMAIN, ADL_PROBLEM]
    texts[where] = junk
    with pytest.raises(PlanrankError) as caught:
        load(*write(tmp_path, *texts))
    assert caught.value.kind in ("syntax", "meaning", "unsupported") and len(str(caught.value)) < 1000


def tokens(text: str) -> list[str]:
    return re.findall(r"[()]|[^\s()]+", re.sub(";.*", "", text))


REAL = [(ADL_DOMAIN, ADL_PROBLEM)] + [
    (own_domain_file(name).read_text(), generator(random.Random(3), name))
    for name, generator in sorted(GENERATORS.items())
]


@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_mutated_files_give_a_task_or_an_error_of_planrank(data, tmp_path):
    texts = [tokens(text) for text in data.draw(st.sampled_from(REAL))]
    for _ in range(data.draw(st.integers(1, 4))):
        text = texts[data.draw(st.integers(0, 1))]
        i = data.draw(st.integers(0, len(text) - 1))
        j = data.draw(st.integers(0, len(text) - 1))
        match data.draw(st.sampled_from(["delete", "duplicate", "swap", "open", "close", "rename"])):
            case "delete" if len(text) > 1:
                del text[i]
            case "duplicate":
                text.insert(j, text[i])
            case "swap":
                text[i], text[j] = text[j], text[i]
            case "open":
                text.insert(i, "(")
            case "close":
                text.insert(i, ")")
            case _:
                text[i] = data.draw(st.sampled_from(["?x", "-", "not", ":init", "lamp", "1.5", "=", "either", "and"]))
    try:
        load(*write(tmp_path, *map(" ".join, texts)))
    except PlanrankError as e:
        assert e.kind in ("syntax", "meaning", "unsupported"), e
