"""Files of puzzles: one a line, checked whole before any is used.

A line is the puzzle, row by row, with `.` or `0` for a blank, and after white space, a comma or a
semicolon perhaps its solution; 16, 36 or 81 characters as the option `size` says. Empty lines,
lines that begin with `#` and a first line of column names are skipped. The first fault ends the
reading with one ValueError that names the file, the row (counted from 1) and the field.
"""

import re
from functools import lru_cache
from pathlib import Path
from typing import NoReturn

from envs import splits
from envs.base import Split
from envs.reading import read_text
from envs.sudoku.board import BLANK, DIGITS
from envs.sudoku.options import SudokuOptions
from envs.sudoku.solver import TooHard, count_solutions, unique_solution
from envs.sudoku.symmetry import relabelled_digest

MAX_BYTES = 32 * 2**20
MAX_LINES = 100_000
_FIELDS = re.compile(r"[\s,;]+")
_NAMES = re.compile(r"[A-Za-z_]+([\s,;]+[A-Za-z_]+)*")
Puzzles = dict[Split, tuple[str, ...]]
"""The puzzles of each split, in the file's order."""


def read_puzzles(options: SudokuOptions) -> Puzzles:
    """The puzzles of the option `puzzles`; read once as long as no file changes."""
    named = options.puzzles
    assert named is not None
    files = {None: named} if isinstance(named, str) else named
    stamped = tuple((split, path, _stamp(path)) for split, path in files.items())
    return _read_all(stamped, options.size, options.distinct)


@lru_cache(maxsize=16)
def _read_all(
    files: tuple[tuple[Split | None, str, object], ...], size: int, distinct: str
) -> Puzzles:
    """All files; a puzzle of one must not be in another."""
    found: dict[Split, list[str]] = {split: [] for split in Split}
    owners: dict[str, tuple[Split, str, int]] = {}
    for split, path, _ in files:
        for row, puzzle in _read_file(path, size):
            content = puzzle if distinct == "identity" else relabelled_digest(puzzle)
            own = split or splits.split_of(f"sudoku/{content}")
            owner = owners.setdefault(content, (own, path, row))
            if owner[0] is not own:
                how = "" if distinct == "identity" else ", as far as relabelling can tell"
                _refuse(path, row, "puzzle", f"is row {owner[2]} of {owner[1]} again{how}, but "
                        f"one is for {own.value} and one for {owner[0].value}; expected splits "
                        "without a common puzzle (see the option distinct)")  # fmt: skip
            found[own].append(puzzle)
    return {split: tuple(puzzles) for split, puzzles in found.items()}


def _read_file(path: str, size: int) -> list[tuple[int, str]]:
    """(row, puzzle) of every puzzle of one file."""
    found: dict[str, int] = {}
    lines = read_text(Path(path), "sudoku puzzles", MAX_BYTES).splitlines()
    if len(lines) > MAX_LINES:
        raise ValueError(f"{path}: has {len(lines)} lines, expected {MAX_LINES} at most")
    for row, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#") or (row == 1 and _NAMES.fullmatch(text)):
            continue
        puzzle = _puzzle(path, row, text, size)
        if puzzle in found:
            _refuse(path, row, "puzzle", f"is row {found[puzzle]} again; expected each puzzle once")
        found[puzzle] = row
    if not found:
        raise ValueError(f"{path}: has no puzzle, expected one a line")
    return [(row, puzzle) for puzzle, row in found.items()]


def _puzzle(path: str, row: int, text: str, size: int) -> str:
    """The checked puzzle of one line."""
    puzzle, *rest = _FIELDS.split(text, 2) if len(text) < 4 * size * size else (text,)
    puzzle = _grid(path, row, "puzzle", puzzle, size)
    try:
        solution = unique_solution(puzzle)
    except TooHard as error:
        _refuse(path, row, "puzzle", f"cannot be solved within {error}; expected an easier one")
    if solution is None:
        number = "2 or more solutions" if count_solutions(puzzle, 1) else "no solution"
        _refuse(path, row, "puzzle", f"has {number}, expected exactly one")
    if BLANK not in puzzle:
        _refuse(path, row, "puzzle", "has no blank, expected one or more")
    if rest and rest[0]:
        given = _grid(path, row, "solution", rest[0], size)
        if given != solution:
            _refuse(path, row, "solution", f"is {given}, expected the puzzle's only one {solution}")
    if len(rest) > 1 and rest[1]:
        _refuse(path, row, "line", f"goes on with {rest[1][:20]!r}; expected a puzzle, and perhaps "
                "its solution")  # fmt: skip
    return puzzle


def _grid(path: str, row: int, field: str, text: str, size: int) -> str:
    if len(text) != size * size:
        _refuse(path, row, field, f"has {len(text)} characters, expected {size * size}, which is "
                f"size {size}")  # fmt: skip
    grid = text.replace("0", BLANK)
    strange = sorted(set(grid) - set(DIGITS[:size] + BLANK))
    if strange:
        _refuse(path, row, field, f"has {''.join(strange)!r}; expected 1 to {size}, and . or 0")
    return grid


def _stamp(path: str) -> object:
    """Changes when the file does."""
    try:
        found = Path(path).stat()
    except (OSError, ValueError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or error
        raise ValueError(f"{path!r} cannot be read ({reason}); expected a file") from error
    return found.st_mtime_ns, found.st_size


def _refuse(path: str, row: int, field: str, fault: str) -> NoReturn:
    raise ValueError(f"{path}, row {row}, {field}: {fault}")
