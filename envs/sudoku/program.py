"""The tool's one-line language and its interpreter.

    solve <fill> [<fill> ...]

The interpreter knows only the listed digits (naming the clues is the tool's job): it completes
them to a grid, always to the same one, and that grid is tried on a copy of the real puzzle.
"""

from collections.abc import Sequence

from envs.sudoku.board import Fill, fills_of, with_fills
from envs.sudoku.solver import TooHard, first_solution

KEYWORD = "solve"


def parse_program(words: Sequence[str], fills: dict[str, Fill], size: int) -> list[Fill] | None:
    """The listed fills, or None where the words are no program. `fills`: name -> fill."""
    if len(words) < 2 or words[0] != KEYWORD:
        return None
    return consistent([fills.get(word, -1) for word in words[1:]], size)


def consistent(fills: list[Fill], size: int) -> list[Fill] | None:
    """The fills without repetitions; None if one is unknown (-1) or a cell has two digits."""
    if not fills or min(fills) < 0:
        return None
    if len({fill // size for fill in fills}) == len(fills):
        return fills
    unique = list(dict.fromkeys(fills))
    return unique if len({fill // size for fill in unique}) == len(unique) else None


def run_search(listed: list[Fill], clues: str, size: int) -> list[Fill] | None:
    """The completed grid as fills of the puzzle's blanks, or of all cells if it changes a clue.

    None if the listed digits have no completion, or none that is found within the search's limit.
    """
    try:
        grid = first_solution(with_fills(listed, size))
    except TooHard:
        return None
    if grid is None:
        return None
    fits = all(clue in (".", digit) for clue, digit in zip(clues, grid, strict=True))
    return fills_of(grid, leave_out=clues if fits else None)
