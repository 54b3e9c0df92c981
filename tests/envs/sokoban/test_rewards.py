"""What is paid: never an invalid move, never going in circles, success only on the goals."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.base import Status
from envs.sokoban.room import FAR, assignment, push_distances, remaining
from tests.envs.sokoban.drawings import GOLDEN, LINE, TWO, begin, level

ALONE = {"roles": "planner", "prompt_style": "compact"}
BACK = {"U": "D", "D": "U", "L": "R", "R": "L"}
turns = st.lists(st.text("UDLR", min_size=0, max_size=6), min_size=1, max_size=8)


def earned(result):
    """Team and local parts together."""
    return result.rewards.team + sum(result.rewards.local.values())


def total_until_back(env, start, texts):
    """Rewards of every stretch that ends where it began; None of one that ends the episode."""
    seen, total, state, loops = {start.level: 0.0}, 0.0, start, []
    for text in texts:
        result = env.step(state, "planner", " ".join(text))
        total += earned(result)
        if result.status is not Status.RUNNING:
            break
        state = result.state
        if state.level in seen:
            loops.append(total - seen[state.level])
        seen.setdefault(state.level, total)
    return loops


@settings(max_examples=100, deadline=None)
@given(texts=turns, picture=st.sampled_from((GOLDEN, TWO, LINE)), reward=st.sampled_from(
    ("dense", "outcome")))  # fmt: skip
def test_fault_8_no_loop_earns(texts, picture, reward):
    env, state = begin(picture, reward, num_boxes=picture.count("$"), **ALONE)
    there = [text for text in texts if text]
    loops = total_until_back(env, state, [*there, *there, *texts])
    assert all(loop <= 1e-9 for loop in loops)


@pytest.mark.parametrize("split", [False, True])
def test_fault_8_pushing_to_and_fro_never_earns(split):
    picture = "#######\n#     #\n#@$  .#\n#     #\n#######"
    env, state = begin(picture, **ALONE)
    there, back = "RR", "URRDLLLURD"
    texts = [*there, *back] if split else [there, back]
    loops = total_until_back(env, state, texts * 3)
    assert all(loop <= 1e-9 for loop in loops)


def test_a_push_to_and_fro_is_a_loop_that_costs():
    picture = "#######\n#     #\n#@$  .#\n#     #\n#######"
    env, state = begin(picture, **ALONE)
    pushed = env.step(state, "planner", "R")
    returned = env.step(pushed.state, "planner", "U R R D L")
    assert returned.state.level.boxes == state.level.boxes
    assert earned(pushed) > 0
    assert earned(pushed) + earned(returned) == pytest.approx(0.0)


@settings(max_examples=100, deadline=None)
@given(moves=st.text("UDLR", min_size=1, max_size=12), picture=st.sampled_from((GOLDEN, LINE)))
def test_fault_8_an_invalid_move_never_pays(moves, picture):
    env, state = begin(picture, num_boxes=picture.count("$"), **ALONE)
    for move in moves:
        result = env.step(state, "planner", move)
        if result.state.level == state.level:
            assert earned(result) == 0.0
            assert result.status is Status.RUNNING
        if result.status is not Status.RUNNING:
            assert (result.status is Status.SOLVED) == (result.state.level.boxes
                                                        == state.level.room.goals)  # fmt: skip
            return
        state = result.state


def test_an_invalid_push_takes_the_gain_of_the_others_away():
    env, state = begin(GOLDEN, **ALONE)
    good, bad = (env.step(state, "planner", text) for text in ("D", "D D D D"))
    assert good.rewards.local["legal"] == pytest.approx(0.2 / 3)
    assert bad.rewards.local["legal"] == 0.0


def test_boxes_on_goals_are_progress_but_not_success():
    env, state = begin(TWO, num_boxes=2, **ALONE)
    result = env.step(state, "planner", "U R R D R")
    assert result.status is Status.RUNNING
    assert 0 < result.rewards.team < 0.5


def test_malformed_text_costs_and_does_nothing():
    env, state = begin(GOLDEN, **ALONE)
    for text in ("", "R R X", "north", " ".join("R" * 50)):
        result = env.step(state, "planner", text)
        assert result.state.level == state.level
        assert earned(result) == -0.2


def test_outcome_rewards_only_the_goal():
    env, state = begin(GOLDEN, "outcome", prompt_style="compact")
    assert env.step(state, "tool", "D D").rewards == (0.0, {"solves": 0.0})
    assert env.step(state, "tool", "D D L D R").rewards == (0.0, {"solves": 1.0})
    assert env.step(state, "planner", "D D").rewards == (0.0, {})
    assert env.step(state, "planner", "D D L D R").rewards == (1.0, {})


def test_more_pushes_than_needed_earn_less():
    picture = "#######\n#     #\n#@$.  #\n#     #\n#######"
    env, state = begin(picture, **ALONE)
    direct = env.step(state, "planner", "R").rewards
    longer = env.step(state, "planner", "U R D D").rewards
    assert direct.local["short"] == pytest.approx(0.2)
    assert longer.team < direct.team


def test_push_distances_know_where_the_player_has_to_stand():
    room = level("#######\n#@$  .#\n#######").room
    assert push_distances(room).steps[0][7:14] == (FAR, FAR, 3, 2, 1, 0, FAR)
    assert remaining(room, 1 << 9) == 3
    assert remaining(room, 1 << 8) == -1


def test_two_boxes_for_one_goal_are_stuck():
    assert remaining(level(TWO).room, level(TWO).boxes) == 5
    both_on_the_right_wall = 1 << 19 | 1 << 26
    assert remaining(level(TWO).room, both_on_the_right_wall) == -1


@settings(max_examples=50, deadline=None)
@given(size=st.integers(2, 5), data=st.data())
def test_the_assignment_is_the_least(size, data):
    from itertools import permutations

    number = st.integers(0, 9) | st.just(FAR)
    costs = [[data.draw(number) for _ in range(size)] for _ in range(size)]
    least = min(sum(costs[row][column] for row, column in enumerate(order))
                for order in permutations(range(size)))  # fmt: skip
    assert assignment(costs) == least
