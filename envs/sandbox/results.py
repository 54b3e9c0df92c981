"""How a run ended, and how its output is judged: outside, after it has ended."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """How a program ended, or what its output is worth."""

    OK = "ok"
    """It reached its last line, within all limits."""
    WRONG_ANSWER = "wrong_answer"
    """OK, but the output is another one; only `judged` says so."""
    RUNTIME_ERROR = "runtime_error"
    """An exception, `sys.exit` or any other early end, a crash."""
    TIMEOUT = "timeout"
    """More CPU or wall seconds than allowed."""
    MEMORY = "memory"
    OUTPUT_LIMIT = "output_limit"
    """Too much on stdout, on stderr or in files."""
    SANDBOX_ERROR = "sandbox_error"
    """The launcher failed before the program began, or died: nobody's fault but ours."""


@dataclass(frozen=True)
class Run:
    """One program and what it reads."""

    program: str
    stdin: str = ""


@dataclass(frozen=True)
class Result:
    """What came of a run."""

    outcome: Outcome
    stdout: str
    """At most `output_kib`."""
    stderr: str
    """Its end; a line in brackets is the sandbox's own."""
    cpu_s: float
    wall_s: float


def same_tokens(stdout: str, expected: str) -> bool:
    """Equal up to white space, which is how programs are usually judged."""
    return stdout.split() == expected.split()


def judged(
    result: Result, expected: str, same: Callable[[str, str], bool] = same_tokens
) -> Outcome:
    """`OK` only if the run was OK and its output is the expected one."""
    if result.outcome is Outcome.OK and not same(result.stdout, expected):
        return Outcome.WRONG_ANSWER
    return result.outcome
