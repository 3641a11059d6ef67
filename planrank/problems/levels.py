"""Levels of the grid domains as people have them, and as PDDL: Sokoban drawn in characters, mazes and tiles in numbers.

Places are called p_COLUMN_ROW, counted from 1, as in npuzzle.
"""

from __future__ import annotations

from collections.abc import Iterable

Cell = tuple[int, int]  # row, column

DIRECTIONS: dict[str, Cell] = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}

# The numbers of the paper's files, as the characters that Sokoban levels are drawn with.
SOKOBAN_NUMBERS = {0: "#", 1: " ", 2: ".", 3: "@", 4: "$", 5: "*", 6: "+"}
WALL, FLOOR, AGENT, GOAL, FIRST_PORTAL = range(5)  # of mazes; both portals of a pair have the same number


def place(cell: Cell) -> str:
    return f"p_{cell[1] + 1}_{cell[0] + 1}"


def moved(cell: Cell, direction: Cell, steps: int = 1) -> Cell:
    return cell[0] + steps * direction[0], cell[1] + steps * direction[1]


def problem_text(name: str, domain: str, objects: str, init: Iterable[str], goal: Iterable[str]) -> str:
    facts, wanted = "\n    ".join(init), " ".join(goal)
    return (
        f"(define (problem {name})\n  (:domain {domain})\n  (:objects {objects})\n"
        f"  (:init\n    {facts})\n  (:goal (and {wanted})))\n"
    )


def sokoban_cells(rows: list[str]) -> dict[Cell, str]:
    """Every place that is no wall and its character. Space around a level belongs to it only if it can be reached."""
    floor = {(r, c): mark for r, row in enumerate(rows) for c, mark in enumerate(row) if mark not in "#"}
    reached = {cell for cell, mark in floor.items() if mark != " "}
    waiting = list(reached)
    while waiting:
        cell = waiting.pop()
        for direction in DIRECTIONS.values():
            there = moved(cell, direction)
            if there in floor and there not in reached:
                reached.add(there)
                waiting.append(there)
    return {cell: floor[cell] for cell in sorted(reached)}


def sokoban_problem(name: str, rows: list[str]) -> str:
    """`rows` are drawn as in XSokoban: # wall, $ box, . target, * box on target, @ player, + player on target."""
    cells = sokoban_cells(rows)
    init = []
    for cell, mark in cells.items():
        init += [
            f"(next {place(cell)} {place(moved(cell, step))} {name_of_step})"
            for name_of_step, step in DIRECTIONS.items()
            if moved(cell, step) in cells
        ]
        kind = {"@": "player", "+": "player", "$": "box", "*": "box"}.get(mark, "clear")
        init.append(f"({kind} {place(cell)})")
    goal = [f"(box {place(cell)})" for cell, mark in cells.items() if mark in ".*+"]
    objects = " ".join(map(place, cells)) + f" - place {' '.join(DIRECTIONS)} - direction"
    return problem_text(name, "sokoban", objects, init, goal)


def maze_problem(name: str, rows: list[list[int]]) -> str:
    """`rows` have the numbers of the paper's files: 0 wall, 1 floor, 2 agent, 3 goal, from 4 on pairs of portals."""
    cells = {(r, c): number for r, row in enumerate(rows) for c, number in enumerate(row) if number != WALL}
    init, portals = [], dict[int, list[Cell]]()
    for cell, number in cells.items():
        near = (moved(cell, step) for step in DIRECTIONS.values())
        init += [f"(next {place(cell)} {place(there)})" for there in near if there in cells]
        if number >= FIRST_PORTAL:
            portals.setdefault(number, []).append(cell)
        if number == AGENT:
            init.append(f"(at {place(cell)})")
    init += [
        f"(twin {place(a)} {place(b)})" for one, other in portals.values() for a, b in ((one, other), (other, one))
    ]
    goal = [f"(at {place(cell)})" for cell, number in cells.items() if number == GOAL]
    return problem_text(name, "maze", " ".join(map(place, cells)) + " - place", init, goal)


def tiles_problem(name: str, numbers: list[int], side: int) -> str:
    """The tiles by rows, 0 for the hole, which the goal has first."""
    cells = [(i // side, i % side) for i in range(side * side)]
    init = [
        f"(neighbor {place(cell)} {place(moved(cell, step))})"
        for cell in cells
        for step in DIRECTIONS.values()
        if moved(cell, step) in cells
    ]
    init += [
        f"(at t_{tile} {place(cell)})" if tile else f"(empty {place(cell)})"
        for tile, cell in zip(numbers, cells, strict=True)
    ]
    goal = [f"(at t_{tile} {place(cell)})" for tile, cell in enumerate(cells) if tile]
    objects = f"{' '.join(map(place, cells))} - position {' '.join(f't_{i}' for i in range(1, side * side))} - tile"
    return problem_text(name, "n-puzzle-typed", objects, init, goal)
