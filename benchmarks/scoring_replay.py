"""Scores recorded states with planrank, for benchmarks/scoring.py; run by the Python of any version of planrank.

Usage: python scoring_replay.py FILE, a JSON object with domain, problem, architecture (a dictionary) and states: a file
of NumPy arrays, `words` (a row for each state), `ends` (where each batch ends) and, if actions are ranked, `offsets`
and `operators`. Answers each line of standard input with the processor seconds of scoring all batches, one after the
other, with a scorer that has met the initial state only. Its first line says how long the last set-up took and what
memory the process has used at most: seconds, kilobytes.
"""

import json
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np

from planrank import Architecture, Model, load
from planrank.models.hypergraph.signature import signature_of
from planrank.task import Rows


def peak_kilobytes() -> int:
    """`getrusage` would begin with what the parent process used."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def main() -> None:
    asked = json.loads(Path(sys.argv[1]).read_text())
    task = load(asked["domain"], asked["problem"])
    # An older planrank, which this may be, knows fewer options.
    known = {name: value for name, value in asked["architecture"].items() if name in Architecture.__dataclass_fields__}
    model = Model.fresh(signature_of(task), Architecture(**known))
    recorded = dict(np.load(asked["states"]))
    words, ends = recorded["words"], recorded["ends"].tolist()
    batches = [words[first:last] for first, last in pairwise([0, *ends])]
    calls = [(batch,) for batch in batches]
    if model.scores_actions:
        rows = Rows(recorded["offsets"], recorded["operators"])
        calls = [(batch, rows.part(last - len(batch), last)) for batch, last in zip(batches, ends, strict=True)]
    initial = task.packed(task.init)[None]
    started = time.process_time()
    model.scorer(task).values(initial)
    print(time.process_time() - started, peak_kilobytes(), flush=True)
    for _ in sys.stdin:
        scorer = model.scorer(task)
        scorer.values(initial)
        score = scorer.values_and_scores if model.scores_actions else scorer.values
        started = time.process_time()
        for call in calls:
            score(*call)
        print(time.process_time() - started, flush=True)


if __name__ == "__main__":
    main()
