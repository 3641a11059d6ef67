"""Random problems of planrank's own domains; the same seed gives the same problem."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise

from pddl.core import Problem
from pddl.formatter import problem_to_string
from pddl.logic import Constant, Predicate
from pddl.logic.base import And

from planrank.errors import PlanrankError
from planrank.problems.random_levels import LEVELS, parity


def atom(name: str, *objects: Constant) -> Predicate:
    return Predicate(name, *objects)


def numbered(prefix: str, count: int, kind: str | None = None) -> list[Constant]:
    return [Constant(f"{prefix}{i}", type_tag=kind) for i in range(1, count + 1)]


def problem(name: str, domain: str, objects: list[Constant], init: list[Predicate], goal: list[Predicate]) -> str:
    made = Problem(name=name, domain_name=domain, objects=objects, init=init, goal=And(*goal))
    return problem_to_string(made)


def towers(blocks: list[Constant], rng: random.Random) -> list[list[Constant]]:
    """A blocks-world state, uniformly among all: the ways to complete a part of a state can be counted.

    After Slaney and Thiébaux, "Blocks World revisited" (2001): g[n][k] counts states that ground n floating towers on k
    grounded ones.
    """
    count = len(blocks)
    ways = [[1] * (count + 1) for _ in range(count + 1)]
    for floating in range(1, count + 1):
        for grounded in range(count - floating + 1):
            more = ways[floating - 1][grounded + 1] if grounded + 1 <= count else 0
            ways[floating][grounded] = ways[floating - 1][grounded] * (floating - 1 + grounded) + more
    order = list(blocks)
    rng.shuffle(order)
    floating_towers = [[block] for block in order]
    grounded_towers: list[list[Constant]] = []
    while floating_towers:
        tower = floating_towers.pop()
        floating, grounded = len(floating_towers) + 1, len(grounded_towers)
        if rng.randrange(ways[floating][grounded]) < ways[floating - 1][grounded + 1]:
            grounded_towers.append(tower)
        else:
            below = rng.choice(floating_towers + grounded_towers)
            below.extend(tower)
    return grounded_towers


def blocksworld(rng: random.Random, name: str, blocks: int = 5) -> str:
    objects = numbered("b", blocks, "block")
    start, end = towers(objects, rng), towers(objects, rng)
    init = [atom("handempty")]
    for tower in start:
        init += [atom("on-table", tower[0]), atom("clear", tower[-1])]
        init += [atom("on", above, below) for below, above in pairwise(tower)]
    goal = [atom("on", above, below) for tower in end for below, above in pairwise(tower)]
    goal += [atom("on-table", tower[0]) for tower in end]
    return problem(name, "blocksworld", objects, init, goal)


def ferry(rng: random.Random, name: str, locations: int = 4, cars: int = 4) -> str:
    places, vehicles = numbered("l", locations), numbered("c", cars)
    init = [atom("location", p) for p in places] + [atom("car", c) for c in vehicles]
    init += [atom("not-eq", a, b) for a in places for b in places if a != b]
    init += [atom("empty-ferry"), atom("at-ferry", rng.choice(places))]
    init += [atom("at", c, rng.choice(places)) for c in vehicles]
    goal = [atom("at", c, rng.choice(places)) for c in vehicles]
    return problem(name, "ferry", places + vehicles, init, goal)


def npuzzle(rng: random.Random, name: str, side: int = 3) -> str:
    """Two random placements of the tiles, the second mended by one swap if the first cannot reach it."""
    squares = [Constant(f"p_{x + 1}_{y + 1}", type_tag="position") for y in range(side) for x in range(side)]
    tiles = [Constant(f"t_{i}", type_tag="tile") for i in range(1, side * side)]
    start, end = list(range(side * side)), list(range(side * side))
    rng.shuffle(start)
    rng.shuffle(end)
    if parity(start, side) != parity(end, side):
        first, second = [i for i, tile in enumerate(end) if tile != 0][:2]
        end[first], end[second] = end[second], end[first]
    init = []
    for i, square in enumerate(squares):
        x, y = i % side, i // side
        near = [(x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)]
        init += [atom("neighbor", square, squares[v * side + u]) for u, v in near if 0 <= u < side and 0 <= v < side]
        init.append(atom("empty", square) if start[i] == 0 else atom("at", tiles[start[i] - 1], square))
    goal = [atom("at", tiles[tile - 1], squares[i]) for i, tile in enumerate(end) if tile != 0]
    return problem(name, "n-puzzle-typed", squares + tiles, init, goal)


def spanner(
    rng: random.Random, name: str, nuts: int = 2, locations: int = 4, spare: int = 0, spanners: int | None = None
) -> str:
    """As many spanners as nuts and `spare` more, or `spanners` in all."""
    if spanners is not None and spare:
        raise PlanrankError("give either spare spanners or spanners in all, not both")
    spanners = nuts + spare if spanners is None else spanners
    if spanners < nuts:
        raise PlanrankError(f"{spanners} spanner(s) cannot tighten {nuts} nut(s): each breaks when used")
    man, shed, gate = Constant("bob", "man"), Constant("shed", "location"), Constant("gate", "location")
    tools, bolts = numbered("spanner", spanners, "spanner"), numbered("nut", nuts, "nut")
    path = numbered("location", locations, "location")
    way = [shed, *path, gate]
    init = [atom("at", man, shed)]
    init += [fact for tool in tools for fact in (atom("at", tool, rng.choice(path)), atom("usable", tool))]
    init += [fact for bolt in bolts for fact in (atom("loose", bolt), atom("at", bolt, gate))]
    init += [atom("link", a, b) for a, b in pairwise(way)]
    return problem(name, "spanner", [man, *way, *tools, *bolts], init, [atom("tightened", bolt) for bolt in bolts])


def elevators(rng: random.Random, name: str, passengers: int = 3) -> str:
    people, floors = numbered("p", passengers), numbered("f", 2 * passengers)
    init = [atom("passenger", p) for p in people] + [atom("floor", f) for f in floors]
    init += [atom("above", low, high) for i, low in enumerate(floors) for high in floors[i + 1 :]]
    for person in people:
        origin, destination = rng.sample(floors, 2)
        init += [atom("origin", person, origin), atom("destin", person, destination)]
    init.append(atom("lift-at", floors[0]))
    return problem(name, "miconic", people + floors, init, [atom("served", p) for p in people])


def gripper(rng: random.Random, name: str, balls: int = 4) -> str:
    rooms, hands = [Constant("rooma"), Constant("roomb")], [Constant("left"), Constant("right")]
    things = numbered("ball", balls)
    init = [atom("room", r) for r in rooms] + [atom("gripper", h) for h in hands] + [atom("free", h) for h in hands]
    init += [atom("ball", b) for b in things] + [atom("at-robby", rng.choice(rooms))]
    init += [atom("at", b, rng.choice(rooms)) for b in things]
    return problem(name, "gripper-strips", rooms + hands + things, init, [atom("at", b, rooms[1]) for b in things])


GENERATORS: dict[str, Callable[..., str]] = {
    "blocksworld": blocksworld,
    "elevators": elevators,
    "ferry": ferry,
    "gripper": gripper,
    "npuzzle": npuzzle,
    "spanner": spanner,
    **LEVELS,
}
