"""The tool's one-line language and its interpreter.

    path <from> <to> [avoid <cell> ...]

The interpreter searches a shortest path that avoids the listed cells only (it does not know the
walls: naming them is the tool's job), then walks it on the real grid until a wall stops it.
"""

from typing import NamedTuple

from envs.plan_path.grid import Cell, Grid, shortest_path
from envs.plan_path.walk import NOWHERE, Walk, walk


class Program(NamedTuple):
    """A parsed program."""

    start: Cell
    goal: Cell
    avoid: int
    """Set of cells."""


def parse_program(words: list[str], cells: dict[str, Cell]) -> Program | None:
    """The program, or None where the words are not one. `cells`: name -> cell."""
    if len(words) < 3 or words[0] != "path" or (len(words) > 3 and words[3] != "avoid"):
        return None
    if len(words) == 4:
        return None
    named = [cells.get(word, -1) for word in (*words[1:3], *words[4:])]
    if min(named) < 0:
        return None
    avoid = 0
    for cell in named[2:]:
        avoid |= 1 << cell
    return Program(named[0], named[1], avoid)


def run_program(program: Program, grid: Grid, position: Cell, goal: Cell) -> Walk:
    """Search, then walk from `position`; `ok` only if the walk ends at the real goal.

    `error` if the program starts anywhere but at `position` or no path avoids its cells.
    """
    if program.start != position or program.start == program.goal:
        return NOWHERE
    path = shortest_path(grid.height, grid.width, program.avoid, program.start, program.goal)
    return NOWHERE if path is None else walk(grid, position, goal, path, "cells")
