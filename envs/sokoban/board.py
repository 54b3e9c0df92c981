"""Cells of a rectangular board as numbers and bit sets. Knows nothing of boxes and players.

A cell is the number row * width + column, rows counted from the top. A set of cells is an int
with one bit per cell. Sets inside a closed room never touch the board's outermost cells, so a
shift by one row or one column moves all their cells at once and none beyond the edge.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

Cell = int
CellSet = int
DIRECTIONS = "UDLR"


class Board(NamedTuple):
    """What all rooms of one size share."""

    full: CellSet
    ring: CellSet
    """The outermost cells; in a closed room nobody can stand there."""
    names: tuple[str, ...]
    """Cell -> name: the column's letters, then the row's number from 1 at the top, e.g. `b3`."""
    inner: dict[str, Cell]
    """Name -> cell, of all cells but the ring."""
    neighbours: tuple[tuple[Cell, ...], ...]
    """Cell -> the cells up, down, left and right of it; -1 beyond the edge."""


@lru_cache(maxsize=256)
def board(height: int, width: int) -> Board:
    """The board of `height` rows and `width` columns."""
    size = height * width
    names = tuple(f"{letters(cell % width)}{cell // width + 1}" for cell in range(size))
    neighbours = tuple(
        (
            cell - width if cell >= width else -1,
            cell + width if cell + width < size else -1,
            cell - 1 if cell % width else -1,
            cell + 1 if (cell + 1) % width else -1,
        )
        for cell in range(size)
    )
    ring = sum(1 << cell for cell in range(size) if -1 in neighbours[cell])
    inner = {name: cell for cell, name in enumerate(names) if not ring >> cell & 1}
    return Board((1 << size) - 1, ring, names, inner, neighbours)


def letters(column: int) -> str:
    """a .. z, aa, ab, ... as in spreadsheets."""
    return ("" if column < 26 else letters(column // 26 - 1)) + chr(97 + column % 26)


def members(cells: CellSet) -> Iterator[Cell]:
    """The cells of a set in reading order."""
    while cells:
        low = cells & -cells
        yield low.bit_length() - 1
        cells ^= low


def reach(width: int, free: CellSet, start: CellSet) -> CellSet:
    """All cells of `free` that steps within it join to `start`, which is in `free`."""
    known = start
    while True:
        grown = (known | known << 1 | known >> 1 | known << width | known >> width) & free
        if grown == known:
            return known
        known = grown


def path(width: int, free: CellSet, start: Cell, goal: Cell) -> tuple[Cell, ...] | None:
    """A shortest path through `free`, without its first cell; None if there is none."""
    layer, unseen = 1 << goal, free & ~(1 << goal)
    layers = []
    while not layer >> start & 1:
        if not layer:
            return None
        layers.append(layer)
        layer = (layer << 1 | layer >> 1 | layer << width | layer >> width) & unseen
        unseen ^= layer
    cells = []
    for layer in reversed(layers):
        start = next(
            cell
            for cell in (start - width, start + width, start - 1, start + 1)
            if cell >= 0 and layer >> cell & 1
        )
        cells.append(start)
    return tuple(cells)
