"""What is wrong with a ranking, in words."""

from __future__ import annotations

from planrank.learning.certificate import Violation
from planrank.task import Task

SHOWN_FACTS = 4


def in_words(task: Task, names: list[str], steps: list[str], violation: Violation) -> str:
    """Actions by their names, states by what tells them apart: most of their facts are the same."""
    i, f, other_f = violation.step, violation.f, violation.other_f
    return f"step {i} {steps[i - 1]}: f = {f:g} is not below f = {other_f:g} of {other(task, names, violation)}"


def other(task: Task, names: list[str], violation: Violation) -> str:
    """What should be worse than the plan's own."""
    later = violation.other_step
    if violation.other_action is not None:
        where = f"after step {violation.other_after}" if violation.other_after else "at the start"
        return f"{violation.other_action} {where}" + (f", which leads to where step {later} does" if later else "")
    if later is not None:
        return f"the state after step {later}"
    here, there = ({*task.facts_in(state).tolist()} for state in (violation.state, violation.other))
    has, lacks = (shortened([names[f] for f in sorted(facts)]) for facts in (there - here, here - there))
    return " but ".join(
        part
        for part in (has and f"a state with {has}", lacks and f"{'' if has else 'a state '}without {lacks}")
        if part
    )


def shortened(facts: list[str]) -> str:
    more = len(facts) - SHOWN_FACTS
    return " ".join(facts) if more <= 1 else " ".join(facts[:SHOWN_FACTS]) + f" and {more} more"
