"""Problems made from a seed: endless streams for tests, examples and small models.

A question's digest decides its split, so that no split holds a question of another. In a small
space (few numbers, few terms) a stream comes back to questions that it had.
"""

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from random import Random

from envs.base import Split
from envs.maths.options import GeneratedOptions
from envs.maths.rows import MathsRow
from envs.splits import split_of

_TRIES = 2_000
Made = tuple[str, str]
"""(question, answer)"""


def draw(kind: str, options: GeneratedOptions, split: Split, seed: int, index: int) -> MathsRow:
    """Problem `index` of the stream (kind, split, seed). ValueError if the split has none."""
    for attempt in range(_TRIES):
        rng = Random(f"maths/{kind}/{split.value}/{seed}/{index}/{attempt}")
        question, answer = KINDS[kind](options, rng)
        row = MathsRow(question=question, answer=answer, source=f"generated:{kind}")
        if split_of(row.content()) is split:
            return row
    raise ValueError(
        f"generated:{kind}, task {index} of {split.value}: none of {_TRIES} questions belongs to "
        f"the split; expected a larger generated.largest (is {options.largest}) or terms"
    )


def _arithmetic(options: GeneratedOptions, rng: Random) -> Made:
    """Whole numbers; products before sums."""
    words = [str(rng.randint(0, options.largest))]
    for _ in range(options.terms - 1):
        words += [rng.choice("+-*"), str(rng.randint(0, options.largest))]
    return f"What is {' '.join(words)}?", str(_value(words))


def _value(words: list[str]) -> int:
    total, sign, product = 0, 1, int(words[0])
    for operator, number in zip(words[1::2], words[2::2], strict=True):
        if operator == "*":
            product *= int(number)
        else:
            total += sign * product
            sign, product = (1 if operator == "+" else -1), int(number)
    return total + sign * product


def _fractions(options: GeneratedOptions, rng: Random) -> Made:
    parts = [_fraction(options, rng) for _ in range(options.terms)]
    signs = [rng.choice("+-") for _ in parts[1:]]
    total = parts[0]
    shown = _latex(parts[0])
    for sign, part in zip(signs, parts[1:], strict=True):
        total = total + part if sign == "+" else total - part
        shown += f" {sign} {_latex(part)}"
    return f"Compute ${shown}$ and give it as a fraction in lowest terms.", _latex(total)


def _fraction(options: GeneratedOptions, rng: Random) -> Fraction:
    bottom = rng.randint(2, options.largest)
    return Fraction(rng.randint(1, options.largest), bottom)


def _latex(value: Fraction) -> str:
    if value.denominator == 1:
        return str(value.numerator)
    sign = "-" if value < 0 else ""
    return rf"{sign}\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"


def _percent(options: GeneratedOptions, rng: Random) -> Made:
    share, whole = rng.randint(1, 99), rng.randint(1, options.largest) * rng.choice((1, 10, 100))
    return f"How much is {share}% of {whole}?", _latex(Fraction(share * whole, 100))


def _linear(options: GeneratedOptions, rng: Random) -> Made:
    root = rng.randint(-options.largest, options.largest)
    slope, shift = rng.randint(2, 12), rng.randint(-options.largest, options.largest)
    left = f"{slope}x {_signed(shift)}"
    return f"Solve ${left} = {slope * root + shift}$ for $x$.", f"x = {root}"


def _quadratic(options: GeneratedOptions, rng: Random) -> Made:
    one, two = sorted(rng.sample(range(-options.largest, options.largest + 1), 2))
    equation = f"x^2 {_signed(-(one + two))}x {_signed(one * two)} = 0"
    return f"Find all real solutions of ${equation}$.", f"{one}, {two}"


def _system(options: GeneratedOptions, rng: Random) -> Made:
    bound = max(3, math.isqrt(options.largest))
    x, y = rng.randint(-bound, bound), rng.randint(-bound, bound)
    while True:
        a, b, c, d = (rng.randint(1, bound) for _ in range(4))
        if a * d != b * c:
            break
    first, second = f"{a}x + {b}y = {a * x + b * y}", f"{c}x + {d}y = {c * x + d * y}"
    return (
        f"Solve the system ${first}$, ${second}$. Give the answer as a pair $(x, y)$.",
        f"({x}, {y})",
    )


def _signed(number: int) -> str:
    return f"{'-' if number < 0 else '+'} {abs(number)}"


def _one_of(*makers: Callable[[GeneratedOptions, Random], Made]) -> Callable[..., Made]:
    return lambda options, rng: rng.choice(makers)(options, rng)


KINDS: Mapping[str, Callable[[GeneratedOptions, Random], Made]] = {
    "arithmetic": _arithmetic,
    "fractions": _fractions,
    "percent": _percent,
    "linear": _linear,
    "quadratic": _quadratic,
    "system": _system,
    "algebra": _one_of(_linear, _quadratic, _system),
    "mixed": _one_of(_arithmetic, _fractions, _percent, _linear, _quadratic, _system),
}
"""name -> maker of (question, answer)."""
