"""What a role reads: the problem, its part in the team, and what the turns before came to.

The right answer is in no prompt, and nothing of the turn being played but what `team.visible`
lets through.
"""

from collections.abc import Sequence

from envs.base import Message
from envs.maths.options import MathsOptions
from envs.maths.state import MathsState, Report
from envs.maths.team import JUDGE, is_tool, roles_of, visible
from envs.quoting import quotable

_MAX_SHOWN_ANSWER = 200
"""Characters of an answer."""
_ALONE = "Solve this mathematics problem.\n"
_TEAM = "You are {role} in a team that solves a mathematics problem: {others}.\n"
_PROBLEM = "\nProblem:\n{question}\n"
_RULES = {
    "reasoner": """
Reason step by step. End with the final answer in \\boxed{}: only the last box is read, and it \
must hold the answer alone, such as \\boxed{12}, \\boxed{\\frac{3}{4}} or \\boxed{(1, -2)}.""",
    "tool": """
Write one Python program that computes the answer, in a block that begins with ```python and ends \
with ```. It runs by itself: no input, no files, no network, {libraries}, {cpu_s:g} s of computing \
time. It must run to its end. The last line that it prints must be the answer alone, such as 12, \
3/4 or (1, -2); print fractions exactly rather than rounded.""",
    "judge": """
Weigh these answers and the work behind them, check what you can, and decide. Give the team's \
final answer in \\boxed{}: only the last box is read, and it ends the work. Without a box in your \
text the team works one more turn and reads this turn's answers.""",
}
_ENDS = {
    "all": "The work ends when all answers of a turn are equal.",
    "majority": "The work ends when more than half of a turn's answers are equal.",
    "judge": "A judge reads all answers of a turn and decides.",
    "repeat": "The work ends when you give the same answer in two turns running: check the one "
    "before, and change it if it is wrong.",
}
_OUTCOMES = {
    "none": "there was no program in its text",
    "ok": "its program ran",
    "wrong_answer": "its program failed",
    "runtime_error": "its program ended with an error",
    "timeout": "its program took too long",
    "memory": "its program needed too much memory",
    "output_limit": "its program printed too much",
}


def observe(options: MathsOptions, state: MathsState, role: str) -> list[Message]:
    """The prompt of `role`: one user message."""
    roles = roles_of(options)
    others = ", ".join(f"{name} (you)" if name == role else name for name in roles)
    parts = [_ALONE if len(roles) == 1 else _TEAM.format(role=role, others=others)]
    parts.append(_ends(options, role))
    parts.append(_PROBLEM.format(question=state.question))
    parts += [_past(number, turn) for number, turn in enumerate(state.turns[:-1], 1)]
    if state.turns:
        parts.append(_told(f"Turn {len(state.turns)}", state.turns[-1], role, options))
    parts.append(_told("This turn", visible(options, state, role), role, options))
    parts.append(_rules(options, role))
    return [{"role": "user", "content": "".join(parts)}]


def _rules(options: MathsOptions, role: str) -> str:
    if not is_tool(role):
        return _RULES[JUDGE if role == JUDGE else "reasoner"]
    libraries = " and ".join(["the standard library", *options.sandbox.packages])
    return _RULES["tool"].format(libraries=libraries, cpu_s=options.sandbox.cpu_s)


def _ends(options: MathsOptions, role: str) -> str:
    if role == JUDGE:
        return ""
    if options.judge:
        return _ENDS[JUDGE] + "\n"
    if options.reasoners + options.tools == 1:
        return _ENDS["repeat"] + "\n" if options.settle == "repeat" else ""
    return _ENDS[options.agreement] + "\n"


def _past(number: int, turn: Sequence[Report]) -> str:
    """One line for a turn before the last."""
    answers = ", ".join(f"{report.role} {_shown(report.answer)}" for report in turn)
    return f"\nTurn {number} gave: {answers}.\n"


def _told(title: str, turn: Sequence[Report], role: str, options: MathsOptions) -> str:
    """Each report with the end of its text."""
    parts = []
    for report in turn:
        who = f"{report.role} (you)" if report.role == role else report.role
        parts.append(f"\n{title}, {who} answered {_shown(report.answer)}{_ran(report)}.")
        text = quotable(report.text, options.quoted) if options.quoted else ""
        if text:
            parts.append(f" Its {'program' if is_tool(report.role) else 'text'} ended:\n{text}")
        if report.output:
            parts.append(f"\nIt printed:\n{report.output}")
        parts.append("\n")
    return "".join(parts)


def _shown(answer: str | None) -> str:
    return "nothing" if answer is None else quotable(answer, _MAX_SHOWN_ANSWER)


def _ran(report: Report) -> str:
    return f" ({_OUTCOMES.get(report.outcome, report.outcome)})" if report.outcome else ""
