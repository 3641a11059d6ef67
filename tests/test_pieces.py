"""benchmarks/pieces.py: what a long benchmark has finished is read on another machine as it was."""

import sys

import pytest
from conftest import REPOSITORY

sys.path.append(str(REPOSITORY / "benchmarks"))
from pieces import KEPT, PLACES, Pieces

sys.path.remove(str(REPOSITORY / "benchmarks"))

FERRY, SPANNER = ("ferry", 0), ("spanner", 0)
SETTINGS = {FERRY: {"steps": 20}, SPANNER: {"steps": 20}}


@pytest.fixture
def file(tmp_path):
    return tmp_path / "results" / "pieces.jsonl"


def rows(count):
    """Some columns are the same in all rows, others are not."""
    places = {"domain": "/here/domain.pddl", "model": "/here/lstar-seed0.safetensors"}
    return [
        dict.fromkeys(KEPT) | places | {"loss": "lstar", "status": "solved", "expanded": 7 * i, "unknown": i}
        | {"problem": f"/here/p{i}.pddl"}
        for i in range(count)
    ]  # fmt: skip


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_piece_comes_back_without_the_places_of_its_files(file, count):
    made = rows(count)
    Pieces(file, SETTINGS, ["loss"]).add(FERRY, made, {"seconds": 7})
    found = Pieces(file, SETTINGS, ["loss"])
    assert FERRY in found and found.unfinished() == [SPANNER] and found.rows(SPANNER) == []
    assert found.about(FERRY) == {"seconds": 7}
    came = found.rows(FERRY)
    names = [("domain.pddl", f"p{i}.pddl", "lstar-seed0.safetensors") for i in range(count)]
    assert [tuple(row[place] for place in PLACES) for row in came] == names
    assert [row | dict.fromkeys(PLACES) for row in came] == [
        {name: row[name] for name in ("loss", *KEPT)} | dict.fromkeys(PLACES) for row in made
    ]
    assert "/here" not in file.read_text()


def test_what_other_settings_made_is_not_taken(file):
    Pieces(file, SETTINGS).add(FERRY, rows(1))
    changed = Pieces(file, SETTINGS | {FERRY: {"steps": 30}})
    assert FERRY not in changed
    assert FERRY in Pieces(file, SETTINGS), "as long as nothing is added it stays there"
    changed.add(SPANNER, rows(1))
    assert Pieces(file, SETTINGS).unfinished() == [FERRY]


def test_pieces_that_are_not_asked_for_stay(file):
    """As with --domains: what was finished of other domains took hours."""
    Pieces(file, SETTINGS).add(FERRY, rows(2))
    Pieces(file, {SPANNER: SETTINGS[SPANNER]}).add(SPANNER, rows(1))
    found = Pieces(file, SETTINGS)
    assert found.unfinished() == [] and len(found.rows(FERRY)) == 2 and len(found.rows(SPANNER)) == 1
