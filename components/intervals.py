"""Confidence intervals: for one success rate, the difference of two on the same tasks (score
intervals: closed form, no randomness, no zero width where all outcomes are equal), and for the mean
of a few runs (Student's t, runs as the unit).
"""

import math
import statistics
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple


class Interval(NamedTuple):
    """A point estimate inside its confidence interval."""

    estimate: float
    low: float
    high: float


class PairedDifference(NamedTuple):
    """Success of one team minus success of another on the same tasks."""

    estimate: float
    low: float
    high: float
    wins: int
    """Tasks that only the first team solved."""
    losses: int
    """Tasks that only the second team solved."""
    num_tasks: int


def wilson(successes: int, trials: int, confidence: float = 0.95) -> Interval:
    """Wilson's score interval of a success rate.

    `(p + z^2/2n -+ z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n)`; E. B. Wilson, JASA 22 (1927).
    ValueError unless 0 <= successes <= trials and trials > 0.
    """
    if trials < 1 or not 0 <= successes <= trials:
        raise ValueError(
            f"wilson: {successes} successes of {trials} trials; expected 0 <= successes <= trials, "
            "trials >= 1"
        )
    z = _quantile(confidence)
    rate = successes / trials
    scale = 1 + z * z / trials
    centre = (rate + z * z / (2 * trials)) / scale
    half = z * math.sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials)) / scale
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == trials else min(1.0, centre + half)
    return Interval(rate, low, high)


def paired_difference(
    first: Sequence[bool], second: Sequence[bool], confidence: float = 0.95
) -> PairedDifference:
    """Newcombe's square-and-add interval (method 10) for two rates on the same tasks.

    With Wilson limits (l1, u1), (l2, u2) and the tables' correlation phi (its numerator reduced
    by n/2 towards 0, never past it, where positive):
    `low = d - sqrt((p1-l1)^2 - 2 phi (p1-l1)(u2-p2) + (u2-p2)^2)`, and so `high` with u1, l2.
    R. G. Newcombe, Statistics in Medicine 17 (1998) 2635-2650. Entry i of both is task i.
    ValueError for unequal lengths or no tasks.
    """
    if len(first) != len(second) or not first:
        raise ValueError(
            f"paired_difference: {len(first)} and {len(second)} outcomes; "
            "expected one of each team for every task, at least one task"
        )
    num = len(first)
    pairs = list(zip(first, second, strict=True))
    both, wins, losses = (
        sum(pair == kind for pair in pairs) for kind in ((True, True), (True, False), (False, True))
    )
    phi = _correlation(both, wins, losses, num - both - wins - losses)
    p1, low1, high1 = wilson(both + wins, num, confidence)
    p2, low2, high2 = wilson(both + losses, num, confidence)
    estimate = (wins - losses) / num
    below = _root(p1 - low1, high2 - p2, phi)
    above = _root(high1 - p1, p2 - low2, phi)
    low, high = max(-1.0, estimate - below), min(1.0, estimate + above)
    return PairedDifference(estimate, low, high, wins, losses, num)


def weighted(parts: Sequence[tuple[float, Interval]]) -> Interval:
    """Interval of a weighted sum of independent rates, e.g. the mean over strata.

    `low = sum(w p) - sqrt(sum(w^2 (p - l)^2))`, high alike with u - p: the square-and-add rule of
    `paired_difference` for any number of estimates; G. Y. Zou, A. Donner, Statistics in Medicine
    27 (2008) 1693-1702. Weights are positive; with one part of weight 1 it is that part.
    """
    estimate, low, high = _added([(weight, *part) for weight, part in parts])
    return Interval(estimate, max(0.0, low), min(1.0, high))


def weighted_difference(parts: Sequence[tuple[float, PairedDifference]]) -> PairedDifference:
    """The same for paired differences on the tasks of each stratum; counts are added up."""
    estimate, low, high = _added([(weight, *part[:3]) for weight, part in parts])
    wins, losses, num = (sum(part[at] for _, part in parts) for at in (3, 4, 5))
    return PairedDifference(
        estimate, max(-1.0, low), min(1.0, high), int(wins), int(losses), int(num)
    )


def _added(parts: Sequence[tuple[float, float, float, float]]) -> tuple[float, float, float]:
    """(weight, estimate, low, high) of each -> estimate, low, high of the sum."""
    if not parts or min(weight for weight, *_ in parts) <= 0.0:
        raise ValueError(f"weighted: parts {list(parts)}, expected one or more, weights above 0")
    estimate = math.fsum(weight * value for weight, value, _, _ in parts)
    below = math.hypot(*(weight * (value - low) for weight, value, low, _ in parts))
    above = math.hypot(*(weight * (high - value) for weight, value, _, high in parts))
    return estimate, estimate - below, estimate + above


def _correlation(both: int, wins: int, losses: int, neither: int) -> float:
    """Continuity-corrected phi of the 2 x 2 table; 0 where a team's outcomes are all equal."""
    margins = (both + wins) * (losses + neither) * (both + losses) * (wins + neither)
    if margins == 0:
        return 0.0
    excess = float(both * neither - wins * losses)
    if excess > 0:
        excess = max(excess - (both + wins + losses + neither) / 2, 0.0)
    return excess / math.sqrt(margins)


def _root(a: float, b: float, phi: float) -> float:
    return math.sqrt(max(0.0, a * a - 2 * phi * a * b + b * b))


def _quantile(confidence: float) -> float:
    """Two-sided normal quantile: 1.96 for 0.95."""
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence is {confidence}, expected a number in (0, 1)")
    return NormalDist().inv_cdf(0.5 + confidence / 2)


def student(values: Sequence[float], confidence: float = 0.95) -> Interval:
    """Student's t interval of a mean: `mean -+ t(n - 1) s / sqrt(n)`.

    Of one value the interval is unbounded: -inf to inf. ValueError without values.
    """
    if not values:
        raise ValueError("student: no values, expected one or more")
    mean = statistics.fmean(values)
    if len(values) == 1:
        return Interval(mean, -math.inf, math.inf)
    error = statistics.stdev(values) / math.sqrt(len(values))
    half = t_quantile(len(values) - 1, confidence) * error
    return Interval(mean, mean - half, mean + half)


def over_runs(rates: Sequence[Interval], confidence: float = 0.95) -> Interval:
    """Mean success of runs that differ in their seed, with the interval that every table states.

    Of one run its own interval, over its tasks. Of more, Student's t over the runs, cut to [0, 1]:
    all seeds play the same held-out tasks, so their tasks are no independent draws and a run counts
    once, however many it played. ValueError without runs.
    """
    if len(rates) == 1:
        return rates[0]
    mean, low, high = student([rate.estimate for rate in rates], confidence)
    return Interval(mean, max(low, 0.0), min(high, 1.0))


def t_quantile(degrees: int, confidence: float) -> float:
    """The t with P(|T| < t) = confidence, by bisection on the angle atan(t / sqrt(degrees))."""
    low, high = 0.0, math.pi / 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _t_mass(middle, degrees) < confidence else (low, middle)
    return math.tan(low) * math.sqrt(degrees)


def _t_mass(angle: float, degrees: int) -> float:
    """P(|T| < sqrt(degrees) tan(angle)): finite sums of powers of the cosine, one for odd and one
    for even degrees of freedom; Abramowitz and Stegun, 26.7.3 and 26.7.4."""
    sine, cosine, odd = math.sin(angle), math.cos(angle), degrees % 2
    term = total = cosine if odd else 1.0
    for k in range(3 if odd else 2, degrees, 2):
        term *= cosine * cosine * (k - 1) / k
        total += term
    if not odd:
        return sine * total
    return 2 / math.pi * (angle + (sine * total if degrees > 1 else 0.0))
