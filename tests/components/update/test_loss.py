"""Eq. 2 against the golden vectors, and what must never reach the gradient."""

import pytest
import torch

from components.update.loss import (
    clipped_objective,
    importance_weights,
    kl_penalty,
    policy_loss,
    token_scale,
)


@pytest.mark.parametrize(
    ("ratio", "advantage", "expected"),
    [(1.3, 1.0, 1.2), (1.3, -1.0, -1.3), (0.5, 1.0, 0.5), (0.5, -1.0, -0.8), (5.0, -1.0, -5.0)],
)
def test_objective_of_one_token(ratio: float, advantage: float, expected: float) -> None:
    found = clipped_objective(torch.tensor([ratio]), torch.tensor([advantage]), 0.2, 0.2, None)
    assert found.item() == pytest.approx(expected)


def test_dual_clip_bounds_very_unlikely_bad_tokens_only() -> None:
    ratio, advantages = torch.tensor([5.0, 1.3, 1.3]), torch.tensor([-1.0, -1.0, 1.0])
    found = clipped_objective(ratio, advantages, 0.2, 0.2, 3.0)
    assert found.tolist() == pytest.approx([-3.0, -1.3, 1.2])


def test_asymmetric_clip() -> None:
    ratio, advantages = torch.tensor([1.3, 0.5]), torch.tensor([1.0, -1.0])
    found = clipped_objective(ratio, advantages, 0.1, 0.28, None)
    assert found.tolist() == pytest.approx([1.28, -0.9])


def test_loss_is_the_weighted_negative_objective_and_counts_clips() -> None:
    ratio = torch.tensor([1.3, 1.3, 0.5, 0.5])
    advantages = torch.tensor([1.0, -1.0, 1.0, -1.0])
    found = policy_loss(ratio.log(), torch.zeros(4), advantages, torch.full((4,), 0.25))
    assert found.total.item() == pytest.approx(-(1.2 - 1.3 + 0.5 - 0.8) / 4)
    assert found.clipped.tolist() == [True, False, False, True]
    assert found.ratio.tolist() == pytest.approx(ratio.tolist())


def test_tokens_of_scale_zero_have_no_gradient() -> None:
    logprobs = torch.tensor([-1.0, -2.0, -3.0], requires_grad=True)
    scale = torch.tensor([0.5, 0.0, 0.5])
    policy_loss(logprobs, logprobs.detach(), torch.ones(3), scale).total.backward()
    assert logprobs.grad is not None
    assert logprobs.grad.tolist() == [-0.5, 0.0, -0.5]


def test_importance_weights_are_truncated_and_multiply() -> None:
    weights = importance_weights(torch.tensor([-1.0, -1.0]), torch.tensor([-1.5, -9.0]), 2.0)
    assert weights.tolist() == pytest.approx([1.6487213, 2.0])
    zero = torch.zeros(2)
    found = policy_loss(zero, zero, torch.ones(2), torch.ones(2), importance=weights)
    assert found.total.item() == pytest.approx(-3.6487213)


def test_kl_and_entropy_terms() -> None:
    reference = torch.log(torch.tensor([0.5]))
    assert kl_penalty(torch.zeros(1), reference).item() == pytest.approx(0.5 - 1 + 0.6931472)
    zero, one = torch.zeros(1), torch.ones(1)
    found = policy_loss(
        zero, zero, zero, one, reference_logprobs=reference, kl_coef=0.1,
        entropies=torch.tensor([2.0]), entropy_coef=0.01,
    )  # fmt: skip
    assert found.total.item() == pytest.approx(0.1 * 0.1931472 - 0.01 * 2.0)


def test_token_scale() -> None:
    lengths, weights = torch.tensor([1, 3, 6]), torch.tensor([1.0, 1.0, 0.0])
    assert token_scale(lengths, weights, "token_mean").tolist() == [0.25, 0.25, 0.0]
    assert token_scale(lengths, weights, "sequence_mean").tolist() == pytest.approx([0.5, 1 / 6, 0])
    assert token_scale(lengths, torch.zeros(3), "token_mean").tolist() == [0.0] * 3


def test_culprits_are_named() -> None:
    good, bad = torch.zeros(2), torch.tensor([0.0, float("nan")])
    with pytest.raises(ValueError, match=r"advantages\[1\] is nan"):
        policy_loss(good, good, bad, good)
    with pytest.raises(ValueError, match="scale has shape"):
        policy_loss(good, good, good, torch.zeros(3))
    with pytest.raises(ValueError, match="kl_coef 0.1 needs reference_logprobs"):
        policy_loss(good, good, good, good, kl_coef=0.1)
    with pytest.raises(ValueError, match="length is below 1"):
        token_scale(torch.tensor([0]), torch.ones(1), "token_mean")
