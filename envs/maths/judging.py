"""Texts to reports: where the answer is, and what a program came to. Nothing is rewarded here."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from envs.base import Attempt
from envs.maths.answers import boxed_answer, printed_answer
from envs.maths.options import MathsOptions
from envs.maths.state import Report
from envs.maths.team import is_tool
from envs.programs import find_program
from envs.quoting import quotable

if TYPE_CHECKING:
    from envs.sandbox import Result, Sandbox

NO_PROGRAM = "none"
MAX_OUTPUT = 300
"""Characters of what a program printed that others read."""
_NOT_BUILT = ("SyntaxError", "IndentationError", "TabError", "ValueError: source code string")


class Judged(NamedTuple):
    """One text as it was read, without the reference's say."""

    report: Report
    parts: dict[str, bool]
    """Reward parts that do not depend on the reference."""


def judge_texts(
    options: MathsOptions, sandbox: "Sandbox | None", attempts: Sequence[Attempt]
) -> list[Judged | None]:
    """One for each attempt; all programs run side by side. None: the sandbox failed."""
    programs = [
        find_program(attempt.completion) if is_tool(attempt.role) else None for attempt in attempts
    ]
    results = iter(_run_all(sandbox, [program for program in programs if program]))
    return [
        _judge_program(attempt, program, next(results) if program else None, options)
        if is_tool(attempt.role)
        else _judge_text(attempt, options)
        for attempt, program in zip(attempts, programs, strict=True)
    ]


def _run_all(sandbox: "Sandbox | None", programs: Sequence[str]) -> list["Result"]:
    if not programs:
        return []
    from envs.sandbox import Run

    assert sandbox is not None
    return sandbox.run_many([Run(program) for program in programs])


def _judge_text(attempt: Attempt, options: MathsOptions) -> Judged:
    answer = boxed_answer(attempt.completion)
    text = quotable(attempt.completion.rpartition("</think>")[2], options.quoted)
    report = Report(attempt.role, answer, text if options.quoted else "")
    return Judged(report, {"format": answer is not None})


def _judge_program(
    attempt: Attempt, program: str | None, result: "Result | None", options: MathsOptions
) -> Judged | None:
    """A program's answer is what it printed last, if it ended well; an error's text never is."""
    if program is None or result is None:
        report = Report(attempt.role, None, outcome=NO_PROGRAM)
        return Judged(report, {"builds": False, "executes": False})
    outcome = result.outcome.value
    if outcome == "sandbox_error":
        return None
    ended = outcome == "ok"
    answer = printed_answer(result.stdout) if ended else None
    output = quotable(result.stdout if ended else result.stderr, MAX_OUTPUT)
    text = quotable(program, options.quoted) if options.quoted else ""
    report = Report(attempt.role, answer, text, output, outcome)
    parts = {"builds": ended or _built(result.stderr), "executes": ended and answer is not None}
    return Judged(report, parts)


def _built(stderr: str) -> bool:
    """Whether a program that failed had at least been compiled."""
    lines = [line for line in stderr.splitlines() if line.strip() and not line.startswith("[")]
    return not (lines and lines[-1].startswith(_NOT_BUILT))
