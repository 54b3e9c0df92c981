"""The streams of puzzles: any index alone, splits that cannot overlap.

4x4: all grids with all choices of clues are numbered, a seed permutes the numbers, and a stream is
every puzzle with one solution in that order: none comes twice, and the stream ends. Where several
numbers of clues are allowed, index i takes the next of its own number, so they are spread evenly.

6x6 and 9x9: index i is carved from a random solution of its own; there are so many that a stream
has no end and a repetition is not to be expected.

Puzzles of a file: those of the split in an order that the seed permutes.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations
from random import Random

from envs import splits
from envs.base import JSON, Split
from envs.sudoku.board import BLANK, DIGITS, rows_of
from envs.sudoku.carving import carve
from envs.sudoku.options import SudokuOptions
from envs.sudoku.puzzle_file import read_puzzles
from envs.sudoku.solver import TooHard, count_solutions, solutions, unique_solution
from envs.sudoku.symmetry import relabelled_digest

MISSES = 16_384
"""Numbers without a wanted puzzle after which a stream of 4x4 puzzles ends."""
DRAWS = 200
"""Random solutions that one index may try."""


def draw(options: SudokuOptions, split: Split, seed: int, index: int) -> str:
    """Puzzle `index` of the stream (split, seed).

    Raises ValueError if the stream is shorter than that or the options leave no puzzle.
    """
    if index < 0:
        raise ValueError(f"sudoku task {index} of {split.value}: expected 0 or more")
    if options.puzzles is not None:
        return _from_file(options, split, seed, index)
    if options.size == 4:
        return _numbered(options, split, seed, index)
    return _carved(options.size, options.clue_range, options.distinct, split, seed, index)


def split_of(puzzle: str, distinct: str) -> Split:
    """The only split that may hold the puzzle."""
    content = puzzle if distinct == "identity" else relabelled_digest(puzzle)
    return splits.split_of(f"sudoku/{content}")


def parse_payload(payload: JSON, size: int) -> str:
    """The puzzle of a task's payload, which is `{"rows": [...]}`.

    Raises ValueError if it is no grid of this size or has not exactly one solution.
    """
    rows = payload["rows"]
    allowed = DIGITS[:size] + BLANK
    if len(rows) != size or any(len(row) != size or set(row) - set(allowed) for row in rows):
        raise ValueError(f"expected {size} rows of {size} symbols out of {allowed!r}, got {rows}")
    puzzle = "".join(rows)
    check_unique(puzzle)
    if BLANK not in puzzle:
        raise ValueError(f"the grid {rows} has no blank, expected one or more")
    return puzzle


def check_unique(puzzle: str) -> str:
    """The solution. ValueError if there is none, more than one, or none can be told in time."""
    try:
        solution = unique_solution(puzzle)
        if solution is None:
            num = "2 or more solutions" if count_solutions(puzzle, 1) else "no solution"
            raise ValueError(f"the grid {rows_of(puzzle)} has {num}, expected exactly one")
    except TooHard as error:
        raise ValueError(f"the grid {rows_of(puzzle)} cannot be solved within {error}") from error
    return solution


def _from_file(options: SudokuOptions, split: Split, seed: int, index: int) -> str:
    puzzles = read_puzzles(options)[split]
    if index >= len(puzzles):
        raise ValueError(
            f"sudoku task {index} of {split.value}: {options.puzzles} holds {len(puzzles)} puzzles "
            "of this split; expected a smaller index or a larger file"
        )
    return puzzles[splits.permute(index, len(puzzles), f"sudoku/{seed}")]


@lru_cache(maxsize=8192)
def _carved(
    size: int, clue_range: tuple[int, int], distinct: str, split: Split, seed: int, index: int
) -> str:
    fewest, most = clue_range
    num_clues = fewest + index % (most - fewest + 1)
    for attempt in range(DRAWS):
        rng = Random(f"sudoku/{size}/{num_clues}/{distinct}/{split.value}/{seed}/{index}/{attempt}")
        puzzle = carve(size, num_clues, rng, lambda found: split_of(found, distinct) is split)
        if puzzle is not None:
            return puzzle
    raise ValueError(
        f"sudoku task {index} of {split.value}: {DRAWS} solutions led to no puzzle with "
        f"{num_clues} clues; expected a larger num_clues"
    )


def _numbered(options: SudokuOptions, split: Split, seed: int, index: int) -> str:
    fewest, most = options.clue_range
    span = most - fewest + 1
    place, offset = divmod(index, span)
    if _extend(fewest + offset, options.distinct, split, seed, place + 1) <= place:
        num_tasks = min(
            _extend(fewest + n, options.distinct, split, seed, place + 1) * span + n
            for n in range(span)
        )
        raise ValueError(
            f"sudoku task {index} of {split.value}: the options leave {num_tasks} puzzles; "
            "expected a smaller index, more clues or a larger size"
        )
    return _stream(fewest + offset, options.distinct, split, seed)[0][place]


def _extend(num_clues: int, distinct: str, split: Split, seed: int, count: int) -> int:
    """Find puzzles of the stream until there are `count`, or all; how many there are."""
    found, stream = _stream(num_clues, distinct, split, seed)
    while len(found) < count:
        puzzle = next(stream, None)
        if puzzle is None:
            break
        found.append(puzzle)
    return len(found)


@lru_cache(maxsize=256)
def _stream(
    num_clues: int, distinct: str, split: Split, seed: int
) -> tuple[list[str], Iterator[str]]:
    """The puzzles found so far, and where the next ones come from."""
    return [], _walk(num_clues, distinct, split, seed)


def _walk(num_clues: int, distinct: str, split: Split, seed: int) -> Iterator[str]:
    size, misses = num_candidates(num_clues), 0
    for position in range(size):
        puzzle = numbered(num_clues, splits.permute(position, size, f"sudoku/{seed}"))
        misses += 1
        if count_solutions(puzzle) == 1 and split_of(puzzle, distinct) is split:
            misses = 0
            yield puzzle
        if misses >= MISSES:
            return


def num_candidates(num_clues: int) -> int:
    """How many 4x4 puzzles with a solution there are, if every choice of clues counts."""
    return len(_all_grids()) * len(_choices(num_clues))


def numbered(num_clues: int, number: int) -> str:
    """The 4x4 puzzle that has this number, 0 .. num_candidates - 1."""
    choice, grid = divmod(number, len(_all_grids()))
    puzzle, solution = [BLANK] * 16, _all_grids()[grid]
    for cell in _choices(num_clues)[choice]:
        puzzle[cell] = solution[cell]
    return "".join(puzzle)


@lru_cache(maxsize=1)
def _all_grids() -> tuple[str, ...]:
    """The 288 complete 4x4 grids."""
    return tuple(solutions(BLANK * 16))


@lru_cache(maxsize=16)
def _choices(num_clues: int) -> tuple[tuple[int, ...], ...]:
    return tuple(combinations(range(16), num_clues))
