"""Boxes that never move again: found at once, and never where there is a solution."""

import pytest

from envs.base import Split, Status
from envs.sokoban.board import members
from envs.sokoban.deadlocks import frozen
from envs.sokoban.levels import parse_rows
from envs.sokoban.room import Level, push_distances, remaining
from envs.sokoban.solver import Undecided, solvable, solve
from tests.envs.sokoban.drawings import TWO, begin, level, make_env

BLOCK = """\
############
#          #
#  $$   .. #
#  $$   .. #
#          #
#    $ $   #
#    @   . #
#     $  . #
#          #
# $    . . #
############"""
CHAIN = """\
##########
#   $$#  #
#  #$$   #
#        #
#  @ ... #
#    .   #
##########"""
WALL = """\
#######
#     #
# $$  #
# ##@ #
#  .. #
#######"""
FREE = """\
#######
#     #
#@$$  #
#     #
#  .. #
#######"""


def held(picture):
    """The frozen boxes of a drawing."""
    one = level(picture)
    room = one.room
    return frozen(room.width, room.walls, room.board.full & ~push_distances(room).live, one.boxes)


@pytest.mark.parametrize(("picture", "count"), [(BLOCK, 4), (CHAIN, 4), (WALL, 2), (FREE, 0)])
def test_what_walls_and_boxes_hold(picture, count):
    assert held(picture).bit_count() == count
    one = level(picture)
    assert (remaining(one.room, one.boxes) < 0) == (count > 0)


def test_boxes_held_on_goals_are_no_deadlock():
    one = level("########\n#**    #\n#** $ .#\n#  @   #\n########")
    assert held("########\n#**    #\n#** $ .#\n#  @   #\n########").bit_count() == 4
    assert remaining(one.room, one.boxes) == 2


def test_no_position_of_a_solution_is_called_stuck():
    """Along the solutions of small rooms with two boxes."""
    for task in make_env(height=5, width=6, num_boxes=2, num_walls=1).tasks(Split.TRAIN, 0, 0, 3):
        start = parse_rows(task.payload["rows"])
        solution = solve(start, "pushes")
        boxes, player = start.boxes, start.player
        for cell in solution.cells:
            assert remaining(start.room, boxes) >= 0
            if boxes >> cell & 1:
                boxes ^= 1 << cell | 1 << (2 * cell - player)
            player = cell
        assert boxes == start.room.goals


def test_a_box_that_could_move_is_not_held():
    """A box is pushed wherever a push is possible: such a box was not among the held ones, or it
    went to a dead cell."""
    for task in make_env(height=7, width=7, num_boxes=3, num_walls=3).tasks(Split.TRAIN, 1, 0, 5):
        one = parse_rows(task.payload["rows"])
        room, live = one.room, push_distances(one.room).live
        still = frozen(room.width, room.walls, room.board.full & ~live, one.boxes)
        free = room.board.full & ~room.walls & ~one.boxes
        for box in members(still):
            for shift in (1, room.width):
                sides = (box - shift, box + shift)
                assert not all(free >> side & 1 and live >> side & 1 for side in sides)


def test_a_planner_that_blocks_boxes_has_lost():
    picture = "########\n#      #\n# @$ $ #\n#   $$ #\n# .... #\n#      #\n########"
    env, state = begin(picture, num_boxes=4, roles="planner")
    lost = env.step(state, "planner", "[R]")
    assert env.picture(lost.state).split("\n")[2:4] == ["#  @$$ #", "#   $$ #"]
    assert (lost.status, lost.rewards.local["deadlock"]) == (Status.FAILED, -0.3)


def test_the_quick_search_agrees_with_the_thorough_one():
    for task in make_env(height=7, width=7, num_boxes=2).tasks(Split.TEST, 3, 0, 10):
        one = parse_rows(task.payload["rows"])
        assert solvable(one, 2_000)
    lost = level("#########\n#@  . $ #\n#########")
    assert not solvable(lost, 2_000) and solve(lost) is None
    with pytest.raises(Undecided, match="no solution among 1 positions"):
        solvable(level(TWO), 1)


def test_many_boxes_reach_the_limit_sooner():
    row = "# " + "$ " * 15 + "#"
    goals = "# " + ". " * 15 + "#"
    edge, gap = "#" * 33, "#" + " " * 31 + "#"
    room = [edge, gap, row, gap, row, gap, "#@" + " " * 30 + "#", goals, gap, goals, gap, edge]
    one = parse_rows([line.ljust(33, "#") for line in room])
    assert isinstance(one, Level) and one.boxes.bit_count() == 30
    with pytest.raises(Undecided, match=r"no solution among \d\d? positions"):
        solvable(one, 100)
