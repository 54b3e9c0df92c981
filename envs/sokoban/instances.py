"""Streams of generated levels: any index alone, splits that cannot overlap.

A stream is made of blocks of BLOCK tasks, each with its own random numbers: no level comes twice
in a block, and a task costs at most the search for those before it in its block (once per
process). The digest of a level (symmetry.py) decides the only split that may hold it, whatever the
seed.
"""

from collections.abc import Iterator
from functools import lru_cache
from random import Random

from envs import splits
from envs.base import Split
from envs.sokoban.options import SokobanOptions
from envs.sokoban.reverse_play import choose, draw_room, play_back
from envs.sokoban.room import Level
from envs.sokoban.solver import Undecided, solve
from envs.sokoban.symmetry import name

BLOCK = 512
MISSES = 4096
"""Rooms in a row without a new level of the split: then there are next to none."""
TRIES = 24
"""Levels of one room that are looked at."""


def draw(options: SokobanOptions, split: Split, seed: int, index: int) -> Level:
    """Level `index` of the stream. ValueError if the options leave too few levels."""
    if index < 0:
        raise ValueError(f"sokoban task {index} of {split.value}: expected 0 or more")
    block, place = divmod(index, BLOCK)
    found, stream = _block(options, split, seed, block)
    while len(found) <= place:
        level = next(stream, None)
        if level is None:
            raise ValueError(f"sokoban task {index} of {split.value}: {_lack(options, len(found))}")
        found.append(level)
    return found[place]


def _lack(options: SokobanOptions, number: int) -> str:
    """Why there is no task, and what to do."""
    such = (
        f"{options.height}x{options.width} with {options.walls} walls, {options.num_boxes} boxes "
        f"and {options.min_pushes} to {options.most_pushes} pushes"
    )
    smaller = "larger rooms, fewer walls, or smaller min_pushes and min_moves"
    if number:
        return (
            f"of {BLOCK} tasks without a repetition {number} were found, then none in {MISSES} "
            f"random rooms of {such}; expected a smaller index, {smaller}"
        )
    return f"there is no level in {MISSES} random rooms of {such}; expected {smaller}"


@lru_cache(maxsize=64)
def _block(
    options: SokobanOptions, split: Split, seed: int, block: int
) -> tuple[list[Level], Iterator[Level]]:
    """The levels found so far, and where the next ones come from."""
    return [], _levels(options, split, Random(f"sokoban/{split.value}/{seed}/{block}"))


def _levels(options: SokobanOptions, split: Split, rng: Random) -> Iterator[Level]:
    known: set[Level] = set()
    misses = 0
    while misses < MISSES:
        level = _attempt(options, split, rng)
        if level is None or level in known:
            misses += 1
            continue
        misses = 0
        known.add(level)
        yield level


def _attempt(options: SokobanOptions, split: Split, rng: Random) -> Level | None:
    """One room, and a level in it that belongs to the split."""
    room = draw_room(options.height, options.width, options.walls, options.num_boxes, rng)
    if room is None:
        return None
    layers = play_back(room, options.most_pushes, rng)
    for _ in range(TRIES):
        chosen = choose(room, layers, options.min_pushes, rng)
        if chosen is None:
            return None
        level, pulls = chosen
        if splits.split_of(name(level, options.distinct)) is split:
            return level if _checked(options, level, pulls) else None
    return None


def _checked(options: SokobanOptions, level: Level, pulls: int) -> bool:
    """The solver agrees that the level is as the options say."""
    try:
        fewest = solve.__wrapped__(level, "pushes", options.solver_limit)
        moves = fewest
        if options.min_moves > 1:
            moves = solve.__wrapped__(level, "moves", options.solver_limit)
    except Undecided:
        return False
    return (
        fewest is not None
        and moves is not None
        and options.min_pushes <= fewest.num_pushes <= pulls
        and len(moves.cells) >= options.min_moves
    )
