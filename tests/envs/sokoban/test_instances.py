"""The generator: solvable by construction and by the solver, streams, splits."""

import hashlib
import json
from random import Random

import pytest

from envs.base import Split
from envs.sokoban.board import reach
from envs.sokoban.instances import BLOCK
from envs.sokoban.levels import parse_rows
from envs.sokoban.reverse_play import choose, draw_room, play_back
from envs.sokoban.solver import solve
from envs.sokoban.symmetry import mirrored
from envs.splits import split_of
from tests.envs.sokoban.drawings import TINY, make_env


@pytest.mark.parametrize(
    ("options", "count"),
    [
        ({}, 40),
        (TINY, 40),
        ({"height": 7, "width": 8, "num_boxes": 2, "min_pushes": 4, "max_pushes": 9}, 15),
        ({"height": 9, "width": 9, "num_boxes": 3, "num_walls": 8, "min_pushes": 6}, 4),
        ({"min_moves": 9}, 15),
    ],
)
def test_fault_7_levels_are_as_the_options_say(options, count):
    env = make_env(**options)
    chosen = env.options
    for split in Split:
        for task in env.tasks(split, 4, 0, count):
            level = parse_rows(task.payload["rows"])
            inside = level.room.walls & ~level.room.board.ring
            assert inside.bit_count() == chosen.walls
            assert level.boxes.bit_count() == chosen.num_boxes
            assert split_of(mirrored(level)) is split
            assert chosen.min_pushes <= solve(level, "pushes").num_pushes <= chosen.most_pushes
            if chosen.min_moves > 1:
                assert len(solve(level, "moves").cells) >= chosen.min_moves


def test_where_all_positions_are_kept_the_pulls_are_the_fewest_pushes():
    rng, checked = Random(3), 0
    while checked < 40:
        boxes = 1 + checked % 2
        room = draw_room(6, 6, 2, boxes, rng)
        if room is None:
            continue
        layers = play_back(room, 30, rng, kept=10**6)
        chosen = choose(room, layers, 1, rng)
        if chosen is not None:
            level, pulls = chosen
            assert solve(level, "pushes").num_pushes == pulls
            checked += 1


def test_positions_that_were_not_pulled_to_cannot_be_solved():
    rng = Random(1)
    room = None
    while room is None:
        room = draw_room(5, 6, 2, 1, rng)
    pulled = {position for layer in play_back(room, 99, rng, 10**6) for position in layer}
    free = room.board.full & ~room.walls
    from envs.sokoban.board import members
    from envs.sokoban.room import Level

    for box in members(free):
        for player in members(free & ~(1 << box)):
            inside = reach(room.width, free & ~(1 << box), 1 << player)
            solvable = solve(Level(room, 1 << box, player), "pushes") is not None
            assert solvable == ((1 << box, inside) in pulled)


def test_solution_lengths_are_spread():
    env = make_env(height=7, width=7, num_boxes=2, min_pushes=2)
    pushes = [solve(parse_rows(task.payload["rows"]), "pushes").num_pushes
              for task in env.tasks(Split.TRAIN, 0, 0, 120)]  # fmt: skip
    assert len(set(pushes)) >= 7
    assert max(map(pushes.count, set(pushes))) < 50


def test_fault_7_splits_are_disjoint_and_no_level_comes_twice_in_a_block():
    contents = {}
    env = make_env(height=5, width=6, num_walls=1)
    for split in Split:
        for seed in (0, 1):
            texts = [json.dumps(task.payload) for task in env.tasks(split, seed, 0, 60)]
            assert len(set(texts)) == 60
            contents.setdefault(split, set()).update(texts)
    train, validation, test = contents.values()
    assert not train & validation and not train & test and not validation & test


def test_any_slice_can_be_made_alone():
    whole = make_env().tasks(Split.TRAIN, 7, 0, 20)
    assert make_env().tasks(Split.TRAIN, 7, 13, 4) == whole[13:17]
    far = make_env().tasks(Split.TRAIN, 7, 40 * BLOCK, 2)
    assert make_env().tasks(Split.TRAIN, 7, 40 * BLOCK + 1, 1) == far[1:]


@pytest.mark.parametrize(
    ("options", "index", "sentence"),
    [
        (
            {"height": 5, "width": 5, "num_walls": 1},
            300,
            r"task 300 of test: of 512 tasks without a repetition \d+ were found, then none in "
            "4096 random rooms of 5x5 with 1 walls, 1 boxes and 2 to 5 pushes; expected a smaller",
        ),
        (
            {"height": 5, "width": 5, "num_walls": 0, "min_pushes": 3, "max_pushes": 3},
            0,
            "task 0 of test: there is no level in 4096 random rooms of 5x5 with 0 walls",
        ),
        ({}, -1, "task -1 of test: expected 0 or more"),
    ],
)
def test_streams_that_end_say_so(options, index, sentence):
    with pytest.raises(ValueError, match=sentence):
        make_env(**options).tasks(Split.TEST, 0, index, 1)


def test_streams_are_pinned():
    """If this fails, tasks have changed: raise the environment's version."""
    env = make_env()
    assert env.version == "1"
    texts = [json.dumps(task.payload) for split in Split for task in env.tasks(split, 0, 0, 20)]
    digest = hashlib.sha256("\n".join(texts).encode()).hexdigest()
    assert digest[:16] == "815083f8c1ae42f6"
