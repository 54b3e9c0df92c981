"""A state drawn for a person; no role reads this."""

from envs.plan_path.state import PlanPathState
from envs.plan_path.team import TOOL
from envs.plan_path.walk import Walk


def picture(state: PlanPathState) -> str:
    """The grid with the agent (`A`), the goal (`G`; `@` once it is reached), and the last walks."""
    width = state.grid.width
    marks = list("".join(state.grid.rows()))
    marks[state.goal] = "G"
    marks[state.position] = "@" if state.position == state.goal else "A"
    rows = [" ".join(marks[start : start + width]) for start in range(0, len(marks), width)]
    lines = ["   " + " ".join(chr(97 + column) for column in range(width))]
    lines += [f"{number:2} {row}" for number, row in enumerate(rows, 1)]
    if state.last:
        lines.append(f"turn before: {_walk(state, state.last)}")
    for number, proposal in enumerate(state.proposals, 1):
        tool = TOOL if number == 1 else f"{TOOL}_{number}"
        lines.append(f"{tool}, on a copy: {_walk(state, proposal.walk)}")
    return "\n".join(lines)


def _walk(state: PlanPathState, walk: Walk) -> str:
    names = state.grid.board.names
    return f"{' '.join(names[cell] for cell in walk.cells) or 'nothing'} ({walk.word.value})"
