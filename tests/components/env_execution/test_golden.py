"""The reference's golden vectors: mixture, picks, counts, the tracer in both orders."""

from collections import Counter

import pytest

from components.env_execution.scoring import mixture
from components.env_execution.selection import choose
from components.records import Scored
from envs.base import Order, Rewards, Status
from tests.doubles.environments import Tracer, parallel_roles, three_roles
from tests.doubles.rows import logs, make_rules, play_texts, rewards_of

TEAM, LOCAL = (1.0, 0.0, 1.0, 0.0), (0.2, 0.8, 0.5, 0.0)


def groups(scored: list[Scored]) -> Counter[tuple[str, str, int, str]]:
    turns = [row.candidate.turn for row in scored]
    return Counter((turn.task_id, turn.node, turn.turn, turn.role) for turn in turns)


@pytest.mark.parametrize(("alpha", "pick"), [(1.0, 2), (0.0, 1), (2.0, 2)])
def test_mixture_decides_the_pick(alpha: float, pick: int) -> None:
    rewards = [mixture(Rewards(t, {"x": x}), alpha) for t, x in zip(TEAM, LOCAL, strict=True)]
    assert choose(rewards, beam=1) == [pick]


def test_mixture_values() -> None:
    rewards = [mixture(Rewards(t, {"x": x}), 1.0) for t, x in zip(TEAM, LOCAL, strict=True)]
    assert rewards == pytest.approx([1.2, 0.8, 1.5, 0.0])
    assert mixture(Rewards(0.5, {"x": 0.1, "y": -0.3}), 2.0) == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("rewards", "pick"), [([0.3, 0.8, 0.8, 0.1], 1), ([0.5] * 4, 0), ([None, 0.2, 0.1], 1)]
)
def test_ties_go_to_the_first(rewards: list[float | None], pick: int) -> None:
    assert choose(rewards, beam=1) == [pick]


def test_counts_without_an_early_stop() -> None:
    scored, _ = play_texts(Tracer(), make_rules(num_turns=2), num_tasks=2)
    assert sorted(groups(scored).values()) == [4] * 8
    assert Counter(row.candidate.turn.role for row in scored) == {"A": 16, "B": 16}


def test_counts_with_one_task_solved_in_its_first_turn() -> None:
    env = Tracer(endings={"0:B9": Status.SOLVED})
    scored, frontier = play_texts(env, make_rules(num_turns=2), num_tasks=2)
    assert sorted(groups(scored).values()) == [4] * 6
    assert len(scored) == 24
    assert [(e.status, e.num_turns) for e in frontier.ended] == [
        (Status.SOLVED, 1),
        (Status.OUT_OF_TURNS, 2),
    ]


def test_tracer_serial() -> None:
    scored, _ = play_texts(Tracer(), make_rules())
    assert logs(scored) == [
        "A0 []", "B0 [A5]", "A1 [A5,B9]", "B1 [A5,B9,A5]",
        "A2 [A5,B9,A5,B9]", "B2 [A5,B9,A5,B9,A5]",
    ]  # fmt: skip
    for turn in range(3):
        assert rewards_of(scored, "A", turn) == [1, 5, 2, 3]
        assert rewards_of(scored, "B", turn) == [7, 1, 2, 9]


def test_tracer_parallel() -> None:
    scored, _ = play_texts(parallel_roles(), make_rules())
    assert logs(scored) == [
        "A0 []", "B0 []", "A1 [A5,B9]", "B1 [A5,B9]", "A2 [A5,B9,A5,B9]", "B2 [A5,B9,A5,B9]",
    ]  # fmt: skip
    assert rewards_of(scored, "B", 1) == [7, 1, 2, 9]


def test_three_roles_serial_see_the_picks_before_them() -> None:
    scored, _ = play_texts(three_roles(), make_rules("ABC", num_turns=2))
    assert logs(scored) == [
        "A0 []", "B0 [A5]", "C0 [A5,B9]",
        "A1 [A5,B9,C8]", "B1 [A5,B9,C8,A5]", "C1 [A5,B9,C8,A5,B9]",
    ]  # fmt: skip
    nodes = {(row.candidate.turn.role, row.candidate.turn.node) for row in scored}
    assert nodes == {
        ("A", ""), ("B", "1"), ("C", "1.3"),
        ("A", "1.3.1"), ("B", "1.3.1.1"), ("C", "1.3.1.1.3"),
    }  # fmt: skip


def test_three_roles_parallel_see_the_start_of_the_turn() -> None:
    scored, _ = play_texts(three_roles(Order.PARALLEL), make_rules("ABC", num_turns=2))
    assert logs(scored) == ["A0 []", "B0 []", "C0 []"] + [f"{role}1 [A5,B9,C8]" for role in "ABC"]


@pytest.mark.parametrize(("num_candidates", "num_turns"), [(2, 1), (4, 3)])
def test_at_most_n_t_k_rows_per_task(num_candidates: int, num_turns: int) -> None:
    rules = make_rules(num_candidates=num_candidates, num_turns=num_turns)
    scored, _ = play_texts(Tracer(), rules)
    assert len(scored) == 2 * num_turns * num_candidates
