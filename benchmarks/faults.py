"""Is anything lost, left running or left lying when commands are killed at random moments?

    python benchmarks/faults.py [--trials 100] [--work FOLDER]

Each trial starts `planrank label`, `train`, `evaluate` or `setup` on a small set, ends it after a random time with
SIGKILL, SIGTERM, SIGHUP or SIGINT, looks for processes and scratch folders that are left, runs the command again to its
end and compares the outcome with that of a run which nobody disturbed: the same plans, the same weights, the same rows,
a set-up that doctor finds healthy. Goes on where it was with the same --work; writes results/faults.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import script
from tables import machine, markdown, write
from toy import toy_set

from planrank import Model
from planrank.console import track
from planrank.errors import Exit
from planrank.journal import Journal, read_rows
from planrank.problems.labelling import label

SIGNALS = {"SIGKILL": -9, "SIGTERM": Exit.TERMINATED, "SIGHUP": Exit.HUNG_UP, "SIGINT": Exit.INTERRUPTED}
COMMANDS = ("label", "train", "evaluate", "setup")
TRAINING = ["--steps", "300", "--log-every", "20", "--validate-every", "100", "--layers", "1", "--dim", "8", "--resume"]
FAULTS = ("another outcome", "left running", "left lying", "another exit code")


def main() -> None:
    parser = script.parser(__doc__)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--work", type=Path, default=Path("planrank-faults"))
    options = script.parse(parser, quick={"trials": 2, "work": None})
    with script.folder_for(options.work) as work:
        commands = ("label", "evaluate") if options.quick else COMMANDS
        rows = run(options.trials, commands, work)
    found = Counter((row["command"], fault) for row in rows for fault in row["faults"])
    body = []
    for command in commands:
        own = [row for row in rows if row["command"] == command]
        killed = sum(not row["ended_first"] for row in own)
        body.append([command, str(len(own)), str(killed), *(str(found[command, fault]) for fault in FAULTS)])
    lines = ["# Commands killed at random moments", "", f"{len(rows)} trials; {machine()}.", ""]
    lines += markdown(["command", "trials", "killed before their end", *FAULTS], body)
    lines += ["", "Killed before Python has begun, a process dies of the signal itself; a shell shows the same number."]
    lines += ["", *(f"- {row}" for row in rows if row["faults"])]
    write(options.results, "faults", lines, rows)


def run(trials: int, commands: tuple[str, ...], work: Path) -> list[dict]:
    problems = work / "problems"
    if not problems.is_dir():
        toy_set("blocksworld", problems, 12, "blocks=4-6")
    undisturbed = {command: outcome_of(command, prepared(command, problems, work / "whole")) for command in commands}
    file = work / "trials.jsonl"
    rows = read_rows(file)
    journal = Journal(file)
    for number in track(range(len(rows), trials), "trials"):
        rng = random.Random(f"fault {number}")
        command, name = commands[number % len(commands)], rng.choice(list(SIGNALS))
        seconds, expected = undisturbed[command]
        row = trial(command, name, rng.uniform(0, 1.1 * seconds), expected, prepared(command, problems, work / "trial"))
        journal.add({"trial": number} | row)
        rows.append({"trial": number} | row)
    return rows


def prepared(command: str, problems: Path, folder: Path) -> Path:
    """A fresh copy of what the command works on."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(problems, folder / "problems")
    if command == "train":
        label([one for one in toy_instances(folder / "problems") if not one.plan_file.exists()])
    return folder


def toy_instances(folder: Path) -> list:
    from planrank.problems.folders import find_instances

    return find_instances(folder)


def arguments(command: str) -> list[str]:
    domain = ["--domain", "problems"]
    return {
        "label": ["label", "problems", "--jobs", "2"],
        "train": ["train", *domain, "--teacher", "none", "--out", "m.safetensors", *TRAINING],
        "evaluate": ["evaluate", *domain, "--split", "all", "--heuristics", "ff", "--jobs", "2", "--out", "rows.jsonl"],
        "setup": ["setup", "--road", "wheel"],
    }[command]


def start(command: str, folder: Path) -> subprocess.Popen:
    """In a session of its own, marked so that what it starts can be found, its scratch folders in one place."""
    scratch = folder / "scratch"
    scratch.mkdir(exist_ok=True)
    environment = os.environ | {"PLANRANK_FAULTS": str(folder), "TMPDIR": str(scratch)}
    if command == "setup":
        environment |= {"XDG_CACHE_HOME": str(folder / "cache"), "PLANRANK_IMAGE": "no"}
    log = (folder / "log").open("a")
    line = [sys.executable, "-m", "planrank", *arguments(command)]
    return subprocess.Popen(line, cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True)


def outcome_of(command: str, folder: Path) -> tuple[float, str]:
    """Run the command to its end: how long it took and a digest of what it made."""
    started = time.monotonic()
    code = start(command, folder).wait(600)
    return time.monotonic() - started, f"{code} {digest(command, folder)}"


def digest(command: str, folder: Path) -> str:
    found = hashlib.sha256()
    if command == "label":
        for file in sorted(folder.glob("problems/*.plan")):
            found.update(file.name.encode() + file.read_bytes())
    elif command == "train":
        weights = Model.load(folder / "m.safetensors").weights
        for name in sorted(weights):
            found.update(weights[name].tobytes())
    elif command == "evaluate":
        rows = {(Path(row["problem"]).name, row["status"], row["expanded"]) for row in read_rows(folder / "rows.jsonl")}
        found.update(f"{len(read_rows(folder / 'rows.jsonl'))} {sorted(rows)}".encode())
    else:
        made = sorted(file.name for file in (folder / "cache/planrank").iterdir() if not file.name.endswith(".lock"))
        found.update(f"{made}".encode())
    return found.hexdigest()[:16]


def trial(command: str, name: str, seconds: float, expected: str, folder: Path) -> dict:
    process = start(command, folder)
    time.sleep(seconds)
    ended_first = process.poll() is not None
    if not ended_first:
        process.send_signal(getattr(signal, name))
    code = process.wait(60)
    faults = []
    if not ended_first and code not in (SIGNALS[name], 0):
        faults.append("another exit code")
    deadline = time.monotonic() + 5
    while (left_running(folder) or any((folder / "scratch").iterdir())) and time.monotonic() < deadline:
        time.sleep(0.05)
    if left_running(folder):
        faults.append("left running")
    # A process that is killed outright cannot clear its own folder away; its workers' folders must be gone.
    if name != "SIGKILL" and any((folder / "scratch").iterdir()):
        faults.append("left lying")
    if outcome_of(command, folder)[1] != expected:
        faults.append("another outcome")
    row = {"command": command, "signal": name, "seconds": round(seconds, 2), "code": code}
    return row | {"ended_first": ended_first, "faults": faults}


def left_running(folder: Path) -> list[str]:
    mark, found = f"PLANRANK_FAULTS={folder}".encode(), []
    for file in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in file.read_bytes().split(b"\0"):
                found.append(file.parent.name)
        except OSError:
            continue
    return found


if __name__ == "__main__":
    script.run(main)
