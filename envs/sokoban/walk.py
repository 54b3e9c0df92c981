"""Executing actions in a room: how far they lead and how they end.

In all three languages a push that is not possible moves nothing, and the walk ends there.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal, NamedTuple

from envs.sokoban.board import DIRECTIONS, Cell, CellSet, path
from envs.sokoban.room import Level, Room, remaining

Language = Literal["moves", "cells", "pushes"]
"""moves: directions (0 .. 3 for U D L R). cells: the cells that the player steps on. pushes:
`PUSH`, a box's cell, and the cells that the box is pushed through, as often as needed; the player
walks to where it has to push from by itself."""
PUSH = 1 << 30
"""The word `push` among actions."""


class Word(StrEnum):
    """How a walk ended, as roles read it."""

    OK = "ok"
    """All boxes stand on goals."""
    SHORT = "short"
    """All actions were legal, boxes remain."""
    STUCK = "stuck"
    """A box was pushed where it can no longer reach a goal."""
    HIT = "hit"
    """An action was not possible."""
    ERROR = "error"
    """There was nothing to walk: malformed text, or a program without a result."""


class Walk(NamedTuple):
    """The result of executing actions."""

    cells: tuple[Cell, ...]
    """Cells that the player stepped on, in order, without the first."""
    boxes: CellSet
    """Where the boxes stand then."""
    num_pushes: int
    word: Word

    def end(self, player: Cell) -> Cell:
        """Where the player who began at `player` stands then."""
        return self.cells[-1] if self.cells else player


def nothing(level: Level) -> Walk:
    """The walk of a text that says nothing."""
    return Walk((), level.boxes, 0, Word.ERROR)


def walk(level: Level, actions: Sequence[int], language: Language) -> Walk:
    """Walk until the actions end, all boxes are on goals, or an action is not possible."""
    if language == "pushes":
        return _push(level, actions)
    cells, boxes, num_pushes, done = _step(level, actions, language == "moves")
    return _ended(level, cells, boxes, num_pushes, done)


def _step(
    level: Level, actions: Sequence[int], directions: bool
) -> tuple[list[Cell], CellSet, int, bool]:
    """Cells stepped on, boxes, pushes, and whether every action was possible."""
    walls, goals, neighbours = level.room.walls, level.room.goals, level.room.board.neighbours
    boxes, player = level.boxes, level.player
    cells: list[Cell] = []
    num_pushes = 0
    for action in actions:
        around = neighbours[player]
        target = around[action] if directions else action
        if target < 0 or walls >> target & 1 or target not in around:
            return cells, boxes, num_pushes, False
        if boxes >> target & 1:
            beyond = neighbours[target][around.index(target)]
            if beyond < 0 or (walls | boxes) >> beyond & 1:
                return cells, boxes, num_pushes, False
            boxes ^= 1 << target | 1 << beyond
            num_pushes += 1
            cells.append(target)
            if boxes == goals:
                break
        else:
            cells.append(target)
        player = target
    return cells, boxes, num_pushes, True


def _push(level: Level, actions: Sequence[int]) -> Walk:
    """The language `pushes`: walk behind the box, push it one cell, and so on."""
    room, cells = level.room, list[Cell]()
    boxes, player, num_pushes, box = level.boxes, level.player, 0, -1
    chosen = False
    for action in actions:
        if action == PUSH:
            chosen = True
            continue
        if chosen:
            chosen, box = False, action
            continue
        steps = _steps_to_push(room, boxes, player, box, action)
        if steps is None:
            return _ended(level, cells, boxes, num_pushes, False)
        taken, boxes, pushes, done = _step(Level(room, boxes, player), steps, False)
        cells += taken
        num_pushes += pushes
        if boxes == room.goals or not done:
            return _ended(level, cells, boxes, num_pushes, done)
        player, box = cells[-1], action
    return _ended(level, cells, boxes, num_pushes, True)


def _steps_to_push(
    room: Room, boxes: CellSet, player: Cell, box: Cell, target: Cell
) -> tuple[Cell, ...] | None:
    """The player's cells up to the one where the box stood; None if it cannot be done."""
    around = room.board.neighbours[box]
    behind = 2 * box - target
    if target not in around or behind not in around or not boxes >> box & 1:
        return None
    free = room.board.full & ~(room.walls | boxes)
    if not free >> behind & free >> target & 1:
        return None
    steps = path(room.width, free, player, behind)
    return None if steps is None else (*steps, box)


def _ended(
    level: Level, cells: Sequence[Cell], boxes: CellSet, num_pushes: int, done: bool
) -> Walk:
    if boxes == level.room.goals:
        word = Word.OK
    elif num_pushes and remaining(level.room, boxes) < 0:
        word = Word.STUCK
    else:
        word = Word.SHORT if done else Word.HIT
    return Walk(tuple(cells), boxes, num_pushes, word)


def as_words(level: Level, cells: Sequence[Cell], language: Language) -> list[str]:
    """Cells that the player can step on from the level's start, as words of the language."""
    names = level.room.board.names
    if language == "cells":
        return [names[cell] for cell in cells]
    if language == "moves":
        return _as_moves(level, cells)
    return ["push" if cell == PUSH else names[cell] for cell in _as_pushes(level, cells)]


def _as_moves(level: Level, cells: Sequence[Cell]) -> list[str]:
    neighbours, player, words = level.room.board.neighbours, level.player, []
    for cell in cells:
        words.append(DIRECTIONS[neighbours[player].index(cell)])
        player = cell
    return words


def _as_pushes(level: Level, cells: Sequence[Cell]) -> list[int]:
    """Only pushes count; a box that is pushed again goes on where it was left."""
    boxes, player, last = level.boxes, level.player, -1
    actions: list[int] = []
    for cell in cells:
        if boxes >> cell & 1:
            beyond = 2 * cell - player
            actions += [beyond] if cell == last else [PUSH, cell, beyond]
            boxes ^= 1 << cell | 1 << beyond
            last = beyond
        player = cell
    return actions
