"""What the roles read, in two styles, and how an answer is written in each.

paper: instructions for an instruct model; with `worked_example` a small grid is asked about and
answered first, as an earlier exchange, and no thoughts are asked for. compact: a closed set of
words for tiny models, one word per cell: `walls a1 b3 goal f6 at b2`, and for the planner of a
team the tool's result, `route b3 b4 hit` (`route none error` where there is none).
"""

from dataclasses import replace
from functools import lru_cache

from envs.base import Message
from envs.plan_path.grid import DIRECTIONS, Cell, Grid, board, members, parse_rows, shortest_path
from envs.plan_path.options import PlanPathOptions
from envs.plan_path.state import PlanPathState, Proposal
from envs.plan_path.walk import Language, Walk, Word, as_words

KEYWORDS = ("walls", "goal", "at", "route", "none", "path", "avoid", *(word.value for word in Word))

_RULES = """\
You are the {role} that helps an agent walk through a grid. `.` is a free cell, `#` is a wall. A \
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
_ROUTE = """
Propose a route to the goal. It is tried on a copy of the grid; the planner sees what came of it.
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
    rules = _RULES.format(role=role)
    if not options.worked_example:
        return [{"role": "user", "content": rules + _paper(options, state, role)}]
    example = _example_state(options, role)
    return [
        {"role": "user", "content": rules + _paper(options, example, role)},
        {"role": "assistant", "content": _example_answer(options, example, role)},
        {"role": "user", "content": "Now another grid.\n" + _paper(options, state, role)},
    ]


def answer(words: list[str], compact: bool) -> str:
    """A list of actions as a role writes it."""
    return " ".join(words) if compact else f"[{', '.join(words)}]"


def lexicon(options: PlanPathOptions) -> tuple[str, ...]:
    """All words of the compact style, in a fixed order."""
    moves = tuple(DIRECTIONS) if options.action_language == "moves" else ()
    return (*KEYWORDS, *moves, *board(options.height, options.width).names)


def _compact(options: PlanPathOptions, state: PlanPathState, role: str) -> str:
    scene = f"{_scene(state.grid, state.goal)} at {state.grid.board.names[state.position]}"
    if role == "tool" or options.roles == "planner":
        return scene
    walk = state.proposal.walk if state.proposal else None
    return f"{scene} route {_route(state, walk, options.action_language, ' ')}"


@lru_cache(maxsize=8192)
def _scene(grid: Grid, goal: Cell) -> str:
    names = grid.board.names
    return " ".join(["walls", *(names[cell] for cell in members(grid.walls)), "goal", names[goal]])


def _route(state: PlanPathState, walk: Walk | None, language: Language, separator: str) -> str:
    """`b3 b4 hit`: the cells or moves walked, or `none`, and the result's word."""
    if walk is None:
        return f"none{separator}{Word.ERROR.value}"
    words = as_words(state.grid, state.position, walk.cells, language) or ["none"]
    return f"{' '.join(words)}{separator}{walk.word.value}"


def _paper(options: PlanPathOptions, state: PlanPathState, role: str) -> str:
    """The scene and what to write, after the rules."""
    names = state.grid.board.names
    position = names[state.position]
    scene = _SCENE.format(grid=_picture(state.grid), position=position, goal=names[state.goal])
    parts = [scene, _last(state)]
    if role == "tool" and options.tool == "search":
        return "".join([*parts, _PROGRAM.format(position=position)])
    if role == "planner" and options.roles == "team":
        parts.append(_tool(options, state))
    parts.append(_ROUTE if role == "tool" else _DECIDE)
    written = _FORMAT_ONLY if options.worked_example else _FORMAT
    return "".join([*parts, written[options.action_language]])


def _example_state(options: PlanPathOptions, role: str) -> PlanPathState:
    """A small grid; the planner of a team sees that the tool's route reaches the goal."""
    state = PlanPathState(parse_rows([".#.", "...", "#.."]), goal=8, position=0)
    if role == "tool" or options.roles == "planner":
        return state
    text = _example_answer(options, state, "tool")
    return replace(state, proposal=Proposal(text, Walk(_shortest(state), 4, Word.OK)))


def _example_answer(options: PlanPathOptions, state: PlanPathState, role: str) -> str:
    grid, names = state.grid, state.grid.board.names
    if role == "tool" and options.tool == "search":
        walls = [names[cell] for cell in members(grid.walls)]
        return " ".join(["path", names[state.position], names[state.goal], "avoid", *walls])
    words = as_words(grid, state.position, _shortest(state), options.action_language)
    return answer(words, compact=False)


def _shortest(state: PlanPathState) -> tuple[Cell, ...]:
    grid = state.grid
    path = shortest_path(grid.height, grid.width, grid.walls, state.position, state.goal)
    return path or ()


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


def _tool(options: PlanPathOptions, state: PlanPathState) -> str:
    if state.proposal is None:
        return "\nThe tool has proposed nothing.\n"
    walk = state.proposal.walk
    words = as_words(state.grid, state.position, walk.cells, options.action_language)
    return (
        f"\nThe tool wrote:\n{state.proposal.text or '(nothing)'}\n\n"
        f"Tried on a copy, it walked: {' '.join(words) or 'nothing'}\n"
        f"Result: {_OUTCOME[walk.word]}\n"
    )
