"""Problems made after those of the learning track: of its domains, solvable, the same for the same seed."""

import sys

import pytest
from conftest import REPOSITORY

from planrank import solve

sys.path.insert(0, str(REPOSITORY / "benchmarks"))
import track_large

SMALL = {
    "blocksworld": {"blocks": (3, 8)},
    "childsnack": {"children": (2, 5)},
    "ferry": {"cars": (1, 5), "places": (2, 5)},
    "floortile": {"rows": (2, 2), "columns": (2, 4), "robots": (1, 2)},
    "miconic": {"passengers": (1, 6), "floors": (2, 8)},
    "rovers": {"rovers": (1, 3), "waypoints": (4, 12)},
    "satellite": {"satellites": (1, 3), "directions": (3, 8)},
    "sokoban": {"side": (9, 12), "boxes": (1, 2)},
    "spanner": {"spanners": (1, 5), "nuts": (1, 3), "places": (1, 3)},
    "transport": {"vehicles": (1, 3), "packages": (1, 4), "places": (2, 8)},
}


@pytest.mark.parametrize("domain", track_large.HARD)
def test_problems_can_be_solved(monkeypatch, shared, tmp_path, domain):
    make, sizes = track_large.HARD[domain]
    assert sizes.keys() == SMALL[domain].keys()
    monkeypatch.setitem(track_large.HARD, domain, (make, SMALL[domain]))
    file = shared / f"instances/learning-track/{domain}/domain.pddl"
    instances = track_large.make_large(domain, file, tmp_path / "a", 6)
    texts = [one.problem.read_text() for one in instances]
    assert len(set(texts)) > 3, "tiny ones may be alike"
    again = track_large.make_large(domain, file, tmp_path / "b", 6)
    assert [one.problem.read_text() for one in again] == texts
    for one in instances:
        result = solve(one.domain, one.problem, "lazy", "ff", time_limit=20)
        assert result.status == "solved", (one.problem, result.reason)
