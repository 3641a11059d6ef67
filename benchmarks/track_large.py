"""Random problems about as large as the hard ones of the learning track, to choose by.

They are made after the track's training problems; no test problem was looked at.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from itertools import pairwise, product
from pathlib import Path

from planrank.files import make_folder, write_bytes, write_text
from planrank.problems.folders import Instance, find_instances
from planrank.problems.levels import problem_text
from planrank.problems.problem_sets import Ranges
from planrank.problems.random_problems import GENERATORS, towers


def names(kind: str, count: int) -> list[str]:
    return [f"{kind}{i}" for i in range(1, count + 1)]


def problem(domain: str, objects: dict[str, Iterable[str]], init: Iterable[str], goal: Iterable[str]) -> str:
    typed = "\n    ".join(f"{' '.join(those)} - {kind}" for kind, those in objects.items())
    return problem_text("large", domain, typed, (f"({fact})" for fact in init), (f"({fact})" for fact in goal))


def blocksworld(rng: random.Random, blocks: int) -> str:
    those = names("b", blocks)

    def facts() -> list[str]:
        some = towers(those, rng)
        found = [f"on {upper} {lower}" for tower in some for lower, upper in pairwise(tower)]
        return found + [f"on-table {tower[0]}" for tower in some] + [f"clear {tower[-1]}" for tower in some]

    return problem("blocksworld", {"object": those}, ["arm-empty", *facts()], facts())


def childsnack(rng: random.Random, children: int) -> str:
    count, trays, tables = children, names("tray", rng.randint(2, 4)), names("table", rng.randint(3, 5))
    sandwiches = names("sandw", round(count * rng.uniform(1, 1.3)))
    those, bread, content = (names(kind, count) for kind in ("child", "bread", "content"))
    allergic = set(rng.sample(those, round(count * rng.uniform(0.2, 0.6))))
    init = [f"at {tray} kitchen" for tray in trays]
    init += [f"at_kitchen_{kind} {one}" for kind, some in (("bread", bread), ("content", content)) for one in some]
    for kind, some in (("bread", bread), ("content", content)):
        init += [f"no_gluten_{kind} {one}" for one in rng.sample(some, len(allergic))]
    init += [f"{'' if child in allergic else 'not_'}allergic_gluten {child}" for child in those]
    init += [f"waiting {child} {rng.choice(tables)}" for child in those]
    init += [f"notexist {one}" for one in sandwiches]
    objects = {"child": those, "tray": trays, "sandwich": sandwiches, "bread-portion": bread}
    objects |= {"content-portion": content, "place": tables}
    return problem("childsnack", objects, init, [f"served {child}" for child in those])


def ferry(rng: random.Random, cars: int, places: int) -> str:
    locations, those = names("loc", places), names("car", cars)
    init = ["empty-ferry", f"at-ferry {rng.choice(locations)}"]
    init += [f"at {car} {rng.choice(locations)}" for car in those]
    goal = [f"at {car} {rng.choice(locations)}" for car in those]
    return problem("ferry", {"location": locations, "car": those}, init, goal)


def floortile(rng: random.Random, rows: int, columns: int, robots: int) -> str:
    tiles = {(r, c): f"tile_{r}_{c}" for r in range(rows + 1) for c in range(1, columns + 1)}
    drivers = names("robot", robots)
    places = rng.sample(sorted(tiles.values()), robots)
    init = ["available-color white", "available-color black"]
    init += [f"robot-at {one} {place}" for one, place in zip(drivers, places, strict=True)]
    init += [f"robot-has {one} {rng.choice(['white', 'black'])}" for one in drivers]
    init += [f"clear {tile}" for tile in tiles.values() if tile not in places]
    for (r, c), tile in tiles.items():
        near = {"up": (r - 1, c), "down": (r + 1, c), "left": (r, c + 1), "right": (r, c - 1)}
        init += [f"{way} {tile} {tiles[place]}" for way, place in near.items() if place in tiles]
    goal = [f"painted {tile} {'white' if (r + c) % 2 == 0 else 'black'}" for (r, c), tile in tiles.items() if r > 0]
    objects = {"tile": tiles.values(), "robot": drivers, "color": ["white", "black"]}
    return problem("floortile", objects, init, goal)


def miconic(rng: random.Random, passengers: int, floors: int) -> str:
    those, levels = names("p", passengers), names("f", floors)
    init = [f"lift-at {rng.choice(levels)}"]
    for one in those:
        origin, destination = rng.sample(levels, 2)
        init += [f"origin {one} {origin}", f"destin {one} {destination}"]
    init += [f"above {low} {high}" for i, low in enumerate(levels) for high in levels[i + 1 :]]
    return problem("miconic", {"passenger": those, "floor": levels}, init, [f"served {one}" for one in those])


def connected(rng: random.Random, nodes: list[str], more: float) -> list[tuple[str, str]]:
    """A random tree and for each node so many edges more, both ways."""
    edges = {(one, rng.choice(nodes[:i])) for i, one in enumerate(nodes) if i}
    edges |= {tuple(rng.sample(nodes, 2)) for _ in range(round(more * len(nodes)))}
    return sorted(edges | {(b, a) for a, b in edges})


def rovers(rng: random.Random, rovers: int, waypoints: int) -> str:
    those, places = names("rover", rovers), names("waypoint", waypoints)
    cameras, objectives = names("camera", rovers), names("objective", waypoints // 4)
    modes, general = ["colour", "high_res", "low_res"], rng.choice(places)
    visible = connected(rng, places, 1.0)
    init, reached, equipped = [f"at_lander general {general}"], {}, {}
    for one in those:
        start = rng.choice(places)
        # Most ways can be travelled; where a rover gets to is noted, so that every goal can be reached.
        ways = [(a, b) for a, b in visible if rng.random() < 0.9]
        init += [f"at {one} {start}", f"store_of {one}store {one}", f"empty {one}store"]
        init += [f"can_traverse {one} {a} {b}" for a, b in ways]
        equipped[one] = {kind for kind in ("soil", "rock", "imaging") if rng.random() < 0.6}
        init += [f"equipped_for_{kind}{'' if kind == 'imaging' else '_analysis'} {one}" for kind in equipped[one]]
        reached[one] = mutually_reachable(start, set(ways))
    init += [f"visible {a} {b}" for a, b in visible]
    sources = {place for place, other in visible if other == general}
    goal = []
    for kind in ("soil", "rock"):
        able = {place for one in those if kind in equipped[one] and reached[one] & sources for place in reached[one]}
        samples = rng.sample(places, waypoints // 2)
        init += [f"at_{kind}_sample {place}" for place in samples]
        goal += [f"communicated_{kind}_data {place}" for place in samples if place in able and rng.random() < 0.5]
    seen_from = {objective: rng.sample(places, rng.randint(1, min(6, waypoints))) for objective in objectives}
    init += [f"visible_from {objective} {place}" for objective, some in seen_from.items() for place in some]
    taken = set()
    for camera in cameras:
        one, target = rng.choice(those), rng.choice(objectives)
        supported = rng.sample(modes, rng.randint(1, 3))
        init += [f"on_board {camera} {one}", f"calibration_target {camera} {target}"]
        init += [f"supports {camera} {mode}" for mode in supported]
        if "imaging" in equipped[one] and reached[one] & sources and reached[one] & set(seen_from[target]):
            some = [objective for objective in objectives if reached[one] & set(seen_from[objective])]
            taken |= set(product(some, supported))
    goal += [f"communicated_image_data {objective} {mode}" for objective, mode in sorted(taken) if rng.random() < 0.5]
    objects = {"lander": ["general"], "mode": modes, "rover": those, "store": [f"{one}store" for one in those]}
    objects |= {"waypoint": places, "camera": cameras, "objective": objectives}
    return problem("rover", objects, init, goal)


def mutually_reachable(start: str, ways: set[tuple[str, str]]) -> set[str]:
    """From the start and back."""

    def closure(edges: set[tuple[str, str]]) -> set[str]:
        after: dict[str, list[str]] = {}
        for a, b in edges:
            after.setdefault(a, []).append(b)
        found, left = {start}, [start]
        while left:
            new = [b for b in after.get(left.pop(), []) if b not in found]
            found.update(new)
            left += new
        return found

    return closure(ways) & closure({(b, a) for a, b in ways})


def satellite(rng: random.Random, satellites: int, directions: int) -> str:
    those, places, modes = names("sat", satellites), names("dir", directions), names("mod", rng.randint(3, 10))
    init, supported, instruments = [], set(), []
    for one in those:
        init += [f"pointing {one} {rng.choice(places)}", f"power_avail {one}"]
        for _ in range(rng.randint(1, 3)):
            instruments.append(f"ins{len(instruments) + 1}")
            some = rng.sample(modes, rng.randint(1, min(3, len(modes))))
            supported |= set(some)
            init += [f"on_board {instruments[-1]} {one}", f"calibration_target {instruments[-1]} {rng.choice(places)}"]
            init += [f"supports {instruments[-1]} {mode}" for mode in some]
    goal = [f"have_image {place} {rng.choice(sorted(supported))}" for place in places if rng.random() < 0.8]
    goal += [f"pointing {one} {rng.choice(places)}" for one in those if rng.random() < 0.3]
    objects = {"satellite": those, "instrument": instruments, "mode": modes, "direction": places}
    return problem("satellite", objects, init, goal)


def sokoban(rng: random.Random, side: int, boxes: int) -> str:
    """Boxes in a room with a few pillars, each away from walls and pillars, so that it can be pushed anywhere."""
    cells = set(product(range(2, side), repeat=2))
    pillars = {cell for cell in cells if rng.random() < 0.04 and min(cell) > 3 and max(cell) < side - 2}
    free = cells - pillars
    open_cells = [cell for cell in sorted(free) if all((cell[0] + i, cell[1] + j) in free for i, j in NEAR)]
    chosen = rng.sample(open_cells, 2 * boxes + 1)
    name = {cell: f"loc_{cell[0]}_{cell[1]}" for cell in product(range(1, side + 1), repeat=2)}
    starts, goals, robot = chosen[:boxes], chosen[boxes : 2 * boxes], chosen[-1]
    those = names("box", boxes)
    init = [f"at-robot {name[robot]}", *(f"at {box} {name[cell]}" for box, cell in zip(those, starts, strict=True))]
    init += [f"clear {name[cell]}" for cell in sorted(free - {robot, *starts})]
    for (r, c), way in product(sorted(free), (("right", 0, 1), ("left", 0, -1), ("down", 1, 0), ("up", -1, 0))):
        if (r + way[1], c + way[2]) in free:
            init.append(f"adjacent {name[r, c]} {name[r + way[1], c + way[2]]} {way[0]}")
    goal = [f"at {box} {name[cell]}" for box, cell in zip(those, goals, strict=True)]
    return problem("sokoban", {"location": name.values(), "box": those}, init, goal)


NEAR = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)]


def spanner(rng: random.Random, spanners: int, nuts: int, places: int) -> str:
    return GENERATORS["spanner"](rng, "large", nuts=min(nuts, spanners), locations=places, spanners=spanners)


def transport(rng: random.Random, vehicles: int, packages: int, places: int) -> str:
    those, parcels, locations = names("v", vehicles), names("p", packages), names("l", places)
    sizes = names("c", rng.randint(3, 5))
    init = [f"at {one} {rng.choice(locations)}" for one in those]
    init += [f"capacity {one} {rng.choice(sizes[1:])}" for one in those]
    init += [f"capacity-predecessor {a} {b}" for a, b in pairwise(sizes)]
    init += [f"road {a} {b}" for a, b in connected(rng, locations, 0.6)]
    goal = []
    for one in parcels:
        start, end = rng.sample(locations, 2)
        init.append(f"at {one} {start}")
        goal.append(f"at {one} {end}")
    return problem(
        "transport", {"vehicle": those, "package": parcels, "location": locations, "size": sizes}, init, goal
    )


# About what is told of the hard problems' sizes. Of childsnack fewer children: actions grow with their third power.
HARD: dict[str, tuple[Callable[..., str], Ranges]] = {
    "blocksworld": (blocksworld, {"blocks": (150, 500)}),
    "childsnack": (childsnack, {"children": (50, 120)}),
    "ferry": (ferry, {"cars": (200, 1000), "places": (100, 500)}),
    "floortile": (floortile, {"rows": (12, 30), "columns": (12, 30), "robots": (6, 30)}),
    "miconic": (miconic, {"passengers": (100, 500), "floors": (50, 200)}),
    "rovers": (rovers, {"rovers": (15, 30), "waypoints": (90, 200)}),
    "satellite": (satellite, {"satellites": (40, 100), "directions": (80, 200)}),
    "sokoban": (sokoban, {"side": (50, 100), "boxes": (50, 80)}),
    "spanner": (spanner, {"spanners": (50, 500), "nuts": (25, 250), "places": (50, 100)}),
    "transport": (transport, {"vehicles": (30, 50), "packages": (60, 200), "places": (50, 100)}),
}


def sizes(ranges: Ranges, place: float) -> dict[str, int]:
    """From the smallest at 0 to the largest at 1."""
    return {name: round(low + place * (high - low)) for name, (low, high) in ranges.items()}


def make_large(domain: str, file: Path, folder: Path, count: int, seed: int = 1) -> list[Instance]:
    """So many, from the smallest to the largest hard ones; `file` is the track's domain file."""
    make, ranges = HARD[domain]
    make_folder(folder)
    for i in range(count):
        text = make(random.Random(f"{seed} {domain} {i}"), **sizes(ranges, i / max(1, count - 1)))
        write_text(folder / f"large-{i + 1:02}.pddl", text)
    write_bytes(folder / "domain.pddl", file.read_bytes())
    return find_instances(folder)
