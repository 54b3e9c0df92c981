"""Bit sets and searches against plain ones."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.plan_path.grid import Grid, board, distances, manhattan, parse_rows, shortest_path
from envs.plan_path.walk import Word, as_words, walk
from tests.envs.plan_path.drawings import GOLDEN, plain_distance

grids = st.builds(
    lambda height, width, seed: Grid(height, width, seed % (1 << height * width)),
    st.integers(2, 7),
    st.integers(2, 7),
    st.integers(0, 2**49),
)


@settings(deadline=None)
@given(grid=grids)
def test_rows_and_back(grid):
    assert parse_rows(grid.rows()) == grid


@settings(deadline=None)
@given(grid=grids, start=st.integers(0, 3), goal=st.integers(0, 3))
def test_distances_and_paths_agree_with_a_plain_search(grid, start, goal):
    rows = grid.rows()
    places = [list(divmod(cell, grid.width)) for cell in (start, goal)]
    if any(rows[row][column] == "#" for row, column in places):
        return
    expected = plain_distance(rows, *places)
    steps = distances(grid, goal).steps[start]
    assert steps == (-1 if expected is None else expected)
    path = shortest_path(grid.height, grid.width, grid.walls, start, goal)
    assert (path is None) == (expected is None)
    if path:
        assert len(path) == expected
        assert walk(grid, start, goal, path, "cells").word is Word.OK


def test_span_is_the_largest_distance():
    assert distances(parse_rows(["...", "##."]), 0).span == 3


def test_names():
    assert board(10, 10).names[:2] == ("a1", "b1")
    assert board(10, 10).cells["j10"] == 99


def test_manhattan():
    assert manhattan(10, 0, 23) == 5


def test_golden_shortest_path_is_the_given_length():
    grid = parse_rows(GOLDEN.split("\n"))
    assert distances(grid, 71).steps[65] == 9


@pytest.mark.parametrize("language", ["moves", "cells"])
def test_words_of_a_walk_can_be_walked_again(language):
    grid = parse_rows(["...", ".#.", "..."])
    path = shortest_path(3, 3, grid.walls, 0, 8)
    assert path is not None
    words = as_words(grid, 0, path, language)
    actions = ["UDLR".index(word) for word in words] if language == "moves" else path
    assert walk(grid, 0, 8, actions, language).cells == path
