"""Options of commands as fields of dataclasses: what each means, what it may be, and how help shows it.

A field is at the same time an option of the command line and a key of a TOML file. Imports neither NumPy nor torch,
because help is made from it.
"""

from __future__ import annotations

import math
from dataclasses import Field, field, fields
from typing import Any

from planrank.errors import PlanrankError

KINDS: dict[str, type] = {"str": str, "int": int, "float": float, "bool": bool, "tuple[str, ...]": tuple}


def option(
    default: Any,
    help: str,
    *,
    choices: tuple[str, ...] | None = None,
    least: float | None = None,
    most: float | None = None,
    above: float | None = None,
    result: bool = True,
) -> Any:
    """A field. `result` says whether it can change the weights, and so whether a checkpoint must agree with it."""
    metadata = {"help": help, "choices": choices, "least": least, "most": most, "above": above, "result": result}
    return field(default=default, metadata=metadata)


def options_of(kind: type) -> dict[str, Field[Any]]:
    """The options of a dataclass by name; its other fields are left out."""
    return {one.name: one for one in fields(kind) if "help" in one.metadata}


def kind_of(one: Field[Any]) -> type:
    return KINDS[str(one.type).removesuffix(" | None")]


def check_fields(owner: object) -> None:
    """Check every option of a frozen dataclass and put it into its proper type."""
    for one in options_of(type(owner)).values():
        object.__setattr__(owner, one.name, checked(one, getattr(owner, one.name)))


def checked(one: Field[Any], value: Any) -> Any:
    """The value if the field may have it, a list as a tuple and a whole number as a float where that is wanted."""
    if value is None and one.default is None:
        return None
    kind, rules = kind_of(one), one.metadata
    if kind is tuple and isinstance(value, list):
        value = tuple(value)
    if kind is float and type(value) is int:
        value = float(value)
    fits = type(value) is kind
    if fits and kind is tuple:
        # All of them names that there are, none twice.
        fits = 0 < len(value) == len({part for part in value if part in rules["choices"]})
    elif fits and rules["choices"] is not None:
        fits = value in rules["choices"]
    elif fits and kind in (int, float):
        fits = value < math.inf
        fits = fits and (rules["least"] is None or value >= rules["least"])
        fits = fits and (rules["most"] is None or value <= rules["most"])
        fits = fits and (rules["above"] is None or value > rules["above"])
    if not fits:
        raise PlanrankError(f"{one.name} is {value!r}, expected {described(one)}")
    return value


def described(one: Field[Any]) -> str:
    """What a field may be, in words."""
    kind, rules = kind_of(one), one.metadata
    if rules["choices"] is not None:
        some = "one or several different ones of" if kind is tuple else "one of"
        return f"{some} {', '.join(rules['choices'])}"
    what = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}[kind]
    if rules["least"] is not None:
        what += f" not below {rules['least']}"
    if rules["most"] is not None:
        what += f" and not above {rules['most']}"
    if rules["above"] is not None:
        what += f" above {rules['above']}"
    return what


def shown_default(one: Field[Any]) -> str | None:
    """The default as help shows it; None where the help text says it."""
    default = one.default
    if default is None:
        return None
    if isinstance(default, bool):
        return "on" if default else "off"
    return ",".join(default) if isinstance(default, tuple) else str(default)
