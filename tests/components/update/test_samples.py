"""Which rows may be trained on, and how the others are named."""

from pathlib import Path

import pytest

from components.errors import RecordError
from components.records import Sample, to_table
from components.update.samples import flatten, of_policy, trainable_samples, truncated_sampling
from tests.components.update.tiny import REF, make_rows


def test_weight_zero_is_left_out_and_tokens_are_flat(folder: Path) -> None:
    rows = make_rows(folder, 1, 2) + make_rows(folder, 1, 2, weight=0.0, reward=None)
    samples = trainable_samples(to_table(Sample, rows), REF.tag)
    assert len(samples) == 2
    tokens = flatten(samples)
    assert tokens.lengths.tolist() == [len(sample.completion_ids) for sample in samples]
    assert len(tokens.advantages) == tokens.offsets[-1]


@pytest.mark.parametrize("reward", [None, float("nan")])
def test_fault_6_a_reward_that_is_no_number_is_refused(folder: Path, reward: float | None) -> None:
    table = to_table(Sample, make_rows(folder, 1, 2, reward=reward))
    with pytest.raises(RecordError, match="task t0, turn 0, tool, candidate 0: reward is"):
        trainable_samples(table, REF.tag)


def test_a_null_advantage_with_weight_is_refused(folder: Path) -> None:
    table = to_table(Sample, make_rows(folder, 1, 2, advantages=(None,)))  # type: ignore[arg-type]
    with pytest.raises(RecordError, match="advantage is None"):
        trainable_samples(table, REF.tag)


def test_samples_of_other_weights_are_refused(folder: Path) -> None:
    table = to_table(Sample, make_rows(folder, 1, 2, version="solo@7-abc"))
    with pytest.raises(RecordError, match=f"'solo@7-abc', but '{REF.tag}' is updated"):
        trainable_samples(table, REF.tag)


def test_greedy_answers_are_refused(folder: Path) -> None:
    from dataclasses import replace

    row = make_rows(folder, 1, 1)[0]
    greedy = replace(row.scored, candidate=replace(row.scored.candidate, temperature=0.0))
    with pytest.raises(RecordError, match=r"temperature 0\.0"):
        trainable_samples(to_table(Sample, [replace(row, scored=greedy)]), REF.tag)


def test_a_policy_without_rows_is_named(folder: Path) -> None:
    table = to_table(Sample, make_rows(folder, 1, 1))
    with pytest.raises(RecordError, match=r"'other' has no samples; .*\['solo'\]"):
        of_policy(table, "other")


def test_truncated_sampling_is_seen(folder: Path) -> None:
    assert not truncated_sampling(to_table(Sample, make_rows(folder, 1, 1)))
    assert truncated_sampling(to_table(Sample, make_rows(folder, 1, 1, top_p=0.9)))
