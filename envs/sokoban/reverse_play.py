"""Levels that can be solved because they are played backwards from the solved room.

The player pulls boxes off the goals. All positions after n pulls are kept, or a random part of
them where there are many; the level is one of them, so n pushes solve it. Where all were kept no
solution has fewer.
"""

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from envs.sokoban.board import Cell, CellSet, board, members, reach
from envs.sokoban.room import Level, Room

KEPT = 48
"""Positions of each number of pulls that are played on from."""


class Position(NamedTuple):
    """Boxes, and the cells that the player can get to."""

    boxes: CellSet
    inside: CellSet


def draw_room(height: int, width: int, num_walls: int, num_boxes: int, rng: Random) -> Room | None:
    """A random room and its goals; None if its floor is not connected."""
    table = board(height, width)
    inner = list(table.inner.values())
    rng.shuffle(inner)
    walls = table.ring | sum(1 << cell for cell in inner[:num_walls])
    free = table.full & ~walls
    if reach(width, free, free & -free) != free:
        return None
    goals = sum(1 << cell for cell in inner[num_walls : num_walls + num_boxes])
    return Room(height, width, walls, goals)


def play_back(room: Room, most: int, rng: Random, kept: int = KEPT) -> list[list[Position]]:
    """Entry n: positions that n pulls lead to and fewer do not, as far as they were kept."""
    free = room.board.full & ~room.walls
    solved = list(_regions(room.width, free & ~room.goals))
    layers = [[Position(room.goals, inside) for inside in solved]]
    seen = set(layers[0])
    while layers[-1] and len(layers) <= most:
        found = []
        for position in layers[-1]:
            for after in _pulls(room.width, free, position):
                if after not in seen:
                    seen.add(after)
                    found.append(after)
        layers.append(rng.sample(found, kept) if len(found) > kept else found)
    return layers if layers[-1] else layers[:-1]


def choose(
    room: Room, layers: list[list[Position]], fewest: int, rng: Random
) -> tuple[Level, int] | None:
    """A random level and its number of pulls: every number from `fewest` on is equally likely."""
    if len(layers) <= fewest:
        return None
    pulls = rng.randrange(fewest, len(layers))
    position = rng.choice(layers[pulls])
    player = rng.choice(list(members(position.inside)))
    return Level(room, position.boxes, player), pulls


def _regions(width: int, free: CellSet) -> Iterator[CellSet]:
    while free:
        inside = reach(width, free, free & -free)
        yield inside
        free ^= inside


def _pulls(width: int, free: CellSet, position: Position) -> Iterator[Position]:
    """All positions one pull away: the player steps back from a box and the box follows."""
    boxes, inside = position
    empty = free & ~boxes
    for shift in (1, width):
        pulled = boxes & inside << shift & empty << 2 * shift
        for box in members(pulled):
            yield _after(width, free, boxes, box, box - shift, box - 2 * shift)
        pulled = boxes & inside >> shift & empty >> 2 * shift
        for box in members(pulled):
            yield _after(width, free, boxes, box, box + shift, box + 2 * shift)


def _after(
    width: int, free: CellSet, boxes: CellSet, box: Cell, onto: Cell, player: Cell
) -> Position:
    boxes ^= 1 << box | 1 << onto
    return Position(boxes, reach(width, free & ~boxes, 1 << player))
