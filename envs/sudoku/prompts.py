"""What the roles read, in two styles, and how an answer is written in each.

paper: instructions for an instruct model. compact: a closed set of words for tiny models, one word
for a digit in a cell: `clues r1c1=2 r2c1=1 fills r1c2=4` (`fills none` at first), `last clash`
after a turn, and for the planner of a team the tool's result, `try r1c2=4 r1c3=3 short`
(`try none error` where there is none).
"""

from functools import lru_cache

from envs.base import Message
from envs.sudoku.board import BLANK, BOXES, DIGITS, Fill, board, fills_of, rows_of, size_of
from envs.sudoku.options import SudokuOptions
from envs.sudoku.placing import Placed, Word, place
from envs.sudoku.program import KEYWORD
from envs.sudoku.state import SudokuState

KEYWORDS = ("clues", "fills", "last", "try", "none", KEYWORD, *(word.value for word in Word))

_RULES = """\
You are the {role} that helps to solve a Sudoku of {size}x{size} cells. In the end every row, \
every column and every box of {height} rows and {width} columns holds each digit from 1 to {size} \
exactly once; there is one solution. r2c3 is the cell in the second row from the top and the third \
column from the left. `.` is a blank. The clues are fixed: an answer that changes one is rejected.

The clues:
{clues}
"""
_GRID = """
The grid with the digits that the team has filled in so far, which you may replace:
{grid}
"""
_SOLVE = """
Write one line of this form, and the team's program runs it:
solve <cell>=<digit> <cell>=<digit> ...
It completes a grid from the digits that you list. It does not know the clues: list them all. For \
example: solve r1c1=2 r2c3=4
"""
_PYTHON = """
Write a Python program in a ```python block. Its standard input is the clues, one row a line \
without spaces, 0 for a blank. It prints {printed} and nothing else. The program is run and its \
answer is tried on a copy of the grid; the planner sees what came of it.
"""
_PROPOSE = """
Propose digits. They are tried on a copy of the grid; the planner sees what came of them.
"""
_DECIDE = """
Decide which digits are filled in now. If the grid is not complete then, you continue from there.
"""
_FORMAT = {
    "fills": """
Think briefly, then end with the digits to fill in, in square brackets, such as \
[r1c2=3, r2c4=1].""",
    "grid": """
Think briefly, then end with the grid in a ``` block: {size} lines of {size} digits, with . for a \
cell that stays as it is.""",
}
_PRINTED = {
    "fills": "the digits to fill in, such as r1c2=3, one a line,",
    "grid": "the complete grid, one row a line,",
}
_OUTCOME = {
    Word.OK: "ok: the grid is complete and right",
    Word.SHORT: "short: blanks are left",
    Word.CLASH: "clash: {refused} repeats a digit of its row, column or box",
    Word.CLUE: "clue: rejected, because {refused} changes a clue",
    Word.ERROR: "error: there was nothing that could be tried",
}


def observe(options: SudokuOptions, state: SudokuState, role: str) -> list[Message]:
    """The prompt of `role`: one user message."""
    write = _compact if options.prompt_style == "compact" else _paper
    return [{"role": "user", "content": write(options, state, role)}]


def answer(options: SudokuOptions, fills: list[Fill]) -> str:
    """Fills as a role writes them."""
    size = options.size
    names = [board(size).names[fill] for fill in fills]
    if options.prompt_style == "compact":
        return " ".join(names)
    if options.answer == "fills":
        return f"[{', '.join(names)}]"
    grid = [BLANK] * (size * size)
    for fill in fills:
        grid[fill // size] = DIGITS[fill % size]
    return "\n".join(["```", *(" ".join(row) for row in rows_of("".join(grid))), "```"])


def lexicon(size: int) -> tuple[str, ...]:
    """All words of the compact style, in a fixed order."""
    return (*KEYWORDS, *board(size).names)


def draw_grid(grid: str) -> str:
    """The grid with its boxes divided by lines."""
    rows = rows_of(grid)
    height, width = BOXES[len(rows)]
    starts = range(0, len(rows), width)
    lines = [" | ".join(" ".join(row[start : start + width]) for start in starts) for row in rows]
    ruled = "-+-".join("-" * (2 * width - 1) for _ in starts)
    for start in range(len(rows) - height, 0, -height):
        lines.insert(start, ruled)
    return "\n".join(lines)


def _compact(options: SudokuOptions, state: SudokuState, role: str) -> str:
    size = options.size
    own = tuple(fills_of(state.grid, leave_out=state.clues))
    words = [_clue_words(state.clues), "fills", _names(size, own)]
    if state.last is not None:
        words += ["last", state.last.word.value]
    if role == "planner" and options.roles == "team":
        tried = state.proposal.placed if state.proposal else Placed((), Word.ERROR)
        words += ["try", _names(size, tried.fills), tried.word.value]
    return " ".join(words)


@lru_cache(maxsize=8192)
def _clue_words(clues: str) -> str:
    names = board(size_of(clues)).names
    return " ".join(["clues", *(names[fill] for fill in fills_of(clues))])


def _names(size: int, fills: tuple[Fill, ...], nothing: str = "none") -> str:
    names = board(size).names
    return " ".join([names[fill] for fill in fills]) or nothing


def _paper(options: SudokuOptions, state: SudokuState, role: str) -> str:
    parts = [_head(role, state.clues)]
    if state.grid != state.clues:
        parts.append(_GRID.format(grid=draw_grid(state.grid)))
    if state.last is not None:
        filled = _names(options.size, state.last.fills, "nothing")
        parts.append(f"\nThe turn before filled in {filled} ({_outcome(state, state.last)}).\n")
    if role == "tool" and options.tool != "moves":
        printed = _PRINTED[options.answer]
        wanted = _SOLVE if options.tool == "search" else _PYTHON.format(printed=printed)
        return "".join([*parts, wanted])
    if role == "planner" and options.roles == "team":
        parts.append(_tool(options, state))
    parts.append(_PROPOSE if role == "tool" else _DECIDE)
    return "".join([*parts, _FORMAT[options.answer].format(size=options.size)])


@lru_cache(maxsize=8192)
def _head(role: str, clues: str) -> str:
    size = size_of(clues)
    height, width = BOXES[size]
    return _RULES.format(role=role, size=size, height=height, width=width, clues=draw_grid(clues))


def _tool(options: SudokuOptions, state: SudokuState) -> str:
    if state.proposal is None:
        return "\nThe tool has proposed nothing.\n"
    written, placed = state.proposal, state.proposal.placed
    output = f"Its output:\n{_quoted(written.output)}\n\n" if written.output else ""
    if options.answer == "grid" and placed.fills:
        tried = f"it gives:\n{draw_grid(place(state.clues, state.grid, placed.fills)[1])}"
    else:
        tried = f"it filled in: {_names(options.size, placed.fills, 'nothing')}"
    return (
        f"\nThe tool wrote:\n{_quoted(written.text)}\n\n{output}"
        f"Tried on a copy, {tried}\nResult: {_outcome(state, placed)}\n"
    )


def _quoted(text: str) -> str:
    """Every line is marked, so that none can pass for the result or an instruction."""
    return "\n".join(f"| {line}" for line in text.splitlines()) or "(nothing)"


def _outcome(state: SudokuState, placed: Placed) -> str:
    names = board(size_of(state.clues)).names
    refused = names[placed.refused] if placed.refused is not None else ""
    return _OUTCOME[placed.word].format(refused=refused)
