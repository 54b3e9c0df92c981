"""Hand-made puzzles for the tests, and slow textbook answers to judge the fast ones by."""

from itertools import product

from envs.base import Split, Task
from envs.registry import make_environment
from envs.sudoku.board import BOXES, DIGITS, board, rows_of, size_of

GOLDEN = "2...1342..13...."
GOLDEN_SOLUTION = "2431134242133124"
UNSOLVABLE = "1..4..1..4..4..1"
CHANGED = "1234341221434321"
"""An answer to UNSOLVABLE that changes its clue in the last row."""
AMBIGUOUS = "1..............."
NINE = "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79"
HARD = "8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4.."
SIX = "..4.3..5.2..........6....3..1.....2."
TINY = {"tool": "search", "prompt_style": "compact"}
"""What a tiny word-level model is trained with."""


def make_env(reward="dense", **options):
    """Sudoku with these options."""
    return make_environment("sudoku", options, reward)


def begin(puzzle=GOLDEN, reward="dense", **options):
    """Environment and first state for a puzzle."""
    env = make_env(reward, size=size_of(puzzle), **options)
    return env, env.reset(Task("hand-made", Split.TEST, 0, {"rows": rows_of(puzzle)}))


def words(grid, size=4):
    """All digits of a grid as fills."""
    names = board(size).names
    return [
        names[cell * size + int(symbol) - 1] for cell, symbol in enumerate(grid) if symbol != "."
    ]


def total(result):
    """All that an answer earned."""
    return result.rewards.team + sum(result.rewards.local.values())


def textbook_solutions(grid):
    """Every solution, by trying digits cell by cell."""
    place = grid.find(".")
    if place < 0:
        return [grid]
    found = []
    for digit in DIGITS[: size_of(grid)]:
        if all(grid[peer] != digit for peer in textbook_peers(place, size_of(grid))):
            found += textbook_solutions(grid[:place] + digit + grid[place + 1 :])
    return found


def textbook_peers(cell, size):
    """Cells that share a row, a column or a box."""
    height, width = BOXES[size]
    row, column = divmod(cell, size)
    return [
        size * r + c
        for r, c in product(range(size), repeat=2)
        if (r, c) != (row, column)
        and (
            r == row
            or c == column
            or (r // height == row // height and c // width == column // width)
        )
    ]
