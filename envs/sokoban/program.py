"""The tool's one-line language and its interpreter.

    push <box> <goal> [push <box> <goal> ...] [avoid <cell> ...]

For each box in turn it searches the shortest way to push the box to the goal: with the fewest
pushes in the language `pushes`, with the fewest moves otherwise. It knows where the player and the
named boxes stand, and the listed cells and the board's outermost ones, which it avoids; it knows
no other walls and no other boxes: naming them is the tool's job. What it finds is walked in the
real room until something stops it.
"""

from functools import lru_cache
from typing import NamedTuple

from envs.sokoban.board import Cell, CellSet, board
from envs.sokoban.room import Level, Room
from envs.sokoban.solver import Objective, Undecided, solve
from envs.sokoban.walk import Language, Walk, nothing, walk

LIMIT = 20_000
"""Positions that one search looks at; more than one box has in a room of 30x30."""


class Program(NamedTuple):
    """A parsed program."""

    pushes: tuple[tuple[Cell, Cell], ...]
    """(box, goal), in order."""
    avoid: CellSet


def parse_program(words: list[str], cells: dict[str, Cell]) -> Program | None:
    """The program, or None where the words are not one. `cells`: name -> cell."""
    pairs = words[: words.index("avoid")] if "avoid" in words else words
    listed = words[len(pairs) + 1 :]
    if not pairs or len(pairs) % 3 or len(words) == len(pairs) + 1:
        return None
    if any(word != "push" for word in pairs[::3]):
        return None
    named = [cells.get(word, -1) for word in (*pairs[1::3], *pairs[2::3], *listed)]
    if min(named) < 0:
        return None
    count = len(pairs) // 3
    avoid = 0
    for cell in named[2 * count :]:
        avoid |= 1 << cell
    return Program(tuple(zip(named[:count], named[count : 2 * count], strict=True)), avoid)


def run_program(program: Program, level: Level, language: Language) -> Walk:
    """Search, then walk.

    `error` if a named cell holds no box (after the pushes before it, as planned), or a search
    finds nothing.
    """
    known = {box for box, _ in program.pushes if level.boxes >> box & 1}
    objective: Objective = "pushes" if language == "pushes" else "moves"
    player, cells = level.player, list[Cell]()
    for box, goal in program.pushes:
        if box not in known or box == goal:
            return nothing(level)
        known.discard(box)
        avoid = program.avoid | sum(1 << other for other in known)
        steps = _search(level.room.height, level.room.width, avoid, player, box, goal, objective)
        if not steps:
            return nothing(level)
        cells += steps
        player = cells[-1]
        known.add(goal)
    return walk(level, cells, "cells")


@lru_cache(maxsize=65536)
def _search(
    height: int,
    width: int,
    avoid: CellSet,
    player: Cell,
    box: Cell,
    goal: Cell,
    objective: Objective,
) -> tuple[Cell, ...]:
    """The player's cells; empty if there is no way."""
    table = board(height, width)
    walls = avoid | table.ring
    if walls >> player & 1 or walls >> box & 1 or walls >> goal & 1:
        return ()
    alone = Level(Room(height, width, walls, 1 << goal), 1 << box, player)
    try:
        found = solve.__wrapped__(alone, objective, LIMIT)
    except Undecided:
        return ()
    return found.cells if found else ()
