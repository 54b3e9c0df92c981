"""Grids as bit sets, breadth-first search, and cell names. Knows nothing of agents.

A cell is the number row * width + column, rows counted from the top. A set of cells is an int
with one bit per cell, so that one layer of a search costs a handful of integer operations.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

Cell = int
CellSet = int
DIRECTIONS = "UDLR"
_MARKS, _BITS = str.maketrans("01", ".#"), str.maketrans(".#", "01")


class Board(NamedTuple):
    """What all grids of one size share."""

    full: CellSet
    not_left: CellSet
    """All cells but the first column."""
    not_right: CellSet
    names: tuple[str, ...]
    """Cell -> name: the column's letter, then the row's number from 1 at the top, e.g. `b3`."""
    cells: dict[str, Cell]
    """The inverse of `names`."""
    neighbours: tuple[tuple[Cell, ...], ...]
    """Cell -> the cells up, down, left and right of it; -1 beyond the edge."""


@lru_cache(maxsize=64)
def board(height: int, width: int) -> Board:
    """The board of `height` rows and `width` columns (at most 26)."""
    size = height * width
    left = sum(1 << row * width for row in range(height))
    full = (1 << size) - 1
    names = tuple(f"{chr(97 + cell % width)}{cell // width + 1}" for cell in range(size))
    neighbours = tuple(
        (
            cell - width if cell >= width else -1,
            cell + width if cell + width < size else -1,
            cell - 1 if cell % width else -1,
            cell + 1 if (cell + 1) % width else -1,
        )
        for cell in range(size)
    )
    cells = {name: cell for cell, name in enumerate(names)}
    return Board(full, full & ~left, full & ~(left << width - 1), names, cells, neighbours)


@dataclass(frozen=True, slots=True)
class Grid:
    """Where the walls are."""

    height: int
    width: int
    walls: CellSet

    @property
    def board(self) -> Board:
        """Tables of this size."""
        return board(self.height, self.width)

    def rows(self) -> list[str]:
        """One string per row from the top, `.` free and `#` wall."""
        size, width = self.height * self.width, self.width
        marks = f"{self.walls:0{size}b}"[::-1].translate(_MARKS)
        return [marks[start : start + width] for start in range(0, size, width)]


def parse_rows(rows: list[str]) -> Grid:
    """The inverse of `Grid.rows`. ValueError on ragged rows and other marks."""
    width, marks = len(rows[0]) if rows else 0, "".join(rows)
    if not width or any(len(row) != width for row in rows) or set(marks) - {".", "#"}:
        raise ValueError(f"rows {rows!r}: expected equally long rows of `.` and `#`")
    return Grid(len(rows), width, int(marks[::-1].translate(_BITS), 2))


def members(cells: CellSet) -> Iterator[Cell]:
    """The cells of a set in reading order."""
    while cells:
        low = cells & -cells
        yield low.bit_length() - 1
        cells ^= low


class Distances(NamedTuple):
    """Shortest-path distances to one goal."""

    steps: tuple[int, ...]
    """Cell -> number of steps to the goal; -1 for walls and cells that cannot reach it."""
    span: int
    """The largest of them, at least 1."""


@lru_cache(maxsize=8192)
def distances(grid: Grid, goal: Cell) -> Distances:
    """Distances of all cells to `goal`."""
    steps = [-1] * (grid.height * grid.width)
    layers = _layers(grid.height, grid.width, grid.board.full & ~grid.walls, goal, -1)
    for distance, layer in enumerate(layers):
        while layer:  # as `members`, which is slower by half
            low = layer & -layer
            steps[low.bit_length() - 1] = distance
            layer ^= low
    return Distances(tuple(steps), max(1, len(layers) - 1))


@lru_cache(maxsize=65536)
def shortest_path(
    height: int, width: int, avoid: CellSet, start: Cell, goal: Cell
) -> tuple[Cell, ...] | None:
    """A shortest path without its first cell, around `avoid`; None if there is none.

    Of several shortest paths it takes the one whose steps come first in the order U D L R.
    """
    free = board(height, width).full & ~avoid
    if not free >> start & free >> goal & 1:
        return None
    layers = _layers(height, width, free, goal, start)
    if not layers[-1] >> start & 1:
        return None
    path = []
    neighbours = board(height, width).neighbours
    for layer in reversed(layers[:-1]):
        start = next(cell for cell in neighbours[start] if cell >= 0 and layer >> cell & 1)
        path.append(start)
    return tuple(path)


def _layers(height: int, width: int, free: CellSet, origin: Cell, until: Cell) -> list[CellSet]:
    """Layer d holds the cells d steps from `origin`; ends with the layer of `until`, if reached."""
    _, not_left, not_right, *_ = board(height, width)
    layer = 1 << origin
    stop = 1 << until if until >= 0 else 0
    layers = [layer]
    unseen = free & ~layer
    while layer and not layer & stop:
        near = (layer & not_right) << 1 | (layer & not_left) >> 1 | layer << width | layer >> width
        layer = near & unseen
        unseen ^= layer
        if layer:
            layers.append(layer)
    return layers


def manhattan(width: int, one: Cell, other: Cell) -> int:
    """Steps between two cells of an empty grid."""
    return abs(one // width - other // width) + abs(one % width - other % width)
