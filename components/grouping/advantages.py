"""Group-relative advantages, Eq. 1: A[c] = (r[c] - mean_g r) / (std_g r + eps).

Groups are named by integer ids in any order. What makes a group is decided in `groups`.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from components.errors import RecordError

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Ddof = Literal[0, 1] | None

MAX_REWARD = 1e150
"""Larger magnitudes overflow when squared."""


@dataclass(frozen=True)
class Moments:
    """Of the rewards of each group."""

    count: Ids
    """[num_groups]"""
    mean: Floats
    """[num_groups]; of no meaning where the group is empty."""
    std: Floats
    """[num_groups]; 0 for fewer than two rewards, exactly 0 where all are equal."""
    deviation: Floats
    """[num_samples], reward - mean of its group."""
    squares: Floats
    """[num_samples], deviation ** 2."""


def group_advantages(
    group_ids: npt.ArrayLike, rewards: npt.ArrayLike, *, std_ddof: Ddof = 1, eps: float = 1e-6
) -> Floats:
    """The advantage of each sample inside its group, `[num_samples]`.

    Equal rewards and groups of one give exactly 0. AT-GRPO, arXiv 2510.11062, Eq. 1.

    Args:
        group_ids: `[num_samples]` integers of any size, in any order.
        rewards: `[num_samples]` finite numbers, in the same order.
        std_ddof: 1 or 0 divides by n - 1 or n; None subtracts the mean and divides by nothing.
        eps: added to the standard deviation.

    Raises:
        RecordError: lengths differ, ids are not integers, a reward is not finite (index and value
            are named), or std_ddof is another value.
    """
    ids, values = check(group_ids, rewards)
    if std_ddof not in (None, 0, 1):
        raise RecordError(f"std_ddof is {std_ddof!r}, expected 0, 1 or None")
    dense, num_groups = densify(ids)
    moments = group_moments(dense, values, num_groups, std_ddof or 0)
    divisor = 1.0 if std_ddof is None else moments.std + eps
    scale = np.divide(moments.std > 0.0, divisor)
    advantages, per_sample = moments.deviation, moments.squares
    advantages *= scale.take(dense, out=per_sample, mode="clip")
    return advantages


def group_moments(dense: Ids, rewards: Floats, num_groups: int, ddof: int) -> Moments:
    """Two-pass moments of each group; ids are in 0 .. num_groups - 1.

    An offset that all rewards share is taken off first, so it costs no digits. A spread that is
    no larger than the rounding of the group's own sum is no spread: std is exactly 0, so that
    equal rewards of any magnitude carry exactly no signal.
    """
    offset = common_offset(rewards)
    if offset:
        rewards = rewards - offset
    count = np.bincount(dense, minlength=num_groups)
    size = np.maximum(count, 1.0)
    mean = np.bincount(dense, rewards, num_groups) / size
    deviation = mean.take(dense)
    np.subtract(rewards, deviation, out=deviation)
    squares = deviation * deviation
    total = np.bincount(dense, squares, num_groups)
    std = np.sqrt(total / (np.maximum(size - 1.0, 1.0) if ddof else size))
    std *= std > np.finfo(float).eps * size * np.abs(mean)
    return Moments(count, mean + offset, std, deviation, squares)


def common_offset(rewards: Floats) -> float:
    """The least reward if it exceeds the range (then subtracting it is exact), else 0."""
    if rewards.size == 0:
        return 0.0
    low, high = float(rewards.min()), float(rewards.max())
    return low if max(low, -high) > high - low else 0.0


def densify(ids: Ids) -> tuple[Ids, int]:
    """Ids as small non-negative integers, and a bound above them; small ones stay as they are."""
    if ids.size == 0:
        return ids, 0
    top = int(ids.max())
    if ids.min() >= 0 and top < 4 * ids.size + 64:
        return ids, top + 1
    encoded = pa.array(ids).dictionary_encode()
    return encoded.indices.to_numpy().astype(np.int64), len(encoded.dictionary)


def check(group_ids: npt.ArrayLike, rewards: npt.ArrayLike) -> tuple[Ids, Floats]:
    """Both as flat arrays of one length, or RecordError."""
    ids, values = np.asarray(group_ids), np.asarray(rewards)
    if ids.ndim != 1 or values.ndim != 1 or ids.size != values.size:
        raise RecordError(
            f"group_ids has shape {ids.shape}, rewards {values.shape}; expected one flat length"
        )
    if ids.size == 0:
        return np.empty(0, np.int64), np.empty(0)
    if ids.dtype.kind not in "iu":
        raise RecordError(f"group_ids are {_named(ids)}; expected 64-bit integers")
    if values.dtype.kind not in "iuf":
        raise RecordError(f"rewards are {_named(values)}; expected finite numbers")
    values = values.astype(np.float64, copy=False)
    if not (values.max() <= MAX_REWARD and values.min() >= -MAX_REWARD):
        index = int(np.argmin(np.abs(values) <= MAX_REWARD))
        raise RecordError(f"rewards[{index}] is {values[index]}; expected a finite number")
    return ids.astype(np.int64, copy=False), values


def _named(array: npt.NDArray[Any]) -> str:
    return f"{array.dtype} (the first is {array[0]!r})"
