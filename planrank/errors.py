"""The one exception users meet, and the exit codes of every command."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes, numbered as other planners number them."""

    OK = 0
    UNSOLVABLE = 11
    GAVE_UP = 12
    OUT_OF_MEMORY = 22
    OUT_OF_TIME = 23
    BAD_PDDL = 31
    INTERNAL = 32
    UNSUPPORTED = 34
    USAGE = 36
    HUNG_UP = 129
    INTERRUPTED = 130
    TERMINATED = 143


EXIT_OF_KIND = {
    "syntax": Exit.BAD_PDDL,
    "meaning": Exit.BAD_PDDL,
    "unsupported": Exit.UNSUPPORTED,
    "time": Exit.OUT_OF_TIME,
    "memory": Exit.OUT_OF_MEMORY,
    "usage": Exit.USAGE,
    "runtime": Exit.USAGE,
    "interrupted": Exit.INTERRUPTED,
    "internal": Exit.INTERNAL,
}


def printable(text: str) -> str:
    """Text that came out of a file, without what a terminal would obey or could not show."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


class PlanrankError(Exception):
    """Something planrank can say in one sentence, with the place in a text that is to blame where there is one.

    `kind` is a key of `EXIT_OF_KIND`; "runtime" means that Julia is missing or cannot be set up.
    """

    def __init__(self, message: str, kind: str = "usage", file: str = "", line: int = 0, column: int = 0):
        message = printable(message)
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.file = file
        self.line = line
        self.column = column

    @property
    def exit_code(self) -> Exit:
        """What the command ends with."""
        return EXIT_OF_KIND[self.kind]

    def __str__(self) -> str:
        place = printable(self.file) + "".join(f":{number}" for number in (self.line, self.column) if number)
        return f"{place}: {self.message}" if place else self.message

    def __reduce__(self) -> tuple:
        return type(self), (self.message, self.kind, self.file, self.line, self.column)
