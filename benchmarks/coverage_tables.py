"""The tables of benchmarks/coverage.py."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from pathlib import Path

from tables import markdown, spread, write

from planrank.evaluation.tables import trouble

LOSS_NAMES = {"lstar": "L*", "lgbfs": "L_gbfs", "lrt": "L_rt", "l2": "L2", "lbe": "L_be", "levin": "Levin"}
SEARCH_NAMES = {"gbfs": "GBFS", "astar": "A*"}

# Expansions for each step of the plan: what GBFS with L* may take, and the paper's best.
BARS = {"blocksworld": 1.3, "ferry": 1.2, "npuzzle": 4.0, "spanner": 1.1, "elevators": 1.5}
PAPER = {
    "blocksworld": "100 %, 1.26",
    "ferry": "100 %, 1.2",
    "npuzzle": "92 %, 8",
    "spanner": "100 %, 1.08",
    "elevators": "92 %, 2.1",
}

# Rows of one guide by seed; a peer has only the seed 0.
BySeed = dict[int, list[dict]]


def by_guide(rows: Iterable[dict]) -> dict[str, BySeed]:
    """Rows by what the tables call their guide and search."""
    found: dict[str, BySeed] = {}
    for row in rows:
        name, seed = row["guide"], 0
        if row["model"] is not None:
            loss, _, number = Path(row["model"]).stem.partition("-seed")
            name, seed = guide_name(row["search"], loss), int(number)
        found.setdefault(name, {}).setdefault(seed, []).append(row)
    return found


def guide_name(search: str, loss: str) -> str:
    return f"{SEARCH_NAMES.get(search, search)}, {LOSS_NAMES.get(loss, loss)}"


def solved(rows: Iterable[dict]) -> list[dict]:
    return [row for row in rows if row["status"] == "solved"]


def per_step(rows: list[dict], counter: str = "expanded") -> float | None:
    """All expansions, or another counter, over all steps of the plans found."""
    steps = sum(row["plan_length"] for row in solved(rows))
    return sum(row[counter] for row in solved(rows)) / steps if steps else None


def mean_of(rows: list[dict], key: str) -> float | None:
    return statistics.fmean(row[key] for row in solved(rows)) if solved(rows) else None


def figures_of(seeds: BySeed) -> dict[str, list]:
    """A value for every seed."""
    groups = [seeds[seed] for seed in sorted(seeds)]
    return {
        "runs": [len(group) for group in groups],
        "solved": [len(solved(group)) for group in groups],
        "expansions_per_step": [per_step(group) for group in groups],
        "plan_length": [mean_of(group, "plan_length") for group in groups],
        "seconds": [mean_of(group, "total_seconds") for group in groups],
    }


def guide_lines(title: str, guides: dict[str, dict[str, list]]) -> list[list[str]]:
    lines = []
    for name, f in guides.items():
        shares = [100 * done / count for done, count in zip(f["solved"], f["runs"], strict=True)]
        cells = [spread(shares, 1, " %"), spread(f["expansions_per_step"]), spread(f["plan_length"], 1)]
        lines.append([title, name, str(max(f["runs"])), *cells, spread(f["seconds"])])
    return lines


GUIDE_HEADER = ["domain", "guide", "problems", "solved", "expansions per step", "plan length", "seconds"]


def lengths_beside(mine: BySeed, peer: BySeed) -> list[tuple[float, float, int]]:
    """For every seed: mean plan lengths of both on the instances that both solve, and how many these are."""
    theirs = {row["instance_sha"]: row["plan_length"] for row in solved(peer.get(0, []))}
    found = []
    for seed in sorted(mine):
        ours = {row["instance_sha"]: row["plan_length"] for row in solved(mine[seed])}
        common = ours.keys() & theirs.keys()
        if common:
            means = [statistics.fmean(lengths[one] for one in common) for lengths in (ours, theirs)]
            found.append((*means, len(common)))
    return found


def bars_of(domain: str, guides: dict[str, BySeed]) -> list[dict]:
    """The bars of GBFS with L*: values of the seeds, the most or least allowed, and whether their mean keeps to it."""
    mine, lama = guides.get(guide_name("gbfs", "lstar")), guides.get("LAMA-first", {})
    if mine is None:
        return []
    figures = figures_of(mine)
    shares = [100 * done / count for done, count in zip(figures["solved"], figures["runs"], strict=True)]
    ratios = [value for value in figures["expansions_per_step"] if value is not None]
    bars = [bar("solved, %", shares, [100.0] * len(shares), lambda value, limit: value >= limit)]
    bars.append(bar("expansions per step", ratios, [BARS[domain]] * len(ratios)))
    beside = lengths_beside(mine, lama)
    bars.append(bar("plan length, LAMA-first's", [one[0] for one in beside], [one[1] for one in beside]))
    return [{"domain": domain, "all_solved": bars[0]["met"]} | one for one in bars]


def bar(
    name: str,
    values: list[float],
    limits: list[float],
    holds: Callable[[float, float], bool] = lambda v, most: v <= most,
) -> dict:
    met, seeds_met = None, sum(map(holds, values, limits))
    if values:
        met = holds(statistics.fmean(values), statistics.fmean(limits))
    return {"bar": name, "values": values, "limits": limits, "met": met, "seeds_met": seeds_met}


def bar_line(one: dict) -> list[str]:
    limit = f"{statistics.fmean(one['limits']):.2f}" if one["limits"] else "-"
    verdict = {None: "nothing to compare", True: "met", False: "not met"}[one["met"]]
    if one["met"] and not one["all_solved"]:
        verdict = "met on those solved"
    seeds = f"{one['seeds_met']} of {len(one['values'])}"
    return [one["domain"], one["bar"], limit, spread(one["values"]), verdict, seeds, PAPER[one["domain"]]]


def order_of(domain: str, guides: dict[str, BySeed]) -> list[dict]:
    """Ranking against regression: instances solved by all seeds together, expansions where both solve."""
    found = []
    for search in SEARCH_NAMES:
        ranking, regression = (guides.get(guide_name(search, loss), {}) for loss in ("lstar", "l2"))
        seeds = ranking.keys() & regression.keys()
        if not seeds:
            continue
        # One of them may have been run on more problems than the other.
        sides = [{row["instance_sha"] for seed in seeds for row in side[seed]} for side in (ranking, regression)]
        run = sides[0] & sides[1]
        ranking, regression = (
            {seed: [row for row in side[seed] if row["instance_sha"] in run] for seed in seeds}
            for side in (ranking, regression)
        )
        expanded, steps = [0, 0], [0, 0]
        for seed in seeds:
            pair = [{row["instance_sha"]: row for row in solved(side[seed])} for side in (ranking, regression)]
            for instance in pair[0].keys() & pair[1].keys():
                for i, rows in enumerate(pair):
                    expanded[i] += rows[instance]["expanded"]
                    steps[i] += rows[instance]["plan_length"]
        both = [e / s if s else None for e, s in zip(expanded, steps, strict=True)]
        counts = [sum(len(solved(side[seed])) for seed in seeds) for side in (ranking, regression)]
        runs = [sum(len(side[seed]) for seed in seeds) for side in (ranking, regression)]
        found.append({"domain": domain, "search": search, "runs": runs, "solved": counts, "per_step_where_both": both})
    return found


def order_line(one: dict) -> list[str]:
    (ours, theirs), runs = one["solved"], one["runs"]
    # Shares, because a report in the middle of a run may have more rows of one than of the other.
    ours, theirs = ours / runs[0], theirs / runs[1]
    verdict = "equal" if ours == theirs else "holds" if ours > theirs else "does not hold"
    counts = [f"{done} of {count}" for done, count in zip(one["solved"], runs, strict=True)]
    return [
        one["domain"],
        SEARCH_NAMES[one["search"]],
        *counts,
        verdict,
        *(spread([v]) for v in one["per_step_where_both"]),
    ]


def training_lines(found: dict[str, dict]) -> list[list[str]]:
    """For every domain and loss: the network, what it learned from, how long it took."""
    lines = []
    for domain, one in found.items():
        by_loss: dict[str, list[dict]] = {}
        for metadata in one["training"]["models"]:
            by_loss.setdefault(metadata["training"]["loss"], []).append(metadata)
        for loss, models in by_loss.items():
            told, figures = models[0]["training"], [metadata["figures"] for metadata in models]
            network = f"{told['layers']}x{told['dim']}, {told['receivers']}"
            used = f"{figures[0]['training_instances']} ({one['training']['unproved']} not proved optimal)"
            best = spread([f["step"] for f in figures], 0)
            seconds = spread([f["seconds"] for f in figures], 0)
            validation = spread([100 * f["validation_solved"] / f["validation_of"] for f in figures], 0, " %")
            cells = [network, f"{told['steps']:,}", best, used, validation, seconds]
            lines.append([domain, LOSS_NAMES[loss], *cells])
    return lines


def test_line(domain: str, one: dict) -> list[str]:
    trivial = {row["instance_sha"] for row in solved(one["rows"]) if row["plan_length"] == 0}
    return [domain, str(one["test"]["problems"]), str(len(trivial)), str(one["test"]["seen"])]


TRAINING_HEADER = ["domain", "loss", "network", "steps", "best step", "plans", "validation solved", "seconds"]


def conditions_text(conditions: dict) -> str:
    """One paragraph on how it was run."""
    loads = [conditions["load_evaluate"], conditions["load_peers"]]
    models, peers = ("not noted" if load is None else f"{load:.1f}" for load in loads)
    unfinished = (
        f" **Unfinished: {conditions['missing_runs']} runs are missing.**" if conditions["missing_runs"] else ""
    )
    return (
        f"{conditions['seconds']:g} s of wall time for each whole process, {conditions['jobs']} at a time; mean load "
        f"of the machine {models} with the models, {peers} with the peers. Models of the seeds "
        f"{', '.join(map(str, conditions['seeds']))}: the mean of the seeds and, in brackets, the least to the most. "
        "Means are over the problems solved; expansions per step are all expansions over all steps. Plan lengths of "
        f"models are after needless steps were left out, those of peers are as they came.{unfinished}"
    )


def trouble_lines(found: dict[str, dict]) -> list[str]:
    rows = [row | {"problem": Path(row["problem"]).name} for one in found.values() for row in one["rows"]]
    lines = [f"- {line}" for line in trouble(rows)]
    return ["## What went wrong", "", *lines, ""] if lines else []


BAR_HEADER = ["domain", "bar", "limit", "reached", "verdict", "seeds that meet it", "paper's best cell"]
WHERE_BOTH = "expansions per step where both solve"
ORDER_HEADER = ["domain", "search", "solved, L*", "solved, L2", "the paper's order", f"{WHERE_BOTH}, L*", "L2"]
TEST_HEADER = ["domain", "problems", "solved from the start", "also among those of training and validation"]


def coverage(found: dict[str, dict], conditions: dict, folder: Path | None) -> None:
    guides = {domain: by_guide(one["rows"]) for domain, one in found.items()}
    figures = {domain: {name: figures_of(rows) for name, rows in g.items()} for domain, g in guides.items()}
    bars = [one for domain, g in guides.items() for one in bars_of(domain, g)]
    order = [one for domain, g in guides.items() for one in order_of(domain, g)]
    lines = ["# Coverage of the paper's five domains", "", conditions_text(conditions), ""]
    lines += markdown(GUIDE_HEADER, [line for domain, f in figures.items() for line in guide_lines(domain, f)], left=2)
    lines += ["", "## Bars, GBFS with L*", "", "Plan lengths on the problems that both solve.", ""]
    lines += markdown(BAR_HEADER, map(bar_line, bars), left=2)
    lines += ["", "## L* against L2", "", "The paper's order: ranking solves at least as many as regression.", ""]
    lines += markdown(ORDER_HEADER, map(order_line, order), left=2)
    lines += ["", "## Test problems", ""]
    lines += markdown(TEST_HEADER, [test_line(domain, one) for domain, one in found.items()])
    lines += ["", "## Training", ""]
    lines += [*markdown(TRAINING_HEADER, training_lines(found), left=3), "", *trouble_lines(found)]
    training = {d: {k: v for k, v in one["training"].items() if k != "models"} for d, one in found.items()}
    kept = {"conditions": conditions, "test": {domain: one["test"] for domain, one in found.items()}}
    kept |= {"training": training, "guides": figures, "bars": bars, "order": order}
    write(folder, "coverage", lines, kept)


def size_of(row: dict) -> str:
    """What the name of a generated problem says of its size."""
    return Path(row["problem"]).stem.partition("-")[2]


def large(found: dict[str, dict], conditions: dict, folder: Path | None) -> None:
    figures: dict[str, dict] = {}
    for domain, one in found.items():
        for size in sorted({size_of(row) for row in one["rows"]}):
            rows = [row for row in one["rows"] if size_of(row) == size]
            figures[f"{domain} {size}"] = {name: figures_of(seeds) for name, seeds in by_guide(rows).items()}
    lines = ["# Problems larger than any seen in training", "", conditions_text(conditions), ""]
    lines += markdown(GUIDE_HEADER, [line for title, f in figures.items() for line in guide_lines(title, f)], left=2)
    lines += ["", *trouble_lines(found)]
    write(folder, "large", lines, {"conditions": conditions, "guides": figures})
