"""What counts as a number in a name."""

import pytest

from components.numbering import is_number


@pytest.mark.parametrize("text", ["0", "7", "000012", "999999999"])
def test_numbers(text: str) -> None:
    assert is_number(text)
    assert int(text) < 10**9


@pytest.mark.parametrize("text", ["", "-1", "1.0", "1e3", " 1", "٣", "²", "9" * 10, "9" * 5000])
def test_other_texts(text: str) -> None:
    assert not is_number(text)
