"""The tool's Python program: what it is given, and how its output is read.

The program holds the grid itself, or reads it from its standard input (option `program_input`).
What it prints is walked elsewhere, on the real grid. Nothing is run here.
"""

import re

from envs.plan_path.options import PlanPathOptions
from envs.plan_path.parser import parse_actions
from envs.plan_path.state import PlanPathState, Script
from envs.quoting import quotable
from envs.sandbox import Outcome, Result

MAX_SHOWN = 400
"""Characters of the program's output that the planner reads (the end of it)."""
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}\b")


def stdin(options: PlanPathOptions, state: PlanPathState) -> str:
    """The rows, then start and goal as `row column` counted from 0; or nothing."""
    if options.program_input == "none":
        return ""
    width = state.grid.width
    places = [f"{cell // width} {cell % width}" for cell in (state.position, state.goal)]
    return "\n".join([*state.grid.rows(), *places, ""])


def read(result: Result, words: dict[str, int]) -> Script:
    """The actions on the last line that is not empty; a program that failed has printed nothing.

    Addresses of objects, which differ from run to run, are cut from what is shown.
    """
    if result.outcome is not Outcome.OK:
        trace = (result.stderr.strip().splitlines() or [""])[-1]
        return Script(_shown(f"{result.outcome.value} {trace}"), ())
    last = (result.stdout.strip().splitlines() or [""])[-1]
    return Script(_shown(result.stdout), parse_actions(last, words) or ())


def _shown(text: str) -> str:
    return quotable(_ADDRESS.sub("0x", text[-2 * MAX_SHOWN :]), MAX_SHOWN)
