"""Aligned tables: sides, the last column, nothing at the ends of lines."""

import pytest

from components.aligned import aligned

ROWS = [["name", "n", "note"], ["a", "100", ""], ["longer", "2", "x"]]


@pytest.mark.parametrize(
    ("left", "lines"),
    [
        (None, ["name    n    note", "a       100", "longer  2    x"]),
        ({0}, ["name      n  note", "a       100", "longer    2     x"]),
        ({-1}, ["  name    n  note", "     a  100", "longer    2  x"]),
    ],
)
def test_columns_stand_on_their_side(left: set[int] | None, lines: list[str]) -> None:
    assert aligned(ROWS, left) == lines


def test_no_rows_and_unequal_rows() -> None:
    assert aligned([]) == []
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        aligned([["a", "b"], ["c"]])
