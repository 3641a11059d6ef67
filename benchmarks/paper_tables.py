"""The tables of benchmarks/paper.py: cells beside what was printed, and a verdict for each claim by a stated test."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from coverage_tables import LOSS_NAMES, SEARCH_NAMES, mean_of, solved
from tables import markdown

Row = dict[str, Any]
Cell = tuple[str, str]  # search and loss
LEVEL = 0.05

TEST = (
    "Two losses are compared by an exact two-sided sign test. A pair is a test problem and a seed: the loss that "
    "solves the problem wins it, and where both do, the one with fewer expansions. The seeds of a problem are not "
    "independent, so they have one vote together, that of most of them. Of several tests for one claim the p-values "
    f"are corrected by Holm's method; {LEVEL:g} is the level."
)
CELL_TEST = (
    "A cell is our mean over the seeds ± standard deviation, and in brackets what was printed. It says above or below "
    "where the printed share lies outside the 95 % interval (Wilson) around the share of all our runs that were "
    "solved; elsewhere the two cannot be told apart. Expansions and plan lengths have no such verdict: they are means "
    "over problems that the paper does not name, printed without a deviation."
)
NOT_COMPARABLE = (
    "The paper's random split is not known, nor are its instances of spanner and most of those of the grids: problems "
    "of the same kinds stand for them, so a cell may differ because its problems do.",
    "Times were measured on other machines: 5 s for the PDDL domains, 600 s for the grids, where smaller budgets give "
    "less; here a whole cold process counts, with its start.",
    "The published code of the grid networks is another program than that of the PDDL domains; here one search and "
    "one training loop serve both.",
    "Plans that planrank finds are counted after steps that the goal does not need were left out.",
    "The paper ranks states. What ranks actions is planrank's own and has no printed figures.",
)


@dataclass(frozen=True)
class Claim:
    """Comparisons, a better than b, each in a search or two. `every`: in every domain, else in some and in none the
    other way round; `pooled`: the problems of all domains together."""

    text: str
    pairs: tuple[tuple[Cell, Cell], ...]
    every: bool = True
    pooled: bool = False


def both(search: str, first: str, *others: str) -> tuple[tuple[Cell, Cell], ...]:
    return tuple(((search, first), (search, other)) for other in others)


LEVIN: Cell = ("phs", "levin")
CLAIMS = (
    Claim("Ranking beats regression in every domain", both("astar", "lstar", "l2") + both("gbfs", "lgbfs", "l2")),
    Claim("L* is the best in A*", both("astar", "lstar", "lgbfs", "lrt", "l2", "lbe")),
    Claim("L_gbfs is erratic in A*: in some domain it is worse than L*", both("astar", "lstar", "lgbfs"), every=False),
    Claim(
        "States off the path help: L_rt, without them, is worse in some domain",
        both("astar", "lstar", "lrt") + both("gbfs", "lgbfs", "lrt"),
        every=False,
    ),
    Claim(
        "Levin is in between: better than L2, worse than the ranking losses, over all domains",
        ((LEVIN, ("gbfs", "l2")), (("gbfs", "lgbfs"), LEVIN), (("gbfs", "lstar"), LEVIN)),
        pooled=True,
    ),
)


# Rows of one ranking, by line of the tables and cell; each row has its `seed`.
Cells = dict[str, dict[Cell, list[Row]]]


def name_of(cell: Cell) -> str:
    search, loss = cell
    return "PHS*, Levin" if cell == LEVIN else f"{SEARCH_NAMES[search]}, {LOSS_NAMES[loss]}"


def votes(first: Iterable[Row], second: Iterable[Row]) -> tuple[int, int]:
    """How many problems the first wins and how many the second: see TEST."""
    theirs = {(row["instance_sha"], row["seed"]): row for row in second}
    sums: dict[str, int] = {}
    for row in first:
        other = theirs.get((row["instance_sha"], row["seed"]))
        if other is not None:
            sums[row["instance_sha"]] = sums.get(row["instance_sha"], 0) + winner(row, other)
    return sum(one > 0 for one in sums.values()), sum(one < 0 for one in sums.values())


def winner(first: Row, second: Row) -> int:
    a, b = (row["expanded"] if row["status"] == "solved" else math.inf for row in (first, second))
    return (a < b) - (a > b)


def sign_test(wins: int, losses: int) -> float:
    """The probability of a result at least as uneven, if both were equally likely to win."""
    n = wins + losses
    tail = sum(math.comb(n, k) for k in range(max(wins, losses), n + 1)) / 2**n
    return min(1.0, 2 * tail)


def holm(p_values: Sequence[float]) -> list[float]:
    """Corrected for being many, in their order."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    corrected, least = [0.0] * len(p_values), 0.0
    for place, i in enumerate(order):
        least = max(least, min(1.0, (len(p_values) - place) * p_values[i]))
        corrected[i] = least
    return corrected


def wilson(done: int, count: int, z: float = 1.96) -> tuple[float, float]:
    """The interval of a share, in percent."""
    share, factor = done / count, 1 + z * z / count
    middle = (share + z * z / (2 * count)) / factor
    reach = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count)) / factor
    return 100 * (middle - reach), 100 * (middle + reach)


@dataclass(frozen=True)
class Comparison:
    where: str
    first: Cell
    second: Cell
    wins: int
    losses: int
    p: float

    @property
    def verdict(self) -> str:
        if self.p >= LEVEL:
            return "cannot be told"
        return "better" if self.wins > self.losses else "worse"


def compared(claim: Claim, cells: Cells, domains: dict[str, str]) -> list[Comparison]:
    """All tests of a claim. `domains` has the domain of each line: its lines are tested together."""
    places = {line: "all domains" if claim.pooled else domain for line, domain in domains.items()}
    found = []
    for first, second in claim.pairs:
        for where in dict.fromkeys(places.values()):
            lines = [cells[line] for line in places if places[line] == where and line in cells]
            counts = [votes(line[first], line[second]) for line in lines if first in line and second in line]
            if counts:
                wins, losses = (sum(side) for side in zip(*counts, strict=True))
                found.append((where, first, second, wins, losses))
    corrected = holm([sign_test(wins, losses) for *_, wins, losses in found])
    return [Comparison(*one, p) for one, p in zip(found, corrected, strict=True)]


def verdict_of(claim: Claim, found: Sequence[Comparison], domains: int) -> tuple[str, str]:
    """holds, does not hold, or cannot be told; and why. Of every domain nothing holds before all of them were run."""
    said = {kind: [one for one in found if one.verdict == kind] for kind in ("better", "worse", "cannot be told")}

    def told(some: Sequence[Comparison]) -> str:
        return "; ".join(
            f"{name_of(one.first)} against {name_of(one.second)} on {one.where}: {one.wins} to {one.losses}, "
            f"p = {one.p:.2g}"
            for one in some
        )

    if not found:
        return "cannot be told", "nothing that it compares was run"
    if said["worse"]:
        return "does not hold", told(said["worse"])
    ran = len({one.where for one in found})
    if said["better"] and (not claim.every or not said["cannot be told"]):
        if claim.every and not claim.pooled and ran < domains:
            return "cannot be told", f"{ran} of {domains} domains were run, there it holds: {told(said['better'])}"
        return "holds", told(said["better"])
    count = f"{len(said['better'])} of {len(found)} comparisons are decided, in its favour"
    return "cannot be told", f"{count}; open: {told(said['cannot be told'])}"


def printed_order(claim: Claim, printed: dict[str, Any]) -> str:
    """What the paper's own table of solved problems says of a claim."""
    columns = [tuple(name.split()) for name in printed["columns"]]
    signs = [
        (figures[columns.index(a)] > figures[columns.index(b)])
        - (figures[columns.index(a)] < figures[columns.index(b)])
        for figures in printed["solved"].values()
        for a, b in claim.pairs
    ]
    return f"{signs.count(1)} above, {signs.count(0)} level, {signs.count(-1)} below"


MARKS = {"holds": "good", "does not hold": "bad", "cannot be told": "unsure"}
CLAIM_HEADER = ["claim", "ranking", "verdict", "why", "in the printed table"]


def claims(by_rank: dict[str, Cells], domains: dict[str, str], printed: dict[str, Any]) -> list[list[Any]]:
    found = []
    count = len({line.split()[0] for line in printed["solved"]})
    for claim in CLAIMS:
        for rank, cells in by_rank.items():
            verdict, why = verdict_of(claim, compared(claim, cells, domains), count)
            marked = {"text": verdict, "mark": MARKS[verdict]}
            found.append([claim.text, rank, marked, why, printed_order(claim, printed)])
    return found


def by_seed(rows: Iterable[Row]) -> list[list[Row]]:
    groups: dict[int, list[Row]] = {}
    for row in rows:
        groups.setdefault(row["seed"], []).append(row)
    return [groups[seed] for seed in sorted(groups)]


def spread(values: Sequence[float | None], digits: int) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "-"
    deviation = f" ± {statistics.stdev(known):.{digits}f}" if len(known) > 1 else ""
    return f"{statistics.fmean(known):,.{digits}f}{deviation}"


def cell_of(kind: str, rows: list[Row], common: set[str], figure: float | None, around: float | None) -> Any:
    """With what was printed, `figure` and its deviation `around`, if it is known and compares."""
    if not rows:
        return "-"
    seeds = by_seed(rows)
    if kind == "solved":
        text = spread([100 * len(solved(group)) / len(group) for group in seeds], 0)
    elif kind == "expanded":
        text = spread([mean_of(group, "expanded") for group in seeds], 0)
    else:
        shared = [[row for row in group if row["instance_sha"] in common] for group in seeds]
        text = spread([mean_of(group, "plan_length") for group in shared], 1)
    if figure is None:
        return text
    text += f" ({figure:g})" if around is None else f" ({figure:g} ± {around:g})"
    low, high = wilson(len(solved(rows)), len(rows)) if kind == "solved" else (-math.inf, math.inf)
    if low <= figure <= high:
        return text
    return {"text": f"{text}, below", "mark": "bad"} if figure > high else {"text": f"{text}, above", "mark": "good"}


def common_problems(line: dict[Cell, list[Row]]) -> set[str]:
    """Solved by every cell of the line with every seed."""
    sides = [{row["instance_sha"] for row in solved(group)} for rows in line.values() for group in by_seed(rows)]
    return set.intersection(*sides) if sides else set()


TITLES = {
    "solved": "solved, percent",
    "expanded": "expansions, mean over the problems solved",
    "length": "steps of the plans, mean over the problems that all solve",
}


def sections(
    found: dict[str, Cells], beside: dict[str, dict[str, list[Row]]], domains: dict[str, str], printed: dict[str, Any]
) -> list[dict[str, Any]]:
    """Of a document of `planrank report`. `found` by ranking; `beside` has the rows of other planners by line."""
    columns: list[Cell] = [tuple(name.split()) for name in printed["columns"]]
    claimed = claims(found, domains, printed)
    text = [TEST, "The last column says how often the first of the losses compared is above the other in the paper's "
            "own table of solved problems."]  # fmt: skip
    made = [{"title": "Claims", "text": text, "header": CLAIM_HEADER, "rows": claimed}]
    for rank, cells in found.items():
        ran = [cell for cell in columns if any(cell in line for line in cells.values())]
        for number, (kind, title) in enumerate(TITLES.items(), 1):
            rows = []
            for name, line in cells.items():
                common = common_problems(line)
                figures = printed_of(printed, kind, name) if rank == "states" else {}
                around = printed_of(printed, "deviation", name) if kind == "solved" else {}
                made_cells = [
                    cell_of(kind, line.get(cell, []), common, figures.get(cell), around.get(cell)) for cell in ran
                ]
                count = (
                    len(common) if kind == "length" else len({r["instance_sha"] for rs in line.values() for r in rs})
                )
                rows.append([name, str(count), *made_cells])
            header = ["domain", "problems", *map(name_of, ran)]
            told = CELL_TEST if kind == "solved" and rank == "states" else ""
            made.append(
                {"title": f"Table {number}, ranking {rank}: {title}", "text": told, "header": header, "rows": rows}
            )
    made.append(planners_section(beside, printed))
    made.append({"title": "What cannot be compared, and why", "text": list(NOT_COMPARABLE)})
    return made


def printed_of(printed: dict[str, Any], kind: str, line: str) -> dict[Cell, float]:
    columns: list[Cell] = [tuple(name.split()) for name in printed["columns"]]
    return dict(zip(columns, printed[kind].get(line, []), strict=False))


def planners_section(beside: dict[str, dict[str, list[Row]]], printed: dict[str, Any]) -> dict[str, Any]:
    names = list(dict.fromkeys(name for line in beside.values() for name in line))
    rows = []
    for line, runs in beside.items():
        shares = [f"{100 * len(solved(runs[name])) / len(runs[name]):.0f}" if runs.get(name) else "-" for name in names]
        other = printed["planners"].get(line, ["-", "-"])
        rows.append([line, *shares, str(printed["bfs"].get(line, "-")), *map(str, other)])
    header = ["domain", *names, "printed: breadth-first", "printed: SymBA*", "printed: Stone Soup"]
    return {"title": "Breadth-first search and classical planners: solved, percent", "header": header, "rows": rows}


def as_markdown(document: dict[str, Any]) -> list[str]:
    lines = [f"# {document['title']}", ""]
    for section in document["sections"]:
        lines += [f"## {section['title']}", ""]
        texts = section.get("text") or []
        for text in [texts] if isinstance(texts, str) else texts:
            lines += [text, ""]
        if section.get("header"):
            plain = [[cell["text"] if isinstance(cell, dict) else cell for cell in row] for row in section["rows"]]
            lines += [*markdown(section["header"], plain), ""]
    return lines
