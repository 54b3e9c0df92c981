"""From a role's text to actions: the vocabularies of Sokoban; where the answer stands in a text is
read as in Plan-Path (envs/plan_path/parser.py, top).

In the language `pushes` the items are `push`, a box's cell and the cells to push it through, again
and again; a `push` without two cells behind it makes the whole answer malformed.
"""

import re
from collections.abc import Sequence

from envs.plan_path import parser
from envs.sokoban.board import DIRECTIONS, Cell
from envs.sokoban.program import Program, parse_program
from envs.sokoban.room import Room
from envs.sokoban.walk import PUSH, Language

_WORDS = ("up", "down", "left", "right")
_COMPACT_MOVES = {name: move for move, name in enumerate(DIRECTIONS)}
_LOOSE_MOVES = {name: move for names in (DIRECTIONS.lower(), _WORDS)
                for move, name in enumerate(names)}  # fmt: skip


def parse_actions(
    text: str, room: Room, language: Language, limit: int | None
) -> tuple[int, ...] | None:
    """The actions, or None where the text is malformed. `limit`: of words, in compact style."""
    words = _vocabulary(room, language, limit is not None)
    if limit is None:
        actions = parser.parse_actions(text, words)
    else:
        actions = parser.parse_compact(text, words, limit)
    return None if actions and language == "pushes" and not _are_pushes(actions) else actions


def read_program(text: str, room: Room, limit: int | None) -> Program | None:
    """The one-line program, or None. In paper style the last line that begins with `push`."""
    if limit is not None:
        found = text.split(None, limit)
        return None if len(found) > limit else parse_program(found, room.board.inner)
    answer = text[-parser.MAX_CHARACTERS :].rpartition("</think>")[2]
    lines = (line.strip().strip("`* ").lower() for line in reversed(answer.splitlines()))
    line = next((line for line in lines if re.match(r"push\b", line)), "")
    return parse_program(re.split(r"[\s,]+", line), room.board.inner)


def _vocabulary(room: Room, language: Language, compact: bool) -> dict[str, Cell]:
    if language == "moves":
        return _COMPACT_MOVES if compact else _LOOSE_MOVES
    cells = room.board.inner
    return {**cells, "push": PUSH} if language == "pushes" else cells


def _are_pushes(actions: Sequence[int]) -> bool:
    places = [place for place, action in enumerate(actions) if action == PUSH]
    if places[:1] != [0]:
        return False
    ends = [*places[1:], len(actions)]
    return min(end - place for place, end in zip(places, ends, strict=True)) > 2
