"""Answers that are words: yes, no solution, (B). Units are in `grading_units.py`."""

import re

_WORDS = re.compile(r"[A-Za-z][A-Za-z' -]*")
_MATHS_LISTED = """
pi sqrt frac cdot infty sin cos tan log ln exp choose mod nan inf
"""
_MATHS = frozenset(_MATHS_LISTED.split())
_PRODUCT = re.compile(r"[a-z]{2,3}")
_SHORT_LISTED = """
no on or of all any not now one two six ten odd yes red tie sun mon tue wed thu fri sat
"""
_SHORT = frozenset(_SHORT_LISTED.split())


def bare(text: str) -> str:
    """Without brackets around the whole: `(5)` and `(A)`."""
    text = text.strip()
    return text[1:-1].strip() if re.fullmatch(r"\([^()]*\)", text) else text


def is_words(text: str) -> bool:
    """Yes, no solution, (B): not an expression."""
    inner = bare(text)
    return bool(_WORDS.fullmatch(inner)) and bool(re.search(r"[A-Za-z]{2}", inner)) and not (
        _MATHS & set(inner.lower().split())
    )  # fmt: skip


def may_be_product(text: str) -> bool:
    """`xy`, `abc`: two or three small letters that are no common word."""
    inner = bare(text)
    return bool(_PRODUCT.fullmatch(inner)) and inner not in _SHORT
