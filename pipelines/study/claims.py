"""What came of a study's claims: one arm against another, seed by seed."""

from collections.abc import Sequence
from dataclasses import dataclass

from components.intervals import Interval, over_runs, student
from pipelines.study.plan import Claim, Study
from pipelines.study.results import RunResult

_ROUNDING = 1e-9
"""Of differences of shares that are equal on paper."""


def over_seeds(
    found: Sequence[RunResult], arm: str, measure: str, confidence: float = 0.95
) -> Interval | None:
    """An arm's mean and interval on a measure, as a report states it; None if no seed has it."""
    known = [item.rate(measure) for item in found if item.arm == arm and measure in item.final]
    return over_runs(known, confidence) if known else None


@dataclass(frozen=True)
class Finding:
    """What came of a claim."""

    claim: Claim
    difference: Interval | None
    """Of the two measures, over seeds; None if no seed has both."""
    num_seeds: int
    """That have both, of so many that the study has:"""
    of_seeds: int
    were_run: bool
    """Whether both arms have a seed that is done."""
    first: float | None
    second: float | None
    learning: Interval | None = None
    """The same difference of `training`, where both ends have it."""
    resolution: float = 0.0
    """What one held-out task is worth: a few equal differences of that size have no spread, and
    would decide a claim that one task turns."""

    @property
    def verdict(self) -> str:
        """In a word: whether the interval over seeds lies beyond the margin and one task."""
        if self.difference is None:
            return "not measured" if self.were_run else "not run"
        _, low, high = self.difference
        some = self.num_seeds < self.of_seeds
        of = f" ({self.num_seeds} of {self.of_seeds} seeds)" if some else ""
        margin = max(self.claim.margin, self.resolution) + _ROUNDING
        if low > margin:
            return f"holds{of}"
        if high < -margin:
            return f"the opposite{of}"
        return f"undecided{of}"


def findings(study: Study, found: Sequence[RunResult]) -> list[Finding]:
    """Every claim, by the differences of the seeds that both arms have."""
    return [_finding(study, claim, found) for claim in study.plan.claims]


def _finding(study: Study, claim: Claim, found: Sequence[RunResult]) -> Finding:
    confidence, of_seeds = study.confidence, len(study.plan.seeds)
    done = {item.arm for item in found}
    were_run = {end.partition("/")[0] for end in (claim.first, claim.second)} <= done
    first, second = (_by_seed(end, claim.measure, found) for end in (claim.first, claim.second))
    seeds = sorted(set(first) & set(second))
    if not seeds:
        return Finding(claim, None, 0, of_seeds, were_run, None, None)
    difference = _of_shares([first[seed] - second[seed] for seed in seeds], confidence)
    ours, theirs = (sum(end[seed] for seed in seeds) / len(seeds) for end in (first, second))
    learning = _learning(claim, found, confidence)
    measure = claim.first.partition("/")[2] or claim.measure
    tasks = [item.num_tasks[measure] for item in found if measure in item.num_tasks]
    return Finding(
        claim, difference, len(seeds), of_seeds, True, ours, theirs, learning,
        1 / min(tasks) if tasks else 0.0,
    )  # fmt: skip


def _learning(claim: Claim, found: Sequence[RunResult], confidence: float) -> Interval | None:
    if "/" in claim.first + claim.second:
        return None
    first, second = (_by_seed(end, "training", found) for end in (claim.first, claim.second))
    seeds = sorted(set(first) & set(second))
    differences = [first[seed] - second[seed] for seed in seeds]
    return _of_shares(differences, confidence) if seeds else None


def _of_shares(differences: Sequence[float], confidence: float) -> Interval:
    """Student's interval, cut to what two shares can differ by; unbounded of one seed."""
    found = student(differences, confidence)
    if len(differences) == 1:
        return found
    return Interval(found.estimate, max(found.low, -1.0), min(found.high, 1.0))


def _by_seed(end: str, measure: str, found: Sequence[RunResult]) -> dict[int, float]:
    arm, _, own = end.partition("/")
    values = {item.seed: item.measure(own or measure) for item in found if item.arm == arm}
    return {seed: value for seed, value in values.items() if value is not None}
