"""One number for several seeds: the mean, and an interval that hides neither kind of noise."""

import math
from collections.abc import Sequence
from statistics import fmean

from components.intervals import Interval, student, wilson
from components.reporting.summary import Result


def success_over_seeds(results: Sequence[Result], confidence: float) -> Interval:
    """Mean success with its interval.

    Of one run: the run's own interval. Of several: the wider end of Student's t over the seeds and
    Wilson over all tasks played, so that three seeds that agree do not look certain.
    """
    if len(results) == 1:
        return Interval(results[0].success, results[0].low, results[0].high)
    mean, low, high = student([item.success for item in results], confidence)
    num_tasks = sum(item.num_tasks for item in results)
    if num_tasks:
        solved = round(sum(item.success * item.num_tasks for item in results))
        _, below, above = wilson(solved, num_tasks, confidence)
        low, high = min(low, below), max(high, above)
    return Interval(mean, max(low, 0.0), min(high, 1.0))


def mean_over_seeds(values: Sequence[float], confidence: float) -> Interval:
    """Student's interval of the mean; of one value the value itself, without width."""
    mean, low, high = student(values, confidence)
    return Interval(mean, low, high) if math.isfinite(low) else Interval(mean, mean, mean)


def standardised(values: Sequence[float]) -> list[float]:
    """Values minus their mean, over their standard deviation; zeros where all are equal."""
    mean = fmean(values) if values else 0.0
    spread = math.sqrt(fmean([(value - mean) ** 2 for value in values])) if values else 0.0
    return [(value - mean) / spread if spread > 0.0 else 0.0 for value in values]
