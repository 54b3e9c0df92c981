"""Every sample once, within the budget, answers apart from each other."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.update.batching import (
    attention_mask,
    microbatches,
    minibatches,
    pack,
    padding_share,
)
from components.update.samples import TrainSample, flatten


def make_sample(prompt: list[int], answer: list[int]) -> TrainSample:
    zeros = np.zeros(len(answer), np.float32)
    return TrainSample(np.array(prompt), np.array(answer), zeros, 1.0, 1.0, 1.0)


ids = st.lists(st.integers(1, 3), min_size=1, max_size=6)
samples_lists = st.lists(st.builds(make_sample, ids, ids), min_size=1, max_size=40)


@given(samples_lists, st.integers(1, 16), st.integers(0, 2**62))
@settings(deadline=None, max_examples=60)
def test_every_sample_once_in_minibatches_of_like_size(
    samples: list[TrainSample], size: int, seed: int
) -> None:
    found = minibatches(samples, size, seed)
    assert sorted(index for part in found for index in part) == list(range(len(samples)))
    sizes = [len(part) for part in found]
    assert max(sizes) <= size and max(sizes) - min(sizes) <= 1
    assert found == minibatches(samples, size, seed)


@given(samples_lists, st.integers(1, 64))
@settings(deadline=None, max_examples=60)
def test_every_token_once_in_microbatches_under_the_budget(
    samples: list[TrainSample], budget: int
) -> None:
    tokens = flatten(samples)
    batches = microbatches(samples, range(len(samples)), budget, tokens.offsets)
    seen = np.concatenate([batch.tokens for batch in batches])
    assert sorted(seen.tolist()) == list(range(int(tokens.offsets[-1])))
    targets = np.concatenate([sample.completion_ids for sample in samples])
    for batch in batches:
        assert batch.input_ids.size <= budget or len(batch.input_ids) == 1
        assert (batch.targets == targets[batch.tokens]).all()
    assert 0.0 <= padding_share(batches) < 1.0


def test_orders_differ_by_seed() -> None:
    samples = [make_sample([at + 1], [1]) for at in range(20)]
    assert minibatches(samples, 5, 0) != minibatches(samples, 5, 1)


def test_a_group_shares_its_prompt_and_no_answer_sees_another() -> None:
    samples = [make_sample([7, 8], [1, 2, 3]), make_sample([7, 8], [4, 5])]
    batch = pack(samples, [(0, 1)], flatten(samples).offsets)
    assert batch.input_ids.tolist() == [[7, 8, 1, 2, 4]]
    assert batch.position_ids.tolist() == [[0, 1, 2, 3, 2]]
    assert batch.segments.tolist() == [[0, 0, 1, 1, 2]]
    assert batch.sources.tolist() == [1, 2, 3, 1, 4]
    assert batch.targets.tolist() == [1, 2, 3, 4, 5]
    mask = attention_mask(batch.segments)[0].astype(int).tolist()
    assert mask == [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 1, 0, 0], [1, 1, 1, 1, 0],
                    [1, 1, 0, 0, 1]]  # fmt: skip


def test_samples_of_one_prompt_stay_together() -> None:
    samples = [make_sample([at // 4 + 1], [1, 2]) for at in range(32)]
    for part in minibatches(samples, 8, 5):
        assert set(Counter(int(samples[index].prompt_ids[0]) for index in part).values()) == {4}


def test_a_size_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="size is 0"):
        minibatches([make_sample([1], [1])], 0, 0)
