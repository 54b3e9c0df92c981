"""The exact solver against a textbook search, and the digest against every relabelling."""

from itertools import product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.sudoku import solver
from envs.sudoku.board import BLANK, BOXES, board, size_of
from envs.sudoku.carving import random_solution
from envs.sudoku.symmetry import relabelled_digest
from tests.envs.sudoku.puzzles import (
    AMBIGUOUS,
    GOLDEN,
    GOLDEN_SOLUTION,
    HARD,
    NINE,
    UNSOLVABLE,
    textbook_peers,
    textbook_solutions,
)


@st.composite
def grids(draw, size=4):
    """Any digits in any cells, mostly blank."""
    symbols = st.sampled_from("." * 8 + "123456789"[:size])
    return "".join(draw(st.lists(symbols, min_size=size * size, max_size=size * size)))


@settings(max_examples=300, deadline=None)
@given(grid=grids())
def test_all_solutions_are_found_once(grid):
    found = list(solver.solutions(grid))
    assert len(found) == len(set(found))
    clashes = any(
        grid[peer] == symbol
        for cell, symbol in enumerate(grid)
        for peer in textbook_peers(cell, 4)
        if symbol != BLANK
    )
    assert sorted(found) == ([] if clashes else textbook_solutions(grid))
    assert solver.count_solutions(grid) == min(2, len(found))


@pytest.mark.parametrize("size", BOXES)
def test_peers(size):
    assert board(size).peers == tuple(
        tuple(textbook_peers(cell, size)) for cell in range(size * size)
    )


def test_golden_vectors():
    assert solver.unique_solution(GOLDEN) == GOLDEN_SOLUTION
    assert solver.count_solutions(UNSOLVABLE) == 0
    assert solver.unique_solution(UNSOLVABLE) is None
    assert solver.unique_solution(AMBIGUOUS) is None
    assert solver.count_solutions(BLANK * 16, 1000) == 288


@pytest.mark.parametrize("puzzle", [NINE, HARD])
def test_nine_by_nine(puzzle):
    (solution,) = solver.solutions(puzzle)
    for unit in board(9).units:
        assert sorted(solution[cell] for cell in unit) == list("123456789")
    assert all(clue in (BLANK, digit) for clue, digit in zip(puzzle, solution, strict=True))
    assert [solution] == (textbook_solutions(puzzle) if puzzle == NINE else [solution])


def test_another_solution_without_a_digit():
    assert solver.has_other(AMBIGUOUS, 15, "1")
    assert not solver.has_other(GOLDEN, 15, GOLDEN_SOLUTION[15])


def test_a_search_that_takes_too_long_says_so(monkeypatch):
    monkeypatch.setattr(solver, "MAX_NODES", 3)
    search = solver.Search(board(9), nodes_left=3)
    candidates = solver._candidates(board(9), HARD)
    with pytest.raises(solver.TooHard, match="more than 3 branches"):
        list(solver._solve(search, candidates, board(9).full))


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32), size=st.sampled_from([4, 6, 9]))
def test_twins_have_one_digest(seed, size):
    rng = Random(seed)
    puzzle = some_puzzle(size, rng)
    assert relabelled_digest(relabel(puzzle, rng)) == relabelled_digest(puzzle)


def test_digests_tell_puzzles_apart():
    rng = Random(0)
    assert len({relabelled_digest(some_puzzle(9, rng)) for _ in range(100)}) == 100
    assert relabelled_digest(GOLDEN) != relabelled_digest(GOLDEN.replace("4", "."))


def some_puzzle(size, rng):
    """A grid with blanks; not necessarily with one solution."""
    solution = next(grid for grid in iter(lambda: random_solution(size, rng), 0) if grid)
    return "".join(digit if rng.random() < 0.5 else BLANK for digit in solution)


def relabel(puzzle, rng):
    """A twin: digits renamed, lines exchanged, transposed where boxes are square."""
    size = size_of(puzzle)
    height, width = BOXES[size]
    rows, columns = exchanged(size, height, rng), exchanged(size, width, rng)
    cells = list(product(rows, columns))
    if height == width and rng.random() < 0.5:
        cells = [(column, row) for row, column in cells]
    names = dict(zip("123456789"[:size], rng.sample("123456789"[:size], size), strict=True))
    return "".join(names.get(puzzle[row * size + column], BLANK) for row, column in cells)


def exchanged(size, depth, rng):
    """Lines in another order that keeps bands together."""
    bands = rng.sample(range(size // depth), size // depth)
    return [band * depth + line for band in bands for line in rng.sample(range(depth), depth)]
