"""The statistics on cases worked out by hand, and how often the interval holds the truth."""

import math
from itertools import product

import numpy as np
import pytest

from components.comparison import paired
from components.comparison.paired import bootstrap, mcnemar


def test_interval_of_three_tasks_is_the_distribution_worked_out_by_hand() -> None:
    """All 27 resamples of (0, 1, 5): the quantiles of their means, counted one by one."""
    means = np.array([sum(draw) / 3 for draw in product((0.0, 1.0, 5.0), repeat=3)])
    low, high = np.quantile(means, [0.1, 0.9], method="inverted_cdf")
    found = bootstrap([0.0, 1.0, 5.0], confidence=0.8)
    assert found.estimate == pytest.approx(2.0)
    assert (found.low, found.high) == (pytest.approx(low), pytest.approx(high))
    assert (low, high) == (pytest.approx(1 / 3), pytest.approx(11 / 3))  # 4 of 27 at or below 1/3


def test_interval_is_that_of_the_binomial() -> None:
    """60 wins in 100: the mean of a resample is Binomial(100, 0.6) / 100."""
    found = bootstrap([1.0] * 60 + [0.0] * 40)
    probability = [math.comb(100, k) * 0.6**k * 0.4 ** (100 - k) for k in range(101)]
    expected = [np.searchsorted(np.cumsum(probability), tail) / 100 for tail in (0.025, 0.975)]
    assert (found.low, found.high) == (
        pytest.approx(expected[0], abs=0.011), pytest.approx(expected[1], abs=0.011),
    )  # fmt: skip


def test_pairs_count_not_the_margins() -> None:
    """The same two rates: tighter where the teams solve the same tasks."""
    together = [1.0] * 10 + [0.0] * 90
    apart = [1.0] * 50 + [-1.0] * 40 + [0.0] * 10
    narrow, wide = bootstrap(together), bootstrap(apart)
    assert narrow.estimate == wide.estimate == pytest.approx(0.1)
    assert narrow.low > 0 > wide.low


def test_same_numbers_same_interval_whatever_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [0.5, -1.0, 2.0, 0.0, 1.0]
    first = bootstrap(values)
    assert bootstrap(values, resamples=100) == bootstrap(values, resamples=100)
    assert first.low < first.estimate < first.high
    monkeypatch.setattr(paired, "_CELLS", 7)
    assert bootstrap(values) == first
    assert bootstrap([0.25] * 8) == (0.25, 0.25, 0.25)


@pytest.mark.parametrize("bad", [[], [math.nan], [1.0, math.inf]])
def test_nothing_and_no_number_are_refused(bad: list[float]) -> None:
    with pytest.raises(ValueError, match="expected at least one, all finite"):
        bootstrap(bad)


@pytest.mark.parametrize(
    ("only_first", "only_second", "p"),
    [
        (0, 0, 1.0),
        (5, 0, 2 / 32),
        (0, 6, 2 / 64),
        (3, 3, 1.0),
        (8, 2, 2 * (1 + 10 + 45) / 1024),
    ],
)
def test_mcnemar_by_hand(only_first: int, only_second: int, p: float) -> None:
    first = [True] * only_first + [False] * only_second + [True] * 7 + [False] * 9
    second = [False] * only_first + [True] * only_second + [True] * 7 + [False] * 9
    found = mcnemar(first, second)
    assert found[:2] == (only_first, only_second)
    assert found.p == pytest.approx(p)


@pytest.mark.full
@pytest.mark.parametrize(("win", "loss"), [(0.15, 0.05), (0.05, 0.05), (0.4, 0.1)])
def test_interval_holds_the_true_difference(win: float, loss: float) -> None:
    """Of 1,000 simulated comparisons on 200 tasks, 95 % +- 2 points cover the truth."""
    rng, covered, num = np.random.default_rng(3), 0, 1000
    for _ in range(num):
        draws = rng.choice([1.0, -1.0, 0.0], 200, p=[win, loss, 1 - win - loss])
        found = bootstrap(draws.tolist(), resamples=1000)
        covered += found.low <= win - loss <= found.high
    assert 0.93 <= covered / num <= 0.97
