"""Executing a list of fills on a grid: what is placed and how it ends.

Clues are fixed: an answer that changes one is rejected whole. Own fills may be replaced: those in
the cells that an answer names are taken back, then its fills are placed in order until one
repeats a digit of its row, column or box. So a grid never holds a digit twice in a unit.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from envs.sudoku.board import BLANK, DIGITS, Fill, board, size_of


class Word(StrEnum):
    """How placing fills ended, as roles read it."""

    OK = "ok"
    """The grid is complete and every unit holds every digit."""
    SHORT = "short"
    """All fills were placed, blanks are left."""
    CLASH = "clash"
    """A fill repeats a digit of its row, column or box; it and those after it were not placed."""
    CLUE = "clue"
    """A fill changes a clue; nothing was placed."""
    ERROR = "error"
    """There was nothing to place: malformed text, or a program without a result."""


class Placed(NamedTuple):
    """The result of executing fills."""

    fills: tuple[Fill, ...]
    """Those that were placed, in order."""
    word: Word
    refused: Fill | None = None
    """The one that clashes or changes a clue."""


def place(clues: str, grid: str, fills: Sequence[Fill] | None) -> tuple[Placed, str]:
    """What became of the fills (None: there were none to read), and the grid after them."""
    if fills is None:
        return Placed((), Word.ERROR), grid
    size = size_of(grid)
    free = []
    for fill in fills:
        clue = clues[fill // size]
        if clue == BLANK:
            free.append(fill)
        elif clue != DIGITS[fill % size]:
            return Placed((), Word.CLUE, fill), grid
    symbols = list(grid)
    for fill in free:
        symbols[fill // size] = BLANK
    num_placed = _fill(symbols, free, size)
    after = "".join(symbols)
    if num_placed < len(free):
        return Placed(tuple(free[:num_placed]), Word.CLASH, free[num_placed]), after
    return Placed(tuple(free), Word.SHORT if BLANK in symbols else Word.OK), after


def _fill(symbols: list[str], fills: list[Fill], size: int) -> int:
    """Place them until one clashes; how many were placed."""
    peers = board(size).peers
    for number, fill in enumerate(fills):
        cell, digit = fill // size, DIGITS[fill % size]
        for peer in peers[cell]:
            if symbols[peer] == digit:
                return number
        symbols[cell] = digit
    return len(fills)
