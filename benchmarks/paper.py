"""Do the paper's tables come out again, and do its claims hold?

    python benchmarks/paper.py [--budget quick|default|full] [--data FOLDER] [--domains ferry,…] [--jobs 2]
                               [--cluster auto|ADDRESS] [--stage NAME] [--work FOLDER]

Tables 1 to 3 of the paper and its appendix: solved problems, expansions and plan lengths of L*, L_gbfs, L_rt, L2, L_be
in A* and GBFS and of Levin in PHS*, breadth-first search and classical planners; beside each cell what was printed, and
for each claim of the paper whether it holds, does not, or cannot be told, by a test that the page states. paper.toml
says all: budgets, domains, settings, what was printed.

Every model and every run is written down when it is done, in --work; whatever is stopped goes on where it was. What is
finished for a domain, a ranking and a seed is kept in results/paper_pieces.jsonl too, and is not made again by whoever
has that file. The problems are those in --data (as benchmarks/coverage.py describes it), and where there are none
planrank makes some. Results go to benchmarks/results/paper.{md,json,html}, of other budgets to paper_quick… and
paper_full…; the page is made by `planrank report`.
--quick is --budget quick.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import paper_tables
import script
from paper_budget import OTHERS, SEARCHES, Paper, Share, series_of, series_of_other
from paper_tables import LEVIN, Cells
from peers import ANSWER
from tables import machine, markdown, write
from training import Settings, is_trained, train_all, training_plans

from planrank.console import Progress, say
from planrank.evaluation.runs import Row, key_of, run_missing
from planrank.files import make_folder, write_text
from planrank.journal import read_rows
from planrank.models.model import Model
from planrank.parallel.pool import pool_of
from planrank.reports.report import report as write_page

JOBS = 2  # on this machine; on a cluster as many as it has processors


def prepare(paper: Paper) -> None:
    for domain in paper.domains:
        paper.prepare(domain)


def train(paper: Paper, pieces: Sequence[Share] | None = None) -> None:
    """Neighbours in the queue are of different domains, so that they do not build the same examples at once."""
    queues: dict[str, list[Settings]] = {}
    for piece in paper.unfinished() if pieces is None else pieces:
        queues.setdefault(piece.domain, []).extend(one for _, some in paper.candidates_of(piece) for one in some)
    longest = max(map(len, queues.values()), default=0)
    everything = [queue[i] for i in range(longest) for queue in queues.values() if i < len(queue)]
    train_all(everything, paper.options.jobs, paper.options.cluster)


def search(paper: Paper, pieces: Sequence[Share] | None = None) -> None:
    for piece in paper.unfinished() if pieces is None else pieces:
        wanted = paper.wanted(piece)
        with Progress(f"runs of {piece.domain}, {piece.rank}, seed {piece.seed}", len(wanted)) as progress:

            def note(row: Row, done: int, count: int, progress: Progress = progress) -> None:
                progress.done = done
                progress.draw()

            pool = pool_of(paper.options.jobs, None, paper.options.cluster)
            done = run_missing(wanted, ANSWER, pool, paper.rows, note)
        trained = all(is_trained(one) for _, some in paper.candidates_of(piece) for one in some)
        if trained and (paper.has_planners or piece.rank != OTHERS):
            paper.pieces.add(piece, [done[key_of(run)] | run for run in wanted])


def train_and_search(paper: Paper) -> None:
    """Piece by piece, so that as much as can be is finished at any time."""
    for piece in paper.unfinished():
        train(paper, [piece])
        search(paper, [piece])


def report(paper: Paper) -> None:
    """Tables of whatever has been run so far; what is missing is counted."""
    done = {key_of(row): row for row in read_rows(paper.rows)}
    found: dict[str, Cells] = {rank: {} for rank in paper.budget["ranks"]}
    beside: dict[str, dict[str, list[Row]]] = {}
    domains, shown, missing = {}, [], 0
    for domain in paper.domains:
        rows = [row for piece in paper.shares if piece.domain == domain for row in paper.pieces.rows(piece)]
        wanted = [run for piece in paper.unfinished(domain) for run in paper.wanted(piece)]
        rows += [done[key_of(run)] | run for run in wanted if key_of(run) in done]
        missing += sum(key_of(run) not in done for run in wanted)
        domains |= dict.fromkeys(paper.test_problems(domain), domain)
        for row in rows:
            if row["rank"] == OTHERS:
                beside.setdefault(row["line"], {}).setdefault(series_of_other(row), []).append(row)
                shown.append(page_row(row))
                continue
            cell = row["search"], row["loss"]
            for table in found if cell == LEVIN else [row["rank"]]:  # a policy stands beside both rankings
                found[table].setdefault(row["line"], {}).setdefault(cell, []).append(row)
            shown.append(page_row(row))
    made = paper_tables.sections(found, beside, domains, paper.told["printed"])
    if told := what_is_missing(paper, missing):
        made[0]["text"].insert(0, told)
    made.append({"title": "How it was run", "text": conditions(paper)})
    title = f"The paper's tables, budget {paper.options.budget}"
    document = {"planrank_document": 1, "title": title, "sections": made}
    write(paper.options.results, paper.name, paper_tables.as_markdown(document), document)
    page(paper, document, shown)


def page_row(row: Row) -> Row:
    """As the page shows it: a seed is a problem of its own, and a line of the tables a domain, because pieces do not
    keep where files lay. Rows of older journals do not name their series."""
    series = series_of_other(row) if row["rank"] == OTHERS else series_of(row["loss"], row["rank"])
    told = {"series": series, "domain": f"{row['line']}/domain.pddl"}
    if seed := row["seed"]:
        told["instance_sha"] = f"{row['instance_sha']}-seed{seed}"
        told["problem"] = f"{Path(row['problem']).stem}-seed{seed}.pddl"
    return row | told


def page(paper: Paper, document: dict[str, Any], shown: list[Row]) -> None:
    """The page has the tables, every run, and the learning curves of the models that were chosen."""
    place = paper.work / "page"
    make_folder(place)
    write_text(place / "paper.json", json.dumps(document))
    write_text(place / "runs.jsonl", "".join(json.dumps(row) + "\n" for row in shown))
    sources = [place / "paper.json", place / "runs.jsonl"]
    sources += [Path(file) for piece in paper.shares for _, file in paper.chosen(piece)]
    out = (paper.options.results or paper.work) / f"{paper.name}.html"
    write_page(sources, out, document["title"])
    say(f"the page is {out}")


def what_is_missing(paper: Paper, runs: int) -> str:
    trainings = [one for piece in paper.unfinished() for _, some in paper.candidates_of(piece) for one in some]
    untrained = sum(not is_trained(one) for one in trainings)
    if not runs and not untrained:
        return ""
    return f"Unfinished: {untrained} trainings, and {runs} runs of models that are trained, are missing."


def conditions(paper: Paper) -> list[str]:
    budget = paper.budget
    lines = [
        f"Budget {paper.options.budget}: {budget['seeds']} seeds, {len(budget['networks'])} networks to choose from on "
        f"validation, {budget['training']['steps']:,} steps of training, at most {budget['problems'] or 'all'} test "
        f"problems of a line, {budget['seconds']:g} s for a cold process ({budget['grid_seconds']:g} s on grids).",
        f"Measured on {machine()}, {paper.options.jobs or 'as many as the cluster has processors'} at a time.",
    ]
    for domain in paper.domains:
        plans, unproved = training_plans(paper.training_folder(domain), paper.settings(domain, "states"))
        whose = "made by planrank" if paper.given(domain, "folder") is None else "given"
        lines.append(f"{domain}: problems {whose}; {plans} plans to train on, {unproved} of them not proved optimal.")
    lines += [f"{domain} is left out: {why}" for domain, why in paper.missing.items()]
    return lines


def cost(paper: Paper) -> None:
    """How much work the budget is, from what models and runs in --work took; where none are done that is not known."""
    done = read_rows(paper.rows)
    lines, hours = [], 0.0
    for domain in paper.domains:
        pieces = [piece for piece in paper.shares if piece.domain == domain]
        found = [one for piece in pieces for one in paper.candidates_of(piece)]
        trainings = [one for _, some in found for one in some]
        files = [Path(one["out"]) for one in trainings]
        took = [Model.load(file).metadata["figures"]["seconds"] for file in files if file.is_file()]
        problems = sum(map(len, paper.test_problems(domain).values()))
        searched = problems * sum(len(SEARCHES.get(loss, ["astar", "gbfs"])) for loss, _ in found)
        here = f"/{domain}/"
        ran = [row["total_seconds"] or row["time_limit"] for row in done if here in (row["model"] or "")]
        hours += sum(count * mean(each) for count, each in ((len(trainings), took), (searched, ran))) / 3600
        lines.append([domain, str(len(trainings)), told(took), str(searched), told(ran)])
    header = ["domain", "trainings", "seconds each (of how many)", "runs", "seconds each (of how many)"]
    processors = paper.options.processors
    print("\n".join(markdown(header, lines)))
    print(
        f"\n{hours:.2f} processor hours of what is measured; on {processors} processors {hours / processors:.2f} hours."
    )


def mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def told(values: list[float]) -> str:
    return f"{mean(values):.1f} ({len(values)})" if values else "not measured"


STAGES = {"prepare": prepare, "train": train, "search": search, "report": report, "cost": cost}


def stages(cluster: str | None) -> list[Callable[[Paper], None]]:
    """A piece has a hundred trainings at most: on a cluster that has more processors all are in one queue."""
    return [prepare, train_and_search, report] if cluster is None else [prepare, train, search, report]


def parsed() -> argparse.Namespace:
    parser = script.parser(__doc__)
    parser.add_argument("--budget", choices=["quick", "default", "full"], default="default")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="labelled problems; what is not there is made")
    parser.add_argument("--domains", type=lambda text: text.split(","), metavar="NAME,…", help="only these")
    script.add_pool(parser)
    parser.add_argument("--stage", choices=STAGES, help="only this one; by default the first four")
    parser.add_argument("--processors", type=int, default=2, metavar="N", help="for the stage cost: how many there are")
    parser.add_argument("--work", type=Path, default=Path("planrank-paper"), help="models and rows are kept here")
    parser.add_argument("--config", type=Path, default=Path(__file__).with_suffix(".toml"), help="what is run")
    parser.set_defaults(jobs=None)
    options = script.parse(parser, quick={"budget": "quick", "jobs": 1, "work": None})
    if options.jobs is None and options.cluster is None:
        options.jobs = JOBS
    return options


def main() -> None:
    options = parsed()
    with script.folder_for(options.work) as work:
        paper = Paper(options, work / options.budget)
        make_folder(paper.work)
        for stage in [STAGES[options.stage]] if options.stage else stages(options.cluster):
            stage(paper)


if __name__ == "__main__":
    script.run(main)
