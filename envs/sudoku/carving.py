"""Random puzzles with a wanted number of clues and one solution, for sizes too large to number.

A random solution loses clues in random order as long as it stays the only one. Fewer clues never
have fewer solutions, so how many of the order can go at once is found by bisection. The last clue
to go is chosen so that the puzzle is wanted (its split): many puzzles cost little more than one.
"""

from collections.abc import Callable, Iterator
from random import Random

from envs.sudoku.board import BLANK, BOXES, DIGITS, Cell
from envs.sudoku.solver import count_solutions, has_other, solutions


def carve(size: int, num_clues: int, rng: Random, wanted: Callable[[str], bool]) -> str | None:
    """A wanted puzzle with one solution, or None if this draw leads to none."""
    solution = random_solution(size, rng)
    if solution is None:
        return None
    cells = rng.sample(range(size * size), size * size)
    num_left = size * size - num_clues - 1
    prefix = _largest_prefix(solution, cells, num_left)
    puzzle = _blank(solution, cells[:prefix])
    for candidate in _one_less(puzzle, solution, cells[prefix:], num_left - prefix):
        if wanted(candidate):
            return candidate
    return None


def random_solution(size: int, rng: Random) -> str | None:
    """A complete grid: boxes that do not see each other are drawn, the rest is searched."""
    height, width = BOXES[size]
    grid = [BLANK] * size**2
    for number in range(min(size // height, size // width)):
        for place, digit in enumerate(rng.sample(DIGITS[:size], size)):
            row, column = number * height + place // width, number * width + place % width
            grid[row * size + column] = digit
    return next(solutions("".join(grid), rng), None)


def _largest_prefix(solution: str, cells: list[Cell], most: int) -> int:
    """How many cells of the order can be blanked together, at most `most`."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if count_solutions(_blank(solution, cells[:middle])) == 1:
            low = middle
        else:
            high = middle - 1
    return low


def _one_less(puzzle: str, solution: str, cells: list[Cell], num_left: int) -> Iterator[str]:
    """Blank `num_left` of the cells in order, then each of the others in its turn, alone."""
    for cell in cells:
        blanked = _blank(puzzle, [cell])
        if has_other(blanked, cell, solution[cell]):
            continue
        if num_left:
            puzzle, num_left = blanked, num_left - 1
        else:
            yield blanked


def _blank(grid: str, cells: list[Cell]) -> str:
    symbols = list(grid)
    for cell in cells:
        symbols[cell] = BLANK
    return "".join(symbols)
