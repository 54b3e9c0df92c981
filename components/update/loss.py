"""The clipped objective of Eq. 2 (arXiv 2510.11062) on plain tensors of tokens.

Every tensor is flat, `[num_tokens]`: the completion tokens of any number of samples. How tokens
are averaged is in `scale` alone (`token_scale`), so the loss of a minibatch is the sum over its
micro-batches, however it was split. Log-probs are natural, under the distribution the tokens were
drawn from (temperature included). Nothing here knows models, samples or DeepSpeed.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor


@dataclass(frozen=True)
class Loss:
    """The loss, and per token what the metrics count."""

    total: Tensor
    """Scalar; its gradient is the update."""
    ratio: Tensor
    """`[num_tokens]` pi_theta / pi_old, detached."""
    clipped: Tensor
    """`[num_tokens]` bool: the clip, not the ratio, decided this token's objective."""


def token_scale(
    lengths: Tensor, weights: Tensor, aggregation: Literal["token_mean", "sequence_mean"]
) -> Tensor:
    """The factor of each sample's tokens in the loss of a minibatch, `[num_samples]`.

    token_mean: w / sum of lengths. sequence_mean: w / (length x number of samples). Samples of
    weight 0 have factor 0 and stay out of both denominators.

    Args:
        lengths: `[num_samples]` completion tokens, at least 1 each.
        weights: `[num_samples]`, at least 0.
    """
    if lengths.shape != weights.shape or lengths.dim() != 1:
        raise ValueError(
            f"token_scale: lengths {tuple(lengths.shape)} and weights {tuple(weights.shape)} "
            "must be one flat shape"
        )
    if bool((lengths < 1).any()) or bool((weights < 0).any()):
        raise ValueError("token_scale: a length is below 1 or a weight below 0")
    live = weights > 0
    if not bool(live.any()):
        return torch.zeros_like(weights)
    if aggregation == "token_mean":
        return weights / lengths[live].sum()
    return weights / (lengths * live.sum())


def clipped_objective(
    ratio: Tensor, advantages: Tensor, clip_low: float, clip_high: float, dual_clip: float | None
) -> Tensor:
    """`min(rho A, clip(rho, 1 - low, 1 + high) A)`, `[num_tokens]`, to be maximised.

    Dual clip (arXiv 1912.09729): where A < 0 it is at least `dual_clip * A`.
    """
    plain = ratio * advantages
    bounded = ratio.clamp(1.0 - clip_low, 1.0 + clip_high) * advantages
    objective = torch.minimum(plain, bounded)
    if dual_clip is None:
        return objective
    floor = torch.maximum(objective, dual_clip * advantages)
    return torch.where(advantages < 0, floor, objective)


def kl_penalty(logprobs: Tensor, reference_logprobs: Tensor) -> Tensor:
    """k3 estimate of KL(pi_theta || pi_ref) (Schulman 2020), `[num_tokens]`, never negative."""
    difference = reference_logprobs - logprobs
    return difference.exp() - difference - 1.0


def importance_weights(old_logprobs: Tensor, sampler_logprobs: Tensor, cap: float) -> Tensor:
    """`min(pi_old / pi_sampler, cap)`, `[num_tokens]`: truncated importance sampling."""
    return (old_logprobs - sampler_logprobs).exp().clamp(max=cap)


def policy_loss(
    logprobs: Tensor,
    old_logprobs: Tensor,
    advantages: Tensor,
    scale: Tensor,
    *,
    clip_low: float = 0.2,
    clip_high: float = 0.2,
    dual_clip: float | None = None,
    importance: Tensor | None = None,
    reference_logprobs: Tensor | None = None,
    kl_coef: float = 0.0,
    entropies: Tensor | None = None,
    entropy_coef: float = 0.0,
) -> Loss:
    """`-sum scale (importance objective - kl_coef KL + entropy_coef H)`.

    All tensors are `[num_tokens]`; only `logprobs` and `entropies` carry gradient. ValueError
    names the tensor that is missing, of another shape or not finite.
    """
    given = {
        "logprobs": logprobs, "old_logprobs": old_logprobs, "advantages": advantages,
        "scale": scale, "importance": importance, "reference_logprobs": reference_logprobs,
        "entropies": entropies,
    }  # fmt: skip
    _check(given)
    if kl_coef > 0 and reference_logprobs is None:
        raise ValueError(f"policy_loss: kl_coef {kl_coef} needs reference_logprobs")
    if entropy_coef > 0 and entropies is None:
        raise ValueError(f"policy_loss: entropy_coef {entropy_coef} needs entropies")
    ratio = (logprobs - old_logprobs).exp()
    objective = clipped_objective(ratio, advantages, clip_low, clip_high, dual_clip)
    decided = objective.detach() != (ratio * advantages).detach()
    if importance is not None:
        objective = objective * importance
    if reference_logprobs is not None and kl_coef > 0:
        objective = objective - kl_coef * kl_penalty(logprobs, reference_logprobs)
    if entropies is not None and entropy_coef > 0:
        objective = objective + entropy_coef * entropies
    return Loss(-(scale * objective).sum(), ratio.detach(), decided)


def _check(given: dict[str, Tensor | None]) -> None:
    shape = given["logprobs"].shape if given["logprobs"] is not None else None
    for name, tensor in given.items():
        if tensor is None:
            continue
        if tensor.dim() != 1 or tensor.shape != shape:
            raise ValueError(
                f"policy_loss: {name} has shape {tuple(tensor.shape)}, expected [num_tokens] like "
                f"logprobs {tuple(shape or ())}"
            )
        finite = torch.isfinite(tensor.detach())
        if not bool(finite.all()):
            first = int((~finite).nonzero()[0])
            raise ValueError(f"policy_loss: {name}[{first}] is {float(tensor[first])}")
