"""From a role's text to fills. Tolerant about where the answer stands, strict about what it says.

Compact style: the whole text is the answer, split at white space; every word must be a fill (or a
program) and there may be `limit` words at most.

Paper style: text before the answer is free, and everything up to a closing `</think>` is dropped.

Fills: the last list in square brackets; without one, the last text in **bold** (unless it ends
with a colon) or in a ``` fence; without these, the last lines as far as they hold fills alone,
after a label such as `Answer:`. Items are separated by white space, commas, semicolons or quotes;
`r1c2=3`, `R1C2 = 3` and `r1c2: 3` are one fill. One unknown item, or two digits for one cell, and
the whole answer is malformed: no part of it is executed, and no other list is tried instead.

Grid: the last rows of `size` digits (`.`, `_` or 0 leaves a cell as it is), that many lines on
end, or the whole grid in one line. Rows may be divided by spaces, commas, bars, brackets and
ruled or empty lines; anything else on a line makes it prose. Other numbers of lines are malformed.
"""

import re

from envs.sudoku.board import BLANK, Board, Fill, fills_of
from envs.sudoku.program import KEYWORD, consistent, parse_program

MAX_CHARACTERS = 20_000
"""Of a paper-style text; the end is read."""
_LIST = re.compile(r"\[([^\[\]]*)\]")
_MARKED = re.compile(r"\*\*([^*]*[^*:\s])\s*\*\*|```[a-zA-Z]*\n([^`]*)```")
_SEPARATORS = re.compile(r"[\s,;'\"]+")
_ASSIGNS = re.compile(r"\s{0,3}[=:]\s{0,3}")
_LABEL = re.compile(r"^[ \t]*(?:[A-Za-z ]{1,40}:)+[ \t]*")
_PROGRAM = re.compile(rf"{KEYWORD}\b")
_RULED = re.compile(r"[-+=|:\s]*")
_DIVIDERS = re.compile(r"[\s,;|'\"\[\](){}*`]+")
_NEXT_ROW = re.compile(r"\]\s*,?\s*\[")
_BLANKS = str.maketrans("0_", "..")


def parse_compact(text: str, plan: Board, limit: int) -> list[Fill] | None:
    """The fills, or None where the text is malformed: empty, too long, or an unknown word."""
    found = text.split(None, limit)
    if len(found) > limit:
        return None
    return consistent([plan.fills.get(word, -1) for word in found], plan.size)


def parse_compact_program(text: str, plan: Board, limit: int) -> list[Fill] | None:
    """The digits that a program lists, or None."""
    found = text.split(None, limit)
    return None if len(found) > limit else parse_program(found, plan.fills, plan.size)


def parse_fills(text: str, plan: Board) -> list[Fill] | None:
    """The fills in an instruct model's text, or None; the module's docstring has the rules."""
    answer = _answer(text)
    spans = list(_LIST.finditer(answer)) or list(_MARKED.finditer(answer))
    if spans:
        return consistent(_read(spans[-1].group(spans[-1].lastindex or 0), plan), plan.size)
    found: list[Fill] = []
    for line in reversed(answer.splitlines()):
        fills = _read(_LABEL.sub("", line.replace("*", "")), plan)
        if line.strip() and (not fills or min(fills) < 0):
            break
        found = fills + found
    return consistent(found, plan.size)


def parse_answer_program(text: str, plan: Board) -> list[Fill] | None:
    """The last line that begins with `solve`, without back quotes and bold marks; else None."""
    lines = (line.strip().strip("`* ").lower() for line in reversed(_answer(text).splitlines()))
    line = next((line for line in lines if _PROGRAM.match(line)), "")
    words = [word for word in re.split(r"[\s,]+", _ASSIGNS.sub("=", line)) if word]
    return parse_program(words, plan.fills, plan.size)


def parse_grid(text: str, plan: Board) -> list[Fill] | None:
    """The grid in an instruct model's text as fills, or None."""
    size = plan.size
    rows: list[str] = []
    for line in reversed(_NEXT_ROW.sub("\n", _answer(text)).splitlines()):
        row = _row(line, size)
        if row and len(row) == size * size and not rows:
            rows = [row]
            break
        if row and len(row) == size:
            rows.insert(0, row)
        elif rows and row != "":
            break
    if not rows or len(rows) % size and len(rows[0]) == size:
        return None
    return fills_of("".join(rows)[-size * size :]) or None


def _answer(text: str) -> str:
    """The end of the text, without the thoughts before it."""
    return text[-MAX_CHARACTERS:].rpartition("</think>")[2]


def _read(listed: str, plan: Board) -> list[Fill]:
    """Every item as a fill, -1 for an unknown one."""
    items = _SEPARATORS.split(_ASSIGNS.sub("=", listed.lower()))
    return [plan.fills.get(item, -1) for item in items if item]


def _row(line: str, size: int) -> str | None:
    """The symbols of a line that holds nothing else, '' for a ruled line, None for prose."""
    if len(line) > 8 * size * size:
        return None
    if _RULED.fullmatch(line):
        return ""
    symbols = _DIVIDERS.sub("", line).translate(_BLANKS)
    if not symbols:
        return ""
    allowed = "123456789"[:size] + BLANK
    return symbols if all(symbol in allowed for symbol in symbols) else None
