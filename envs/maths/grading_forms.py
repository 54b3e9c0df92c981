r"""The shape of an answer: one value, a list, a set, a tuple, an interval, a union.

Commas are read here and nowhere else: what is compared later is one value against one value.
Inequalities in one variable become the interval they describe.
"""

import re
from dataclasses import dataclass, replace
from enum import Enum

from envs.maths.grading_numbers import read_number
from envs.maths.grading_text import closing, split_top
from envs.maths.grading_units import split_unit

MAX_ITEMS = 32
MAX_DEPTH = 4
_SEPARATOR = re.compile(r"\s*[,;]\s*(?:and|or)\b\s*|\s*[,;]\s*|\s+(?:and|or)\s+")
_COMMA = re.compile(r"\s*[,;]\s*")
_UNION = re.compile(r"\s*\\cup(?![a-z])\s*")
_EQUALS = re.compile(r"\s*(?<![<>!=:])=(?!=)\s*")
_ORDER = re.compile(r"\s*(\\le(?![a-z])|\\ge(?![a-z])|<|>)\s*")
_MEMBER = re.compile(r"\s*\\in(?![a-z])\s*")
_REALS = r"\mathbb{R}"
_SIGN = re.compile(r"\\pm(?![a-z])")
_NAME = re.compile(
    r"[A-Za-z](?:_(?:\w|\{\w+\}))?'*(?:\([a-z](?:,\s*[a-z])*\))?"
    r"|\\(?:alpha|beta|gamma|delta|theta|lambda|mu|phi|omega|angle\s*[A-Z]{1,3})"
    r"|\([a-z](?:,\s*[a-z])+\)|[A-Z]{2,3}|\|[A-Z]{2}\|"
)


class Kind(Enum):
    """How the items of an answer hang together."""

    VALUE = "one value"
    LIST = "several values in no order: 1, 2"
    SET = "{1, 2}"
    ROW = "a tuple, interval or list in brackets: (1, 2), [1, 2], (1, 2]"
    UNION = "intervals or sets joined by a union"


@dataclass(frozen=True)
class Form:
    """An answer's shape; a value has its text, everything else its items."""

    kind: Kind
    text: str
    """Of a value."""
    items: tuple["Form", ...] = ()
    brackets: str = ""
    """Of a row: `()`, `[]`, `(]` or `[)`."""
    name: str = ""
    """What it is the value of: `x` in x = 5."""


def read_form(text: str, depth: int = MAX_DEPTH) -> Form:
    """The shape of `text` (in the spelling of `grading_text.plain`)."""
    text = r"(-\infty, \infty)" if text.strip() == _REALS else text.strip()
    if not text or depth == 0 or read_number(split_unit(text)[0]):
        return Form(Kind.VALUE, text)
    parts = split_top(text, _SEPARATOR)
    if 1 < len(parts) <= MAX_ITEMS and all(parts):
        return _flat(tuple(read_form(part, depth - 1) for part in parts))
    if len(parts) == 1:
        for reader in (_union, _relation, _equation, _bracketed, _both_signs):
            form = reader(text, depth - 1)
            if form:
                return form
    return Form(Kind.VALUE, text)


def _flat(items: tuple[Form, ...]) -> Form:
    """A list whose items may be lists: `1, \\pm 2`. A lone name holds for all: `x = 1, 2`;
    of intervals it makes a union: `x < 1 or x > 2`."""
    flat: list[Form] = []
    for item in items:
        inner = item.items if item.kind is Kind.LIST else (item,)
        flat += [replace(one, name=one.name or item.name) for one in inner]
    names = {item.name for item in flat}
    if len(names - {""}) != 1:
        return Form(Kind.LIST, "", tuple(flat))
    kind = Kind.UNION if all(item.kind is Kind.ROW and item.name for item in flat) else Kind.LIST
    nameless = tuple(replace(item, name="") for item in flat)
    return Form(kind, "", nameless, name=max(names))


def _union(text: str, depth: int) -> Form | None:
    parts = split_top(text, _UNION)
    if not 1 < len(parts) <= MAX_ITEMS or not all(parts):
        return None
    return Form(Kind.UNION, "", tuple(read_form(part, depth) for part in parts))


def _relation(text: str, depth: int) -> Form | None:
    r"""`1 < x \le 2`, `x > 2`, `x \in (1, 2]` as intervals."""
    member = split_top(text, _MEMBER)
    if len(member) == 2 and _NAME.fullmatch(member[0]):
        return replace(read_form(member[1], depth), name=member[0])
    parts = split_top(text, _ORDER)
    if len(parts) not in (2, 3) or not all(parts):
        return None
    signs = [found[1] for found in _ORDER.finditer(text)]
    if len(signs) != len(parts) - 1:
        return None
    if signs[0] in (">", r"\ge"):
        parts.reverse()
        signs = [{">": "<", r"\ge": r"\le"}.get(sign, "?") for sign in reversed(signs)]
    if any(sign not in ("<", r"\le") for sign in signs):
        return None
    return _interval(parts, signs)


def _interval(parts: list[str], signs: list[str]) -> Form | None:
    """From `low < x < high`, `x < high` or `low < x`."""
    if len(parts) == 2 and _NAME.fullmatch(parts[0]):
        parts, signs = [r"-\infty", *parts], ["<", *signs]
    elif len(parts) == 2 and _NAME.fullmatch(parts[1]):
        parts, signs = [*parts, r"\infty"], [*signs, "<"]
    if len(parts) != 3 or not _NAME.fullmatch(parts[1]):
        return None
    ends = (Form(Kind.VALUE, parts[0]), Form(Kind.VALUE, parts[2]))
    brackets = ("(" if signs[0] == "<" else "[") + (")" if signs[1] == "<" else "]")
    return Form(Kind.ROW, "", ends, brackets, name=parts[1])


def _equation(text: str, depth: int) -> Form | None:
    """`x = 5` and `5 = x`. Of more sides, all are claims: `x = 6/2 = 3` is kept as one value."""
    sides = split_top(text, _EQUALS)
    if len(sides) == 2 and not _NAME.fullmatch(sides[0]):
        sides.reverse()
    if len(sides) != 2 or not all(sides) or not _NAME.fullmatch(sides[0]):
        return None
    return replace(read_form(sides[1], depth), name=sides[0].replace(" ", ""))


def _bracketed(text: str, depth: int) -> Form | None:
    if text.startswith(r"\{") and text.endswith(r"\}"):
        inner = text[2:-2]
        whole = closing(text, 1) == len(text)
    else:
        inner = text[1:-1]
        whole = text[0] in "([{" and text[-1] in ")]}" and closing(text, 0) == len(text)
    parts = split_top(inner, _COMMA) if whole else []
    if not 0 < len(parts) <= MAX_ITEMS or not all(parts) or re.search(r"\\mid|[|:]", inner):
        return None
    if len(parts) == 1 and text[0] == "(":
        return read_form(inner, depth)
    items = tuple(read_form(part, depth) for part in parts)
    if text[0] in "\\{":
        return Form(Kind.SET, "", items)
    return Form(Kind.ROW, "", items, text[0] + text[-1]) if text[-1] in ")]" else None


def _both_signs(text: str, depth: int) -> Form | None:
    r"""`1 \pm \sqrt{2}` is two values."""
    if len(_SIGN.findall(text)) != 1:
        return None
    values = [_SIGN.sub(sign, text) for sign in ("+", "-")]
    items = [read_form(re.sub(r"^\+\s*", "", value), depth) for value in values]
    return Form(Kind.LIST, "", tuple(items))
