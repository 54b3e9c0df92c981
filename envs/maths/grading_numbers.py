r"""Numbers, exactly: integers, fractions, decimals, percentages, powers of small numbers.

Everything that can be decided here needs no computer algebra. Values are `Fraction`s, so that
204 and 205, or two numbers of 300 digits, are never "close".
"""

import re
from fractions import Fraction
from typing import NamedTuple

TOLERANCE = Fraction(1, 10**6)
"""Absolute, whatever the size, where at least one of two numbers is a decimal."""
SHARE = Fraction(1, 1000)
"""Of the larger number: the tolerance is never more than this, so that 0 is not close to 1e-7."""
NOISE = Fraction(1, 10**12)
"""How far from 0 a decimal may be to count as 0: sin(pi) as computers print it."""
_MAX_POWER = 64

_DIGITS = r"(?:\d{1,3}(?:,\d{3})+|\d+)"
_PLAIN = rf"(?:{_DIGITS}(?:\.\d*)?|\.\d+)"
_GROUPED = re.compile(r"([-+]?\d{1,3})((?: \d{3})+)(\.\d+)?", re.ASCII)
_REPEATING = re.compile(r"([-+]?)(\d*)\.(\d*)\\(?:overline|bar|dot)\s*(?:\{(\d+)\}|(\d))", re.ASCII)
_BASED = re.compile(
    r"\(?(-?[0-9A-Za-z]*\d[0-9A-Za-z]*)\)?\s*_\s*(?:\{\s*(\d+)\s*\}|(\d+))", re.ASCII
)
_SIMPLE = re.compile(rf"([-+]?)\s*({_PLAIN})(?:[eE]([-+]?\d{{1,3}}))?", re.ASCII)
_POWER = re.compile(r"([-+]?)\s*(\d{1,6})\s*(?:\^|\*\*)\s*(?:\{\s*(-?\d+)\s*\}|(-?\d+))", re.ASCII)
_TIMES_POWER = re.compile(
    r"(.+?)\s*(?:\\times|\\cdot|\*|x)\s*(10\s*(?:\^|\*\*)\s*(?:\{\s*-?\d+\s*\}|-?\d+))", re.ASCII
)
_FRAC = re.compile(
    r"([-+]?)\s*(\d*)\s*\\frac\s*(?:\{([^{}]*)\}|(\d))\s*(?:\{([^{}]*)\}|(\d))", re.ASCII
)
_SLASH = re.compile(r"([-+]?)\s*(?:(\d+)\s+(?!0\d))?([^/]+?)\s*/\s*([^/]+)", re.ASCII)
_PERCENT = re.compile(r"(.+?)\s*(?:%|\bpercent)", re.DOTALL)


class Number(NamedTuple):
    """A number as written."""

    value: Fraction
    exact: bool
    """False for decimals: 0.5, 3.0, 1e3."""


def read_number(text: str) -> Number | None:
    """The number that `text` (in the spelling of `grading_text.plain`) is, or None."""
    text = text.strip()
    percent = _PERCENT.fullmatch(text)
    if percent:
        inner = read_number(percent[1]) if "%" not in percent[1] else None
        return inner and Number(inner.value / 100, inner.exact)
    grouped = _GROUPED.fullmatch(text)
    if grouped:
        text = text.replace(" ", "")
    return _atom(text) or _fraction(text) or _scientific(text) or _repeating(text)


def read_based(text: str) -> tuple[str, int] | None:
    """Digits and base of `204_5` or `(1A)_{16}`. No value: the base says how it must be written."""
    found = _BASED.fullmatch(text.strip())
    if found is None:
        return None
    sign, digits = ("-", found[1][1:]) if found[1][0] == "-" else ("", found[1])
    return sign + (digits.lstrip("0") or "0").upper(), int(found[2] or found[3])


def in_decimal(text: str) -> str:
    """A number marked as one of base 10, without the mark."""
    based = read_based(text)
    return based[0] if based and based[1] == 10 else text


def same_number(answer: Number, reference: Number) -> bool:
    """Exact numbers must be equal; a decimal may be off by `TOLERANCE`."""
    gap = abs(answer.value - reference.value)
    if gap == 0 or (answer.exact and reference.exact):
        return gap == 0
    if reference.value == 0 or answer.value == 0:
        return gap <= NOISE
    largest = max(abs(answer.value), abs(reference.value))
    return gap <= min(TOLERANCE, SHARE * largest)


def _atom(text: str) -> Number | None:
    """A number without an operator but a power: `-1,234.5`, `1e-3`, `2^{10}`."""
    found = _SIMPLE.fullmatch(text)
    if found:
        sign, digits, exponent = found.groups()
        value = Fraction(digits.replace(",", "")) * Fraction(10) ** int(exponent or 0)
        return Number(-value if sign == "-" else value, "." not in digits and exponent is None)
    found = _POWER.fullmatch(text)
    if found is None:
        return None
    base, exponent = int(found[2]), int(found[3] or found[4])
    if abs(exponent) > _MAX_POWER or (base == 0 and exponent <= 0):
        return None
    value = Fraction(base) ** exponent
    return Number(-value if found[1] == "-" else value, True)


def _fraction(text: str) -> Number | None:
    r"""`3/4`, `1 1/2`, `\frac{3}{4}`, `1\frac12`, `-\frac{-3}{0.5}`."""
    found = _FRAC.fullmatch(text)
    if found:
        sign, whole = found[1], found[2]
        parts = _atom_in(found[3] or found[4] or ""), _atom_in(found[5] or found[6] or "")
    else:
        found = _SLASH.fullmatch(text)
        if found is None:
            return None
        sign, whole = found[1], found[2]
        parts = _atom_in(found[3]), _atom_in(found[4])
    top, bottom = parts
    if top is None or bottom is None or bottom.value == 0:
        return None
    if whole and (top.value < 0 or bottom.value < 0):
        return None
    value = Fraction(whole or 0) + top.value / bottom.value
    return Number(-value if sign == "-" else value, top.exact and bottom.exact)


def _scientific(text: str) -> Number | None:
    r"""`1.5 \times 10^{3}`."""
    found = _TIMES_POWER.fullmatch(text)
    factor, power = (_atom(found[1]), _atom(found[2])) if found else (None, None)
    if factor is None or power is None:
        return None
    return Number(factor.value * power.value, factor.exact)


def _repeating(text: str) -> Number | None:
    r"""`0.1\overline{6}`, exactly."""
    found = _REPEATING.fullmatch(text)
    if found is None:
        return None
    once, again = found[3], found[4] or found[5]
    value = Fraction(f"{found[2] or 0}.{once or 0}")
    value += Fraction(int(again), (10 ** len(again) - 1) * 10 ** len(once))
    return Number(-value if found[1] == "-" else value, True)


def _atom_in(text: str) -> Number | None:
    """An atom, perhaps in brackets."""
    text = text.strip()
    if text.startswith("(") and text.endswith(")"):
        text = text[1:-1].strip()
    return _atom(text)
