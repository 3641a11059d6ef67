"""Random levels of the grid domains: solvable by construction, the same for the same generator of numbers."""

from __future__ import annotations

import random
from collections.abc import Callable

from planrank.errors import PlanrankError
from planrank.problems.levels import (
    AGENT,
    DIRECTIONS,
    FIRST_PORTAL,
    FLOOR,
    GOAL,
    WALL,
    Cell,
    maze_problem,
    moved,
    sokoban_problem,
    tiles_problem,
)

STEPS = list(DIRECTIONS.values())
ATTEMPTS = 6  # pullings of one room, of which the best is taken
ROOMS = 200  # that may turn out too narrow
PORTAL_PAIRS = 4


def sokoban(rng: random.Random, name: str, boxes: int = 3, side: int = 10, pulls: int = 40, steady: int = 0) -> str:
    """A room with all boxes on targets, from which they are pulled away: what was pulled can be pushed back.

    `steady` of a hundred pulls move the same box on and not back.
    """
    if boxes > (side - 2) ** 2 // 4:
        raise PlanrankError(f"found {boxes} boxes, expected at most {(side - 2) ** 2 // 4} on a side of {side}")
    for _ in range(ROOMS):
        room = random_room(rng, side, boxes)
        tried = [pulled(rng, room, boxes, pulls, steady) for _ in range(ATTEMPTS)]
        score, targets, ends, player = max(tried, key=lambda one: one[0])
        if score > 0:
            return sokoban_problem(name, drawn(side, room, targets, ends, player))
    raise PlanrankError(f"found no room for {boxes} boxes on a side of {side}; allow a larger side")


def random_room(rng: random.Random, side: int, boxes: int) -> set[Cell]:
    """The cells that a walk comes to, and some beside it, until there are enough of them."""
    inside = range(1, side - 1)
    cell, step = (rng.choice(inside), rng.choice(inside)), rng.choice(STEPS)
    room = {cell}
    enough = min((34 + 3 * (boxes - 3)) * rng.uniform(0.5, 1.2) / 64, 0.8) * (side - 2) ** 2
    while len(room) < enough:
        if rng.random() < 0.35:
            step = rng.choice(STEPS)
        there = moved(cell, step)
        cell = there if there[0] in inside and there[1] in inside else cell
        room.add(cell)
        if rng.random() < 0.8:
            beside = moved(cell, rng.choice(STEPS))
            if beside[0] in inside and beside[1] in inside:
                room.add(beside)
    return room


def pulled(
    rng: random.Random, room: set[Cell], boxes: int, pulls: int, steady: int = 0
) -> tuple[int, set[Cell], set[Cell], Cell]:
    """How good the level is (0: a box is on a target), the targets, where the boxes end and where the player does.

    A few boxes more than wanted are pulled, because some get stuck. Without these the others are only freer to move.
    """
    spare = min(2 + boxes // 2, len(room) // 2 - boxes)
    *targets, player = rng.sample(sorted(room), boxes + spare + 1)
    now = {cell: cell for cell in targets}  # where a box is, and where it came from
    last, swaps = None, 0
    latest, back = player, player  # where the box is that was pulled last, and where it was before
    for _ in range(pulls):
        reached = reachable(room, now, player)
        ways = [
            (box, step)
            for box in sorted(now)
            for step in STEPS
            if moved(box, step) in reached and moved(box, step, 2) in reached
        ]
        if not ways:
            break
        untouched = [way for way in ways if way[0] == now[way[0]]]
        onward = [way for way in ways if way[0] == latest and moved(*way) != back] if steady else []
        if onward and rng.random() < steady / 100:
            box, step = rng.choice(onward)
        else:
            box, step = rng.choice(untouched if untouched and rng.random() < 0.5 else ways)
        swaps += now[box] != last
        last, latest, back = now[box], moved(box, step), box
        now[moved(box, step)] = now.pop(box)
        player = moved(box, step, 2)
    moves = {box: abs(box[0] - target[0]) + abs(box[1] - target[1]) for box, target in now.items()}
    ends: dict[Cell, Cell] = {}
    for box in sorted(now, key=lambda box: (-moves[box], box)):
        if len(ends) < boxes and box not in ends.values() and now[box] not in ends and moves[box]:
            ends[box] = now[box]
    score = (1 + swaps) * sum(moves[box] for box in ends) if len(ends) == boxes else 0
    start = rng.choice(sorted(reachable(room, ends, player)))
    return score, set(ends.values()), set(ends), start


def reachable(room: set[Cell], boxes: dict[Cell, Cell], player: Cell) -> set[Cell]:
    found, waiting = {player}, [player]
    while waiting:
        cell = waiting.pop()
        for step in STEPS:
            there = moved(cell, step)
            if there in room and there not in boxes and there not in found:
                found.add(there)
                waiting.append(there)
    return found


def drawn(side: int, room: set[Cell], targets: set[Cell], boxes: set[Cell], player: Cell) -> list[str]:
    def mark(cell: Cell) -> str:
        if cell == player:
            return "+" if cell in targets else "@"
        if cell in boxes:
            return "$"
        return "." if cell in targets else " " if cell in room else "#"

    return ["".join(mark((r, c)) for c in range(side)) for r in range(side)]


def maze(rng: random.Random, name: str, side: int = 15, open: int = 30) -> str:
    """A tree of ways made depth first, which reaches everything, then so many of a hundred walls opened."""
    if side < 7:
        raise PlanrankError(f"found {side} as the side of a maze, expected at least 7")
    return maze_problem(name, random_maze(rng, side, open))


def random_maze(rng: random.Random, side: int, opened: int) -> list[list[int]]:
    rows = [[WALL] * side for _ in range(side)]
    start = (1, 1)
    rows[1][1] = FLOOR
    way, walls = [start], []
    while way:
        cell = way[-1]
        near = [(moved(cell, step), moved(cell, step, 2)) for step in STEPS]
        new = [(wall, there) for wall, there in near if inside(there, side) and rows[there[0]][there[1]] == WALL]
        if not new:
            way.pop()
            continue
        wall, there = rng.choice(new)
        rows[wall[0]][wall[1]] = rows[there[0]][there[1]] = FLOOR
        way.append(there)
    for r in range(1, side - 1):
        for c in range(1, side - 1):
            if rows[r][c] == WALL and (r + c) % 2 == 1:
                walls.append((r, c))
    for r, c in rng.sample(walls, len(walls) * min(opened, 100) // 100):
        rows[r][c] = FLOOR
    floor = [(r, c) for r in range(side) for c in range(side) if rows[r][c] == FLOOR]
    agent = rng.choice([cell for cell in floor if cell[1] == min(c for _, c in floor)])
    goal = rng.choice([cell for cell in floor if cell[1] == max(c for _, c in floor)])
    rows[agent[0]][agent[1]], rows[goal[0]][goal[1]] = AGENT, GOAL
    portals = rng.sample([cell for cell in floor if cell not in (agent, goal)], 2 * PORTAL_PAIRS)
    for i, (r, c) in enumerate(portals):
        rows[r][c] = FIRST_PORTAL + i // 2
    return rows


def inside(cell: Cell, side: int) -> bool:
    return 0 < cell[0] < side and 0 < cell[1] < side


def tiles(rng: random.Random, name: str, side: int = 5, walk: int | None = None) -> str:
    """Any placement of the tiles from which the goal can be reached, or what a walk of so many moves makes of it."""
    if side < 2:
        raise PlanrankError(f"found {side} as the side of the frame, expected at least 2")
    numbers = list(range(side * side))
    if walk is not None:
        hole, before = (0, 0), None
        for _ in range(walk):
            near = [moved(hole, step) for step in STEPS]
            there = rng.choice([c for c in near if 0 <= c[0] < side and 0 <= c[1] < side and c != before])
            a, b = hole[0] * side + hole[1], there[0] * side + there[1]
            numbers[a], numbers[b] = numbers[b], numbers[a]
            hole, before = there, hole
        return tiles_problem(name, numbers, side)
    rng.shuffle(numbers)
    if parity(numbers, side) != 0:
        first, second = [i for i, tile in enumerate(numbers) if tile != 0][:2]
        numbers[first], numbers[second] = numbers[second], numbers[first]
    return tiles_problem(name, numbers, side)


def parity(numbers: list[int], side: int) -> int:
    """Unchanged by every move: the parity of the permutation plus that of the hole's square; 0 in the goal of tiles."""
    inversions = sum(a > b for i, a in enumerate(numbers) for b in numbers[i + 1 :])
    hole = numbers.index(0)
    return (inversions + hole % side + hole // side) % 2


LEVELS: dict[str, Callable[..., str]] = {"maze": maze, "sokoban": sokoban, "tiles": tiles}
