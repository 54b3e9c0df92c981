r"""Whether two answers are the same: `equal(answer, reference)`.

Own rules first (shape, names, units, exact numbers, words), a computer algebra system for what is
left: one expression against one expression, in a process of its own (`grading_worker.py`) with a
limit of CPU time. README.md has the table of what is accepted. The reference decides the shape.
"""

import re
from functools import lru_cache

from envs.maths.answers import extract_boxed, is_value
from envs.maths.grading_algebra import Unsettled, same_expression
from envs.maths.grading_forms import Form, Kind, read_form
from envs.maths.grading_numbers import in_decimal, read_based, read_number, same_number
from envs.maths.grading_text import plain, spaceless, split_top
from envs.maths.grading_units import without_units
from envs.maths.grading_words import bare, is_words, may_be_product

__all__ = ["equal", "extract_boxed"]
MAX_COMPARED = 64
"""Expressions of one answer that are given to the algebra system; beyond, it is not equal."""
_INFINITY = re.compile(r"[-+]?\s*\\infty")
_UNDEFINED = re.compile(r"/\s*\(?\s*0+(?![\d.])|\\frac\s*\{[^{}]*\}\s*\{\s*0+\s*\}|^\s*=|=\s*$")
"""Divided by zero, or an equation without a side."""
_INTEGER = re.compile(r"-?[0-9]{1,100}")
_EQUALS = re.compile(r"\s*=\s*")
COLON = re.compile(r"\s*:\s*")


def equal(answer: str, reference: str) -> bool:
    """Whether `answer` says the same as `reference`.

    Nothing raises but GraderUnavailable (`grading_algebra.py`): the algebra system cannot be run
    here. An answer with an expression that it cannot settle within its limits is not equal.
    """
    if _INTEGER.fullmatch(answer) and _INTEGER.fullmatch(reference):
        return int(answer) == int(reference)
    if not is_value(answer) or not is_value(reference):
        return False
    mine, theirs = _form(answer), _form(reference)
    if is_infinite(mine.text) or is_infinite(theirs.text):
        return False
    try:
        return _Comparison().same(mine, theirs)
    except Unsettled:
        return False


@lru_cache(maxsize=16_384)
def _form(answer: str) -> Form:
    return read_form(plain(answer))


def is_infinite(text: str) -> bool:
    """Right as an end of an interval, never as an answer."""
    return _INFINITY.fullmatch(text) is not None


def is_definite(text: str) -> bool:
    """False for nan, empty text, a division by zero: equal to nothing, not even to itself."""
    return is_value(text) and _UNDEFINED.search(text) is None


class _Comparison:
    """One comparison of two answers; counts what it asks the algebra system."""

    def __init__(self) -> None:
        self.left = MAX_COMPARED

    def same(self, mine: Form, theirs: Form) -> bool:
        if mine.name and theirs.name and spaceless(mine.name) != spaceless(theirs.name):
            return _exchanged(mine, theirs)
        if theirs.kind is Kind.VALUE:
            return self._value(mine, theirs)
        if mine.kind is Kind.VALUE:
            return theirs.kind is Kind.SET and len(theirs.items) == 1 and self.same(
                mine, theirs.items[0]
            )  # fmt: skip
        if theirs.kind is Kind.ROW:
            return self._row(mine, theirs)
        if theirs.kind is Kind.UNION:
            return mine.kind is Kind.UNION and self._unordered(mine, theirs)
        if theirs.kind is Kind.SET:
            return mine.kind in (Kind.SET, Kind.LIST) and self._unordered(mine, theirs)
        if _named(theirs):
            return self._assignments(mine, theirs)
        return mine.kind in (Kind.LIST, Kind.SET, Kind.ROW) and self._unordered(mine, theirs)

    def _value(self, mine: Form, theirs: Form) -> bool:
        if mine.kind is Kind.SET and len(mine.items) == 1:
            mine = mine.items[0]
        if mine.kind is not Kind.VALUE:
            return False
        if self._values(mine.text, theirs.text):
            return True
        if bool(mine.name) is bool(theirs.name):
            return False
        one, other = _equation(mine), _equation(theirs)
        return bool(one and other) and self._algebra(one, other)

    def _row(self, mine: Form, theirs: Form) -> bool:
        """A tuple in its order; `1, 2` and `x = 1, y = 2` count as (1, 2), `[1, 2]` does not."""
        if _named(theirs) and _named(mine):
            return self._assignments(mine, theirs)
        bare = mine.kind is Kind.LIST and theirs.brackets == "()"
        if not bare and (mine.kind is not Kind.ROW or mine.brackets != theirs.brackets):
            return False
        return len(mine.items) == len(theirs.items) and all(
            map(self._nameless, mine.items, theirs.items)
        )

    def _assignments(self, mine: Form, theirs: Form) -> bool:
        """`x = 1, y = 2`, in any order; without names in the reference's order."""
        if len(mine.items) != len(theirs.items):
            return False
        if not _named(mine):
            return mine.kind in (Kind.LIST, Kind.ROW) and not any(
                item.name for item in mine.items
            ) and all(map(self._nameless, mine.items, theirs.items))  # fmt: skip
        values = {spaceless(item.name): item for item in mine.items}
        return len(values) == len(mine.items) and all(
            spaceless(item.name) in values and self.same(values[spaceless(item.name)], item)
            for item in theirs.items
        )

    def _unordered(self, mine: Form, theirs: Form) -> bool:
        """Each has a partner on the other side; lists also have the same length."""
        if theirs.kind is not Kind.SET and len(mine.items) != len(theirs.items):
            return False
        return all(
            any(self.same(one, other) for one in mine.items) for other in theirs.items
        ) and all(any(self.same(one, other) for other in theirs.items) for one in mine.items)

    def _nameless(self, mine: Form, theirs: Form) -> bool:
        return self.same(mine, theirs) if mine.name == theirs.name or not (
            mine.name and theirs.name
        ) else False  # fmt: skip

    def _values(self, mine: str, theirs: str) -> bool:
        sides = split_top(mine, _EQUALS)
        if len(sides) > 1 and "=" not in theirs:
            return self._sides(sides, theirs)
        if is_infinite(mine) or is_infinite(theirs):
            return mine.replace("+", "").replace(" ", "") == theirs.replace("+", "").replace(
                " ", ""
            )
        if not (is_definite(mine) and is_definite(theirs)):
            return False
        ratios = split_top(mine, COLON), split_top(theirs, COLON)
        if max(map(len, ratios)) > 1:
            return self._ratio(*ratios)
        values = without_units(in_decimal(mine), in_decimal(theirs))
        if values is None:
            return False
        mine, theirs = values
        if read_based(mine) or read_based(theirs):
            return read_based(mine) == read_based(theirs)
        numbers = read_number(bare(mine)), read_number(bare(theirs))
        if numbers[0] and numbers[1]:
            return same_number(numbers[0], numbers[1])
        return self._texts(mine, theirs)

    def _texts(self, mine: str, theirs: str) -> bool:
        """Not two numbers: equal letter by letter, as words, or for the algebra system."""
        if spaceless(mine) == spaceless(theirs):
            return True
        words = [text for text in (mine, theirs) if is_words(text)]
        if words and bare(mine).casefold() == bare(theirs).casefold():
            return True
        if not all(map(may_be_product, words)):
            return False
        if len(bare(mine)) == 1 and len(bare(theirs)) == 1:
            return bare(mine) == bare(theirs)
        return self._algebra(mine, theirs)

    def _ratio(self, mine: list[str], theirs: list[str]) -> bool:
        """`3:4` part by part: neither a fraction nor another ratio, since it may be a time."""
        return len(mine) == len(theirs) and all(map(self._values, mine, theirs))

    def _sides(self, sides: list[str], theirs: str) -> bool:
        """`2 + 3 = 5`, `x = 6/2 = 3`: every side but a name's must be the reference."""
        if _is_name(sides[0]):
            sides = sides[1:]
        return all(side and self._values(side, theirs) for side in sides)

    def _algebra(self, mine: str, theirs: str) -> bool:
        if self.left == 0:
            return False
        self.left -= 1
        return same_expression(mine, theirs)


def _named(form: Form) -> bool:
    """Whether it is a list of assignments to different names."""
    names = [item.name for item in form.items]
    return len(names) > 1 and all(names) and len(set(names)) == len(names)


def _equation(form: Form) -> str:
    """A value as an equation with a letter in it; empty if it is none."""
    text = f"{form.name} = {form.text}" if form.name else form.text
    return text if text.count("=") == 1 and not form.name.startswith("(") else ""


def _exchanged(mine: Form, theirs: Form) -> bool:
    """`y = x` for `x = y`."""
    pairs = ((mine.name, theirs.text), (mine.text, theirs.name))
    return all(spaceless(one) == spaceless(other) for one, other in pairs)


def _is_name(text: str) -> bool:
    form = read_form(f"{text} = 1")
    return bool(form.name)
