"""The walk and the solver against plain ones."""

from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.base import Split
from envs.sokoban.solver import Undecided, solve
from envs.sokoban.state import rows_of
from envs.sokoban.walk import PUSH, Word, as_words, walk
from tests.envs.sokoban.drawings import AROUND, GOLDEN, LINE, TWO, level, make_env, plain_walk

SIZES = [{}, {"num_boxes": 2}, {"height": 5, "width": 7, "num_boxes": 2, "wall_fraction": 0.1}]


def plain_solve(picture):
    """Fewest moves by a textbook search over drawings; None without a solution."""
    queue, seen = deque([(picture, 0)]), {picture}
    while queue:
        rows, moves = queue.popleft()
        if "$" not in rows:
            return moves
        for move in "UDLR":
            after, done = plain_walk(rows, move)
            text = "\n".join(after)
            if done and text not in seen:
                seen.add(text)
                queue.append((text, moves + 1))
    return None


def drawn(options, count):
    """Generated levels as drawings."""
    tasks = make_env(min_pushes=1, **options).tasks(Split.TRAIN, 5, 0, count)
    return ["\n".join(task.payload["rows"]) for task in tasks]


@settings(max_examples=150, deadline=None)
@given(moves=st.text("UDLR", max_size=25), picture=st.sampled_from((GOLDEN, TWO, LINE, AROUND)))
def test_moves_agree_with_a_plain_player(moves, picture):
    taken = walk(level(picture), ["UDLR".index(move) for move in moves], "moves")
    rows, done = plain_walk(picture, moves)
    start = level(picture)
    end = type(start)(start.room, taken.boxes, taken.end(start.player))
    assert rows_of(end) == rows
    assert len(taken.cells) == done
    assert (taken.word is Word.OK) == ("$" not in "".join(rows))


@settings(max_examples=150, deadline=None)
@given(moves=st.text("UDLR", min_size=1, max_size=25), picture=st.sampled_from((GOLDEN, TWO)))
def test_words_of_a_walk_can_be_walked_again(moves, picture):
    start = level(picture)
    taken = walk(start, ["UDLR".index(move) for move in moves], "moves")
    named = start.room.board.inner
    told = as_words(start, taken.cells, "moves")
    assert "".join(told) == moves[: len(told)]
    cells = [named[word] for word in as_words(start, taken.cells, "cells")]
    assert walk(start, cells, "cells")[:3] == taken[:3]
    pushes = [{**named, "push": PUSH}[word] for word in as_words(start, taken.cells, "pushes")]
    again = walk(start, pushes, "pushes")
    assert (again.boxes, again.num_pushes) == (taken.boxes, taken.num_pushes)


@pytest.mark.parametrize("options", SIZES)
def test_solutions_are_the_shortest(options):
    for picture in drawn(options, 6):
        start = level(picture)
        fewest = {objective: solve(start, objective) for objective in ("moves", "pushes")}
        assert len(fewest["moves"].cells) == plain_solve(picture)
        assert fewest["pushes"].num_pushes <= fewest["moves"].num_pushes
        for found in fewest.values():
            taken = walk(start, found.cells, "cells")
            assert (taken.word, taken.num_pushes) == (Word.OK, found.num_pushes)


@pytest.mark.parametrize("objective", ["moves", "pushes"])
@pytest.mark.parametrize(
    "picture",
    [
        "#########\n#@  . $ #\n#########",
        "#######\n#@ $$.#\n#    .#\n#######",
        "#######\n#@    #\n# $$ .#\n# $$ .#\n#   ..#\n#######",
        "#######\n#@$ $.#\n###.###\n#######",
    ],
)
def test_there_is_no_solution(picture, objective):
    assert plain_solve(picture) is None
    assert solve(level(picture), objective) is None


def test_the_limit_says_that_nothing_is_known():
    with pytest.raises(Undecided, match="no solution among 3 positions"):
        solve(level(TWO), "moves", 3)


def test_golden_level_needs_three_pushes():
    assert solve(level(GOLDEN), "pushes").num_pushes == 3
    assert len(solve(level(GOLDEN), "moves").cells) == 5
