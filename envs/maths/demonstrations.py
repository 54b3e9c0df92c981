"""Example answers for the warm start and for play: right, wrong or malformed, as options say."""

import re
from fractions import Fraction
from random import Random

from envs.maths.grading_numbers import read_number
from envs.maths.grading_text import plain
from envs.maths.options import MathsOptions
from envs.maths.state import MathsState
from envs.maths.team import is_tool

_SUM = re.compile(r"What is ([0-9 +*-]+)\?")


def demonstrate(options: MathsOptions, state: MathsState, role: str, rng: Random) -> str:
    """An example text of `role`; a right one knows the reference, it derives nothing."""
    shares, kind = options.demonstrations, rng.random()
    if kind < shares.right:
        return _write(state, role, state.reference, right=True)
    if kind < shares.right + shares.wrong:
        return _write(state, role, _wrong(state.reference, rng), right=False)
    return _malformed(role, rng)


def _write(state: MathsState, role: str, answer: str, right: bool) -> str:
    if not is_tool(role):
        work = "I weigh the answers." if role == "judge" else "I work through the problem."
        return f"{work} The final answer is \\boxed{{{answer}}}."
    asked = _SUM.fullmatch(state.question)
    value = asked[1] if asked and right else repr(plain(answer))
    return f"The program prints the answer.\n```python\nprint({value})\n```"


def _wrong(reference: str, rng: Random) -> str:
    """Not equal to the reference; near it where that is a number."""
    number = read_number(plain(reference))
    if number is None:
        return str(rng.randint(1_000_003, 1_000_999))
    value = number.value + rng.choice((-10, -2, -1, 1, 2, 10))
    return str(value.numerator) if value.denominator == 1 else _fraction(value)


def _fraction(value: Fraction) -> str:
    return f"{value.numerator}/{value.denominator}"


def _malformed(role: str, rng: Random) -> str:
    if is_tool(role):
        return rng.choice(
            (
                "I would rather think than compute.",
                "```python\nprint(undefined_name)\n```",
                "```python\nprint((1 +)\n```",
            )
        )
    return rng.choice(("I am not sure about this one.", "The answer is in \\boxed{", "\\boxed{}"))
