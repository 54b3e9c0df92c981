"""All 4x4 puzzles by number: which have one solution, and which split holds them.

Every choice of cells in every complete grid is a number. Of puzzles that are one up to renaming
digits, transposing and exchanging lines, only one is looked at: every choice of cells is an image
of one of few, and the 288 grids are 12 apart from renaming. So the kinds of all numbers are known
after about a thousand searches, and how many puzzles a split has is known before any is drawn.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations, permutations, product

from envs.base import Split
from envs.splits import split_of
from envs.sudoku.board import BLANK, DIGITS, Cell
from envs.sudoku.solver import count_solutions, solutions
from envs.sudoku.symmetry import relabelled_digest

Choice = tuple[Cell, ...]
Kinds = tuple[Split | None, ...]
"""class of a grid -> the split of the puzzle, by relabelled digest; None: several solutions."""


def num_candidates(num_clues: int) -> int:
    """How many numbers there are: puzzles with a solution, each as often as it has solutions."""
    return len(all_grids()) * len(_choices(num_clues))


def numbered(num_clues: int, number: int) -> str:
    """The puzzle that has this number, 0 .. num_candidates - 1."""
    choice, grid = divmod(number, len(all_grids()))
    return _puzzle(_choices(num_clues)[choice], all_grids()[grid])


def kind_of(num_clues: int, number: int) -> Split | None:
    """The split of a puzzle with one solution, by its relabelled digest; None for others."""
    choice, grid = divmod(number, len(all_grids()))
    return _kinds(num_clues)[choice][_classes()[grid]]


@lru_cache(maxsize=64)
def num_puzzles(num_clues: int, split: Split) -> int:
    """How many puzzles with one solution the split has by relabelled digest."""
    alike = len(all_grids()) // (max(_classes()) + 1)
    return alike * sum(kinds.count(split) for kinds in _kinds(num_clues))


@lru_cache(maxsize=1)
def all_grids() -> tuple[str, ...]:
    """The 288 complete 4x4 grids."""
    return tuple(solutions(BLANK * 16))


def _puzzle(choice: Choice, grid: str) -> str:
    symbols = [BLANK] * 16
    for cell in choice:
        symbols[cell] = grid[cell]
    return "".join(symbols)


@lru_cache(maxsize=16)
def _choices(num_clues: int) -> tuple[Choice, ...]:
    return tuple(combinations(range(16), num_clues))


@lru_cache(maxsize=1)
def _classes() -> tuple[int, ...]:
    """grid -> its class; grids of one class differ by the names of their digits alone."""
    names: dict[str, int] = {}
    return tuple(names.setdefault(_renamed(grid), len(names)) for grid in all_grids())


def _renamed(grid: str) -> str:
    """Digits named in the order in which they appear."""
    return grid.translate(str.maketrans("".join(dict.fromkeys(grid)), DIGITS[:4]))


@lru_cache(maxsize=1)
def _moves() -> tuple[tuple[Cell, ...], ...]:
    """All 128 rearrangements of cells that keep rows, columns and boxes; cell -> where it goes."""
    pairs = list(product(permutations((0, 1)), permutations((2, 3))))
    lines = [(*first, *second) for pair in pairs for first, second in (pair, pair[::-1])]
    kept = [tuple(4 * r + c for r in rows for c in columns) for rows in lines for columns in lines]
    transposed = [tuple(move[cell % 4 * 4 + cell // 4] for cell in range(16)) for move in kept]
    return tuple(kept + transposed)


@lru_cache(maxsize=1)
def _moved_classes() -> tuple[tuple[int, ...], ...]:
    """move, class of a grid -> the class of the grid from which the move makes it."""
    firsts = {_renamed(grid): number for grid, number in zip(all_grids(), _classes(), strict=True)}
    return tuple(
        tuple(firsts[_renamed("".join(grid[cell] for cell in move))] for grid in firsts)
        for move in _moves()
    )


@lru_cache(maxsize=16)
def _kinds(num_clues: int) -> Sequence[Kinds]:
    """choice -> the kinds of its puzzles."""
    found: dict[Choice, Kinds] = {}
    for choice in _choices(num_clues):
        if choice in found:
            continue
        kinds = _looked_at(choice)
        for move, classes in zip(_moves(), _moved_classes(), strict=True):
            image = tuple(sorted([move[cell] for cell in choice]))
            found.setdefault(image, tuple([kinds[number] for number in classes]))
    return [found[choice] for choice in _choices(num_clues)]


def _looked_at(choice: Choice) -> Kinds:
    grids = dict(zip(_classes(), all_grids(), strict=True))
    puzzles = [_puzzle(choice, grids[number]) for number in sorted(grids)]
    return tuple(
        split_of(f"sudoku/{relabelled_digest(puzzle)}") if count_solutions(puzzle) == 1 else None
        for puzzle in puzzles
    )
