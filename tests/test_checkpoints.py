"""Checkpoints are whole or refused, and writing one never spoils the last."""

import resource

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planrank.errors import PlanrankError
from planrank.learning import checkpoints

TENSORS = {"parameter": np.arange(5, dtype=np.float32), "best": np.array([np.inf, -0.0], np.float32)}


@pytest.fixture
def file(tmp_path):
    file = tmp_path / "checkpoint.safetensors"
    checkpoints.save(file, TENSORS, {"step": 3, "figures": None})
    return file


def test_what_is_saved_is_loaded(file):
    tensors, state = checkpoints.load(file)
    assert state == {"format": checkpoints.FORMAT, "step": 3, "figures": None}
    assert tensors.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        assert tensors[name].tobytes() == tensor.tobytes() and tensors[name].dtype == tensor.dtype


def test_no_scratch_files_are_left(file):
    checkpoints.save(file, TENSORS, {"step": 4})
    assert [f.name for f in file.parent.iterdir()] == [file.name]


def test_every_changed_byte_is_noticed(file, tmp_path):
    content = file.read_bytes()
    spoiled = tmp_path / "spoiled"

    @given(st.integers(0, len(content) - 1), st.integers(1, 255))
    def check(place, change):
        spoiled.write_bytes(content[:place] + bytes([content[place] ^ change]) + content[place + 1 :])
        with pytest.raises(PlanrankError, match="not a whole checkpoint"):
            checkpoints.load(spoiled)

    check()


def test_every_truncation_is_noticed(file, tmp_path):
    content = file.read_bytes()
    short = tmp_path / "short"
    for length in range(len(content)):
        short.write_bytes(content[:length])
        with pytest.raises(PlanrankError, match="not a whole checkpoint"):
            checkpoints.load(short)


def test_another_format_is_named(tmp_path):
    file = tmp_path / "old"
    checkpoints.save(file, TENSORS, {"format": 99})
    with pytest.raises(PlanrankError, match="format 99, expected 1"):
        checkpoints.load(file)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(PlanrankError, match="cannot be read: No such file"):
        checkpoints.load(tmp_path / "none")


def test_a_full_disk_leaves_the_last_checkpoint(file):
    """A limit on the size of files makes the write fail as a full disk does."""
    before = file.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, hard))
    try:
        with pytest.raises(PlanrankError, match="cannot be written: File too large"):
            checkpoints.save(file, TENSORS, {"step": 5})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert file.read_bytes() == before and [f.name for f in file.parent.iterdir()] == [file.name]
