"""Eq. 1 against golden vectors, a plain reference, and what must hold for any input."""

import math
import statistics
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.errors import RecordError
from components.grouping.advantages import group_advantages

GOLDEN = [
    ([1, 0, 0, 1], 1, [0.866024, -0.866024, -0.866024, 0.866024]),
    ([1, 0, 0, 1], 0, [0.999998, -0.999998, -0.999998, 0.999998]),
    ([1, 0, 0, 1], None, [0.5, -0.5, -0.5, 0.5]),
    ([1, 1, 1, 0], 1, [0.499999, 0.499999, 0.499999, -1.499997]),
    ([1, 1, 1, 0], 0, [0.577349, 0.577349, 0.577349, -1.732047]),
    ([1, 1, 1, 0], None, [0.25, 0.25, 0.25, -0.75]),
    ([0, 0, 0, 0], 1, [0, 0, 0, 0]),
    ([0, 0, 0, 0], 0, [0, 0, 0, 0]),
    ([0, 0, 0, 0], None, [0, 0, 0, 0]),
    ([2, 0, 1, 1], 1, [1.224743, -1.224743, 0, 0]),
    ([2, 0, 1, 1], 0, [1.414212, -1.414212, 0, 0]),
    ([2, 0, 1, 1], None, [1, -1, 0, 0]),
]
UNHURRIED = settings(deadline=None)
DDOF = pytest.mark.parametrize("ddof", [0, 1, None])
rewards = st.floats(-1e3, 1e3).map(lambda value: round(value, 6))
samples = st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 5), rewards))


def reference(ids, values, ddof=1, eps=1e-6):
    """Eq. 1, one group after another, with the standard library."""
    members = defaultdict(list)
    for index, group in enumerate(ids):
        members[group].append(index)
    result = [0.0] * len(ids)
    for indices in members.values():
        own = [values[i] for i in indices]
        mean = statistics.fmean(own)
        size = len(own) - (ddof or 0)
        std = math.sqrt(sum((r - mean) ** 2 for r in own) / size) if size else 0.0
        for i in indices:
            centred = 0.0 if len(set(own)) == 1 else values[i] - mean
            result[i] = centred if ddof is None else centred / (std + eps)
    return result


@pytest.mark.parametrize(("values", "ddof", "expected"), GOLDEN)
def test_golden_vectors(values, ddof, expected):
    assert group_advantages([7] * 4, values, std_ddof=ddof) == pytest.approx(expected, abs=1.5e-6)


def test_fault_3_two_problems_never_share_a_baseline():
    advantages = group_advantages([0] * 4 + [1] * 4, [1, 1, 1, 1, 0, 0, 0, 1])
    assert advantages[:4].tolist() == [0, 0, 0, 0]
    assert advantages[4:] == pytest.approx([-0.499999] * 3 + [1.499997], abs=1e-6)
    merged = group_advantages([0] * 8, [1, 1, 1, 1, 0, 0, 0, 1])
    assert merged[0] == pytest.approx(0.724567, abs=1e-6)


def test_fault_4_groups_go_by_id_not_by_position():
    ids, values = [5, 9, 5, 9, 5, 9, 5, 9], [1, 0, 1, 0, 1, 0, 1, 1]
    advantages = group_advantages(ids, values)
    assert advantages[::2].tolist() == [0, 0, 0, 0]
    assert advantages[1::2] == pytest.approx([-0.499999] * 3 + [1.499997], abs=1e-6)


@DDOF
def test_fault_4_a_group_of_one_gets_zero_not_its_raw_reward(ddof):
    assert group_advantages([3, 1, 2], [0.7, -5.0, 1e9], std_ddof=ddof).tolist() == [0, 0, 0]


@DDOF
@UNHURRIED
@given(rows=samples)
def test_equals_the_plain_reference(ddof, rows):
    ids, values = [row[0] for row in rows], [row[1] for row in rows]
    expected = reference(ids, values, ddof)
    assert group_advantages(ids, values, std_ddof=ddof) == pytest.approx(expected, abs=1e-6)


@DDOF
@UNHURRIED
@given(rows=samples)
def test_each_group_sums_to_zero(ddof, rows):
    ids = np.array([row[0] for row in rows], np.int64)
    advantages = group_advantages(ids, [row[1] for row in rows], std_ddof=ddof)
    for group in set(ids.tolist()):
        assert advantages[ids == group].sum() == pytest.approx(0.0, abs=1e-6)


@UNHURRIED
@given(rows=samples, order=st.randoms(use_true_random=False))
def test_order_and_names_of_groups_do_not_matter(rows, order):
    ids, values = [row[0] for row in rows], [row[1] for row in rows]
    expected = group_advantages(ids, values)
    places = list(range(len(rows)))
    order.shuffle(places)
    shuffled = group_advantages([ids[i] for i in places], [values[i] for i in places])
    assert shuffled == pytest.approx(expected[places], abs=1e-6)
    dense = {group: index for index, group in enumerate(dict.fromkeys(ids))}
    renamed = group_advantages([dense[group] for group in ids], values)
    assert renamed == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("offset", [1.0, -1e4, 1e9, -1e12, 1e15])
def test_a_common_offset_changes_nothing(offset):
    ids, values = np.arange(64) // 4, np.random.default_rng(0).integers(-3, 4, 64).astype(float)
    expected = group_advantages(ids, values)
    assert group_advantages(ids, values + offset) == pytest.approx(expected, abs=1e-9)


def test_an_offset_of_one_group_costs_few_digits():
    values = np.array([1.0, 0, 0, 1] * 2)
    offset = np.array([0.0] * 4 + [1e9] * 4)
    assert group_advantages([0] * 4 + [1] * 4, values + offset) == pytest.approx(
        group_advantages([0] * 4 + [1] * 4, values), abs=1e-9
    )


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3, 1e100])
def test_scale_cancels_down_to_eps(scale):
    values = np.array([1.0, 0.0, 0.25, 1.0])
    normalised = group_advantages([0] * 4, values * scale)
    std = values.std(ddof=1) * scale
    assert normalised * (1 + 1e-6 / std) == pytest.approx((values - 0.5625) / values.std(ddof=1))
    assert group_advantages([0] * 4, values * scale, std_ddof=None) == pytest.approx(
        (values - 0.5625) * scale
    )


@DDOF
@pytest.mark.parametrize("value", [0.1, -1 / 3, 1e-300, 123456789.123, 1e149])
@pytest.mark.parametrize("size", [2, 3, 7, 1000])
def test_equal_rewards_give_exactly_zero(ddof, value, size):
    ids = [0] * size + [1] * 4
    advantages = group_advantages(ids, [value] * size + [0, 1, 2, 3], std_ddof=ddof)
    assert not advantages[:size].any()
    assert advantages[size:].any()


def test_rounding_noise_is_no_signal():
    assert not group_advantages([0, 0, 1, 1], [0.1 + 0.2, 0.3, 5.0, 5.0], std_ddof=None).any()


def test_no_samples_give_no_advantages():
    result = group_advantages([], [])
    assert result.shape == (0,) and result.dtype == np.float64


def test_inputs_are_left_as_they_are():
    ids, values = np.array([0, 0, 1, 1]), np.array([1.0, 2.0, 3.0, 5.0])
    group_advantages(ids, values)
    assert ids.tolist() == [0, 0, 1, 1] and values.tolist() == [1, 2, 3, 5]


@pytest.mark.parametrize("kind", [np.int32, np.uint8, np.int64])
def test_any_integer_type_and_float32_rewards(kind):
    result = group_advantages(np.array([3, 3, 200, 200], kind), np.float32([1, 0, 2, 2]))
    assert result == pytest.approx([0.707106, -0.707106, 0, 0], abs=2e-6)


@pytest.mark.parametrize(
    ("ids", "values", "message"),
    [
        ([0, 0], [1.0], r"group_ids has shape \(2,\), rewards \(1,\)"),
        ([[0, 0]], [[1.0, 2.0]], "expected one flat length"),
        ([0, 0, 0], [1.0, float("nan"), 2.0], r"rewards\[1\] is nan"),
        ([0, 0], [1.0, float("inf")], r"rewards\[1\] is inf"),
        ([0, 0], [float("-inf"), 0.0], r"rewards\[0\] is -inf"),
        ([0.5, 1.0], [1.0, 2.0], "group_ids are float64"),
        (["a", "b"], [1.0, 2.0], "group_ids are <U1"),
        ([0, 2**70], [1.0, 2.0], "group_ids are object"),
        ([0, 0], ["1", "2"], "rewards are <U1"),
        ([0, 0], [None, 1.0], "rewards are object"),
    ],
)
def test_wrong_inputs_are_named(ids, values, message):
    with pytest.raises(RecordError, match=message):
        group_advantages(ids, values)


def test_another_ddof_is_refused():
    with pytest.raises(RecordError, match="std_ddof is 2"):
        group_advantages([0, 0], [1.0, 2.0], std_ddof=2)
