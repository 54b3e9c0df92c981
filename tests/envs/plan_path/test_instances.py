"""The streams: legal, unique, addressable, and split by content."""

import hashlib
import json
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.base import Split
from envs.plan_path.instances import num_candidates, numbered, split_of
from envs.plan_path.options import PlanPathOptions
from envs.splits import permute
from tests.envs.plan_path.drawings import QUICKSTART, make_env, plain_distance


@pytest.mark.parametrize("split", Split)
def test_fault_7_instances_are_as_the_options_say(split):
    tasks = make_env(**QUICKSTART).tasks(split, 4, 0, 60)
    detours = 0
    for task in tasks:
        rows, start, goal = task.payload["rows"], task.payload["start"], task.payload["goal"]
        assert "".join(rows).count("#") == 10
        steps = plain_distance(rows, start, goal)
        assert steps >= 5
        detours += steps > abs(start[0] - goal[0]) + abs(start[1] - goal[1])
    assert detours == 30


@pytest.mark.parametrize("options", [{}, {"wall_fraction": 0.0, "height": 3, "width": 9}])
def test_other_sizes(options):
    for task in make_env(**options).tasks(Split.TRAIN, 0, 0, 50):
        rows, start, goal = task.payload["rows"], task.payload["start"], task.payload["goal"]
        assert plain_distance(rows, start, goal) >= 1


def test_wall_fraction_is_rounded_to_a_number():
    assert PlanPathOptions().walls == 22
    assert PlanPathOptions(num_walls=3).walls == 3


def test_fault_7_splits_are_disjoint_and_streams_hold_no_instance_twice():
    env = make_env(height=4, width=4, num_walls=4)
    contents = {}
    for split in Split:
        for seed in (0, 1):
            texts = [json.dumps(task.payload) for task in env.tasks(split, seed, 0, 40)]
            assert len(set(texts)) == 40
            contents.setdefault(split, set()).update(texts)
    assert not contents[Split.TRAIN] & contents[Split.VALIDATION]
    assert not contents[Split.TRAIN] & contents[Split.TEST]
    assert not contents[Split.VALIDATION] & contents[Split.TEST]


def test_any_slice_can_be_made_alone():
    whole = make_env(**QUICKSTART).tasks(Split.TRAIN, 7, 0, 20)
    assert make_env(**QUICKSTART).tasks(Split.TRAIN, 7, 13, 4) == whole[13:17]


def test_numbers_are_instances_one_to_one():
    options = PlanPathOptions(height=2, width=3, num_walls=2)
    size = num_candidates(options)
    assert size == 15 * 4 * 3
    assert len({numbered(options, number) for number in range(size)}) == size


@settings(max_examples=30, deadline=None)
@given(size=st.integers(1, 300), key=st.text(max_size=5))
def test_the_permutation_is_one(size, key):
    assert sorted(permute(position, size, key) for position in range(size)) == list(range(size))


def test_shares_of_the_splits():
    options = PlanPathOptions(height=5, width=5)
    counts = Counter(split_of(numbered(options, 7919 * number)) for number in range(2000))
    assert counts[Split.TRAIN] / 2000 == pytest.approx(0.8, abs=0.04)
    assert counts[Split.TEST] / 2000 == pytest.approx(0.1, abs=0.03)


@pytest.mark.parametrize(
    ("options", "index", "sentence"),
    [
        ({"height": 3, "width": 3, "num_walls": 1}, 500, "task 500 of test: the options leave"),
        ({"height": 4, "width": 4, "num_walls": 2, "min_distance": 12}, 0, "leave 0 instances"),
        ({"num_walls": 2, "min_distance": 90}, 0, "none of 8192 grids has min_distance 90"),
        ({}, -1, "task -1 of test: expected 0 or more"),
    ],
)
def test_streams_that_end_say_so(options, index, sentence):
    with pytest.raises(ValueError, match=sentence):
        make_env(**options).tasks(Split.TEST, 0, index, 1)


def test_a_small_stream_holds_every_instance_of_its_split_once():
    env = make_env(height=2, width=3, num_walls=0)
    found = []
    for split in Split:
        tasks = env.tasks(split, 5, 0, 1000)  # across the end there are fewer
        with pytest.raises(ValueError, match=f"leave {len(tasks)} instances"):
            env.tasks(split, 5, len(tasks), 1)
        assert env.tasks(split, 5, 1, 1000) == tasks[1:]
        found += [json.dumps(task.payload) for task in tasks]
    assert len(found) == len(set(found)) == 6 * 5


def test_streams_are_pinned():
    """If this fails, tasks have changed: raise the environment's version."""
    env = make_env(**QUICKSTART)
    assert env.version == "1"
    texts = [json.dumps(task.payload) for split in Split for task in env.tasks(split, 0, 0, 20)]
    digest = hashlib.sha256("\n".join(texts).encode()).hexdigest()
    assert digest[:16] == "28143396cf7b634b"
