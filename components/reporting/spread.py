"""One number for several seeds: the mean, and an interval in which a seed counts once."""

import math
from collections.abc import Sequence
from statistics import fmean

from components.intervals import Interval, over_runs, student
from components.reporting.summary import Result


def success_over_seeds(results: Sequence[Result], confidence: float) -> Interval:
    """Mean success: of one run with its own interval, of several with Student's t over them."""
    return over_runs([Interval(it.success, it.low, it.high) for it in results], confidence)


def mean_over_seeds(values: Sequence[float], confidence: float) -> Interval:
    """Student's interval of the mean; of one value the value itself, without width."""
    mean, low, high = student(values, confidence)
    return Interval(mean, low, high) if math.isfinite(low) else Interval(mean, mean, mean)


def standardised(values: Sequence[float]) -> list[float]:
    """Values minus their mean, over their standard deviation; zeros where all are equal."""
    mean = fmean(values) if values else 0.0
    spread = math.sqrt(fmean([(value - mean) ** 2 for value in values])) if values else 0.0
    return [(value - mean) / spread if spread > 0.0 else 0.0 for value in values]
