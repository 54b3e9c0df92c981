"""What the roles read, in two styles, and how an answer is written in each.

paper: instructions for an instruct model; with `worked_example` a small grid is asked about and
answered first, as an earlier exchange, and no thoughts are asked for. compact: a closed set of
words for tiny models, one word per cell: `walls a1 b3 goal f6 at b2`, and for those who see
proposals the result of each, `route b3 b4 hit` (`route none error` where there is none).
"""

from functools import lru_cache

from envs.base import Message
from envs.plan_path.example_scripts import fenced
from envs.plan_path.grid import DIRECTIONS, Cell, Grid, board, members
from envs.plan_path.options import PlanPathOptions
from envs.plan_path.state import PlanPathState, Proposal, Script
from envs.plan_path.team import is_tool, number_of, proposes, seen
from envs.plan_path.walk import Language, Walk, Word, as_words
from envs.plan_path.worked_example import example_answer, example_state

MAX_ACTIONS = 200
"""Actions read from a Python program's output that the planner sees."""
KEYWORDS = ("walls", "goal", "at", "route", "none", "path", "avoid", *(word.value for word in Word))

_RULES = """\
You are {who} an agent walk through a grid. `.` is a free cell, `#` is a wall. A \
cell is named by its column's letter and its row's number, so b3 is in the second column and the \
third row from the top. One step leads to the next cell up (U), down (D), left (L) or right (R); \
walls and the edge cannot be passed.
"""
_SCENE = """
{grid}

The agent stands on {position}. The goal is {goal}.
"""
_PROGRAM = """
Write one line of this form, and the team's program runs it:
path <from> <to> avoid <cell> <cell> ...
It searches a shortest path between the two cells. It knows no walls: it avoids only the cells \
that you list, so list every wall that could be in the way. It must start at {position}. For \
example: path a1 c1 avoid b1 b2
"""
_SCRIPT = {
    "none": """
Write a Python program that finds the way to the goal, in a ```python fence. It is run alone, with \
Python's standard library only and without input, so it must hold the grid itself. \
""",
    "grid": """
Write a Python program that finds the way to the goal, in a ```python fence. It is run alone, with \
Python's standard library only. On its standard input it finds the {height} rows of the grid, one \
a line and without spaces, then the agent's cell and then the goal, each as a line with row and \
column counted from 0. \
""",
}
_PRINTED = {
    "moves": """\
The last line that it prints must be the list of moves from {position}, such as ['U', 'R', 'R'].
""",
    "cells": """\
The last line that it prints must be the list of cells to step on in order, without {position}, \
such as ['b2', 'b3', 'c3'].
""",
}
_TRIED = """\
The list is tried on a copy of the grid; the planner sees the program, what it printed and what \
came of it.
"""
_WALKED = """\
The agent walks it. If it does not reach the goal, you continue from where it leads.
"""
_ROUTE = """
Propose a route to the goal. It is tried on a copy of the grid; the planner sees what came of it.
"""
_LATER = """
Where the proposals above fail, find out why, and make a better one.
"""
_DECIDE = """
Decide which actions the agent takes now. If they do not reach the goal, you continue from where \
they lead.
"""
_FORMAT = {
    "moves": """
Think briefly, then end with the list of moves in square brackets, such as [U, R, R].""",
    "cells": """
Think briefly, then end with the cells to step on in order, in square brackets, without the cell \
where the agent stands, such as [b2, b3, c3].""",
}
_FORMAT_ONLY = {
    "moves": """
Answer with the list of moves (U, D, L or R) in square brackets, and nothing else.""",
    "cells": """
Answer with the cells to step on in order, in square brackets, without the cell where the agent \
stands, and nothing else.""",
}
_OUTCOME = {
    Word.OK: "ok: it reaches the goal",
    Word.SHORT: "short: it ends before the goal",
    Word.HIT: "hit: the next step was not possible",
    Word.ERROR: "error: there was nothing that could be run",
}


def observe(options: PlanPathOptions, state: PlanPathState, role: str) -> list[Message]:
    """The prompt of `role`: a user message, after a worked example if there is one."""
    if options.prompt_style == "compact":
        return [{"role": "user", "content": _compact(options, state, role)}]
    rules = _RULES.format(who=_who(options, role))
    if not options.worked_example:
        return [{"role": "user", "content": rules + _paper(options, state, role)}]
    example = example_state(options, role)
    return [
        {"role": "user", "content": rules + _paper(options, example, role)},
        {"role": "assistant", "content": example_answer(options, example, role)},
        {"role": "user", "content": "Now another grid.\n" + _paper(options, state, role)},
    ]


def lexicon(options: PlanPathOptions) -> tuple[str, ...]:
    """All words of the compact style, in a fixed order."""
    moves = tuple(DIRECTIONS) if options.action_language == "moves" else ()
    return (*KEYWORDS, *moves, *board(options.height, options.width).names)


def _compact(options: PlanPathOptions, state: PlanPathState, role: str) -> str:
    scene = f"{_scene(state.grid, state.goal)} at {state.grid.board.names[state.position]}"
    if options.roles != "team":
        return scene
    walks: list[Walk | None] = [proposal.walk for proposal in seen(state, role)]
    if not walks and not is_tool(role):
        walks = [None]
    routes = [f"route {_route(state, walk, options.action_language)}" for walk in walks]
    return " ".join([scene, *routes])


def _who(options: PlanPathOptions, role: str) -> str:
    """As the role's prompt begins: `You are <who> an agent walk`."""
    if is_tool(role) and options.num_tools > 1:
        return f"tool {number_of(role)} of the {options.num_tools} that help"
    if options.roles == "tool":
        return "the programmer that helps"
    return f"the {role} that helps"


@lru_cache(maxsize=8192)
def _scene(grid: Grid, goal: Cell) -> str:
    names = grid.board.names
    return " ".join(["walls", *(names[cell] for cell in members(grid.walls)), "goal", names[goal]])


def _route(state: PlanPathState, walk: Walk | None, language: Language) -> str:
    """`b3 b4 hit`: the cells or moves walked, or `none`, and the result's word."""
    if walk is None:
        return f"none {Word.ERROR.value}"
    words = as_words(state.grid, state.position, walk.cells, language) or ["none"]
    return f"{' '.join(words)} {walk.word.value}"


def _paper(options: PlanPathOptions, state: PlanPathState, role: str) -> str:
    """The scene and what to write, after the rules."""
    names = state.grid.board.names
    position = names[state.position]
    scene = _SCENE.format(grid=_picture(state.grid), position=position, goal=names[state.goal])
    parts = [scene, _last(state), *_proposed(options, state, role)]
    if is_tool(role) and options.tool == "program":
        return "".join([*parts, _script(options, state)])
    if is_tool(role) and options.tool == "search":
        carried = [] if proposes(options, role) else [_WALKED]
        return "".join([*parts, _PROGRAM.format(position=position), *carried])
    parts.append(_ROUTE if is_tool(role) else _DECIDE)
    written = _FORMAT_ONLY if options.worked_example else _FORMAT
    return "".join([*parts, written[options.action_language]])


@lru_cache(maxsize=8192)
def _picture(grid: Grid) -> str:
    """The grid with column letters above and row numbers at the left."""
    letters = " ".join(chr(97 + column) for column in range(grid.width))
    rows = [f"{number:2} {' '.join(row)}" for number, row in enumerate(grid.rows(), 1)]
    return "\n".join([f"   {letters}", *rows])


def _last(state: PlanPathState) -> str:
    """One line about the turn before, or nothing."""
    if state.last is None:
        return ""
    names = state.grid.board.names
    cells = " ".join(names[cell] for cell in state.last.cells) or "no cell"
    return f"The turn before walked over {cells} ({_OUTCOME[state.last.word]}).\n"


def _printed(options: PlanPathOptions, state: PlanPathState, script: Script | None) -> str:
    """What a Python program printed and how it was read, or nothing for the other tools."""
    if script is None:
        return ""
    cells = options.action_language == "cells"
    names = state.grid.board.names if cells else DIRECTIONS
    actions = [names[action] for action in script.actions[:MAX_ACTIONS]]
    more = ["..."] if len(script.actions) > MAX_ACTIONS else []
    return (
        f"It printed:\n{script.printed or '(nothing)'}\n"
        f"Read as: {' '.join([*actions, *more]) or 'no list of actions'}\n\n"
    )


def _script(options: PlanPathOptions, state: PlanPathState) -> str:
    position = state.grid.board.names[state.position]
    task = _SCRIPT[options.program_input].format(height=state.grid.height)
    then = _TRIED if options.roles == "team" else _WALKED
    return task + _PRINTED[options.action_language].format(position=position) + then


def _proposed(options: PlanPathOptions, state: PlanPathState, role: str) -> list[str]:
    """What the role sees of this turn's proposals; nothing for the first tool or a single agent."""
    if options.roles != "team":
        return []
    parts = [
        _tool(options, state, proposal, f"Tool {number}" if options.num_tools > 1 else "The tool")
        for number, proposal in enumerate(seen(state, role), 1)
    ]
    if is_tool(role):
        return [*parts, _LATER] if parts else []
    return parts or ["\nThe tool has proposed nothing.\n"]


def _tool(options: PlanPathOptions, state: PlanPathState, proposal: Proposal, name: str) -> str:
    walk = proposal.walk
    words = as_words(state.grid, state.position, walk.cells, options.action_language)
    written = proposal.text or "(nothing)"
    if proposal.script:
        written = fenced(f"{written}\n")
    return (
        f"\n{name} wrote:\n{written}\n\n"
        f"{_printed(options, state, proposal.script)}"
        f"Tried on a copy, it walked: {' '.join(words) or 'nothing'}\n"
        f"Result: {_OUTCOME[walk.word]}\n"
    )
