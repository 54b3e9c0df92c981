"""Entries as JSON and back."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.reasoning_gym import entries

plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
leaves = plain | st.text() | st.fractions()
keys = st.text() | st.integers() | st.tuples(st.integers(), st.text())
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(keys, inner)
        | st.dictionaries(st.text(), inner)
    ),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None)
@given(value=values)
def test_there_and_back(value):
    text = entries.dump(value)
    assert repr(entries.load(text)) == repr(value) or entries.load(text) == value
    assert entries.dump(entries.load(text)) == text


def test_the_tag_itself_may_be_a_key():
    assert entries.load(entries.dump({"!": "tuple", "of": [1]})) == {"!": "tuple", "of": [1]}


def test_numpys_scalars_become_plain():
    numpy = pytest.importorskip("numpy")
    value = {"a": numpy.int64(3), "b": numpy.str_("x"), "c": Fraction(3, 4)}
    assert entries.load(entries.dump(value)) == {"a": 3, "b": "x", "c": Fraction(3, 4)}


def test_unknown_types_are_named():
    with pytest.raises(ValueError, match="builtins.object has no JSON form"):
        entries.dump({"a": [object()]})
