"""The state of an episode and its JSON form.

The problem is named by its key alone: golden tests are never part of a state.
"""

from dataclasses import asdict, dataclass

from envs.base import JSON, Status


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A test on which the program's output is not the test's, as roles read it."""

    input: str
    expected: str
    """By the tester, or by the public test."""
    got: str
    """The program's output, or what went wrong, in brackets."""


@dataclass(frozen=True, slots=True)
class Last:
    """What came of the turn before."""

    program: str | None
    """As roles may read it; None: the coder's text had none."""
    num_tests: int
    """That the program was tried on; 0: there were none that could be read."""
    num_failed: int
    mismatches: tuple[Mismatch, ...]
    """The first of those that failed."""


@dataclass(frozen=True, slots=True)
class CodeState:
    """Everything that observations and rewards depend on, but the problem file."""

    problem: str
    """Key of the problem."""
    program: str | None = None
    """This turn's; None until the coder has acted, or if its text had none."""
    num_golden: int = 0
    """Golden tests that judged the program; 0 until the coder has acted."""
    num_passed: int = 0
    """Of them. Never shown to a role."""
    last: Last | None = None
    """None in the first turn."""
    status: Status = Status.RUNNING


def encode(state: CodeState) -> JSON:
    """As a JSON value."""
    fields = asdict(state)
    if state.last:
        fields["last"]["mismatches"] = [asdict(mismatch) for mismatch in state.last.mismatches]
    return {**fields, "status": state.status.value}


def decode(encoded: JSON) -> CodeState:
    """The inverse of `encode`."""
    last = encoded["last"]
    if last is not None:
        mismatches = tuple(Mismatch(**mismatch) for mismatch in last["mismatches"])
        last = Last(**{**last, "mismatches": mismatches})
    return CodeState(**{**encoded, "last": last, "status": Status(encoded["status"])})
