"""Executing a list of actions on a grid: how far it leads and how it ends."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Literal, NamedTuple

from envs.plan_path.grid import DIRECTIONS, Cell, Grid, board

Language = Literal["moves", "cells"]
"""Of actions: directions (0 .. 3 for U D L R), or the cells to walk through."""


class Word(StrEnum):
    """How a walk ended, as roles read it."""

    OK = "ok"
    """At the goal."""
    SHORT = "short"
    """All actions were legal, the goal was not reached."""
    HIT = "hit"
    """An action led into a wall, over the edge or to a cell that is not next to the last one."""
    ERROR = "error"
    """There was nothing to walk: malformed text, or a program without a result."""


class Walk(NamedTuple):
    """The result of executing actions from a position."""

    cells: tuple[Cell, ...]
    """Cells entered, in order, without the first position."""
    num_actions: int
    """Actions taken or refused; those after the goal do not count."""
    word: Word

    def end(self, position: Cell) -> Cell:
        """Where the walk from `position` leads."""
        return self.cells[-1] if self.cells else position


NOWHERE = Walk((), 0, Word.ERROR)


def walk(
    grid: Grid, position: Cell, goal: Cell, actions: Iterable[int], language: Language
) -> Walk:
    """Walk until the actions end, the goal is reached, or an action is illegal."""
    walls = grid.walls
    neighbours = board(grid.height, grid.width).neighbours
    cells: list[Cell] = []
    for action in actions:
        around = neighbours[position]
        target = around[action] if language == "moves" else action
        if target < 0 or walls >> target & 1 or target not in around:
            return Walk(tuple(cells), len(cells) + 1, Word.HIT)
        cells.append(target)
        position = target
        if position == goal:
            return Walk(tuple(cells), len(cells), Word.OK)
    return Walk(tuple(cells), len(cells), Word.SHORT)


def as_words(grid: Grid, position: Cell, cells: Sequence[Cell], language: Language) -> list[str]:
    """Cells walked from `position` as words of the language; a jump gives the cell's name."""
    names = grid.board.names
    if language == "cells":
        return [names[cell] for cell in cells]
    words = []
    for cell in cells:
        around = grid.board.neighbours[position]
        words.append(DIRECTIONS[around.index(cell)] if cell in around else names[cell])
        position = cell
    return words


def answer(words: list[str], compact: bool) -> str:
    """A list of actions as a role writes it."""
    return " ".join(words) if compact else f"[{', '.join(words)}]"
