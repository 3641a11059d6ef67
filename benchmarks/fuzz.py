"""Does anything that a file can say lead to a wrong answer, an internal error or a hang?

    python benchmarks/fuzz.py [--count 20000] [--work FOLDER] [--jobs 2]

Mutates domains, problems, plans and model files, the same ones for the same seed, and looks at what becomes of each:
taken, or refused with a sentence. Searches on what is taken must not contradict each other: no plan where another one
proves that there is none, equal costs where both are optimal. Goes on where it was with the same --work; writes
results/fuzz.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections import Counter
from pathlib import Path

import script
from tables import machine, markdown, write

from planrank import Model, PlanrankError, load, paths, solve, validate
from planrank.console import Progress
from planrank.journal import Journal, read_rows
from planrank.parallel.pool import REHEARSAL, Job, Pool

PORTION = 25  # cases in a job
CASE_SECONDS = 20.0
SEARCHES = (("bfs", "blind"), ("gbfs", "ff"), ("gbfs", "hadd"), ("astar", "hmax"), ("astar", "lmcut"))
KINDS = ("pddl", "plan", "model")
SHARES = (0.7, 0.15, 0.15)
PIECES = ["(", ")", "()", "not", "and", "or", "forall", "exists", "when", "either", "-", "?x", "=", ":action"]
PIECES += [
    ":typing",
    "object",
    "number",
    "total-cost",
    "increase",
    "1e9",
    "0.000000001",
    "-1",
    "\0",
    "é",
    ";",
    "\r",
    "\n",
]


def main() -> None:
    parser = script.parser(__doc__)
    parser.add_argument("--count", type=int, default=20_000, help="cases")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--work", type=Path, default=Path("planrank-fuzz"))
    options = script.parse(parser, quick={"count": 40, "work": None})
    with script.folder_for(options.work) as work:
        rows = run(options.count, options.jobs, work / "rows.jsonl")
    found = Counter((row["kind"], row["outcome"]) for row in rows)
    bad = [row for row in rows if row["outcome"] not in ("taken", "refused")]
    outcomes = ["taken", "refused", "wrong", "internal", "hang"]
    body = [[kind, *(str(found[kind, outcome]) for outcome in outcomes)] for kind in KINDS]
    lines = ["# Mutated inputs", "", f"{len(rows):,} cases; {machine()}.", "", *markdown(["input", *outcomes], body)]
    lines += ["", *(f"- case {row['case']}, {row['kind']}, {row['outcome']}: {row['said']}" for row in bad[:50])]
    figures = {"cases": len(rows), "outcomes": {f"{k} {o}": n for (k, o), n in sorted(found.items())}, "bad": bad}
    write(options.results, "fuzz", lines, figures)


def run(count: int, jobs: int, file: Path) -> list[dict]:
    rows = read_rows(file)
    done = {row["case"] for row in rows}
    starts = [first for first in range(0, count, PORTION) if first not in done]
    cases = [Job("fuzz:try_cases", {"first": first}, PORTION * CASE_SECONDS) for first in starts]
    journal = Journal(file)
    with Progress("cases", len(cases) * PORTION) as progress:
        for number, answer in Pool(jobs, REHEARSAL).map(cases):
            found = answer.value
            if found is None:
                outcome = "hang" if answer.lost else "internal"
                found = [{"case": starts[number], "kind": "pddl", "outcome": outcome, "said": str(answer.error)}]
            for row in found:
                journal.add(row)
                rows.append(row)
            progress.advance(PORTION)
    return rows


def try_cases(first: int) -> list[dict]:
    """A job."""
    with tempfile.TemporaryDirectory(prefix="planrank-") as folder:
        return [try_case(case, Path(folder)) for case in range(first, first + PORTION)]


def try_case(case: int, folder: Path) -> dict:
    rng = random.Random(f"planrank {case}")
    (kind,) = rng.choices(KINDS, SHARES)
    home = rng.choice(sorted(paths.shared().glob("domains/*/example.pddl"))).parent
    attempt = {"pddl": try_pddl, "plan": try_plan, "model": try_model}[kind]
    try:
        wrong = attempt(rng, home, folder)
        outcome, said = ("wrong", wrong) if wrong else ("taken", "")
    except PlanrankError as e:
        outcome, said = ("internal" if e.kind == "internal" else "refused"), str(e)
    except Exception as e:
        outcome, said = "internal", f"{type(e).__name__}: {e}"
    return {"case": case, "kind": kind, "outcome": outcome, "said": said[:300]}


def mutated(rng: random.Random, text: str) -> str:
    """A few pieces left out, doubled, moved, or replaced by others."""
    words = text.replace("(", " ( ").replace(")", " ) ").split(" ")
    for _ in range(rng.choice((1, 1, 2, 5))):
        i, j = rng.randrange(len(words)), rng.randrange(len(words))
        change = rng.randrange(5)
        if change == 0:
            del words[i]
        elif change == 1:
            words.insert(i, words[j])
        elif change == 2:
            words[i], words[j] = words[j], words[i]
        elif change == 3:
            words[i] = rng.choice(PIECES)
        else:
            words.insert(i, rng.choice(PIECES))
    return " ".join(words)


def try_pddl(rng: random.Random, home: Path, folder: Path) -> str:
    domain, problem = (home / name for name in ("domain.pddl", "example.pddl"))
    texts = [domain.read_text(), problem.read_text()]
    which = rng.randrange(2)
    texts[which] = mutated(rng, texts[which])
    files = [folder / "domain.pddl", folder / "problem.pddl"]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text)
    load(*files)
    costs, statuses = {}, {}
    for search, heuristic in SEARCHES:
        try:
            found = solve(*files, search, heuristic, time_limit=2, memory_limit=4000)
        except PlanrankError as e:
            if e.kind != "unsupported":
                raise
            continue
        statuses[search, heuristic] = found.status
        if search == "astar" and found.plan is not None:
            costs[heuristic] = found.plan_cost
    if {"solved", "unsolvable"} <= set(statuses.values()):
        return f"solved and unsolvable: {statuses}"
    return f"optimal costs differ: {costs}" if len(set(costs.values())) > 1 else ""


def try_plan(rng: random.Random, home: Path, folder: Path) -> str:
    """A changed plan is refused, or reaches the goal at the cost that is stated."""
    files = home / "domain.pddl", home / "example.pddl"
    steps = solve(*files, heuristic="ff").plan or []
    plan = folder / "plan"
    plan.write_text(mutated(rng, "\n".join(steps)))
    count, cost = validate(*files, plan)
    return "" if count >= 0 and cost >= 0 else f"{count} steps, cost {cost}"


def try_model(rng: random.Random, home: Path, folder: Path) -> str:
    """Bytes of a model file are changed, cut or doubled; a model that is taken must be the one that was written."""
    model = Model.load(home / "model.json")
    file = folder / rng.choice(("m.safetensors", "m.json"))
    model.save(file)
    content = bytearray(file.read_bytes())
    for _ in range(rng.choice((1, 1, 3))):
        at = rng.randrange(len(content))
        change = rng.randrange(4)
        if change == 0:
            content[at] ^= 1 << rng.randrange(8)
        elif change == 1:
            del content[at : at + rng.choice((1, 8, 10_000))]
        elif change == 2:
            content[at:at] = content[at : at + rng.choice((1, 8, 100))]
        else:
            content[at : at + 1] = rng.choice(PIECES).encode()
    file.write_bytes(content)
    found = Model.load(file)
    same = found.signature == model.signature and found.architecture == model.architecture
    same = same and all((found.weights[name] == array).all() for name, array in model.weights.items())
    return "" if same and json.dumps(found.metadata) == json.dumps(model.metadata) else "a changed model was taken"


if __name__ == "__main__":
    script.run(main)
