"""Python programs that a tool could write, from a right one to a failing one. They are only text
here: demonstrations show them, and the sandbox runs them like any other."""

from random import Random

from envs.sudoku.board import BOXES
from envs.sudoku.options import SudokuOptions

_READ = """\
import sys
grid = [[int(symbol) for symbol in line.strip()] for line in sys.stdin]
size, height, width = {size}, {height}, {width}
blanks = [(r, c) for r in range(size) for c in range(size) if grid[r][c] == 0]

def free(r, c):
    top, left = r // height * height, c // width * width
    box = [grid[i][j] for i in range(top, top + height) for j in range(left, left + width)]
    taken = set(grid[r]) | set(row[c] for row in grid) | set(box)
    return [digit for digit in range(1, size + 1) if digit not in taken]
"""
_SOLVE = """
def solve():
    left = [(len(free(r, c)), r, c) for r, c in blanks if grid[r][c] == 0]
    if not left:
        return True
    _, r, c = min(left)
    for digit in free(r, c):
        grid[r][c] = digit
        if solve():
            return True
    grid[r][c] = 0
    return False

solve()
"""
_FORCED = """
for r, c in blanks:
    if len(free(r, c)) == 1:
        grid[r][c] = free(r, c)[0]
"""
_GREEDY = """
for r, c in blanks:
    if free(r, c):
        grid[r][c] = free(r, c)[0]
"""
_WRONG = """
solve(grid)
"""
_PRINT = {
    "fills": """
for r, c in blanks:
    if grid[r][c]:
        print(f"r{r + 1}c{c + 1}={grid[r][c]}")
""",
    "grid": """
for row in grid:
    print(*row)
""",
}


def example_program(options: SudokuOptions, rng: Random) -> str:
    """A fenced program: one that solves, fills greedily, fills what is forced, or fails."""
    shares, kind = options.demonstrations, rng.random()
    if kind < shares.all_clues:
        body = _SOLVE
    elif kind < shares.all_clues + shares.few_clues:
        body = _GREEDY
    elif kind < shares.all_clues + shares.few_clues + shares.some_clues:
        body = _FORCED
    else:
        body = _WRONG
    height, width = BOXES[options.size]
    head = _READ.format(size=options.size, height=height, width=width)
    return f"```python\n{head}{body}{_PRINT[options.answer]}```"
