"""How long does planrank take to parse and ground, against other planners' front ends?

    python benchmarks/grounding.py --instances FOLDER [--peers translator,pymimir,tarski]

Every tool runs in a process of its own that stays alive, so that interpreter start does not count; the tools take
turns from instance to instance, the median of the repeats counts. Writes results/grounding.{md,json} and a plot of
seconds against ground actions, grounding.svg.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterator
from pathlib import Path

import script
from grounders import PACKAGES, is_installed
from tables import machine, markdown, write
from toy import toy_problems

from planrank.console import Progress
from planrank.parallel.pool import Answer, Job, Pool
from planrank.problems.folders import Instance, find_instances

BARS = {"pymimir": 0.7, "translator": 0.2}
GRACE_SECONDS = 5.0  # for the repeats of what takes less than a second


def main() -> None:
    parser = script.parser(__doc__)
    parser.add_argument("--instances", type=Path, metavar="FOLDER", help="searched for problems")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="take only one instance in N")
    parser.add_argument("--only", default="", help="regular expression the instance's path must match")
    parser.add_argument("--peers", type=script.names(PACKAGES), default=["translator", "pymimir"], metavar="NAME,…")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--timeout", type=float, default=60, metavar="S", help="for each instance and tool")
    options = script.parse(parser, "instances", quick={"repeats": 1})
    peers = [peer for peer in options.peers if is_installed(peer)]
    with script.folder_for(None) as scratch:
        folder = toy_problems(scratch) if options.quick else options.instances.resolve()
        found = [one for one in find_instances(folder) if re.search(options.only, str(one.problem))][:: options.every]
        rows = []
        with Progress("instances", len(found)) as progress:
            for instance, answers in asked(["planrank", *peers], found, options.repeats, options.timeout):
                rows.append(row_of(str(instance.problem.relative_to(folder)), answers, options.timeout))
                progress.advance()
    write(options.results, "grounding", report(rows, peers, options.repeats), rows)
    if options.results is not None:
        plot(rows, peers, options.results / "grounding.svg")


def asked(
    tools: list[str], instances: list[Instance], repeats: int, timeout: float
) -> Iterator[tuple[Instance, dict[str, Answer]]]:
    """Each instance with the answers of the tools. A pool sends its next job when it is asked for the next answer, so
    the tools run one after the other."""
    limit = timeout + GRACE_SECONDS
    pools = []
    for tool in tools:
        jobs = []
        for one in instances:
            question = {"name": tool, "domain": str(one.domain), "problem": str(one.problem), "repeats": repeats}
            jobs.append(Job("grounders:measure", question, limit))
        pools.append(Pool(1, f"grounders:warm_up_{tool}").map(jobs))
    for instance, answers in zip(instances, zip(*pools, strict=True), strict=True):
        yield instance, {tool: answer for tool, (_, answer) in zip(tools, answers, strict=True)}


def row_of(instance: str, answers: dict[str, Answer], timeout: float) -> dict:
    row: dict = {"instance": instance}
    for tool, answer in answers.items():
        told = answer.value or {"error": "crashed, or no answer in time" if answer.lost else str(answer.error)}
        if "error" not in told and told["seconds"][0] > timeout:
            told = {"error": f"over {timeout:g} s"}
        row[tool] = statistics.median(told["seconds"]) if "error" not in told else None
        if "error" in told:
            row[f"{tool}_error"] = re.sub(r"/\S*/", "", told["error"].split("\n")[0])
        else:
            row[f"{tool}_actions"] = told["actions"]
    return row


def ratios_to(peer: str, rows: list[dict]) -> dict[str, float]:
    """Seconds of planrank over those of the peer, for the instances that both ground."""
    return {row["instance"]: row["planrank"] / row[peer] for row in rows if row["planrank"] and row[peer]}


def summary_line(peer: str, rows: list[dict]) -> list[str]:
    ratios = ratios_to(peer, rows)
    if not ratios:
        return [peer, "0", *4 * ["-"]]
    worst = max(ratios, key=lambda instance: ratios[instance])
    slower = sum(ratio > 1 for ratio in ratios.values())
    mean = f"{statistics.geometric_mean(ratios.values()):.3f}"
    return [peer, str(len(ratios)), mean, str(BARS.get(peer, "")), f"{ratios[worst]:.2f} ({worst})", str(slower)]


def growth(rows: list[dict]) -> str:
    """Slope of log seconds over log actions, for tasks large enough that fixed costs do not count."""
    large = [row for row in rows if row.get("planrank_actions", 0) >= 1000]
    points = [(math.log(row["planrank_actions"]), math.log(row["planrank"])) for row in large]
    if len(points) < 3:
        return "Too few tasks with 1,000 actions to tell how cost grows."
    slope, _ = statistics.linear_regression(*zip(*points, strict=True))
    fit = f"least squares over {len(points)} tasks of at least 1,000 actions"
    return f"Cost grows as actions to the power {slope:.2f} ({fit})."


def report(rows: list[dict], peers: list[str], repeats: int) -> list[str]:
    tools = ["planrank", *peers]
    header = ["Peer", "Instances both ground", "planrank / peer, geometric mean", "bar", "worst", "instances slower"]
    lines = [f"# Parse and ground: seconds, median of {repeats}", ""]
    lines += [*markdown(header, [summary_line(peer, rows) for peer in peers]), "", growth(rows), ""]
    lines += [f"{machine()}; over a second: one run.", ""]
    return lines + markdown(["Instance", "actions", *tools], [instance_line(row, tools) for row in rows])


def instance_line(row: dict, tools: list[str]) -> list[str]:
    cells = [f"{row[t]:.4f}" if row[t] is not None else row[f"{t}_error"][:40].replace("|", "/") for t in tools]
    return [row["instance"], str(row.get("planrank_actions", "")), *cells]


def plot(rows: list[dict], peers: list[str], file: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    axes = figure.subplots()
    for tool in ["planrank", *peers]:
        points = [(row["planrank_actions"], row[tool]) for row in rows if row.get("planrank_actions") and row[tool]]
        axes.loglog(*zip(*points, strict=True), ".", label=tool, markersize=4)
    axes.set_xlabel("ground actions")
    axes.set_ylabel("seconds to parse and ground")
    axes.legend()
    figure.savefig(file)


if __name__ == "__main__":
    script.run(main)
