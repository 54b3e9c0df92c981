"""An episode for a person's eyes; it may say what roles must not know (how many golden tests)."""

import textwrap

from envs.code.problem import CodeProblem
from envs.code.state import CodeState

_LINES = 12


def picture(problem: CodeProblem, state: CodeState) -> str:
    """The problem's name and beginning, this turn's program, the turn before."""
    question = problem.question.strip().splitlines()
    lines = [f"{problem.source}: {state.status.value}", *question[:_LINES]]
    if len(question) > _LINES:
        lines.append(f"... ({len(question) - _LINES} more lines)")
    if state.num_golden:
        written = "no program" if state.program is None else "a program"
        lines.append(f"this turn: {written}, {state.num_passed}/{state.num_golden} golden tests")
    if state.last:
        last = state.last
        lines.append(f"turn before: {last.num_failed} of {last.num_tests} known tests failed")
        for item in last.mismatches:
            short = [textwrap.shorten(text, 40) for text in (item.input, item.expected, item.got)]
            lines.append("  {} -> expected {}, got {}".format(*short))
    return "\n".join(lines)
