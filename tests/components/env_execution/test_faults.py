"""Faults of public implementations that the turn loop must make impossible, by their number."""

import pytest

from components.engine import FinishReason
from envs.base import Order, Status
from tests.doubles.environments import Tracer
from tests.doubles.rows import logs, make_rules, play_texts, rewards_of


def test_fault_1_the_environment_advances_after_every_selection() -> None:
    scored, _ = play_texts(Tracer(), make_rules())
    shown = logs(scored)
    assert len(set(shown)) == len(shown)
    lengths = [line.count("A") + line.count("B") - 1 for line in shown]
    assert lengths == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("order", list(Order))
def test_fault_2_the_second_roles_candidates_are_rewarded_apart(order: Order) -> None:
    scored, _ = play_texts(Tracer(order=order), make_rules())
    for turn in range(3):
        assert rewards_of(scored, "B", turn) == [7, 1, 2, 9]


def test_fault_6_failed_generations_are_never_picked_or_rewarded() -> None:
    texts = {"A": [None, "5", None, "3"], "B": ["7", "1", None, "9"]}
    scored, frontier = play_texts(Tracer(), make_rules(num_turns=1), texts)
    assert rewards_of(scored, "A", 0) == [None, 5, None, 3]
    assert [row.candidate.candidate for row in scored if row.chosen] == [1, 3]
    failed = [row for row in scored if row.candidate.finish_reason == FinishReason.ERROR]
    assert len(failed) == 3
    assert {(row.reward, row.reward_parts, row.chosen) for row in failed} == {(None, None, False)}
    assert frontier.ended[0].status == Status.OUT_OF_TURNS


def test_fault_6_no_survivor_ends_the_episode_with_an_error() -> None:
    texts = {"A": "1523", "B": [None] * 4}
    scored, frontier = play_texts(Tracer(team={"A5": 0.5}), make_rules(), texts)
    (episode,) = frontier.ended
    assert (episode.status, episode.num_turns, episode.team_reward) == (Status.ERROR, 1, 0.5)
    assert len(scored) == 8


def test_fault_6_no_survivor_in_parallel_order() -> None:
    texts = {"A": [None] * 4, "B": "7129"}
    scored, frontier = play_texts(Tracer(order=Order.PARALLEL), make_rules(), texts)
    assert [row.reward for row in scored] == [None] * 8
    assert not any(row.chosen for row in scored)
    assert frontier.ended[0].status == Status.ERROR


def test_fault_6_an_answer_that_could_not_be_judged_is_no_answer() -> None:
    env = Tracer(endings={"A5": Status.ERROR})
    scored, _ = play_texts(env, make_rules(num_turns=1))
    assert rewards_of(scored, "A", 0) == [1, None, 2, 3]
    assert [row.candidate.candidate for row in scored if row.chosen] == [3, 3]


@pytest.mark.parametrize("pick", ["greedy", "sample"])
@pytest.mark.parametrize("beam", [1, 2])
def test_fault_6_random_and_wide_picks_avoid_failures_too(pick: str, beam: int) -> None:
    texts = {"A": [None, None, None, "3"], "B": [None, "1", None, None]}
    scored, _ = play_texts(Tracer(), make_rules(pick=pick, beam=beam), texts, num_tasks=3)
    assert all(row.reward is not None for row in scored if row.chosen)


@pytest.mark.parametrize("ending", [None, Status.FAILED])
def test_fault_8_running_out_of_turns_is_not_success(ending: Status | None) -> None:
    env = Tracer(endings={"B9": ending} if ending else {})
    _, frontier = play_texts(env, make_rules(num_turns=2))
    expected = ending or Status.OUT_OF_TURNS
    assert [episode.status for episode in frontier.ended] == [expected]
    assert Status.SOLVED not in {episode.status for episode in frontier.ended}
