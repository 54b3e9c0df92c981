"""The sampler's distribution, without a model."""

import math

import numpy as np
import pytest
import torch

from components.rollout.drawing import draw, sampling_logprobs, uniforms

LOGITS = torch.tensor([2.0, 1.0, 0.5, 0.0, -1.0, -30.0])
NUM = 20_000


def drawn_counts(logprobs: torch.Tensor, position: int = 3) -> np.ndarray:
    numbers = uniforms(np.arange(NUM, dtype=np.uint64), position)
    tokens = draw(logprobs.expand(NUM, -1), numbers)
    return np.bincount(tokens.numpy(), minlength=len(logprobs))


@pytest.mark.parametrize(
    ("temperature", "top_p", "top_k"), [(1.0, 1.0, 0), (0.6, 1.0, 0), (1.0, 0.8, 0), (1.0, 1.0, 3)]
)
def test_draws_follow_the_distribution(temperature: float, top_p: float, top_k: int) -> None:
    logprobs = sampling_logprobs(LOGITS, temperature, top_p, top_k)
    expected = logprobs.exp().numpy() * NUM
    counts = drawn_counts(logprobs)
    likely = expected > 1.0
    chi_square = float(((counts - expected)[likely] ** 2 / expected[likely]).sum())
    assert chi_square < 20.5  # 99.9 % of chi square with 5 degrees of freedom
    assert counts[expected == 0.0].sum() == 0


def test_truncation_keeps_the_likely_tokens() -> None:
    probs = LOGITS.softmax(-1)
    top_two = sampling_logprobs(LOGITS, 1.0, 1.0, 2).exp()
    assert top_two[:2].tolist() == pytest.approx((probs[:2] / probs[:2].sum()).tolist())
    assert top_two[2:].tolist() == [0.0] * 4
    assert sampling_logprobs(LOGITS, 1.0, 1e-6, 0).exp().tolist() == [1.0, 0, 0, 0, 0, 0]


def test_greedy_logprobs_are_untruncated() -> None:
    greedy = sampling_logprobs(LOGITS, 0.0, 0.5, 1)
    assert greedy.tolist() == pytest.approx(LOGITS.log_softmax(-1).tolist())


def test_uniforms_depend_on_seed_and_position_only() -> None:
    seeds = np.array([5, 2**63 - 1, 6], np.uint64)
    numbers = uniforms(seeds, 4)
    assert np.array_equal(numbers[1:2], uniforms(seeds[1:2], 4))
    assert len({*numbers, *uniforms(seeds, 5)}) == 6


def test_uniforms_are_spread_and_uncorrelated() -> None:
    seeds = np.arange(NUM, dtype=np.uint64)
    here, there = uniforms(seeds, 0), uniforms(seeds, 1)
    assert abs(here.mean() - 0.5) < 5 / math.sqrt(12 * NUM)
    assert abs(np.corrcoef(here, there)[0, 1]) < 5 / math.sqrt(NUM)
    assert abs(np.corrcoef(here[1:], here[:-1])[0, 1]) < 5 / math.sqrt(NUM)


def test_extreme_numbers_draw_tokens_of_positive_probability() -> None:
    logprobs = torch.tensor([[-torch.inf, 0.0, -torch.inf]]).expand(2, -1)
    assert draw(logprobs, np.array([0.0, 1.0 - 2.0**-53])).tolist() == [1, 1]
