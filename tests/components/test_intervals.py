"""Intervals against published values and on degenerate outcomes."""

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.intervals import (
    paired_difference,
    student,
    t_quantile,
    weighted,
    weighted_difference,
    wilson,
)

BOOLS = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40)


def pairs(both: int, wins: int, losses: int, neither: int) -> tuple[list[bool], list[bool]]:
    first = [True] * (both + wins) + [False] * (losses + neither)
    second = [True] * both + [False] * wins + [True] * losses + [False] * neither
    return first, second


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    # R. G. Newcombe, Statistics in Medicine 17 (1998) 857-872, Table I, method 3
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_published(successes: int, trials: int, low: float, high: float) -> None:
    interval = wilson(successes, trials)
    assert interval.estimate == successes / trials
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=6e-5)


def test_wilson_of_all_and_none() -> None:
    assert wilson(0, 20).low == 0.0
    assert wilson(20, 20).high == 1.0
    assert wilson(20, 20).low == pytest.approx(1 - wilson(0, 20).high)


@pytest.mark.parametrize(("successes", "trials"), [(0, 0), (3, 2), (-1, 2)])
def test_wilson_refuses(successes: int, trials: int) -> None:
    with pytest.raises(ValueError, match=f"{successes} successes of {trials}"):
        wilson(successes, trials)


@pytest.mark.parametrize(
    ("table", "low", "high"),
    [
        ((36, 12, 2, 0), 0.0569, 0.3404),  # Newcombe, Stat. Med. 17 (1998) 2635-2650, method 10
        ((1, 1, 7, 12), -0.507, -0.026),  # Fagerland et al., Stat. Med. 33 (2014), airway data
    ],
)
def test_paired_published(table: tuple[int, int, int, int], low: float, high: float) -> None:
    interval = paired_difference(*pairs(*table))
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=5e-4)
    assert (interval.wins, interval.losses, interval.num_tasks) == (table[1], table[2], sum(table))


def test_equal_outcomes_show_no_gain_however_many() -> None:
    for table in [(50, 0, 0, 0), (0, 0, 0, 50), (25, 0, 0, 25)]:
        interval = paired_difference(*pairs(*table))
        assert interval.estimate == 0.0
        assert interval.low < 0.0 < interval.high


def test_a_clear_gain_is_above_zero_and_a_sweep_is_certain() -> None:
    assert paired_difference(*pairs(60, 100, 5, 35)).low > 0.35
    sweep = paired_difference(*pairs(0, 200, 0, 0))
    assert sweep.low > 0.95
    assert sweep.high == 1.0


def test_paired_refuses_other_lengths_and_no_tasks() -> None:
    with pytest.raises(ValueError, match="1 and 2 outcomes"):
        paired_difference([True], [True, False])
    with pytest.raises(ValueError, match="0 and 0 outcomes"):
        paired_difference([], [])


@given(BOOLS, st.sampled_from([0.8, 0.95, 0.99]))
def test_paired_is_ordered_bounded_and_antisymmetric(
    outcomes: list[tuple[bool, bool]], confidence: float
) -> None:
    first, second = [a for a, _ in outcomes], [b for _, b in outcomes]
    ahead = paired_difference(first, second, confidence)
    behind = paired_difference(second, first, confidence)
    assert -1.0 <= ahead.low <= ahead.estimate <= ahead.high <= 1.0
    assert (behind.low, behind.high) == pytest.approx((-ahead.high, -ahead.low))


@given(BOOLS)
def test_more_confidence_is_wider(outcomes: list[tuple[bool, bool]]) -> None:
    first, second = [a for a, _ in outcomes], [b for _, b in outcomes]
    narrow, wide = paired_difference(first, second, 0.8), paired_difference(first, second, 0.99)
    assert wide.high - wide.low >= narrow.high - narrow.low


@pytest.mark.parametrize(
    ("degrees", "confidence", "expected"),  # tables of Student's t
    [(1, 0.95, 12.706), (2, 0.95, 4.303), (3, 0.99, 5.841), (10, 0.95, 2.228), (30, 0.99, 2.750)],
)
def test_quantiles_are_those_of_the_tables(
    degrees: int, confidence: float, expected: float
) -> None:
    assert t_quantile(degrees, confidence) == pytest.approx(expected, abs=5e-4)


def test_a_mean_of_three_runs_has_its_interval() -> None:
    mean, low, high = student([0.90, 0.94, 0.98])
    half = 4.303 * 0.04 / 3**0.5
    assert mean == pytest.approx(0.94)
    assert (mean - low, high - mean) == (
        pytest.approx(half, rel=1e-3),
        pytest.approx(half, rel=1e-3),
    )


def test_one_run_says_nothing_about_another() -> None:
    assert student([0.5]) == (0.5, float("-inf"), float("inf"))
    with pytest.raises(ValueError, match="no values"):
        student([])


def test_a_weighted_mean_of_one_is_that_one() -> None:
    part = wilson(7, 10)
    assert weighted([(1.0, part)]) == pytest.approx(part)
    paired = paired_difference([True, True, False, True], [False, True, False, False])
    assert weighted_difference([(1.0, paired)]) == pytest.approx(paired)


def test_equal_strata_are_about_as_sure_as_all_together() -> None:
    halves = weighted([(0.5, wilson(60, 100)), (0.5, wilson(60, 100))])
    whole = wilson(120, 200)
    assert halves.estimate == whole.estimate
    assert halves == pytest.approx(whole, abs=0.005)


def test_a_weighted_mean_covers_the_truth_as_often_as_it_says() -> None:
    """Shares 0.8 and 0.2 of rates 0.9 and 0.3 on 60 and 20 tasks: 95 % of 2000 draws or so."""
    rng, covered = Random(0), 0
    truth = 0.8 * 0.9 + 0.2 * 0.3
    for _ in range(2000):
        first = sum(rng.random() < 0.9 for _ in range(60))
        second = sum(rng.random() < 0.3 for _ in range(20))
        found = weighted([(0.8, wilson(first, 60)), (0.2, wilson(second, 20))])
        covered += found.low <= truth <= found.high
    assert 0.935 < covered / 2000 < 0.975


@pytest.mark.parametrize("parts", [[], [(0.0, wilson(1, 2))]])
def test_weights_of_nothing_are_refused(parts: Any) -> None:
    with pytest.raises(ValueError, match="weights above 0"):
        weighted(parts)
