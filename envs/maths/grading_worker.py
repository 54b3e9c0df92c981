r"""The computer algebra process: reads one JSON line per question, answers with one.

    {"mine": "\\sqrt{12}", "theirs": "2\\sqrt{3}", "cpu_s": 2} -> {"equal": true}

A script of its own, started by `grading_algebra.py`; nothing of it may be imported elsewhere.
math-verify parses and compares; closed numbers are decided here to 100 digits instead of its 15,
and what it calls equal must also agree at sample points. Beyond the limit of CPU time the answer
is null; if that does not stop it, the kernel ends the process.
"""

import json
import logging
import resource
import signal
import sys
from typing import Any

from latex2sympy2_extended import NormalizationConfig  # type: ignore[import-untyped]
from math_verify import LatexExtractionConfig, parse, verify  # type: ignore[import-untyped]
from sympy import (  # type: ignore[import-untyped]
    Basic,
    Equality,
    Expr,
    Float,
    I,
    Rational,
    nan,
    oo,
    zoo,
)

MEMORY_BYTES = 2 * 2**30
_DIGITS = 120
_CLOSE = Rational(1, 10**100)
"""Of the larger one; what is exact must agree in so many digits."""
_NOISE = Rational(1, 10**12)
"""How far from 0 a decimal may be to count as 0."""
_POINTS = (Rational(7, 5), Rational(13, 11), Rational(17, 7), Rational(23, 19))
_CONFIG = [
    LatexExtractionConfig(
        boxed_match_priority=-1,
        normalization_config=NormalizationConfig(
            basic_latex=True, units=False, malformed_operators=False, nits=False, boxed="none",
            equations=False,
        ),
    )
]  # fmt: skip


class OutOfTime(BaseException):
    """Not an Exception: nothing of the libraries may catch it."""


def main() -> None:
    """Answer until the input ends."""
    logging.disable(logging.CRITICAL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGVTALRM, _stop)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    answers, sys.stdout = sys.stdout, sys.stderr
    _compare("x^{2}", "x\\cdot x")  # grammar tables are built now, on nobody's time
    answers.write('{"ready": true}\n')
    answers.flush()
    for line in sys.stdin:
        answers.write(json.dumps(_answer(json.loads(line))) + "\n")
        answers.flush()


def _answer(question: dict[str, Any]) -> dict[str, bool | None]:
    limit = question["cpu_s"]
    used = resource.getrusage(resource.RUSAGE_SELF)
    total = int(used.ru_utime + used.ru_stime + 2 * limit) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (total, resource.RLIM_INFINITY))
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, limit)
        try:
            return {"equal": _compare(question["mine"], question["theirs"])}
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    except (OutOfTime, MemoryError):
        return {"equal": None}
    except Exception:  # whatever the libraries raise, they cannot read or compare it
        return {"equal": False}


def _stop(*_: object) -> None:
    raise OutOfTime


def _read(text: str) -> Any:
    """The expression, or None; anything left over makes it None."""
    found = parse(
        f"${text}$", _CONFIG, fallback_mode="no_fallback", extraction_mode="first_match",
        parsing_timeout=None, raise_on_error=True,
    )  # fmt: skip
    return found[0] if found else None


def _compare(mine: str, theirs: str) -> bool:
    one, other = _read(mine), _read(theirs)
    if one is None or other is None or _undefined(one) or _undefined(other):
        return False
    if _closed(one) and _closed(other):
        return _same_value(one, other)
    if isinstance(one, Expr) and isinstance(other, Expr):
        units = {name: I for name in one.free_symbols | other.free_symbols if str(name) == "i"}
        left, right = one.subs(units), other.subs(units)
        if _closed(left) and _closed(right):
            return _same_value(left, right)
    return bool(verify(other, one, timeout_seconds=None)) and _agree(one, other)


def _undefined(value: Any) -> bool:
    """Also an equation of numbers: 1 = 1 says no more than 2 = 2."""
    if isinstance(value, Equality):
        return bool((value.lhs - value.rhs).is_number)
    return isinstance(value, Basic) and value.has(nan, zoo, oo, -oo)


def _closed(value: Any) -> bool:
    return isinstance(value, Expr) and not value.free_symbols and value.is_number is not False


def _same_value(one: Any, other: Any) -> bool:
    """Exact values to 100 digits; a decimal as `grading_numbers.same_number` says."""
    gap = abs((one - other).evalf(_DIGITS))
    sizes = sorted((abs(one.evalf(20)), abs(other.evalf(20))))
    if not (gap.is_finite and sizes[0].is_finite and sizes[1].is_finite):
        return False
    if one.has(Float) or other.has(Float):
        allowed = _NOISE if sizes[0] <= _CLOSE else min(Rational(1, 10**6), sizes[1] / 1000)
        return bool(gap <= allowed)
    return bool(gap <= _CLOSE * max(sizes[1], Rational(1)))


def _agree(one: Any, other: Any) -> bool:
    """Whether two expressions have the same values where they can be evaluated."""
    if not (isinstance(one, Expr) and isinstance(other, Expr)):
        return True
    names = sorted(one.free_symbols | other.free_symbols, key=str)
    for shift in range(2):
        at = {name: _POINTS[(index + shift) % 4] + index for index, name in enumerate(names)}
        left, right = one.subs(at), other.subs(at)
        if _closed(left) and _closed(right) and not _same_value(left, right):
            return False
    return True


if __name__ == "__main__":
    main()
