"""Whether an answer can serve as a reference: a right answer must be able to reach it."""

import re

from envs.maths.answers import is_value
from envs.maths.grading import COLON, equal, is_definite, is_infinite
from envs.maths.grading_algebra import Unsettled, askable, same_expression
from envs.maths.grading_forms import Form, Kind, read_form
from envs.maths.grading_latex import latex
from envs.maths.grading_numbers import read_based, read_number
from envs.maths.grading_text import plain, split_top
from envs.maths.grading_units import split_unit

_FUNCTIONS = frozenset(
    ("sqrt", "floor", "ceil", "sin", "cos", "tan", "log", "exp", "binom")
    + ("matrix", "pmatrix", "bmatrix", "vmatrix")
)
_WORD = re.compile(r"\(?[A-Za-z]+\)?")


def fault_of(answer: str, algebra: bool = True) -> str | None:
    """Why `answer` cannot be a reference, or None.

    With `algebra` every expression is also compared with itself by the algebra system, without
    the short cut for equal texts; without it nothing is started.
    """
    if not is_value(answer):
        return "is no value (empty, too long, nan or infinite)"
    form = read_form(plain(answer))
    if is_infinite(form.text):
        return "is infinite"
    fault = _fault(form, algebra)
    if fault is None and algebra and not equal(answer, answer):
        return "does not grade equal to itself"
    return fault


def _fault(form: Form, algebra: bool) -> str | None:
    if form.kind is not Kind.VALUE:
        return next(filter(None, (_fault(item, algebra) for item in form.items)), None)
    text = form.text
    parts = split_top(text, COLON)
    if len(parts) > 1:
        return next(filter(None, (_fault(Form(Kind.VALUE, part), algebra) for part in parts)), None)
    text = _without_unit(text)
    if not is_definite(text):
        return f"holds {text!r}, which is no value"
    if read_number(text) or read_based(text) or _WORD.fullmatch(text) or is_infinite(text):
        return None
    if _prose(text) or not askable(latex(text)):
        return "is prose, or no expression that can be compared"
    if algebra and not (equal(text, text) and _compares(text)):
        return "cannot be read by the algebra system"
    return None


def _prose(text: str) -> bool:
    """Words that are no functions, or an ellipsis."""
    words = set(re.findall(r"(?<![\\A-Za-z])[A-Za-z]{3,}", text))
    return bool(words - _FUNCTIONS) or "..." in text or "dots" in text


def _without_unit(text: str) -> str:
    measured = split_unit(text)
    return measured.value if measured.sure else text


def _compares(text: str) -> bool:
    try:
        return same_expression(text, text)
    except Unsettled:
        return False
