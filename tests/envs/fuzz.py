"""Fuzzing: whatever a model writes is an outcome, in every environment.

`python -m tests.envs.fuzz [NAME ...] [--count N]` prints what came of N completions for each
environment; test_fuzz.py runs the same. Half are hypothesis texts (any Unicode, or the characters
of real answers), half are mutated real answers, of the role itself or of another.
"""

import argparse
import json
import sys
import time
from collections import Counter
from random import Random
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from envs.base import Attempt, Environment, Order, Pictures, Status
from envs.checking.report import Report
from envs.checking.steps import ILLEGAL, check_rewards
from envs.registry import BUILT_IN
from tests.envs.cases import Case, Seen, cases_of, judge, look_around
from tests.envs.mutations import INSERTS, mutate

BATCH = 25
"""Completions that are judged together."""
LEGAL = {Status.RUNNING, Status.SOLVED, Status.FAILED}


def fuzz(case: Case, count: int) -> Counter[str]:
    """Judge that many completions; the statuses they had. AssertionError with the text if one
    breaks a promise."""
    env = case.recipe.make()
    seen = look_around(env)
    statuses: Counter[str] = Counter()

    @settings(
        max_examples=-(-count // BATCH),
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],  # the message names one text: nothing to shrink
    )
    @given(st.lists(_texts(env, seen), min_size=BATCH, max_size=BATCH), st.integers(0, 2**32))
    def batch(texts: list[Any], seed: int) -> None:
        rng = Random(seed)
        attempts = [_attempt(seen, text, rng) for text in texts]
        for attempt, result in zip(attempts, _judged(env, attempts), strict=True):
            check_result(env, attempt, result)
            statuses[result.status.value] += 1

    batch()
    return statuses


def _judged(env: Environment, attempts: list[Attempt]) -> list[Any]:
    """AssertionError that names the text which raised."""
    try:
        return judge(env, attempts)
    except Exception:
        for attempt in attempts:
            try:
                env.step(*attempt)
            except Exception as error:
                raise AssertionError(f"{_shown(env, attempt)} raises {error!r}") from error
        raise


def _shown(env: Environment, attempt: Attempt) -> str:
    return f"{env.name}, {attempt.role}: {attempt.completion[:300]!r}"


def check_result(env: Environment, attempt: Attempt, result: Any) -> None:
    """A legal status, declared rewards within bounds, a state that can be stored and played on."""
    role, shown = attempt.role, _shown(env, attempt)
    report = Report()
    assert result.status in LEGAL, f"{shown}: status {result.status}"
    check_rewards(env, role, result.rewards, report)
    assert report.failures == [], shown
    encoded = json.loads(json.dumps(env.encode_state(result.state)))
    assert env.decode_state(encoded) == result.state, f"{shown}: JSON changes the state"
    if isinstance(env, Pictures):
        assert env.picture(result.state).strip(), shown
    if result.status is Status.RUNNING:
        _go_on(env, role, result.state)


def _go_on(env: Environment, role: str, state: Any) -> None:
    """Whoever writes next can read, and be judged."""
    following = env.roles[(env.roles.index(role) + 1) % len(env.roles)]
    last = role == env.roles[-1]
    if env.order is Order.SERIAL or last:
        for reader in env.roles if env.order is Order.PARALLEL else (following,):
            messages = env.observe(state, reader)
            assert messages and all(message["content"].strip() for message in messages)
            for message in messages:
                message["content"].encode()
    env.step(state, following, "?!")


def _texts(env: Environment, seen: Seen) -> st.SearchStrategy[Any]:
    """A text, or the seed of a mutation."""
    known = [text for answers in seen.answers.values() for text in answers]
    alphabet = sorted({char for text in known for char in text} | set("[]() \n,"))
    return st.one_of(
        st.integers(0, 2**32),
        st.integers(0, 2**32),
        st.text(st.characters(exclude_categories=[]), max_size=60),
        st.text(alphabet, max_size=120),
        st.sampled_from([*ILLEGAL, *INSERTS]),
    )


def _attempt(seen: Seen, text: Any, rng: Random) -> Attempt:
    state, role = rng.choice(seen.places)
    if isinstance(text, int):
        own = rng.random() < 0.8
        texts = (
            seen.answers[role] if own else [t for all_of in seen.answers.values() for t in all_of]
        )
        text = mutate(texts, Random(text))
    return Attempt(state, role, text)


def main(arguments: list[str] | None = None) -> int:
    """A table: what came of it, by environment."""
    parser = argparse.ArgumentParser(prog="python -m tests.envs.fuzz", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="environments (default: all)")
    parser.add_argument("--count", type=int, default=500, help="of completions for each (500)")
    options = parser.parse_args(arguments)
    for name in options.names or sorted(BUILT_IN):
        begun, total = time.perf_counter(), Counter[str]()
        cases = cases_of(name)
        for case in cases:
            total += fuzz(case, -(-options.count // len(cases)))
        told = ", ".join(f"{status} {number}" for status, number in sorted(total.items()))
        spent = time.perf_counter() - begun
        print(
            f"{name}: {total.total():,} completions, {len(cases)} option sets: {told}; "
            f"no exception; {spent:.1f} s",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
