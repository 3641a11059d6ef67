"""Names users may choose from; apart from what they name, so that help need not load it."""

from collections.abc import Iterable

CLASSICAL_SEARCHES = ("astar", "gbfs", "wastar", "lazy", "ucs", "bfs")
ACTION_SEARCHES = ("dive",)  # with models that rank actions alone
POLICY_SEARCHES = ("phs", "levints")
SEARCHES = CLASSICAL_SEARCHES + ACTION_SEARCHES + POLICY_SEARCHES
CERTIFIED_SEARCHES = ("astar", "gbfs")
HEURISTICS = ("blind", "goalcount", "hmax", "hadd", "ff", "lmcut")
ADMISSIBLE = ("blind", "hmax", "lmcut")
OTHER_NAMES = {"hff": "ff", "add": "hadd", "max": "hmax", "hlmcut": "lmcut", "hblind": "blind"}  # in other planners
TIES = ("h_newest", "h_oldest", "newest", "oldest", "random")
RANKS = ("actions", "states", "policy")
LOSSES = ("lstar", "lgbfs", "lrt", "l2", "lbe", "levin")
STATE_LOSSES = LOSSES[:-1]  # that states can be ranked with
RANKING_LOSSES = ("lstar", "lgbfs")  # those that compare the plan with what else is open
PATH_LOSSES = ("lrt", "l2")  # those that look at the states of the plan only
SURROGATES = ("logistic", "hinge")
REDUCTIONS = ("mean", "sum", "steps")
TEACHERS = ("builtin", "fast-downward", "symk")
TRAINING_TEACHERS = ("auto", *TEACHERS, "none")


def heuristic_called(name: str) -> str:
    """The heuristic as planrank calls it: `hff`, `LM-cut` and the like are understood; other texts stay as they are."""
    plain = name.lower().replace("-", "").replace("_", "")
    plain = OTHER_NAMES.get(plain, plain)
    return plain if plain in HEURISTICS else name


def known_instead_of(word: str, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown word: those that are known, and which of them may have been meant."""
    from difflib import get_close_matches

    names = list(known)
    meant = get_close_matches(word.lower(), names, 1)
    return ", ".join(names) + (f". Did you mean {meant[0]!r}?" if meant else "")


def is_table(heuristic: str) -> bool:
    """Whether this is the heuristic of a table of numbers: the domain's own, or that of a file."""
    return heuristic == "table" or heuristic.startswith("table:")
