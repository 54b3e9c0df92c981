"""What a check writes down, and the conditions under which it looks twice."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from envs.base import Environment, State

Again = Callable[[], Environment]
"""Makes the same environment anew."""
TOLERANCE = 1e-9
"""Of rewards."""


@dataclass
class Report:
    """Failures found so far; equal sentences count once."""

    failures: list[str] = field(default_factory=list)

    def expect(self, holds: bool, sentence: str) -> None:
        """Record the sentence unless the promise holds."""
        if not holds and sentence not in self.failures:
            self.failures.append(sentence)


@contextmanager
def guarded(report: Report, where: str) -> Iterator[None]:
    """An exception inside becomes a failure: the check goes on elsewhere."""
    try:
        yield
    except Exception as error:  # whatever a broken environment raises is its failure
        report.expect(False, f"{where} raises {type(error).__name__}: {error}.")


@contextmanager
def global_seed(seed: int) -> Iterator[None]:
    """Python's global generator in a known state, so that a use of it shows."""
    before = random.getstate()
    random.seed(seed)
    try:
        yield
    finally:
        random.setstate(before)


def same_state(env: Environment, one: State, other: State) -> bool:
    """Equal, and equal in JSON too."""
    return bool(one == other) and bool(env.encode_state(one) == env.encode_state(other))
