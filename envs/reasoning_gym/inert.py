"""Which answers may reach a grader that computes with them.

Some graders of the package hand the answer to SymPy, whose parser runs Python, or expand numbers
such as 1e999999999. Here an answer has to look like one of its kind first; what does not is wrong.
"""

import re
from collections.abc import Callable, Mapping

MAX_EXPRESSION = 200
"""Characters of a formula."""
_NUMBER = re.compile(r"\d+")
_NAME = re.compile(r"[A-Za-z_]\w*")
_POWER = re.compile(r"(\S?)\s*\*\*\s*(\d*)")
_ARITHMETIC = re.compile(r"[\d\s()+*/.-]*")
_FORMULA = re.compile(r"[\w\s()+*/.-]*", re.ASCII)
_PLAIN_NUMBER = re.compile(r"\s*[-+]?[\d,]{1,40}(\.\d{1,40})?(/\d{1,40})?\s*", re.ASCII)


def arithmetic(answer: str) -> bool:
    """Digits, brackets and + - * / without powers."""
    short = len(answer) <= MAX_EXPRESSION and _ARITHMETIC.fullmatch(answer) is not None
    return short and "**" not in answer and "//" not in answer and _small(answer)


def polynomial(answer: str) -> bool:
    """The same with one-letter variables, and small whole powers of them."""
    if len(answer) > 4 * MAX_EXPRESSION or not _FORMULA.fullmatch(answer) or not _small(answer):
        return False
    if re.search(r"\.\D|\.$|//|\*\*\s*\*|[\d.][A-Za-z_]", answer):
        return False
    powers = _POWER.findall(answer)
    return all(len(name) == 1 for name in _NAME.findall(answer)) and all(
        base.isalpha() and 1 <= len(exponent) <= 2 for base, exponent in powers
    )


def monomials(answer: str) -> bool:
    """A polynomial without brackets, which no simplification can make larger."""
    return polynomial(answer) and not set("()") & set(answer)


def plain_number(answer: str) -> bool:
    """A decimal number or a fraction, without an exponent."""
    return _PLAIN_NUMBER.fullmatch(answer) is not None


def _small(answer: str) -> bool:
    return all(len(number) <= 15 for number in _NUMBER.findall(answer))


RULES: Mapping[str, Callable[[str], bool]] = {
    "coin_flip": plain_number,
    "countdown": arithmetic,
    "polynomial_multiplication": polynomial,
    "puzzle24": arithmetic,
    "simple_integration": monomials,
}
"""Generator -> what its answers must look like."""


def inert(task: str, answer: str) -> bool:
    """Whether the answer may reach the generator's grader."""
    return task not in RULES or RULES[task](answer)
