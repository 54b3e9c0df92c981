"""One forward pass: log-probs and entropies of the completion tokens of a micro-batch.

The distribution is softmax(logits / T) with the T that each token was drawn with.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from components.update.batching import MicroBatch, attention_mask


@dataclass(frozen=True)
class TokenStatistics:
    """Per completion token of a micro-batch, `[num_tokens]`, fp32."""

    logprobs: Tensor
    entropies: Tensor
    """Of the whole distribution, in nats; detached unless gradient was asked for."""


def token_statistics(
    model: Any, batch: MicroBatch, temperatures: Tensor, entropy_gradient: bool = False
) -> TokenStatistics:
    """Run the model on a micro-batch.

    Args:
        model: a causal language model, or the DeepSpeed engine around it.
        temperatures: `[num_tokens]` of the batch, on the model's device, above 0.
    """
    device = temperatures.device
    first = int(batch.sources.min())
    inputs: dict[str, Any] = {"input_ids": torch.from_numpy(batch.input_ids).to(device)}
    if batch.shared:  # without, plain causal attention: padding is on the right and never seen
        inputs["position_ids"] = torch.from_numpy(batch.position_ids).to(device)
        mask = torch.from_numpy(attention_mask(batch.segments)[:, None])
        inputs["attention_mask"] = mask.to(device)
    keep = torch.arange(first, batch.input_ids.shape[1], device=device)
    logits = model(**inputs, use_cache=False, logits_to_keep=keep).logits
    rows, sources = torch.from_numpy(batch.rows), torch.from_numpy(batch.sources - first)
    chosen = logits[rows.to(device), sources.to(device)].float() / temperatures[:, None]
    distribution = torch.log_softmax(chosen, dim=-1)
    targets = torch.from_numpy(batch.targets).to(device)
    logprobs = distribution.gather(1, targets[:, None]).squeeze(1)
    with torch.set_grad_enabled(entropy_gradient and torch.is_grad_enabled()):
        entropies = -(distribution.exp() * distribution).sum(-1)
    return TokenStatistics(logprobs, entropies)
