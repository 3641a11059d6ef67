"""Do the paper's tables come out again, and do its claims hold?

    python benchmarks/paper.py [--budget quick|default|full] [--data FOLDER] [--domains ferry,…] [--jobs 2]
                               [--cluster auto|ADDRESS] [--stage NAME] [--work FOLDER]

Tables 1 to 3 of the paper and its appendix: solved problems, expansions and plan lengths of L*, L_gbfs, L_rt, L2, L_be
in A* and GBFS and of Levin in PHS*, breadth-first search and classical planners; beside each cell what was printed, and
for each claim of the paper whether it holds, does not, or cannot be told, by a test that the page states. paper.toml
says all: budgets, domains, settings, what was printed.

Every model and every run is written down when it is done, in --work; whatever is stopped goes on where it was. The
problems are those in --data (as benchmarks/coverage.py describes it), and where there are none planrank makes some.
Results go to benchmarks/results/paper.{md,json,html}; the page is made by `planrank report`. --quick is --budget quick.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import paper_tables
import script
from coverage_tables import LOSS_NAMES
from paper_tables import LEVIN, Cell, Cells
from peers import ANSWER, peer_runs
from tables import machine, markdown, write
from training import Settings, configuration, is_trained, parts_of, train_all, training_plans

from planrank import PlanrankError
from planrank.console import Progress, say
from planrank.evaluation.runs import Row, evaluate, key_of, run_missing, runs
from planrank.files import make_folder, read_toml, write_text
from planrank.journal import read_rows
from planrank.models import families
from planrank.models.model import Model
from planrank.parallel.pool import pool_of
from planrank.paths import own_domains
from planrank.problems import fast_downward
from planrank.problems.folders import Instance, find_instances
from planrank.problems.labelling import label
from planrank.problems.problem_sets import Group, generate, parse_sizes, standard_set
from planrank.problems.splits import spread
from planrank.reports.report import report as write_page
from planrank.search.guides import Guide

PLANNERS = ("LAMA-first", "FD A*-lmcut")
BFS = "breadth-first search"
SEARCHES = {"levin": ["phs"]}  # of a loss; all others are searched with as the paper does


class Paper:
    """The budget, and what follows from it: which models, which problems, which runs."""

    def __init__(self, options: argparse.Namespace, work: Path):
        self.options, self.work = options, work
        self.told = read_toml(options.config)
        self.budget = self.told["budgets"][options.budget]
        self.rows, self.other_rows = work / "rows.jsonl", work / "planners.jsonl"
        wanted = options.domains or self.budget.get("domains", list(self.told["domains"]))
        self.missing = {domain: why for domain in wanted if (why := self.why_missing(domain))}
        self.domains = [domain for domain in wanted if domain not in self.missing]
        for domain, why in self.missing.items():
            say(f"{domain} is left out: {why}")

    def why_missing(self, domain: str) -> str:
        about = self.told["domains"].get(domain)
        if about is None:
            raise PlanrankError(f"unknown domain {domain}, expected {', '.join(self.told['domains'])}")
        try:
            families.get(self.family(domain))
        except PlanrankError as e:
            return e.message
        if self.given(domain, "folder") is None and domain not in own_domains():
            return "there is no folder of it in --data, and it is none of planrank's own domains"
        return ""

    def family(self, domain: str) -> str:
        return "grid" if self.told["domains"][domain].get("grid") else "hypergraph"

    def given(self, domain: str, what: str) -> Path | None:
        """The folder in --data, where there is one."""
        name = self.told["domains"][domain].get(what)
        if self.options.data is None or name is None or not (self.options.data / name).is_dir():
            return None
        return (self.options.data / name).resolve()

    # Problems

    def training_folder(self, domain: str) -> Path:
        return self.given(domain, "folder") or self.work / "problems" / domain

    def prepare(self, domain: str) -> None:
        """Make the problems to train on, with plans, if they were not given."""
        if self.given(domain, "folder") is None:
            chosen = self.budget["training_set"]
            groups = standard_set(domain, chosen) if isinstance(chosen, str) else [made_group(chosen)]
            found = generate(domain, groups, self.training_folder(domain))
            with Progress(f"plans of {domain}", len(found)) as progress:
                options = {"jobs": self.options.jobs, "cluster": self.options.cluster, "allow_suboptimal": True}
                label(found, time_limit=10.0, progress=lambda _: progress.advance(), **options)
        find_instances(self.training_folder(domain))  # if there are none, that is said now

    def test_problems(self, domain: str) -> dict[str, list[Instance]]:
        """By line of the tables; none was seen in training or validation."""
        about, made = self.told["domains"][domain], self.given(domain, "folder") is None
        if folder := self.given(domain, "test_folder"):
            found = find_instances(folder)
        elif made and "test_set" in about and isinstance(self.budget["training_set"], str):
            place = self.work / "problems" / f"{domain}-test"
            found = generate(domain, standard_set(domain, about["test_set"]), place)
        else:
            found = parts_of(self.training_folder(domain), self.settings(domain, "states"))["test"]
        lines: dict[str, list[Instance]] = {}
        for instance in found:
            lines.setdefault(line_of(domain, about.get("complexity"), instance), []).append(instance)
        most = self.budget["problems"] or None
        return {line: spread(lines[line], most) for line in sorted(lines)}

    # Models

    def settings(self, domain: str, rank: str) -> Settings:
        found = self.told["training"] | self.told["domains"][domain].get("training", {}) | self.budget["training"]
        found |= {"rank": rank, "family": self.family(domain)}
        if self.family(domain) != "hypergraph":
            found.pop("receivers", None)
        return found

    def candidates(self, domain: str, rank: str, loss: str, seed: int) -> list[Settings]:
        """A configuration for each network that validation chooses from."""
        found = []
        networks = self.budget["networks"] if self.family(domain) == "hypergraph" else [{}]
        for network in networks:
            name = "-".join(f"{key}{int(value)}" for key, value in network.items()) or "network"
            out = self.work / "models" / domain / rank / f"{loss}-seed{seed}" / f"{name}.safetensors"
            settings = self.settings(domain, "policy" if loss == "levin" else rank)
            found.append(
                configuration(out, self.training_folder(domain), settings | network | {"loss": loss, "seed": seed})
            )
        return found

    def all_candidates(self, domain: str) -> Iterator[tuple[str, str, int, list[Settings]]]:
        """Ranking, loss, seed and their networks. Levin's policy is the same whatever else ranks, and trained once."""
        for seed in range(self.budget["seeds"]):
            for rank in self.budget["ranks"]:
                for loss in self.budget["losses"]:
                    if loss != "levin" or rank == self.budget["ranks"][0]:
                        yield rank, loss, seed, self.candidates(domain, rank, loss, seed)

    def chosen(self, domain: str) -> Iterator[tuple[str, str, int, str]]:
        """The model of each ranking, loss and seed that does best on validation; nothing where some are not trained."""
        for rank, loss, seed, configurations in self.all_candidates(domain):
            if all(is_trained(one) for one in configurations):
                yield rank, loss, seed, min((one["out"] for one in configurations), key=validation_of)

    # Runs

    def seconds(self, domain: str) -> float:
        return self.budget["seconds" if self.family(domain) == "hypergraph" else "grid_seconds"]

    def wanted(self, domain: str) -> list[tuple[str, Cell, str, int, Row]]:
        """Ranking, cell, line, seed and run of everything that the tables need and that can be run now."""
        settings = {"time_limit": self.seconds(domain), "memory_limit": None, "batch": 1, "cold": True}
        guides = [(rank, loss, seed, [Guide.of_model(file)]) for rank, loss, seed, file in self.chosen(domain)]
        found = []
        for line, instances in self.test_problems(domain).items():
            for rank, loss, seed, guide in guides:
                for search in SEARCHES.get(loss, ["astar", "gbfs"]):
                    found += [
                        (rank, (search, loss), line, seed, run) for run in runs(instances, guide, [search], settings)
                    ]
        return found

    @cached_property
    def has_planners(self) -> bool:
        try:
            fast_downward.driver()
        except PlanrankError:
            return False
        return True


def made_group(sizes: dict[str, Any]) -> Group:
    ranges = parse_sizes([f"{key}={value}" for key, value in sizes.items() if key != "count"])
    return Group(sizes["count"], 0, ranges)


def line_of(domain: str, complexity: str | None, instance: Instance) -> str:
    """The line of the tables a problem belongs to: by its domain, for grids also by a size in its name."""
    found = re.search(rf"{complexity}(\d+)", instance.problem.stem) if complexity else None
    return f"{domain} {int(found[1])}" if found else domain


def validation_of(file: str) -> tuple[float, float]:
    """The more are solved the better, then the fewer expansions; of equals the first network."""
    figures = Model.load(file).metadata["figures"]
    return -figures.get("validation_solved", 0), figures.get("validation_expansions", 0)


def prepare(paper: Paper) -> None:
    for domain in paper.domains:
        paper.prepare(domain)


def train(paper: Paper) -> None:
    """Neighbours in the queue are of different domains, so that they do not build the same examples at once."""
    queues = [[one for *_, some in paper.all_candidates(domain) for one in some] for domain in paper.domains]
    longest = max(map(len, queues), default=0)
    everything = [queue[i] for i in range(longest) for queue in queues if i < len(queue)]
    train_all(everything, paper.options.jobs, paper.options.cluster)


def search(paper: Paper) -> None:
    pool = {"jobs": paper.options.jobs, "cluster": paper.options.cluster}
    for domain in paper.domains:
        wanted = [run for *_, run in paper.wanted(domain)]
        with Progress(f"runs of {domain}", len(wanted)) as progress:

            def note(row: Row, done: int, count: int, progress: Progress = progress) -> None:
                progress.done = done
                progress.draw()

            models = pool_of(pool["jobs"], None, pool["cluster"])
            run_missing(wanted, "planrank.evaluation.jobs:solve_cold", models, paper.rows, note)
        tested = [instance for some in paper.test_problems(domain).values() for instance in some]
        options = {**pool, "cold": True, "out": paper.other_rows}
        evaluate(tested, [Guide.of_heuristic("blind")], ["bfs"], paper.seconds(domain), **options)
        if paper.has_planners:
            others = peer_runs(tested, PLANNERS, paper.seconds(domain))
            run_missing(others, ANSWER, pool_of(pool["jobs"], None, pool["cluster"]), paper.other_rows)


def report(paper: Paper) -> None:
    """Tables of whatever has been run so far; what is missing is counted."""
    done = {key_of(row): row for file in (paper.rows, paper.other_rows) for row in read_rows(file)}
    found: dict[str, Cells] = {rank: {} for rank in paper.budget["ranks"]}
    beside: dict[str, dict[str, list[Row]]] = {}
    domains, shown, missing, other_rows = {}, [], 0, read_rows(paper.other_rows)
    for domain in paper.domains:
        for rank, cell, line, seed, run in paper.wanted(domain):
            domains[line] = domain
            row = done.get(key_of(run))
            if row is None:
                missing += 1
                continue
            for table in found if cell == LEVIN else [rank]:  # a policy stands beside both rankings
                found[table].setdefault(line, {}).setdefault(cell, []).append(row | run | {"seed": seed})
            shown.append(page_row(row | run, rank, cell, seed))
        for line, instances in paper.test_problems(domain).items():
            domains[line] = domain
            names = {row["instance_sha"] for row in peer_runs(instances, [""], 0)}
            for row in other_rows:
                if row["instance_sha"] in names and row["time_limit"] == paper.seconds(domain):
                    guide = BFS if row["search"] == "bfs" else row["guide"]
                    beside.setdefault(line, {}).setdefault(guide, []).append(row)
                    shown.append(row | {"series": guide})
    made = paper_tables.sections(found, beside, domains, paper.told["printed"])
    if unfinished := what_is_missing(paper, missing):
        made[0]["text"].insert(0, unfinished)
    made.append({"title": "How it was run", "text": conditions(paper)})
    title = f"The paper's tables, budget {paper.options.budget}"
    document = {"planrank_document": 1, "title": title, "sections": made}
    write(paper.options.results, "paper", paper_tables.as_markdown(document), document)
    page(paper, document, shown)


def page_row(row: Row, rank: str, cell: Cell, seed: int) -> Row:
    """As the page shows it: models of one loss and ranking are one series, and a seed is a problem of its own."""
    name = LOSS_NAMES[cell[1]] if cell == LEVIN else f"{LOSS_NAMES[cell[1]]}, ranking {rank}"
    more = (
        {}
        if seed == 0
        else {"instance_sha": f"{row['instance_sha']}-{seed}", "problem": f"{row['problem']}-seed{seed}"}
    )
    return row | {"series": name} | more


def page(paper: Paper, document: dict[str, Any], shown: list[Row]) -> None:
    """The page has the tables, every run, and the learning curves of the models that were chosen."""
    place = paper.work / "page"
    make_folder(place)
    write_text(place / "paper.json", json.dumps(document))
    write_text(place / "runs.jsonl", "".join(json.dumps(row) + "\n" for row in shown))
    sources = [place / "paper.json", place / "runs.jsonl"]
    sources += [Path(file) for domain in paper.domains for *_, file in paper.chosen(domain)]
    out = (paper.options.results or paper.work) / "paper.html"
    write_page(sources, out, document["title"])
    say(f"the page is {out}")


def what_is_missing(paper: Paper, runs: int) -> str:
    trainings = [one for domain in paper.domains for *_, some in paper.all_candidates(domain) for one in some]
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
        f"Measured on {machine()}, {paper.options.jobs} processes at a time.",
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
        found = list(paper.all_candidates(domain))
        trainings = [one for *_, some in found for one in some]
        files = [Path(one["out"]) for one in trainings]
        took = [Model.load(file).metadata["figures"]["seconds"] for file in files if file.is_file()]
        problems = sum(map(len, paper.test_problems(domain).values()))
        searched = problems * sum(len(SEARCHES.get(loss, ["astar", "gbfs"])) for _, loss, *_ in found)
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


STAGES = {"prepare": prepare, "train": train, "search": search, "report": report}


def parsed() -> argparse.Namespace:
    parser = script.parser(__doc__)
    parser.add_argument("--budget", choices=["quick", "default", "full"], default="default")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="labelled problems; what is not there is made")
    parser.add_argument("--domains", type=lambda text: text.split(","), metavar="NAME,…", help="only these")
    script.add_pool(parser)
    parser.add_argument("--stage", choices=[*STAGES, "cost"], help="only this one; by default the first four, in order")
    parser.add_argument("--processors", type=int, default=2, metavar="N", help="for the stage cost: how many there are")
    parser.add_argument("--work", type=Path, default=Path("planrank-paper"), help="models and rows are kept here")
    parser.add_argument("--config", type=Path, default=Path(__file__).with_suffix(".toml"), help="what is run")
    return script.parse(parser, quick={"budget": "quick", "jobs": 1, "work": None})


def main() -> None:
    options = parsed()
    with script.folder_for(options.work) as work:
        paper = Paper(options, work / options.budget)
        make_folder(paper.work)
        for stage in [options.stage] if options.stage else STAGES:
            (STAGES | {"cost": cost})[stage](paper)


if __name__ == "__main__":
    script.run(main)
