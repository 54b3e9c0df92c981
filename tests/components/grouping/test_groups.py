"""Group keys, weights and failed generations on whole tables."""

import numpy as np
import pytest

from components.errors import RecordError
from components.grouping.groups import check_sizes, find_groups, make_samples
from components.grouping.routing import check_routing, samples_of
from components.records import Sample, Scored, from_table, to_table
from components.settings import KEYS, GroupingConfig, RolloutConfig
from tests.components.grouping.scored_rows import make_config, make_group, make_row

PARALLEL = RolloutConfig(sampling="parallel")


def grouped(rows, key=KEYS):
    table = to_table(Scored, rows)
    return table, find_groups(table, key, ddof=1)


def samples(rows, grouping=None, rollout=None):
    table, groups = grouped(rows)
    made = make_samples(table, groups, grouping or GroupingConfig(), rollout or RolloutConfig())
    return from_table(Sample, made)


def weights(*args, **options):
    return [sample.weight for sample in samples(*args, **options)]


def test_ids_are_dense_and_in_order_of_first_appearance():
    rows = [make_row(task_id=name[0], turn=int(name[1])) for name in ("B0", "A0", "B0", "A1", "B1")]
    assert grouped(rows)[1].ids.tolist() == [0, 1, 0, 2, 3]


@pytest.mark.parametrize("changed", [{"task_id": "Y"}, {"node": "2"}, {"turn": 1}, {"role": "p"}])
def test_every_part_of_the_key_separates(changed):
    _, groups = grouped(make_group([1, 0]) + make_group([1, 0], **changed))
    assert groups.ids.tolist() == [0, 0, 1, 1]


def test_parts_do_not_run_into_each_other():
    rows = [make_row(task_id="a", node="bc"), make_row(task_id="ab", node="c")]
    assert grouped(rows)[1].ids.tolist() == [0, 1]


def test_a_coarser_key_merges():
    rows = make_group([1, 0], turn=0) + make_group([1, 0], turn=1)
    assert grouped(rows, ["task", "role"])[1].ids.tolist() == [0, 0, 0, 0]


def test_counts_of_a_full_iteration():
    rows = [
        sample
        for task in "XY"
        for turn in range(2)
        for role in ("tool", "planner")
        for sample in make_group([0, 1, 0, 1], task_id=task, turn=turn, role=role)
    ]
    _, groups = grouped(rows)
    assert groups.size.tolist() == [4] * 8
    early = [
        row for row in rows if (row.candidate.turn.task_id, row.candidate.turn.turn) != ("X", 1)
    ]
    assert (grouped(early)[1].size.tolist(), len(early)) == ([4] * 6, 24)


def test_fault_3_problems_x_and_y_keep_their_own_baselines():
    rows = make_group([1, 1, 1, 1]) + make_group([0, 0, 0, 1], task_id="Y")
    order = [4, 0, 5, 1, 6, 2, 7, 3]
    made = samples([rows[i] for i in order])
    by_task = {
        task: [s.advantage for s in made if s.scored.candidate.turn.task_id == task]
        for task in "XY"
    }
    assert by_task["X"] == [0, 0, 0, 0]
    assert by_task["Y"] == pytest.approx([-0.499999] * 3 + [1.499997], abs=1e-6)


def test_fault_4_turns_of_one_episode_are_groups_of_their_own():
    made = samples(make_group([1, 1], turn=0) + make_group([0, 0], turn=1))
    assert [sample.advantage for sample in made] == [0, 0, 0, 0]


def test_fault_4_a_rejected_sample_does_not_move_the_baseline():
    with_failure = samples(make_group([1, None, 0, 1]))
    without = samples(make_group([1, 0, 1]))
    kept = [sample.advantage for sample in with_failure if sample.advantage is not None]
    assert kept == pytest.approx([sample.advantage for sample in without])


def test_fault_6_failed_generations_keep_their_row_without_weight():
    made = samples(make_group([1, None, 0, 1]))
    assert [sample.weight for sample in made] == [1, 0, 1, 1]
    assert made[1].advantage is None and made[1].scored.reward is None


@pytest.mark.parametrize("rewards", [[1, None, None, None], [None] * 4])
def test_a_tree_group_with_fewer_than_two_survivors_has_no_weight(rewards):
    table, groups = grouped(make_group(rewards) + make_group([0, 1, 0, 1], turn=1))
    assert groups.starved.tolist() == [True, False]
    made = make_samples(table, groups, GroupingConfig(), RolloutConfig())
    assert made["weight"].to_pylist() == [0] * 4 + [1] * 4


def test_a_tree_group_of_one_row_is_an_error():
    table, groups = grouped(make_group([1, 0]) + [make_row(1.0, task_id="Y", node="2", turn=1)])
    with pytest.raises(RecordError, match="group task=Y node=2 turn=1 role=tool has 1 sample"):
        check_sizes(table, groups, RolloutConfig())
    check_sizes(table, groups, PARALLEL)


def test_a_parallel_singleton_carries_no_signal_but_stays():
    made = samples([make_row(0.7)], rollout=PARALLEL)
    assert (made[0].advantage, made[0].weight) == (0, 1)


def test_groups_without_variance_are_kept_or_dropped():
    rows = make_group([1, 1]) + make_group([1, 0], turn=1)
    assert weights(rows) == [1, 1, 1, 1]
    assert weights(rows, grouping=GroupingConfig(zero_variance="drop")) == [0, 0, 1, 1]


def test_truncated_answers_are_masked_but_stay_in_the_baseline():
    rows = [make_row(1), make_row(0, finish_reason="length"), make_row(0)]
    masked = samples(rows, rollout=RolloutConfig(mask_truncated=True))
    assert [sample.weight for sample in masked] == [1, 0, 1]
    assert [s.advantage for s in masked] == [s.advantage for s in samples(rows)]
    assert weights(rows) == [1, 1, 1]


def test_first_prefers_a_survivor():
    _, groups = grouped(make_group([None, 1, 0]) + make_group([None, None], turn=1))
    assert groups.first.tolist() == [1, 3]


def test_a_reward_that_is_not_finite_is_named():
    with pytest.raises(RecordError, match=r"rewards\[1\] is nan"):
        grouped([make_row(1), make_row(float("nan"))])


def test_routing_keeps_every_sample_once():
    rows = make_group([1, 0], role="tool") + make_group([1, 0, 0], role="planner")
    table = to_table(Scored, rows)
    check_routing(table, make_config().roles)
    parts = [samples_of(table, policy).num_rows for policy in ("tool", "planner", "nobody")]
    assert parts == [2, 3, 0]


@pytest.mark.parametrize("row", [make_row(policy="planner"), make_row(role="judge")])
def test_a_sample_of_another_policy_is_refused(row):
    with pytest.raises(RecordError, match="samples of role"):
        check_routing(to_table(Scored, [row]), make_config().roles)


def test_a_sliced_table_groups_like_its_copy():
    rows = make_group([1, 0, 1], task_id="A") + make_group([1, 0, 0], task_id="B")
    table = to_table(Scored, rows).slice(2)
    groups = find_groups(table, KEYS, 1)
    assert groups.ids.tolist() == [0, 1, 1, 1]
    assert np.array_equal(groups.rewards, [1, 1, 0, 0])
