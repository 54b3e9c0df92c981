"""From a role's text to actions. Tolerant about where the answer stands, strict about what it says.

Compact style: the whole text is the answer, split at white space; every word must be an action
(or a program) and there may be `limit` words at most.

Paper style: text before the answer is free. Everything up to a closing `</think>` is dropped. The
answer is the last list in square brackets; without one, the last text in **bold** (unless it ends
with a colon) or in a ``` fence; without these, the last line that is not empty, after a label such
as `Actions:`. Its items are separated by white space, commas, semicolons, quotes or arrows; U D L
R, up, down, left, right and cell names are read in upper or lower case. One unknown item makes the
whole answer malformed: no part of it is executed, and no other list is tried instead.
"""

import re

from envs.plan_path.grid import Board, Cell
from envs.plan_path.program import Program, parse_program
from envs.plan_path.walk import Language

MAX_CHARACTERS = 20_000
"""Of a paper-style text; the end is read."""
MAX_ACTIONS = 1_000
_MOVES = {name: move for move, names in enumerate(("U up", "D down", "L left", "R right"))
          for name in names.split()}  # fmt: skip
_COMPACT_MOVES = {name: move for name, move in _MOVES.items() if len(name) == 1}
_LOOSE_MOVES = {name.lower(): move for name, move in _MOVES.items()}
_LIST = re.compile(r"\[([^\[\]]*)\]")
_MARKED = re.compile(r"\*\*([^*]*[^*:\s])\s*\*\*|```[a-zA-Z]*\n([^`]*)```")
_SEPARATORS = re.compile(r"[\s,;'\"]+|->|→")
_LABEL = re.compile(r"^(?:[\w ]{1,40}:)+")


def vocabulary(board: Board, language: Language, compact: bool) -> dict[str, int]:
    """Word -> action."""
    if language == "cells":
        return board.cells
    return _COMPACT_MOVES if compact else _LOOSE_MOVES


def parse_compact(text: str, words: dict[str, int], limit: int) -> tuple[int, ...] | None:
    """The actions, or None where the text is malformed: empty, too long, or an unknown word."""
    found = text.split(None, limit)
    if not found or len(found) > limit:
        return None
    actions = [words.get(word, -1) for word in found]
    return None if min(actions) < 0 else tuple(actions)


def parse_compact_program(text: str, cells: dict[str, Cell], limit: int) -> Program | None:
    """The program, or None."""
    found = text.split(None, limit)
    return None if len(found) > limit else parse_program(found, cells)


def parse_actions(text: str, words: dict[str, int]) -> tuple[int, ...] | None:
    """The actions in an instruct model's text, or None; the module's docstring has the rules."""
    answer = _answer(text)
    spans = list(_LIST.finditer(answer)) or list(_MARKED.finditer(answer))
    listed = spans[-1].group(spans[-1].lastindex or 0) if spans else _last_line(answer)
    items = [item.lower() for item in _SEPARATORS.split(listed) if item]
    actions = [words.get(item, -1) for item in items]
    if not actions or min(actions) < 0 or len(actions) > MAX_ACTIONS:
        return None
    return tuple(actions)


def parse_answer_program(text: str, cells: dict[str, Cell]) -> Program | None:
    """The last line that begins with `path`, without back quotes and bold marks; else None."""
    lines = (line.strip().strip("`* ").lower() for line in reversed(_answer(text).splitlines()))
    line = next((line for line in lines if re.match(r"path\b", line)), "")
    return parse_program(re.split(r"[\s,]+", line), cells)


def _answer(text: str) -> str:
    """The end of the text, without the thoughts before it."""
    return text[-MAX_CHARACTERS:].rpartition("</think>")[2]


def _last_line(text: str) -> str:
    line = next((line for line in reversed(text.splitlines()) if line.strip()), "")
    return _LABEL.sub("", line.replace("*", "").strip())
