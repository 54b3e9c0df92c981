"""Twins: turned, mirrored or walled in once more, and still the same level."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.base import Split
from envs.sokoban.levels import parse_rows
from envs.sokoban.symmetry import mirrored, name, trimmed
from tests.envs.sokoban.drawings import AROUND, GOLDEN, TWO, level, make_env


def turned(rows):
    """A quarter turn."""
    return ["".join(column) for column in zip(*rows[::-1], strict=True)]


def twins(rows):
    """All eight drawings of a level."""
    found = []
    for _ in range(4):
        rows = turned(rows)
        found += [rows, rows[::-1]]
    return found


def walled(rows):
    """One more ring of walls."""
    edge = "#" * (len(rows[0]) + 2)
    return [edge, *(f"#{row}#" for row in rows), edge]


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_all_eight_drawings_have_one_name(seed):
    (task,) = make_env(height=6, width=8).tasks(Split.TRAIN, seed, 0, 1)
    rows = task.payload["rows"]
    names = {mirrored(parse_rows(twin)) for twin in [*twins(rows), *twins(walled(rows))]}
    assert len(names) == 1
    assert len({name(parse_rows(twin), "identity") for twin in twins(rows)}) >= 4


def test_what_the_player_cannot_get_to_is_no_part_of_a_level():
    yard = ["#########", "#  #    #", "#  ######", *(f"##{row}#" for row in GOLDEN.split("\n"))]
    assert trimmed(parse_rows(yard)) == trimmed(level(GOLDEN)) == [
        " @  ", " $  ", "    ", "  . ",
    ]  # fmt: skip


def test_other_levels_have_other_names():
    moved = GOLDEN.replace("# @  #", "#  @ #")
    assert len({mirrored(level(picture)) for picture in (GOLDEN, moved, TWO, AROUND)}) == 4


@pytest.mark.parametrize(("distinct", "shared"), [("mirrored", False), ("identity", True)])
def test_no_twin_of_a_train_level_is_in_test(distinct, shared):
    env = make_env(distinct=distinct, height=5, width=6, num_walls=1)
    names = [{mirrored(parse_rows(task.payload["rows"])) for task in env.tasks(split, 0, 0, 40)}
             for split in (Split.TRAIN, Split.TEST)]  # fmt: skip
    assert bool(names[0] & names[1]) == shared
