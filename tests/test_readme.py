"""The README's tables of figures are those of benchmarks/results."""

import sys

import pytest
from conftest import REPOSITORY

from planrank import PlanrankError

sys.path.insert(0, str(REPOSITORY / "benchmarks"))

import readme


def test_tables_are_those_of_the_results():
    text = readme.README.read_text()
    assert readme.filled(text) == text, "run `make readme`"


def test_a_changed_figure_is_noticed():
    text = readme.README.read_text()
    figure = next(line for line in readme.BLOCKS["ranking"]() if line.startswith("| ferry"))
    assert figure in text
    assert readme.filled(text.replace(figure, "| ferry | 1 |")) == text


def test_a_table_without_a_place_is_refused():
    text = readme.README.read_text().replace("<!-- figures speed -->", "")
    with pytest.raises(PlanrankError, match="expected"):
        readme.filled(text)
