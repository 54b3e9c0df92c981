"""The streams of puzzles: any index alone, splits that cannot overlap.

4x4: all grids with all choices of clues are numbered (`numbering.py`), a seed permutes the numbers,
and a stream is every puzzle with one solution in that order: none comes twice, and the stream ends.
Where several numbers of clues are allowed they take turns, so they are spread evenly; one that has
no puzzle left is skipped, and the stream goes on with the others.

6x6 and 9x9: index i is carved from a random solution of its own; there are so many that a stream
has no end and a repetition is not to be expected.

Puzzles of a file: those of the split in an order that the seed permutes.
"""

from functools import lru_cache
from random import Random

from envs import splits
from envs.base import JSON, Split
from envs.sudoku.board import BLANK, DIGITS, rows_of
from envs.sudoku.carving import carve
from envs.sudoku.numbering import kind_of, num_candidates, num_puzzles, numbered
from envs.sudoku.options import SudokuOptions
from envs.sudoku.puzzle_file import read_puzzles
from envs.sudoku.solver import TooHard, count_solutions, unique_solution
from envs.sudoku.symmetry import relabelled_digest

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
        named = options.puzzles
        file = named if isinstance(named, str) else (named or {}).get(split, "no file named for it")
        one_each = "a file for each split (puzzles: {train: ..., validation: ..., test: ...})"
        raise splits.StreamEnds(
            f"sudoku task {index} of {split.value}: {file} holds {len(puzzles)} puzzles of this "
            f"split; expected {'fewer tasks or more puzzles' if puzzles else one_each}"
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
    """Rounds of one puzzle for each number of clues; those that have no puzzle left are skipped."""
    fewest, most = options.clue_range
    streams = [_stream(n, options.distinct, split, seed) for n in range(fewest, most + 1)]
    begin = place = 0  # `begin` is the index with which round `place` begins
    while streams:
        rounds, offset = divmod(index - begin, len(streams))
        wanted = place + rounds
        lengths = [stream.length(wanted + 1) for stream in streams]
        shortest = min(lengths)
        if shortest > wanted:
            return streams[offset].puzzle(wanted)
        begin, place = begin + (shortest - place) * len(streams), shortest
        pairs = zip(streams, lengths, strict=True)
        streams = [stream for stream, length in pairs if length > shortest]
    raise splits.StreamEnds(
        f"sudoku task {index} of {split.value}: size 4, num_clues [{fewest}, {most}] and distinct "
        f"{options.distinct} leave this split {begin} puzzles; expected fewer tasks, other "
        "num_clues or a larger size"
    )


class _Stream:
    """The puzzles with one number of clues in the order of a seed, as far as they were found."""

    def __init__(self, num_clues: int, distinct: str, split: Split, seed: int) -> None:
        self._num_clues, self._split = num_clues, split
        self._relabelled = distinct == "relabelled"
        self._found: list[str] = []
        self._numbers = splits.permuted(num_candidates(num_clues), f"sudoku/{seed}")

    def length(self, most: int) -> int:
        """How many puzzles there are, or `most` if there are more."""
        if self._relabelled:
            return min(most, num_puzzles(self._num_clues, self._split))
        self._extend(most)
        return min(most, len(self._found))

    def puzzle(self, place: int) -> str:
        """For a place before `length`."""
        self._extend(place + 1)
        return self._found[place]

    def _extend(self, count: int) -> None:
        """Find more of them until there are `count`, or all."""
        while len(self._found) < count and (number := next(self._numbers, None)) is not None:
            kind = kind_of(self._num_clues, number)
            if kind is None or (self._relabelled and kind is not self._split):
                continue
            puzzle = numbered(self._num_clues, number)
            if self._relabelled or split_of(puzzle, "identity") is self._split:
                self._found.append(puzzle)


_stream = lru_cache(maxsize=256)(_Stream)
