"""The order of a mixture's tasks: exact shares in every prefix, and no memory but a number."""

from fractions import Fraction
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.mixture import shares
from components.schedule import slots, spans

weights = st.dictionaries(
    st.sampled_from("abcdefg"), st.integers(1, 40).map(lambda part: part / 10), min_size=1
)


def test_weights_are_the_decimals_that_were_written() -> None:
    assert shares({"a": 0.7, "b": 0.3}) == {"a": Fraction(7, 10), "b": Fraction(3, 10)}
    assert shares({"a": 2.0, "b": 1.0}) == {"a": Fraction(2, 3), "b": Fraction(1, 3)}


def test_seven_to_three() -> None:
    order = "".join(islice(slots(shares({"p": 0.7, "s": 0.3})), 20))
    assert order == 2 * order[:10] and order[:10].count("s") == 3
    assert "ss" not in order and "pppp" not in order


@given(weights)
@settings(max_examples=60, deadline=None)
def test_every_prefix_has_every_share_rounded_down_or_up(given: dict[str, float]) -> None:
    parts = shares(given)
    count = dict.fromkeys(parts, 0)
    for number, name in enumerate(islice(slots(parts), 300), start=1):
        count[name] += 1
        for other, share in parts.items():
            assert abs(count[other] - number * share) < 1


@given(weights, st.integers(0, 500), st.lists(st.integers(1, 40), min_size=1, max_size=8))
@settings(max_examples=60, deadline=None)
def test_iterations_take_up_every_stream_where_it_stopped(
    given: dict[str, float], start: int, iterations: list[int]
) -> None:
    parts = shares(given)
    whole = spans(parts, start, sum(iterations))
    ends = {name: span.start for name, span in whole.items()}
    for count in iterations:
        found = spans(parts, start, count)
        assert sum(map(len, found.values())) == count
        assert {name: span.start for name, span in found.items()} == ends
        ends = {name: span.stop for name, span in found.items()}
        start += count
    assert ends == {name: span.stop for name, span in whole.items()}


def test_spans_count_the_slots() -> None:
    parts = shares({"a": 5, "b": 2, "c": 1.5})
    order = list(islice(slots(parts), 70))
    found = spans(parts, 33, 37)
    assert {name: len(span) for name, span in found.items()} == {
        name: order[33:].count(name) for name in parts
    }
    assert {name: span.start for name, span in found.items()} == {
        name: order[:33].count(name) for name in parts
    }


def test_one_environment_has_the_whole_stream() -> None:
    assert spans({"only": Fraction(1)}, 10**9, 3) == {"only": range(10**9, 10**9 + 3)}


def test_shares_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match="expected positive ones that sum to 1"):
        next(slots({"a": Fraction(1, 2)}))
