"""How far training's prompts are from evaluation's, against values computed by hand."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.env_execution.visits import total_variation, visit_metrics, visits
from components.records import Scored
from tests.components.grouping.scored_rows import make_group

COUNTS = st.dictionaries(st.sampled_from("abcd"), st.integers(1, 9), min_size=1)


def play(*visited: tuple[str, int], num_candidates: int = 1, **changes: str) -> list[Scored]:
    """An episode: a group of answers for each (role, turn) that was visited."""
    rows: list[Scored] = []
    for number, (role, turn) in enumerate(visited):
        turns = {"role": role, "turn": turn, "node": ".".join("0" * number), **changes}
        rows += make_group([0.0] * num_candidates, **turns)
    return rows


@pytest.mark.parametrize(
    ("first", "second", "distance"),
    [
        ({"a": 1}, {"a": 7}, 0.0),
        ({"a": 1}, {"b": 1}, 1.0),
        ({"a": 1, "b": 1}, {"a": 10, "b": 10}, 0.0),
        ({"a": 3, "b": 1}, {"a": 1, "b": 1}, 0.25),
        ({"a": 1, "b": 1}, {"a": 1, "b": 1, "c": 1, "d": 1}, 0.5),
        ({"a": 2, "b": 1}, {"b": 1, "c": 1}, 2 / 3),
    ],
)
def test_total_variation(first: dict[str, int], second: dict[str, int], distance: float) -> None:
    assert total_variation(first, second) == pytest.approx(distance)
    assert total_variation(second, first) == total_variation(first, second)


@given(first=COUNTS, second=COUNTS, third=COUNTS)
def test_it_is_a_distance(
    first: dict[str, int], second: dict[str, int], third: dict[str, int]
) -> None:
    around = total_variation(first, third) + total_variation(third, second)
    assert 0.0 <= total_variation(first, second) <= min(1.0, around + 1e-12)
    assert total_variation(first, first) == 0.0


def test_nothing_has_no_shares() -> None:
    with pytest.raises(ValueError, match=r"counts sum to \(0, 3\), expected something in both"):
        total_variation({}, {"a": 3})


def test_a_prompt_counts_once_and_every_branch_and_replica_counts() -> None:
    tree = play(("tool", 0), ("planner", 0), num_candidates=8)
    assert visits(tree, "plan_path") == {("tool", 0): 1, ("planner", 0): 1}
    beam = tree + make_group([0.0] * 8, role="planner", node="7")
    assert visits(beam, "plan_path") == {("tool", 0): 1, ("planner", 0): 2}
    replicas = [row for number in (0, 1) for row in play(("tool", 0), episode_id=f"X#{number}")]
    assert visits(replicas, "plan_path") == {("tool", 0): 2}
    assert visits(tree, "sokoban") == Counter()


def test_a_pick_that_ends_episodes_early_is_far_from_greedy_play() -> None:
    training = play(("tool", 0), ("planner", 0), num_candidates=8)
    greedy = play(("tool", 0), ("planner", 0), ("tool", 1), ("planner", 1))
    assert visit_metrics(["plan_path"], training, greedy, "rollout/train") == {
        "rollout/train/visits_distance": 0.5
    }


def test_several_environments_are_compared_each_with_itself() -> None:
    first, second = ("tool", 0), ("tool", 1)
    training = play(first, env="a") * 3 + play(first, env="b")
    greedy = play(first, env="a") + play(first, second, env="b") + play(first, env="c")
    assert visit_metrics(["a", "b", "c"], training, greedy, "p") == {
        "p/visits_distance": 0.25,
        "p/a/visits_distance": 0.0,
        "p/b/visits_distance": 0.5,
    }
    assert visit_metrics(["c"], training, greedy, "p") == {}
