"""Cells, boxes and fills of a board of one size; no puzzle is known here.

A grid is a string of size x size characters, row by row: a digit or `.` for a blank. A cell is a
number, row * size + column. A fill, a digit in a cell, is the number cell * size + digit - 1; its
name is `r<row>c<column>=<digit>`, counted from 1 at the top left.
"""

from dataclasses import dataclass
from functools import cache
from typing import Final

Cell = int
Fill = int
BLANK: Final = "."
DIGITS: Final = "123456789"
BOXES: Final = {4: (2, 2), 6: (2, 3), 9: (3, 3)}
"""size -> rows and columns of a box."""


@dataclass(frozen=True, slots=True)
class Board:
    """What is the same for all grids of one size."""

    size: int
    units: tuple[tuple[Cell, ...], ...]
    """Rows, then columns, then boxes."""
    peers: tuple[tuple[Cell, ...], ...]
    """cell -> the cells that must differ from it."""
    masks: tuple[int, ...]
    """Every unit as a set of cells (bit c is cell c)."""
    peer_masks: tuple[int, ...]
    """cell -> its peers as a set."""
    names: tuple[str, ...]
    """fill -> name."""
    fills: dict[str, Fill]
    """name -> fill."""

    @property
    def full(self) -> int:
        """The set of all cells."""
        return (1 << self.size**2) - 1


@cache
def board(size: int) -> Board:
    """The board of a size that BOXES has."""
    height, width = BOXES[size]
    places = [divmod(cell, size) for cell in range(size * size)]
    homes = [(row, column, row // height * height + column // width) for row, column in places]
    units = tuple(
        tuple(cell for cell, home in enumerate(homes) if home[kind] == number)
        for kind in range(3)
        for number in range(size)
    )
    peers = tuple(
        tuple(sorted({other for unit in units if cell in unit for other in unit} - {cell}))
        for cell in range(size * size)
    )
    names = tuple(
        f"r{row + 1}c{column + 1}={digit}" for row, column in places for digit in DIGITS[:size]
    )
    return Board(
        size, units, peers, tuple(map(as_mask, units)), tuple(map(as_mask, peers)), names,
        {name: fill for fill, name in enumerate(names)},
    )  # fmt: skip


def as_mask(cells: tuple[Cell, ...]) -> int:
    """The cells as a set."""
    return sum(1 << cell for cell in cells)


def rows_of(grid: str) -> list[str]:
    """The grid row by row."""
    size = size_of(grid)
    return [grid[start : start + size] for start in range(0, size * size, size)]


def size_of(grid: str) -> int:
    """Of a grid that has as many cells as a board."""
    return {size * size: size for size in BOXES}[len(grid)]


def fills_of(grid: str, leave_out: str | None = None) -> list[Fill]:
    """The digits of a grid as fills, without the cells that `leave_out` fills."""
    size = size_of(grid)
    return [
        cell * size + int(symbol) - 1
        for cell, symbol in enumerate(grid)
        if symbol != BLANK and (leave_out is None or leave_out[cell] == BLANK)
    ]


def with_fills(fills: list[Fill], size: int) -> str:
    """The grid of these fills; of two in one cell the later counts."""
    grid = [BLANK] * (size * size)
    for fill in fills:
        grid[fill // size] = DIGITS[fill % size]
    return "".join(grid)
