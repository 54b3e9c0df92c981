"""Words in an answer: the unit after a value, and answers that are words alone."""

import re

from envs.maths.grading_numbers import read_number
from envs.maths.grading_text import spaceless

_UNIT = re.compile(r"(.*[\d})])\s*((?:[A-Za-z]{2}|(?<=\s)[A-Za-z])[A-Za-z\s/.^{}\d-]*)")
_WORDS = re.compile(r"[A-Za-z][A-Za-z' -]*")
_NO_UNITS_LISTED = """
or and not to hundred thousand million billion trillion dozen half squared cubed times pi sqrt
frac cdot infty sin cos tan log ln exp percent choose mod factorial plus minus over nan inf none
e i
"""
_NO_UNITS = frozenset(_NO_UNITS_LISTED.split())


def split_unit(text: str) -> tuple[str, str]:
    """`18 dollars` as value and unit; words that are part of the value are no unit."""
    found = _UNIT.fullmatch(text)
    if found is None:
        return text, ""
    words = re.findall(r"[A-Za-z]+", found[2])
    if _NO_UNITS & {word.lower() for word in words} or "\\" in found[2]:
        return text, ""
    if not (read_number(bare(found[1])) or "\\" in found[1]):
        return text, ""
    unit = spaceless(found[2]).lower().replace("{", "").replace("}", "")
    return found[1].strip(), unit.removesuffix("s") or unit


def bare(text: str) -> str:
    """Without brackets around the whole: `(5)` and `(A)`."""
    text = text.strip()
    return text[1:-1].strip() if re.fullmatch(r"\([^()]*\)", text) else text


def is_words(text: str) -> bool:
    """Yes, no solution, (B): not an expression."""
    inner = bare(text)
    return bool(_WORDS.fullmatch(inner)) and bool(re.search(r"[A-Za-z]{2}", inner)) and not (
        _NO_UNITS & set(inner.lower().split())
    )  # fmt: skip
