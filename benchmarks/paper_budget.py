"""The budget of benchmarks/paper.py and what follows from it: which pieces, models, problems and runs there are."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from coverage_tables import LOSS_NAMES
from peers import peer_runs
from pieces import Pieces, without_places
from training import Settings, configuration, is_trained, parts_of

from planrank import PlanrankError
from planrank.console import Progress, say
from planrank.evaluation.runs import Row, runs
from planrank.files import read_toml
from planrank.learning.selection import Figures
from planrank.models import families
from planrank.models.model import Model
from planrank.paths import own_domains
from planrank.problems import fast_downward
from planrank.problems.folders import Instance, find_instances
from planrank.problems.labelling import label
from planrank.problems.problem_sets import Group, generate, parse_sizes, standard_set
from planrank.problems.splits import spread
from planrank.search.guides import Guide

PLANNERS = ("LAMA-first", "FD A*-lmcut")
SEARCHES = {"levin": ["phs"]}  # of a loss; all others are searched with as the paper does
BFS = "breadth-first search"
OTHERS = "other planners"
# By the tables and the page, beside what a run of `planrank evaluate` says.
ASKED = ("line", "rank", "loss", "seed", "series")


class Share(NamedTuple):
    """What is run at a time. `rank` is OTHERS for the planners beside ours, whose seed is 0."""

    domain: str
    rank: str
    seed: int


class Paper:
    """A budget, and what of it is finished."""

    def __init__(self, options: argparse.Namespace, work: Path):
        self.options, self.work = options, work
        self.told = read_toml(options.config)
        self.budget = self.told["budgets"][options.budget]
        self.rows = work / "rows.jsonl"
        # A try of another budget must not lie where hours of work do.
        self.name = "paper" if options.budget == "default" else f"paper_{options.budget}"
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

    # Pieces

    @cached_property
    def shares(self) -> list[Share]:
        found = [Share(domain, OTHERS, 0) for domain in self.domains]
        for seed in range(self.budget["seeds"]):
            found += [Share(domain, rank, seed) for domain in self.domains for rank in self.budget["ranks"]]
        return found

    @cached_property
    def pieces(self) -> Pieces:
        """What is finished of the shares."""
        file = (self.options.results or self.work) / f"{self.name}_pieces.jsonl"
        return Pieces(file, {piece: self.settings_of(piece) for piece in self.shares}, ASKED)

    def unfinished(self, domain: str | None = None) -> list[Share]:
        return [piece for piece in self.shares if piece not in self.pieces and domain in (None, piece.domain)]

    def settings_of(self, piece: Share) -> dict[str, Any]:
        """Whatever can change the figures of a piece, but where files lie."""
        trainings = [without_places(one) for _, some in self.candidates_of(piece) for one in some]
        told = {name: self.budget[name] for name in ("training_set", "problems")}
        told |= {"seconds": self.seconds(piece.domain), "given": self.given(piece.domain, "folder") is not None}
        return told | {"trainings": trainings}

    def candidates_of(self, piece: Share) -> Iterator[tuple[str, list[Settings]]]:
        """Losses and their networks. Levin's policy is the same whatever else ranks, and trained once."""
        if piece.rank != OTHERS:
            for loss in self.budget["losses"]:
                if loss != "levin" or piece.rank == self.budget["ranks"][0]:
                    yield loss, self.candidates(piece.domain, piece.rank, loss, piece.seed)

    def chosen(self, piece: Share) -> Iterator[tuple[str, str]]:
        """The model of each loss that does best on validation; nothing where some are not trained."""
        for loss, configurations in self.candidates_of(piece):
            if all(is_trained(one) for one in configurations):
                yield loss, min((one["out"] for one in configurations), key=validation_of)

    # Runs

    def seconds(self, domain: str) -> float:
        return self.budget["seconds" if self.family(domain) == "hypergraph" else "grid_seconds"]

    def wanted(self, piece: Share) -> list[Row]:
        """Every run of the piece that can be made now, with what the tables ask."""
        settings = {"time_limit": self.seconds(piece.domain), "memory_limit": None, "batch": 1, "cold": True}
        found = []
        for line, instances in self.test_problems(piece.domain).items():
            about = {"line": line, "rank": piece.rank, "seed": piece.seed}
            if piece.rank == OTHERS:
                others = runs(instances, [Guide.of_heuristic("blind")], ["bfs"], settings)
                others += peer_runs(instances, PLANNERS, settings["time_limit"]) if self.has_planners else []
                found += [run | about | {"loss": None, "series": series_of_other(run)} for run in others]
            for loss, file in self.chosen(piece):
                made = runs(instances, [Guide.of_model(file)], SEARCHES.get(loss, ["astar", "gbfs"]), settings)
                found += [run | about | {"loss": loss, "series": series_of(loss, piece.rank)} for run in made]
        return found

    @cached_property
    def has_planners(self) -> bool:
        try:
            fast_downward.driver()
        except PlanrankError:
            return False
        return True


def series_of(loss: str, rank: str) -> str:
    """Models of one loss and ranking stand together, whatever their domains and seeds."""
    return LOSS_NAMES[loss] if loss == "levin" else f"{LOSS_NAMES[loss]}, ranking {rank}"


def series_of_other(run: Row) -> str:
    return BFS if run["search"] == "bfs" else run["guide"]


def made_group(sizes: dict[str, Any]) -> Group:
    ranges = parse_sizes([f"{key}={value}" for key, value in sizes.items() if key != "count"])
    return Group(sizes["count"], 0, ranges)


def line_of(domain: str, complexity: str | None, instance: Instance) -> str:
    """The line of the tables a problem belongs to: by its domain, for grids also by a size in its name."""
    found = re.search(rf"{complexity}(\d+)", instance.problem.stem) if complexity else None
    return f"{domain} {int(found[1])}" if found else domain


def validation_of(file: str) -> tuple[float, float]:
    """The more are solved the better, then the fewer expansions; of equals the first network."""
    figures = Figures.of_metadata(Model.load(file).metadata["figures"])
    return (0, 0) if figures is None else figures.merit
