"""Drawing tokens from logits with a random number per (seed, position): no shared random state.

A candidate's randomness depends on its own seed and on nothing else in its batch.
"""

import numpy as np
import numpy.typing as npt
import torch

GOLDEN, MIX_1, MIX_2 = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
"""Constants of SplitMix64 (Steele, Lea & Flood, "Fast splittable pseudorandom number generators",
OOPSLA 2014)."""


def uniforms(seeds: npt.NDArray[np.uint64], position: int) -> npt.NDArray[np.float64]:
    """One number in [0, 1) per seed for a position of its answer; `[num_rows]` -> `[num_rows]`.

    SplitMix64, applied to the seed and once more to the result plus the position, so that
    neighbouring seeds and positions have unrelated numbers.
    """
    with np.errstate(over="ignore"):
        mixed = _mix(_mix(seeds + np.uint64(GOLDEN)) + np.uint64(GOLDEN) * np.uint64(position + 1))
    return (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mix(value: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    value = (value ^ (value >> np.uint64(30))) * np.uint64(MIX_1)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(MIX_2)
    return value ^ (value >> np.uint64(31))


def sampling_logprobs(
    logits: torch.Tensor, temperature: float, top_p: float, top_k: int
) -> torch.Tensor:
    """Log-probs of the distribution that is sampled, `[num_rows, vocab]`; -inf where truncated.

    Logits are divided by the temperature, then all but the `top_k` largest are dropped (0: none),
    then the least likely tokens of total probability below 1 - `top_p`; at least one stays.
    Temperature 0 (greedy): the untruncated T = 1 distribution.
    """
    values = logits.float()
    if temperature == 0.0:
        return values.log_softmax(-1)
    values = values / temperature
    if 0 < top_k < values.shape[-1]:
        smallest_kept = values.topk(top_k, dim=-1).values[..., -1:]
        values = values.masked_fill(values < smallest_kept, -torch.inf)
    if top_p < 1.0:
        ascending, order = values.sort(dim=-1)
        dropped = ascending.softmax(-1).cumsum(-1) <= 1.0 - top_p
        dropped[..., -1] = False
        values = values.masked_fill(dropped.scatter(-1, order, dropped), -torch.inf)
    return values.log_softmax(-1)


def draw(logprobs: torch.Tensor, numbers: npt.NDArray[np.float64]) -> torch.Tensor:
    """The token at which each row's cumulative probability exceeds its number (inverse CDF, exact).

    logprobs: `[num_rows, vocab]`; numbers: `[num_rows]` in [0, 1). Returns `[num_rows]`, int64.
    A token of probability 0 is never drawn.
    """
    cumulative = logprobs.double().exp().cumsum(-1)
    targets = torch.from_numpy(numbers).to(cumulative.device)[:, None] * cumulative[:, -1:]
    drawn = torch.searchsorted(cumulative, targets, right=True)
    last = torch.searchsorted(cumulative, cumulative[:, -1:].contiguous())
    return torch.minimum(drawn, last)[:, 0]
