"""Scores states with wlplan, for benchmarks/model.py; run by a Python that has wlplan (it pins an old `pddl`).

Usage: python model_wlplan.py FILE, a JSON object with domain, problem, fluent (names of predicates) and states (lists
of atoms, each a list of words). Answers each line of standard input with the processor seconds of scoring every state
once, one by one, with WL features of two iterations and random weights; the states are built beforehand.
"""

import json
import random
import sys
import time
from pathlib import Path

import pddl
from wlplan.data import DomainDataset, ProblemDataset
from wlplan.feature_generator import init_feature_generator
from wlplan.planning import Atom, State, parse_domain, parse_problem


def main() -> None:
    asked = json.loads(Path(sys.argv[1]).read_text())
    domain, problem = parse_domain(asked["domain"]), parse_problem(asked["domain"], asked["problem"])
    predicates = {predicate.name: predicate for predicate in domain.predicates}
    static = [
        Atom(predicates[atom.name], [term.name for term in atom.terms])
        for atom in pddl.parse_problem(asked["problem"]).init
        if atom.name not in asked["fluent"]
    ]
    states = [State([*static, *(Atom(predicates[n], objects) for n, *objects in atoms)]) for atoms in asked["states"]]
    features = init_feature_generator("wl", domain, iterations=2)
    features.collect(DomainDataset(domain, [ProblemDataset(problem, states)]))
    features.set_problem(problem)
    rng = random.Random(0)
    features.set_weights([rng.uniform(-1, 1) for _ in range(features.get_n_features())])
    print("ready", flush=True)
    for _ in sys.stdin:
        started = time.process_time()
        for state in states:
            features.predict(state)
        print(time.process_time() - started, flush=True)


if __name__ == "__main__":
    main()
