"""The front ends that benchmarks/grounding.py compares, each run in a worker process of its own that stays alive."""

from __future__ import annotations

import time
from functools import lru_cache, partial
from importlib.util import find_spec

from planrank import paths


def planrank(domain: str, problem: str) -> int:
    """Parse and ground; the number of ground actions."""
    from planrank.task import load

    return load(domain, problem).operator_count


def translator(domain: str, problem: str) -> int:
    from fast_downward.translate import instantiate, normalize, pddl_parser

    set_options_of_translator()
    lifted = pddl_parser.open(domain, problem)
    normalize.normalize(lifted)
    _, _, actions, *_ = instantiate.explore(lifted)
    return len(actions)


@lru_cache
def set_options_of_translator() -> None:
    """Once, when it is warmed up: it must have some, but they do not matter here."""
    from fast_downward.translate import options

    options.set_options(["domain", "problem"])


def pymimir(domain: str, problem: str) -> int:
    from pymimir.advanced.formalism import ParserOptions, Problem
    from pymimir.advanced.search import LiftedGrounder

    return len(LiftedGrounder(Problem.create(domain, problem, ParserOptions())).create_ground_actions())


def tarski(domain: str, problem: str) -> int:
    from tarski.grounding import LPGroundingStrategy
    from tarski.io import PDDLReader

    reader = PDDLReader(raise_on_error=True)
    reader.parse_domain(domain)
    grounding = LPGroundingStrategy(reader.parse_instance(problem))
    return sum(len(bindings) for bindings in grounding.ground_actions().values())


GROUNDERS = {"planrank": planrank, "translator": translator, "pymimir": pymimir, "tarski": tarski}
PACKAGES = {"translator": "fast_downward", "pymimir": "pymimir", "tarski": "tarski"}


def is_installed(peer: str) -> bool:
    return find_spec(PACKAGES[peer]) is not None


def measure(name: str, domain: str, problem: str, repeats: int) -> dict:
    """A job: seconds of each repeat and the number of actions, or why there are none. Over a second: one run."""
    seconds: list[float] = []
    try:
        while len(seconds) < repeats and (not seconds or seconds[-1] <= 1):
            started = time.perf_counter()
            actions = GROUNDERS[name](domain, problem)
            seconds.append(time.perf_counter() - started)
    except BaseException as error:  # a tool may call sys.exit on what it does not support
        return {"error": f"{type(error).__name__}: {error}"[:200]}
    return {"seconds": seconds, "actions": actions}


def warm_up(name: str) -> None:
    """The first calls load and compile what later ones only use."""
    home = paths.shared() / "domains" / "blocksworld"
    for _ in range(3):
        measure(name, str(home / "domain.pddl"), str(home / "example.pddl"), 1)


# What a pool's workers are prepared with takes no arguments.
warm_up_planrank, warm_up_translator, warm_up_pymimir, warm_up_tarski = (partial(warm_up, name) for name in GROUNDERS)
