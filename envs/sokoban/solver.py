"""A* over the positions after each push: shortest solutions, in moves or in pushes.

A position is the set of boxes and where the player stands (`moves`) or which cells it can get to
(`pushes`). The bound is the boxes' remaining push distance (room.py), so the first solution that
is taken from the queue is a shortest one. Positions whose boxes are stuck are dropped. Whether
there is any solution is found with less: the most promising position first, however far it is.
"""

from functools import lru_cache
from heapq import heappop, heappush
from typing import Literal, NamedTuple

from envs.sokoban.board import Cell, CellSet, path
from envs.sokoban.room import Level, remaining

Objective = Literal["moves", "pushes"]
_Key = tuple[CellSet, Cell]
_Push = tuple[int, Cell]
"""The change of the cell's number, and the box's cell before."""
HASTE = 5
"""How much more than a push made a push that remains counts, where any solution will do."""
WORK = 2_500
"""Squares of numbers of boxes, one for each push that is looked at, that a position of the limit
stands for: where there are many boxes the limit comes sooner, and no level takes minutes."""


class Undecided(ValueError):
    """The limit was reached: there may be a solution."""


class Solution(NamedTuple):
    """A way to push all boxes onto goals."""

    cells: tuple[Cell, ...]
    """Cells that the player steps on."""
    num_pushes: int


@lru_cache(maxsize=8192)
def solve(level: Level, objective: Objective = "moves", limit: int = 200_000) -> Solution | None:
    """A solution with the fewest moves, or the fewest pushes; None if there is none.

    Raises Undecided after `limit` positions, or sooner where there are many boxes.
    """
    search = _Search(level, objective)
    return None if (found := search.run(limit)) is None else search.solution(found)


def solvable(level: Level, limit: int) -> bool:
    """Whether there is a solution, be it long.

    Raises Undecided as `solve` does.
    """
    search = _Search(level, "pushes", HASTE)
    return search.run(limit) is not None


class _Search:
    """The queue, and how each position was reached."""

    def __init__(self, level: Level, objective: Objective, weight: int = 1) -> None:
        self.level, self.count_moves, self.weight = level, objective == "moves", weight
        self.free = level.room.board.full & ~level.room.walls
        bound = remaining(level.room, level.boxes)
        start = (level.boxes, level.player)
        self.queue: list[tuple[int, int, _Key]] = [(bound, 0, start)] if bound >= 0 else []
        self.costs: dict[_Key, int] = {start: 0}
        self.before: dict[_Key, tuple[_Key, _Push]] = {}
        self.seen: set[_Key] = set()
        self.num_pushes = 0

    def run(self, limit: int) -> _Key | None:
        """A solved position, or None if there is none; Undecided beyond the limit."""
        most = limit * WORK // self.level.boxes.bit_count() ** 2
        for count in range(limit):
            if not self.queue:
                return None
            if self.num_pushes > most:
                limit = count
                break
            found = self.expand()
            if found is not None:
                return found
        raise Undecided(f"no solution among {limit} positions, and not all positions seen")

    def expand(self) -> _Key | None:
        """Take the most promising position; it, if it is solved."""
        _, negative, key = heappop(self.queue)
        if key[0] == self.level.room.goals:
            return key
        layers = _walks(self.level.room.width, self.free & ~key[0], key[1])
        name = key if self.count_moves else (key[0], layers[-1] & -layers[-1])
        if name not in self.seen:
            self.seen.add(name)
            self._push_all(key, -negative, layers)
        return None

    def _push_all(self, key: _Key, cost: int, layers: list[CellSet]) -> None:
        boxes, width = key[0], self.level.room.width
        free = self.free & ~boxes
        sides = [(shift, boxes & free >> shift, boxes & free << shift) for shift in (1, width)]
        done = 0
        for steps, known in enumerate(layers):
            layer, done = known & ~done, known
            price = cost + (steps + 1 if self.count_moves else 1)
            for shift, forward, back in sides:
                if forward & layer << shift:
                    self._push(key, price, forward & layer << shift, shift)
                if back & layer >> shift:
                    self._push(key, price, back & layer >> shift, -shift)

    def _push(self, key: _Key, price: int, pushed: CellSet, shift: int) -> None:
        """Push each of these boxes by one cell."""
        room, boxes = self.level.room, key[0]
        while pushed:
            box = pushed & -pushed
            pushed ^= box
            cell = box.bit_length() - 1
            after = boxes ^ box ^ (box << shift if shift > 0 else box >> -shift)
            found = (after, cell)
            if self.costs.get(found, 1 << 60) <= price:
                continue
            self.num_pushes += 1
            bound = remaining(room, after)
            if bound >= 0:
                self.costs[found] = price
                self.before[found] = key, (shift, cell)
                heappush(self.queue, (price + self.weight * bound, -price, found))

    def solution(self, key: _Key) -> Solution:
        """The player's cells up to this position."""
        chain: list[tuple[_Key, _Push]] = []
        while key in self.before:
            chain.append(self.before[key])
            key = chain[-1][0]
        cells: list[Cell] = []
        for (boxes, player), (shift, box) in reversed(chain):
            steps = path(self.level.room.width, self.free & ~boxes, player, box - shift)
            cells += [*(steps or ()), box]
        return Solution(tuple(cells), len(chain))


def _walks(width: int, free: CellSet, player: Cell) -> list[CellSet]:
    """Entry n: the cells that the player can get to in n steps or fewer."""
    known = 1 << player
    layers = [known]
    while True:
        grown = (known | known << 1 | known >> 1 | known << width | known >> width) & free
        if grown == known:
            return layers
        layers.append(grown)
        known = grown
