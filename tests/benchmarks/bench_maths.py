"""Grading answers: our rules beside math-verify alone, on the pairs of tests/envs/maths.

Only pairs that our rules settle are timed, since the others go to math-verify here too. The note
says how often each side is wrong, by the tables of the tests.
"""

import logging
from unittest.mock import patch

from envs.maths import grading
from tests.benchmarks.harness import Row, compare, row
from tests.envs.maths.grading_cases import DIFFERENT, EQUAL

GROUPS = ("golden", "integers", "decimals", "fractions", "tuples", "sets")
GOAL = 10.0


def rows() -> list[Row]:
    """Seconds per pair, taking turns."""
    right = [(*pair, True) for group in GROUPS for pair in EQUAL[group]]
    wrong = [(*pair, False) for group in GROUPS for pair in DIFFERENT[group]]
    pairs = [pair for pair in right + wrong if _settled(*pair[:2])]
    alone = _math_verify()
    mistakes = [
        sum(grade(mine, theirs) is not truth for mine, theirs, truth in pairs)
        for grade in (grading.equal, alone)
    ]

    def ours() -> None:
        grading._form.cache_clear()
        for mine, theirs, _ in pairs:
            grading.equal(mine, theirs)

    def other() -> None:
        for mine, theirs, _ in pairs:
            alone(mine, theirs)

    seconds = [total / len(pairs) for total in compare(ours, other, repeats=3)]
    note = (
        f"math-verify alone; of {len(pairs)} pairs it grades {mistakes[1]} otherwise than the "
        f"table says, we {mistakes[0]}"
    )
    return [row("maths, one answer graded", *seconds, GOAL, "CPU s", note)]


def _settled(mine: str, theirs: str) -> bool:
    """Whether our rules need no algebra system for this pair."""
    asked: list[tuple[str, str]] = []
    with patch.object(grading, "same_expression", lambda *pair: bool(asked.append(pair))):
        grading.equal(mine, theirs)
    return not asked


def _math_verify():
    """Its own two calls, as its documentation shows them; the answer stands in dollars."""
    from math_verify import parse, verify

    logging.getLogger("math_verify").setLevel(logging.CRITICAL)

    def grade(mine: str, theirs: str) -> bool:
        return bool(verify(parse(f"${theirs}$"), parse(f"${mine}$")))

    return grade
