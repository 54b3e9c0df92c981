"""Rooms, levels, and how far boxes are from their goals, in pushes.

The push distance of a box to a goal is the least number of pushes if it were alone and the player
could step around it at will: a lower bound, and infinite exactly where the box can never get
there. A box without any reachable goal, boxes that reach fewer goals than there are boxes, and a
box off the goals that walls and boxes hold for ever (deadlocks.py) cannot be solved any more: the
level is stuck.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from envs.sokoban.board import Board, Cell, CellSet, board, members
from envs.sokoban.deadlocks import frozen

FAR = 1 << 20
"""Stands for an infinite push distance."""


@dataclass(frozen=True, slots=True)
class Room:
    """What never changes in an episode."""

    height: int
    width: int
    walls: CellSet
    goals: CellSet

    @property
    def board(self) -> Board:
        """Tables of this size."""
        return board(self.height, self.width)


@dataclass(frozen=True, slots=True)
class Level:
    """A room with its boxes and the player."""

    room: Room
    boxes: CellSet
    player: Cell


class PushDistances(NamedTuple):
    """Push distances of one room."""

    steps: tuple[tuple[int, ...], ...]
    """Goal (in reading order) -> cell -> pushes; FAR where a box cannot get there."""
    nearest: tuple[int, ...]
    """Cell -> pushes to the nearest goal, or FAR."""
    live: CellSet
    """Cells from which a box can be pushed to some goal."""
    span: int
    """The largest finite distance, at least 1."""


@lru_cache(maxsize=8192)
def push_distances(room: Room) -> PushDistances:
    """The room's tables."""
    free = room.board.full & ~room.walls
    live, span, rows = 0, 1, list[tuple[int, ...]]()
    for goal in members(room.goals):
        layers = _layers(free, room.width, goal)
        span = max(span, len(layers) - 1)
        steps = [FAR] * (room.height * room.width)
        for distance, layer in enumerate(layers):
            live |= layer
            for cell in members(layer):
                steps[cell] = distance
        rows.append(tuple(steps))
    nearest = tuple(map(min, zip(*rows, strict=True))) if len(rows) > 1 else rows[0]
    return PushDistances(tuple(rows), nearest, live, span)


def _layers(free: CellSet, width: int, goal: Cell) -> list[CellSet]:
    """Layer d: the cells that are d pushes from the goal; the player needs the cell behind."""
    sides = [(shift, free << shift & free, free >> shift & free) for shift in (1, width)]
    layer, unseen = 1 << goal, free
    layers = []
    while layer:
        layers.append(layer)
        unseen &= ~layer
        near = 0
        for shift, after, before in sides:
            near |= (layer >> shift & after) | (layer << shift & before)
        layer = near & unseen
    return layers


def remaining(room: Room, boxes: CellSet) -> int:
    """Pushes that the boxes still need, at least; -1 if they are stuck."""
    if boxes & (boxes - 1):
        return _matched(room, boxes)
    pushes = push_distances(room).nearest[boxes.bit_length() - 1]
    return pushes if pushes < FAR else -1


def _is_lost(room: Room, boxes: CellSet) -> bool:
    """Whether a box is where no goal can be got to, or held off the goals for ever."""
    live, full = push_distances(room).live, room.board.full
    if boxes & ~live:
        return True
    return bool(frozen(room.width, room.walls, full & ~live, boxes) & ~room.goals)


@lru_cache(maxsize=65536)
def _matched(room: Room, boxes: CellSet) -> int:
    if _is_lost(room, boxes):
        return -1
    steps = push_distances(room).steps
    cells = list(members(boxes))
    pushes = assignment([[row[cell] for row in steps] for cell in cells])
    return pushes if pushes < FAR else -1


def span(room: Room, boxes: CellSet) -> int:
    """No position of as many boxes that is not stuck needs more pushes than this."""
    return push_distances(room).span * boxes.bit_count()


def assignment(costs: Sequence[Sequence[int]]) -> int:
    """Least sum of one entry per row, no two in a column (Kuhn 1955, with potentials).

    `costs` is square. Rows are matched one by one along shortest augmenting paths.
    """
    size = len(costs)
    if size == 2:
        (a, b), (c, d) = costs
        return min(a + d, b + c)
    row_price, column_price = [0] * (size + 1), [0] * (size + 1)
    owner = [0] * (size + 1)
    for row in range(1, size + 1):
        _match_row(costs, row, row_price, column_price, owner)
    return sum(costs[owner[column] - 1][column - 1] for column in range(1, size + 1))


def _match_row(
    costs: Sequence[Sequence[int]],
    row: int,
    row_price: list[int],
    column_price: list[int],
    owner: list[int],
) -> None:
    """Match `row` (from 1), moving earlier rows along one path; column 0 stands for nothing."""
    size = len(costs)
    slack, before, used = [FAR * size] * (size + 1), [0] * (size + 1), [False] * (size + 1)
    owner[0], column = row, 0
    while owner[column]:
        used[column] = True
        least, following = FAR * size * 2, 0
        prices, current = costs[owner[column] - 1], row_price[owner[column]]
        for other in range(1, size + 1):
            if used[other]:
                continue
            price = prices[other - 1] - current - column_price[other]
            if price < slack[other]:
                slack[other], before[other] = price, column
            if slack[other] < least:
                least, following = slack[other], other
        for other in range(size + 1):
            if used[other]:
                row_price[owner[other]] += least
                column_price[other] -= least
            else:
                slack[other] -= least
        column = following
    while column:
        owner[column] = owner[before[column]]
        column = before[column]
