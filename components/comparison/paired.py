"""Statistics of pairs: the bootstrap of a mean difference, and McNemar's exact test.

Entry i of every argument is task i. Nothing here knows what was measured.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from components.intervals import Interval

RESAMPLES = 10_000
_CELLS = 1 << 21
"""Numbers of a chunk of resamples: bounds the memory."""


class McNemar(NamedTuple):
    """Tasks that only one of two teams solved, and how surprising the split of them is."""

    only_first: int
    only_second: int
    p: float
    """Two-sided, exact; 1 where no task tells the teams apart."""


def bootstrap(
    differences: Sequence[float],
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """The percentile interval of the mean of paired differences.

    Tasks are drawn with replacement, both teams' results of a task together; the same numbers give
    the same interval. B. Efron & R. J. Tibshirani, "An Introduction to the Bootstrap" (1993),
    chapter 13. Differences that are all equal give an interval of no width. ValueError without
    any, or for one that is not finite.
    """
    return stratified([(1.0, differences)], confidence, resamples, seed)


def stratified(
    strata: Sequence[tuple[float, Sequence[float]]],
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """The same for a weighted mean over strata (weight, differences): each is resampled apart."""
    estimate, means = 0.0, np.zeros(resamples)
    for number, (weight, differences) in enumerate(strata):
        values = np.asarray(differences, dtype=np.float64)
        if values.size == 0 or not np.isfinite(values).all() or not 0.0 < confidence < 1.0:
            raise ValueError(
                f"bootstrap: {values.size} differences, confidence {confidence}; expected at "
                "least one, all finite, and a confidence in (0, 1)"
            )
        estimate += weight * float(values.mean())
        means += weight * _resampled_means(values, resamples, seed + number)
    tail = (1.0 - confidence) / 2.0
    low, high = np.quantile(means, [tail, 1.0 - tail])
    return Interval(estimate, float(low), float(high))


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> McNemar:
    """Exact McNemar test: of n = b + c tasks that one team alone solved, b are the first's.

    `p = min(1, 2 sum_{k <= min(b, c)} C(n, k) / 2^n)`; Q. McNemar, Psychometrika 12 (1947).
    ValueError for unequal lengths.
    """
    if len(first) != len(second):
        raise ValueError(f"mcnemar: {len(first)} and {len(second)} outcomes, expected as many")
    pairs = list(zip(first, second, strict=True))
    only_first, only_second = pairs.count((True, False)), pairs.count((False, True))
    num = only_first + only_second
    fewer = range(min(only_first, only_second) + 1)
    tail = sum(math.comb(num, k) for k in fewer)
    return McNemar(only_first, only_second, min(1.0, 2 * tail / 2**num))


def _resampled_means(
    values: npt.NDArray[np.float64], resamples: int, seed: int
) -> npt.NDArray[np.float64]:
    """`[num_tasks]` -> `[resamples]`."""
    rng, num = np.random.default_rng(seed), values.size
    chunk = max(1, _CELLS // num)
    parts = [
        values[rng.integers(0, num, (min(chunk, resamples - done), num))].mean(axis=1)
        for done in range(0, resamples, chunk)
    ]
    return np.concatenate(parts)
