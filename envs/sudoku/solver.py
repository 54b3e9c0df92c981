"""Exact search for the solutions of a grid: one, or two to tell whether the first is the only one.

A digit's candidates are a set of cells held in one integer. Cells with one candidate are found for
the whole grid at once by counting bits in parallel (`once`, `twice`), digits with one place in a
unit by intersecting; the search branches in a cell with the fewest candidates. Digits are tried in
order, so one grid always gives one first solution. Nothing here knows what is played.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from envs.sudoku.board import BLANK, DIGITS, Board, Cell, board, size_of

MAX_NODES = 5_000
"""Branches of one search; a grid that needs more is given up on."""


class TooHard(Exception):
    """The search was given up: neither a solution nor its absence is known."""


@dataclass
class Search:
    """What all branches of one search share."""

    board: Board
    nodes_left: int = MAX_NODES
    rng: Random | None = None
    """Shuffles the digits tried in a cell; None: in order."""


def count_solutions(grid: str, limit: int = 2) -> int:
    """How many solutions there are, counted up to `limit`. TooHard after MAX_NODES branches."""
    found = 0
    for _ in solutions(grid):
        found += 1
        if found == limit:
            break
    return found


@lru_cache(maxsize=8192)
def unique_solution(grid: str) -> str | None:
    """The solution if there is exactly one. TooHard after MAX_NODES branches."""
    stream = solutions(grid)
    first = next(stream, None)
    return first if first is not None and next(stream, None) is None else None


def first_solution(grid: str) -> str | None:
    """The first solution, always the same for one grid; None if there is none. May be TooHard."""
    return next(solutions(grid), None)


def solutions(grid: str, rng: Random | None = None) -> Iterator[str]:
    """All solutions, one by one, in a fixed order (or in one that `rng` draws)."""
    plan = board(size_of(grid))
    candidates = _candidates(plan, grid)
    if candidates is not None:
        yield from _solve(Search(plan, rng=rng), candidates, plan.full)


def has_other(grid: str, cell: Cell, digit: str) -> bool:
    """Whether a solution of the grid has another digit than this in a blank cell."""
    plan = board(size_of(grid))
    candidates = _candidates(plan, grid)
    if candidates is None:
        return False
    candidates[int(digit) - 1] &= ~(1 << cell)
    return next(_solve(Search(plan), candidates, plan.full), None) is not None


def _candidates(plan: Board, grid: str) -> list[int] | None:
    """digit - 1 -> cells that may hold it, as the clues alone say; None if two clues clash."""
    clues, seen = [0] * plan.size, [0] * plan.size
    for cell, symbol in enumerate(grid):
        if symbol != BLANK:
            digit = int(symbol) - 1
            clues[digit] |= 1 << cell
            seen[digit] |= plan.peer_masks[cell]
    blank = plan.full & ~sum(clues)
    if any(own & reach for own, reach in zip(clues, seen, strict=True)):
        return None
    return [own | blank & ~reach for own, reach in zip(clues, seen, strict=True)]


def _solve(search: Search, candidates: list[int], unsettled: int) -> Iterator[str]:
    """Solutions within the candidates, which are consumed. `unsettled`: not yet propagated."""
    settled = _propagate(search.board, candidates, unsettled)
    if settled is None:
        return
    unsettled, cell = settled
    if not unsettled:
        yield _grid(search.board, candidates)
        return
    digits = [digit for digit, cells in enumerate(candidates) if cells & cell]
    if search.rng is not None:
        search.rng.shuffle(digits)
    for digit in digits:
        search.nodes_left -= 1
        if search.nodes_left < 0:
            raise TooHard(f"more than {MAX_NODES} branches")
        branch = [cells & ~cell for cells in candidates]
        branch[digit] |= cell
        yield from _solve(search, branch, unsettled)


def _propagate(plan: Board, candidates: list[int], unsettled: int) -> tuple[int, int] | None:
    """Settle all that follows without a guess.

    The cells left and one of them with the fewest candidates (as a set), or None if there is a
    contradiction.
    """
    while True:
        once = twice = thrice = 0
        for cells in candidates:
            thrice |= twice & cells
            twice |= once & cells
            once |= cells
        if once != plan.full:
            return None
        singles = unsettled & ~twice
        if singles:
            if not _settle(plan, candidates, singles):
                return None
            unsettled &= ~singles
        elif not unsettled:
            return 0, 0
        else:
            hidden = _hidden(plan, candidates, twice)
            if hidden is None:
                return None
            if not hidden:
                pairs = unsettled & ~thrice
                return unsettled, pairs & -pairs or _fewest(candidates, unsettled)


def _settle(plan: Board, candidates: list[int], singles: int) -> bool:
    """Take the digits of these cells away from their peers; False if two of them clash."""
    for digit, cells in enumerate(candidates):
        own = cells & singles
        rest, reach = own, 0
        while rest:
            low = rest & -rest
            reach |= plan.peer_masks[low.bit_length() - 1]
            rest ^= low
        if own & reach:
            return False
        candidates[digit] = cells & ~reach
    return True


def _hidden(plan: Board, candidates: list[int], several: int) -> bool | None:
    """Settle digits with one place in a unit; whether there were any, None if one has no place."""
    found = False
    for digit, cells in enumerate(candidates):
        for unit in plan.masks:
            places = cells & unit
            if not places & (places - 1):
                if not places:
                    return None
                if places & several:
                    found = True
                    _keep_only(candidates, digit, places)
    return found


def _keep_only(candidates: list[int], digit: int, cell: int) -> None:
    for other, cells in enumerate(candidates):
        if other != digit:
            candidates[other] = cells & ~cell


def _fewest(candidates: Sequence[int], unsettled: int) -> int:
    """The first unsettled cell with the fewest candidates."""
    best, fewest = 0, len(candidates) + 1
    while unsettled:
        low = unsettled & -unsettled
        count = sum(1 for cells in candidates if cells & low)
        if count < fewest:
            best, fewest = low, count
        unsettled ^= low
    return best


def _grid(plan: Board, candidates: Sequence[int]) -> str:
    grid = [BLANK] * plan.size**2
    for digit, cells in enumerate(candidates):
        while cells:
            low = cells & -cells
            grid[low.bit_length() - 1] = DIGITS[digit]
            cells ^= low
    return "".join(grid)
