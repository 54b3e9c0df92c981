"""An episode as a person may see it: the question and a line per turn."""

from envs.maths.state import MathsState, Turn

_WIDTH = 400


def picture(state: MathsState) -> str:
    """A few lines; the right answer is not among them before the end."""
    lines = [state.question[:_WIDTH]]
    lines += [f"turn {number}: {_line(turn)}" for number, turn in enumerate(state.turns, 1)]
    if state.current:
        lines.append(f"turn {len(state.turns) + 1}: {_line(state.current)} ...")
    if state.status.value != "running":
        lines.append(f"{state.status.value}; the answer is {state.reference}")
    return "\n".join(lines)


def _line(turn: Turn) -> str:
    return "; ".join(
        f"{report.role} {report.answer or 'no answer'}"
        + (f" ({report.outcome})" if report.outcome not in ("", "ok") else "")
        for report in turn
    )
