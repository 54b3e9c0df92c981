"""What the roles read, in two styles, and how an answer is written in each.

paper: instructions for an instruct model. compact: a closed set of words for tiny models, one word
per cell: `walls b2 d4 goals d5 boxes c3 at b4`, the walls around the room left out; after the first
turn how the last one ended, `last hit`; and for the planner of a team the tool's result, `route
push c3 d3 hit` (`route none error` where there is none).
"""

from functools import lru_cache

from envs.base import Message
from envs.sokoban.board import DIRECTIONS, CellSet, board, letters, members
from envs.sokoban.options import SokobanOptions, word_limit
from envs.sokoban.room import Level, Room
from envs.sokoban.state import Proposal, SokobanState, Turn, rows_of
from envs.sokoban.walk import Language, Walk, Word, as_words

KEYWORDS = ("walls", "goals", "boxes", "at", "last", "route", "none", "push", "avoid",
            *(word.value for word in Word))  # fmt: skip
MAX_WORDS = 200
"""Of a walk that a prompt repeats; the rest is counted."""

_RULES = """\
You are the {role} of a team that plays Sokoban: the player pushes every box onto a goal. `#` is a \
wall, `@` the player, `$` a box, `.` a goal, `*` a box on a goal, `+` the player on a goal, \
{floor} is floor. The player steps up (U), down (D), left (L) or right (R). Stepping onto a box \
pushes it one cell further; that is not possible if a wall or another box is behind it. Boxes \
cannot be pulled, so a box in a corner stays there.
"""
_NAMES = """\
A cell is named by its column's letter and its row's number, so c2 is in the third column and the \
second row from the top.
"""
_PROGRAM = """
Write a Python program that prints the player's moves as one list, such as [U, R, R], {alternative}\
in a ```python fence. It is run with the grid's rows on standard input and nothing else; the \
standard library is there, files and the network are not. """
_TRIED = """\
What it prints is tried on a copy of the room; the planner sees program, output and what came of it.
"""
_DONE = """\
The player does what it finds. If boxes remain, you continue from where that leads.
"""
_SEARCH = """
Write one line of this form, and the team's program runs it:
push <box> <goal> push <box> <goal> ... avoid <cell> <cell> ...
For each box in turn it searches the shortest way to push it to the goal. It knows where the \
player and the named boxes stand and the walls around the board, and no others: list every cell \
inside with a wall, or with a box that you do not name. For example: push c3 e4 avoid c4 d2
"""
_ROUTE = """
Propose what the player does. It is tried on a copy of the room; the planner sees what came of it.
"""
_DECIDE = """
Decide what the player does now. If boxes remain, you continue from where that leads.
"""
_FORMAT = {
    "moves": """
Think briefly, then end with the list of moves in square brackets, such as [U, R, R].""",
    "cells": """
Think briefly, then end with the cells that the player steps on, in order, in square brackets, \
without the cell where it stands, such as [b2, b3, c3].""",
    "pushes": """
Think briefly, then end with the way of each box in square brackets: the word push, the box's \
cell, and the cells it is pushed through, such as [push, c3, c4, d4, push, b2, b3]. The player \
walks behind the box by itself.""",
}
_OUTCOME = {
    Word.OK: "ok: all boxes are on goals",
    Word.SHORT: "short: boxes remain",
    Word.STUCK: "stuck: a box can no longer get to a goal",
    Word.HIT: "hit: the next step was not possible",
    Word.ERROR: "error: there was nothing that could be run",
}


def observe(options: SokobanOptions, state: SokobanState, role: str) -> list[Message]:
    """The prompt of `role`: one user message."""
    write = _compact if options.prompt_style == "compact" else _paper
    return [{"role": "user", "content": write(options, state, role)}]


def answer(words: list[str], compact: bool) -> str:
    """A list of actions as a role writes it."""
    return " ".join(words) if compact else f"[{', '.join(words)}]"


def lexicon(options: SokobanOptions, height: int, width: int) -> tuple[str, ...]:
    """All words of the compact style in rooms up to this size, in a fixed order."""
    moves = tuple(DIRECTIONS) if options.action_language == "moves" else ()
    return (*KEYWORDS, *moves, *board(height, width).inner)


def turn_of(options: SokobanOptions, level: Level, walk: Walk) -> Turn:
    """A walk from `level` as the next turn's prompts tell it."""
    compact = options.prompt_style == "compact"
    return Turn("" if compact else _told(level, walk, options.action_language), walk.word)


def _compact(options: SokobanOptions, state: SokobanState, role: str) -> str:
    level, names = state.level, state.level.room.board.names
    scene = f"{_scene(level.room)} boxes {_names(level.room, level.boxes)} at {names[level.player]}"
    scene += f" last {state.last.word.value}" if state.last else ""
    if role == "tool" or options.roles != "team":
        return scene
    walk = state.proposal.walk if state.proposal else None
    if walk is None:
        return f"{scene} route none {Word.ERROR.value}"
    words = as_words(level, walk.cells, options.action_language)[: word_limit(options, level.room)]
    return f"{scene} route {' '.join(words) or 'none'} {walk.word.value}"


@lru_cache(maxsize=8192)
def _scene(room: Room) -> str:
    walls = _names(room, room.walls & ~room.board.ring) or "none"
    return f"walls {walls} goals {_names(room, room.goals)}"


def _names(room: Room, cells: CellSet) -> str:
    names = room.board.names
    return " ".join([names[cell] for cell in members(cells)])


def _paper(options: SokobanOptions, state: SokobanState, role: str) -> str:
    """Rules, room, the turn before, and what to write."""
    named = options.action_language != "moves" or options.tool == "search"
    alone = options.roles == "tool"
    rules = _rules("programmer" if alone else role, named)
    parts = [rules, _picture(state.level, named), _last(state.last)]
    if role == "planner" and options.roles == "team":
        parts.append(_tool(options, state.level, state.proposal))
    parts.append(_wanted(role, options.tool, options.action_language, alone))
    return "".join(parts)


@lru_cache
def _rules(role: str, named: bool) -> str:
    """`named`: cells have names, and floor a mark."""
    rules = _RULES.format(role=role, floor="`-`" if named else "a space")
    return f"{rules}{_NAMES if named else ''}\n"


@lru_cache
def _wanted(role: str, tool: str, language: Language, alone: bool) -> str:
    """What the role is to write; `alone`: no planner sees it."""
    if role == "tool" and tool == "search":
        return _SEARCH + (_DONE if alone else "")
    if role == "tool" and tool == "program":
        program = _PROGRAM.format(alternative=_ALTERNATIVE[language])
        return program + (_DONE if alone else _TRIED)
    return (_ROUTE if role == "tool" else _DECIDE) + _FORMAT[language]


_ALTERNATIVE = {
    "moves": "",
    "cells": "written as the cells that it steps on, such as [b2, b3, c3], ",
    "pushes": "written as the ways of the boxes, such as [push, c3, c4, d4], ",
}


def _picture(level: Level, named: bool) -> str:
    """The rows; with names, column letters above and row numbers at the left."""
    if not named:
        return "\n".join(rows_of(level)) + "\n"
    gap = " " if level.room.width <= 26 else "  "
    rows = [f"{number:2} {gap.join(row)}\n" for number, row in enumerate(rows_of(level, "-"), 1)]
    return _columns(level.room.width) + "".join(rows)


@lru_cache
def _columns(width: int) -> str:
    size = 1 if width <= 26 else 2
    return f"   {' '.join(letters(column).ljust(size) for column in range(width)).rstrip()}\n"


def _last(last: Turn | None) -> str:
    """One line about the turn before, or nothing."""
    if last is None:
        return ""
    return f"\nThe turn before did: {last.words or 'nothing'} ({_OUTCOME[last.word]}).\n"


def _tool(options: SokobanOptions, level: Level, proposal: Proposal | None) -> str:
    if proposal is None:
        return "\nThe tool has proposed nothing.\n"
    printed = f"It printed:\n{_quoted(proposal.output)}\n\n" if proposal.output else ""
    told = _told(level, proposal.walk, options.action_language)
    return (
        f"\nThe tool wrote:\n{_quoted(proposal.text or '(nothing)')}\n\n{printed}"
        f"Tried on a copy, it did: {told or 'nothing'}\n"
        f"Result: {_OUTCOME[proposal.walk.word]}\n"
    )


def _quoted(text: str) -> str:
    """Every line behind a mark of ours, so that none can pass for a line of the prompt."""
    return "\n".join([f"| {line}" for line in text.splitlines()])


def _told(level: Level, walk: Walk, language: Language) -> str:
    words = as_words(level, walk.cells, language)
    rest = f" and {len(words) - MAX_WORDS} more" if len(words) > MAX_WORDS else ""
    return " ".join(words[:MAX_WORDS]) + rest
