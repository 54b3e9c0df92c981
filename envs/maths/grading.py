r"""Whether two answers are the same: `equal(answer, reference)`.

Own rules first (shape, names, units, exact numbers, words), a computer algebra system for what is
left: one expression against one expression, in a process of its own (`grading_worker.py`) with a
limit of CPU time. README.md has the table of what is accepted. The reference decides the shape.
"""

import re

from envs.maths.answers import is_value
from envs.maths.grading_algebra import same_expression
from envs.maths.grading_forms import Form, Kind, read_form
from envs.maths.grading_numbers import Number, read_number, same_number
from envs.maths.grading_text import plain, spaceless, split_top

MAX_COMPARED = 64
"""Expressions of one answer that are given to the algebra system; beyond, it is not equal."""
_UNIT = re.compile(r"(.*[\d})])\s*((?:[A-Za-z]{2,}|(?<=\s)[A-Za-z])(?:[\s/.^{}\d-]*[A-Za-z]*)*)")
_WORDS = re.compile(r"[A-Za-z][A-Za-z' -]*")
_NO_UNITS_LISTED = """
or and not to hundred thousand million billion trillion dozen half squared cubed times pi sqrt
frac cdot infty sin cos tan log ln exp percent choose mod factorial plus minus over nan inf none
e i
"""
_NO_UNITS = frozenset(_NO_UNITS_LISTED.split())
_INFINITY = re.compile(r"[-+]?\s*\\infty")
_EQUALS = re.compile(r"\s*=\s*")


def equal(answer: str, reference: str) -> bool:
    """Whether `answer` says the same as `reference`.

    Nothing raises but GraderUnavailable (`grading_algebra.py`): the algebra system cannot be run
    here. An expression that it cannot settle within its limits is not equal.
    """
    if not is_value(answer) or not is_value(reference):
        return False
    mine, theirs = read_form(plain(answer)), read_form(plain(reference))
    if any(_INFINITY.fullmatch(form.text) for form in (mine, theirs)):
        return False
    return _Comparison().same(mine, theirs)


class _Comparison:
    """One comparison of two answers; counts what it asks the algebra system."""

    def __init__(self) -> None:
        self.left = MAX_COMPARED

    def same(self, mine: Form, theirs: Form) -> bool:
        if mine.name and theirs.name and spaceless(mine.name) != spaceless(theirs.name):
            return False
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
        return mine.kind is Kind.VALUE and self._values(mine.text, theirs.text)

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
        (mine, my_unit), (theirs, their_unit) = split_unit(mine), split_unit(theirs)
        if my_unit and their_unit and my_unit != their_unit:
            return False
        if not (is_value(mine) and is_value(theirs)):
            return spaceless(mine) == spaceless(theirs) and _INFINITY.fullmatch(mine) is not None
        numbers = read_number(_bare(mine)), read_number(_bare(theirs))
        if isinstance(numbers[0], Number) and isinstance(numbers[1], Number):
            return same_number(numbers[0], numbers[1])
        if spaceless(mine) == spaceless(theirs):
            return True
        if _is_words(mine) or _is_words(theirs):
            return _bare(mine).casefold() == _bare(theirs).casefold()
        return self._algebra(mine, theirs)

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


def _is_name(text: str) -> bool:
    form = read_form(f"{text} = 1")
    return bool(form.name)


def split_unit(text: str) -> tuple[str, str]:
    """`18 dollars` as value and unit; words that are part of the value are no unit."""
    found = _UNIT.fullmatch(text)
    if found is None:
        return text, ""
    words = re.findall(r"[A-Za-z]+", found[2])
    if _NO_UNITS & {word.lower() for word in words} or "\\" in found[2]:
        return text, ""
    if not (read_number(_bare(found[1])) or "\\" in found[1]):
        return text, ""
    unit = spaceless(found[2]).lower().replace("{", "").replace("}", "")
    return found[1].strip(), unit.removesuffix("s") or unit


def _bare(text: str) -> str:
    """Without brackets around the whole: `(5)` and `(A)`."""
    text = text.strip()
    return text[1:-1].strip() if re.fullmatch(r"\([^()]*\)", text) else text


def _is_words(text: str) -> bool:
    """Yes, no solution, (B): not an expression."""
    bare = _bare(text)
    return bool(_WORDS.fullmatch(bare)) and bool(re.search(r"[A-Za-z]{2}", bare)) and not (
        _NO_UNITS & set(bare.lower().split())
    )  # fmt: skip
