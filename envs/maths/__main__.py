"""`python -m envs.maths`: the figures of README.md, measured.

How many problems of each packaged set can be graded, how fast answers are graded and turns judged.
"""

import time
from collections import Counter
from random import Random

from envs.base import Attempt, Split
from envs.maths import packaged
from envs.maths.environment import Maths, make_maths
from envs.maths.grading import equal
from envs.maths.rows import MathsRow

_PLAIN = [("204", "204"), (r"\frac{3}{4}", "0.75"), ("x = 5", "5"), ("(1, 2)", r"\left(1,2\right)")]
_ALGEBRA = r"\sqrt{{{square}}}", r"{root}\sqrt{{3}}"


def main() -> None:
    """Print the figures."""
    for name in packaged.SETS:
        print(f"package:{name}: {_kept(name)}")
    print(f"graded by own rules: {_plain_rate():.0f} answers/s")
    print(f"graded by the algebra system: {_algebra_rate():.0f} answers/s")
    for roles in ({"tools": 0}, {"reasoners": 0}, {}):
        env = make_maths(roles, "dense")
        print(f"{' + '.join(env.roles)}: {_turn_rate(env):.0f} turns/s")


def _kept(name: str) -> str:
    found = packaged.adapted(name)
    rows = [row for _, row in found if isinstance(row, MathsRow)]
    problems = packaged.load_package(name)
    sizes = Counter({split.value: len(problems.rows(split)) for split in Split})
    return f"{len(rows)} of {len(found)} problems, {dict(sizes)}"


def _plain_rate() -> float:
    began, count = time.perf_counter(), 5_000
    for _ in range(count // len(_PLAIN)):
        for answer, reference in _PLAIN:
            equal(answer, reference)
    return count / (time.perf_counter() - began)


def _algebra_rate() -> float:
    """Different expressions each time; the worker is started first."""
    equal(r"\sqrt{2}", r"\sqrt{3}")
    began, count = time.perf_counter(), 100
    for root in range(2, 2 + count):
        equal(_ALGEBRA[0].format(square=3 * root**2), _ALGEBRA[1].format(root=root))
    return count / (time.perf_counter() - began)


def _turn_rate(env: Maths) -> float:
    """A role's turn: its prompt, and one demonstrated answer judged; judged 64 at a time."""
    rng, attempts = Random(0), []
    began = time.perf_counter()
    for task in env.tasks(Split.TRAIN, 0, 0, 128):
        state = env.reset(task)
        for role in env.roles:
            env.observe(state, role)
            attempts.append(Attempt(state, role, env.demonstrate(state, role, rng)))
    for first in range(0, len(attempts), 64):
        env.step_many(attempts[first : first + 64])
    return len(attempts) / (time.perf_counter() - began)


if __name__ == "__main__":
    main()
