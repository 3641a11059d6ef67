"""How long does planrank take to parse and ground, against other planners' front ends?

    python benchmarks/grounding.py --instances FOLDER [--quick] [--peers translator,pymimir,tarski]

Every tool runs in a process of its own that stays alive, so that interpreter start does not count; the tools take
turns on each instance, the median of the repeats counts. Results go to benchmarks/results/grounding.{md,json} and,
where matplotlib is installed, a plot of seconds against ground actions to grounding.svg.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import re
import select
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
BARS = {"pymimir": 0.7, "translator": 0.2}


# Each worker answers requests (domain, problem) with (seconds, facts, actions).


def planrank_worker():
    from planrank import task

    def run(domain: str, problem: str):
        start = time.perf_counter()
        loaded = task.load(domain, problem)
        seconds = time.perf_counter() - start
        return seconds, loaded.fact_count, loaded.operator_count

    return run


def translator_worker():
    from fast_downward.translate import instantiate, normalize, options, pddl_parser

    options.set_options(["domain", "problem"])

    def run(domain: str, problem: str):
        start = time.perf_counter()
        lifted = pddl_parser.open(domain, problem)
        normalize.normalize(lifted)
        _, facts, actions, *_ = instantiate.explore(lifted)
        return time.perf_counter() - start, len(facts), len(actions)

    return run


def pymimir_worker():
    from pymimir.advanced.formalism import ParserOptions, Problem
    from pymimir.advanced.search import LiftedGrounder

    def run(domain: str, problem: str):
        start = time.perf_counter()
        actions = LiftedGrounder(Problem.create(domain, problem, ParserOptions())).create_ground_actions()
        return time.perf_counter() - start, None, len(actions)

    return run


def tarski_worker():
    from tarski.grounding import LPGroundingStrategy
    from tarski.io import PDDLReader

    def run(domain: str, problem: str):
        start = time.perf_counter()
        reader = PDDLReader(raise_on_error=True)
        reader.parse_domain(domain)
        grounding = LPGroundingStrategy(reader.parse_instance(problem))
        actions = sum(len(bindings) for bindings in grounding.ground_actions().values())
        return time.perf_counter() - start, None, actions

    return run


WORKERS = {
    "planrank": planrank_worker,
    "translator": translator_worker,
    "pymimir": pymimir_worker,
    "tarski": tarski_worker,
}


def serve(name: str) -> None:
    """The worker process: answers go to the real standard output, what the tools print goes nowhere."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    run = WORKERS[name]()
    for line in sys.stdin:
        domain, problem = line.rstrip("\n").split("\t")
        try:
            answer = run(domain, problem)
        except BaseException as error:  # a tool may call sys.exit on what it does not support
            answer = f"{type(error).__name__}: {error}"[:200]
        print(json.dumps(answer), file=answers, flush=True)


class Tool:
    def __init__(self, name: str, command: list[str], timeout: float, warm_up: list[tuple[Path, Path]]):
        self.name, self.command, self.timeout, self.warm_up = name, command, timeout, warm_up
        self.process = None

    def ask(self, domain: Path, problem: Path):
        """(seconds, facts, actions), or a sentence that says why not."""
        if self.process is None:
            self.start()
        return self.answer(domain, problem, self.timeout)

    def start(self) -> None:
        """A new process, warmed up: the first calls load and compile what later ones only use."""
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=ROOT,
            start_new_session=True,
        )
        for domain, problem in self.warm_up:
            if self.process:
                self.answer(domain, problem, 300)

    def answer(self, domain: Path, problem: Path, timeout: float):
        try:
            self.process.stdin.write(f"{domain}\t{problem}\n".encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it died before: nothing comes back below
        ready, _, _ = select.select([self.process.stdout], [], [], timeout)
        line = self.process.stdout.readline() if ready else b""
        if not line:
            os.killpg(self.process.pid, signal.SIGKILL)  # tarski starts clingo in a process of its own
            self.process.wait()
            self.process = None
            return "crashed" if ready else f"over {timeout:.0f} s"
        return json.loads(line)


def domain_of(problem: Path) -> Path | None:
    """The collection's conventions: domain.pddl, or a domain file that carries the problem's number or name."""
    number = re.match(r"p?\d+|[^-_.]+", problem.stem)
    names = [f"domain_{problem.name}", f"domain-{problem.name}", f"{problem.stem}-domain.pddl"]
    names += [f"{number.group()}-domain.pddl", f"domain_{number.group()}.pddl"] if number else []
    for name in [*names, "domain.pddl"]:
        if (problem.parent / name).exists() and name != problem.name:
            return problem.parent / name
    return None


def find_instances(folder: Path) -> list[tuple[Path, Path]]:
    pairs = []
    for problem in sorted(folder.rglob("*.pddl")):
        if "domain" not in problem.name and (domain := domain_of(problem)):
            pairs.append((domain, problem))
    return pairs


def measure(tools: list[Tool], instances, repeats: int) -> list[dict]:
    rows = []
    for domain, problem, name in instances:
        answers: dict[str, list] = {tool.name: [] for tool in tools}
        for turn in range(repeats):
            for tool in tools:
                if turn and (isinstance(answers[tool.name][-1], str) or answers[tool.name][-1][0] > 1):
                    continue  # once is enough for what fails or takes long
                answers[tool.name].append(tool.ask(domain, problem))
        row = {"instance": name}
        for tool, given in answers.items():
            good = [a for a in given if not isinstance(a, str)]
            row[tool] = statistics.median(a[0] for a in good) if good else None
            if good:
                row[f"{tool}_actions"] = good[0][2]
            else:
                row[f"{tool}_error"] = re.sub(r"/\S*/", "", given[-1].split("\n")[0])
        rows.append(row)
        print(
            name,
            *(f"{t.name} {row[t.name]:.4f}" if row[t.name] is not None else f"{t.name} -" for t in tools),
            flush=True,
        )
    return rows


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def summary(rows: list[dict], peers: list[str]) -> list[str]:
    lines = [
        "| Peer | Instances both ground | planrank / peer, geometric mean | bar | worst | instances slower |",
        "|---|---|---|---|---|---|",
    ]
    for peer in peers:
        ratios = {r["instance"]: r["planrank"] / r[peer] for r in rows if r["planrank"] and r[peer]}
        if not ratios:
            lines.append(f"| {peer} | 0 | | | | |")
            continue
        worst = max(ratios, key=ratios.get)
        slower = sum(ratio > 1 for ratio in ratios.values())
        lines.append(
            f"| {peer} | {len(ratios)} | {geometric_mean(list(ratios.values())):.3f} | {BARS.get(peer, '')} | "
            f"{ratios[worst]:.2f} ({worst}) | {slower} |"
        )
    return lines


def growth(rows: list[dict]) -> str:
    """Slope of log seconds over log actions, for tasks large enough that fixed costs do not count."""
    points = [
        (math.log(r["planrank_actions"]), math.log(r["planrank"])) for r in rows if r.get("planrank_actions", 0) >= 1000
    ]
    if len(points) < 3:
        return "Too few tasks with 1,000 actions to tell how cost grows."
    slope = statistics.covariance(*zip(*points, strict=True)) / statistics.variance([x for x, _ in points])
    fit = f"least squares over {len(points)} tasks of at least 1,000 actions"
    return f"Cost grows as actions to the power {slope:.2f} ({fit})."


def write(rows: list[dict], peers: list[str], repeats: int) -> None:
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "grounding.json").write_text(json.dumps(rows, indent=1) + "\n")
    lines = [
        f"# Parse and ground: seconds, median of {repeats}",
        "",
        *summary(rows, peers),
        "",
        growth(rows),
        "",
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}; over a second: one run.",
        "",
    ]
    lines += ["| Instance | actions | planrank | " + " | ".join(peers) + " |", "|---" * (len(peers) + 3) + "|"]
    for r in rows:
        cells = [
            f"{r[t]:.4f}" if r[t] is not None else r[f"{t}_error"].split("\n")[0][:40].replace("|", "/")
            for t in ["planrank", *peers]
        ]
        lines.append(f"| {r['instance']} | {r.get('planrank_actions', '')} | " + " | ".join(cells) + " |")
    (RESULTS / "grounding.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines[2 : 2 + len(peers) + 4]))


def plot(rows: list[dict], peers: list[str]) -> None:
    try:
        import matplotlib
    except ImportError:
        return
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    for tool in ["planrank", *peers]:
        points = [(r["planrank_actions"], r[tool]) for r in rows if r.get("planrank_actions") and r[tool]]
        plt.loglog(*zip(*points, strict=True), ".", label=tool, markersize=4)
    plt.xlabel("ground actions")
    plt.ylabel("seconds to parse and ground")
    plt.legend()
    plt.savefig(RESULTS / "grounding.svg")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--instances", type=Path, default=os.environ.get("PLANRANK_INSTANCES"), help="folder searched for problems"
    )
    parser.add_argument("--quick", action="store_true", help="every eighth instance, one run each")
    parser.add_argument("--only", default="", help="regular expression the instance's path must match")
    parser.add_argument("--peers", default="translator,pymimir", help="of translator, pymimir, tarski")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument("--worker", choices=WORKERS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return serve(options.worker)
    if options.instances is None:
        parser.error("name the folder of instances: --instances FOLDER, or PLANRANK_INSTANCES in the environment")
    folder = Path(options.instances).resolve()
    pairs = [(d, p, str(p.relative_to(folder))) for d, p in find_instances(folder) if re.search(options.only, str(p))]
    pairs = pairs[::8] if options.quick else pairs
    repeats = 1 if options.quick else options.repeats
    peers = [p for p in options.peers.split(",") if p]
    command = {name: [sys.executable, __file__, "--worker", name] for name in WORKERS}
    by_size = sorted(((d, p) for d, p, _ in pairs), key=lambda pair: sum(f.stat().st_size for f in pair))
    tools = [Tool(name, command[name], options.timeout, 3 * by_size[:2]) for name in ["planrank", *peers]]
    rows = measure(tools, pairs, repeats)
    write(rows, peers, repeats)
    plot(rows, peers)


if __name__ == "__main__":
    main()
