"""When two levels are one: a text that turning, mirroring and walls around a room do not change.

What the player can never get to counts as wall and is cut off at the edges, so a second ring of
walls, or a yard outside, makes no other level.
"""

from functools import lru_cache
from operator import floordiv, mod
from typing import Literal

from envs.sokoban.board import CellSet, members
from envs.sokoban.levels import region, to_rows
from envs.sokoban.room import Level, Room

Distinct = Literal["mirrored", "identity"]


def name(level: Level, distinct: Distinct) -> str:
    """Equal for levels that are one; its digest decides the split."""
    rows = to_rows(level.room, level.boxes, level.player)
    return "\n".join(rows) if distinct == "identity" else mirrored(level)


def mirrored(level: Level) -> str:
    """The least of the eight drawings of what the player can get to."""
    rows = trimmed(level)
    columns = ["".join(column) for column in zip(*rows, strict=True)]
    texts = []
    for lines in (rows, columns):
        for text in ("\n".join(lines), "\n".join(reversed(lines))):
            texts += [text, text[::-1]]
    return min(texts)


def trimmed(level: Level) -> list[str]:
    """The rows of what the player can get to, without the walls around it."""
    room, lines, columns = _cut(level.room, region(level))
    return [row[columns] for row in to_rows(room, level.boxes, level.player)[lines]]


@lru_cache(maxsize=1024)
def _cut(room: Room, inside: CellSet) -> tuple[Room, slice, slice]:
    """The room with everything but `inside` as wall, and the rows and columns that hold it."""
    cells = list(members(inside))
    lines, columns = ([place(cell, room.width) for cell in cells] for place in (floordiv, mod))
    walls = room.board.full & ~inside
    return (
        Room(room.height, room.width, walls, room.goals & inside),
        slice(min(lines), max(lines) + 1),
        slice(min(columns), max(columns) + 1),
    )
