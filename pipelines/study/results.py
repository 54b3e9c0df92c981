"""What a study found: every run as points over its sampling budget, and the measures of its arms.

Read from the store's step manifests; nothing is played again.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from components.intervals import Interval, over_runs, student
from components.reporting.summary import RunSummary, collect, series
from components.storage import Store
from pipelines.finding import read_config
from pipelines.study.plan import Claim, Study
from pipelines.study.running import Job, count, is_done, jobs_of, store_of


@dataclass(frozen=True)
class Point:
    """A team on the way: how much had been generated for it, and how good it was."""

    iteration: int
    candidates: int
    """Generated in training up to this team, that of the arms it starts from included."""
    tokens: int
    success: float | None
    """Greedy play on the validation tasks, in [0, 1]; None if it was not evaluated."""
    turns: float | None
    """Turns per validation episode."""
    reward: Mapping[str, float]
    """role -> mean reward of the answers that the update before this team was made of."""
    zero_variance: Mapping[str, float]
    """role -> share of groups without signal, of the same."""
    train_success: float | None
    """Of the training episodes, which follow the pick."""


@dataclass(frozen=True)
class RunResult:
    """One arm with one seed."""

    arm: str
    seed: int
    points: Sequence[Point]
    final: Mapping[str, float]
    """Benchmark -> success of the last team; `start` is the first team on validation, `training`
    the mean over the way between, see `over_training`."""
    num_tasks: Mapping[str, int]
    cpu_s: float
    """Of all training steps, those of the arms it starts from included; no warm start, no closing
    evaluation."""
    visits: float | None = None
    """How far training's prompts were from greedy play's: the mean over iterations of
    `rollout/train/visits_distance`; None where no rollout evaluated its team."""
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Benchmark -> the interval of `final` over this run's tasks."""
    digest: str = ""
    """Of what the run was trained with, see `Study.digest`."""

    def measure(self, name: str) -> float | None:
        """Success on a benchmark; None if it was not played."""
        return self.final.get(name)

    def rate(self, name: str) -> Interval:
        """Success on a benchmark with its interval over tasks; without bounds where unknown."""
        return Interval(self.final[name], *self.bounds.get(name, (-math.inf, math.inf)))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return asdict(self)

    @staticmethod
    def from_json(content: Mapping[str, Any]) -> "RunResult":
        """What `to_json` gave. KeyError or TypeError for anything else."""
        points = [Point(**point) for point in content["points"]]
        bounds = {name: (low, high) for name, (low, high) in content["bounds"].items()}
        return RunResult(**{**content, "points": points, "bounds": bounds})


@dataclass(frozen=True)
class Finding:
    """What came of a claim."""

    claim: Claim
    difference: Interval | None
    """Of the two measures, over seeds; None if a seed is missing everywhere."""
    num_seeds: int
    first: float | None
    second: float | None
    learning: Interval | None = None
    """The same difference of `training`, where both ends have it."""

    @property
    def verdict(self) -> str:
        """In a word: whether the interval over seeds lies on one side of the margin."""
        if self.difference is None:
            return "not run"
        _, low, high = self.difference
        if low > self.claim.margin:
            return "holds"
        if high < -self.claim.margin:
            return "the opposite"
        return "undecided"


def results(study: Study) -> list[RunResult]:
    """All arms that are shown and seeds that are done, in the plan's order."""
    store = store_of(study)
    return [
        run_result(study, store, arm, seed)
        for arm, settings in study.plan.arms.items()
        if settings.shown
        for seed in study.plan.seeds
        if is_done(study, store, (arm, seed))
    ]


def run_result(study: Study, store: Store, arm: str, seed: int) -> RunResult:
    """The result of one run that is done."""
    run = study.run_name(arm, seed)
    config = read_config(store, run, study.storage)
    summary = collect(store, config, run)
    measured = dict(summary.final)
    if "validation" in summary.rows[0].held_out:
        measured["start"] = summary.rows[0].held_out["validation"]
    before = inherited(study, store, (arm, seed))
    way = points(summary, before)
    final = {name: result.success for name, result in measured.items()}
    if (mean := over_training(way, study.budget(arm))) is not None:
        final["training"] = mean
    return RunResult(
        arm=arm, seed=seed, points=way, final=final,
        num_tasks={name: result.num_tasks for name, result in measured.items()},
        cpu_s=before.cpu_s + cpu_seconds(summary), visits=mean_visits(summary),
        bounds={name: (result.low, result.high) for name, result in measured.items()},
        digest=study.digest(arm, seed),
    )  # fmt: skip


@dataclass(frozen=True)
class Spent:
    """What training took."""

    candidates: int = 0
    tokens: int = 0
    cpu_s: float = 0.0


def inherited(study: Study, store: Store, job: Job) -> Spent:
    """What training the policies took that an arm starts from: it counts as the arm's own.

    Warm starts are left out; they are alike for all arms.
    """
    arm, seed = job
    arms = [other for other in jobs_of(study, [arm], [seed]) if other != job]
    found = [
        collect(store, read_config(store, run, study.storage), run)
        for run in (study.run_name(*other) for other in arms if study.budget(other[0]))
    ]
    last = [points(summary)[-1] for summary in found]
    return Spent(
        sum(point.candidates for point in last), sum(point.tokens for point in last),
        sum(map(cpu_seconds, found)),
    )  # fmt: skip


def points(summary: RunSummary, before: Spent = Spent()) -> list[Point]:
    """One per iteration, the start first, to which all that was spent `before` belongs."""
    found, candidates, tokens = [], before.candidates, before.tokens
    for row in summary.rows:
        candidates += count(row.metrics, "num_candidates")
        tokens += count(row.metrics, "num_tokens")
        found.append(
            Point(
                row.iteration, candidates, tokens, row.success, row.turns_mean, dict(row.reward),
                series(row.metrics, "grouping", "frac_reward_zero_std"),
                row.metrics.get("rollout/train/success"),
            )
        )  # fmt: skip
    return found


def over_training(way: Sequence[Point], budget: int) -> float | None:
    """Success on validation on the mean over the budget: the area under the curve, by its width.

    It tells teams apart that end alike, where one learns with fewer answers. Straight lines between
    the evaluated points; None for an arm whose curve does not begin at 0 answers, or has no width.
    """
    known = [(point.candidates, point.success) for point in way if point.success is not None]
    if len(known) < 2 or known[0][0] > 0 or budget <= 0:
        return None
    candidates, success = zip(*known, strict=True)
    end = min(budget, candidates[-1])
    inside = [at for at in candidates if at < end]
    grid = [*inside, end]
    return float(np.trapezoid(np.interp(grid, candidates, success), grid) / end)


def cpu_seconds(summary: RunSummary) -> float:
    """CPU seconds of all training steps."""
    return sum(
        value
        for row in summary.rows
        for name, value in row.metrics.items()
        if name.startswith("system/") and name.endswith("/cpu_s")
    )


def mean_visits(summary: RunSummary) -> float | None:
    """The mean over the iterations that have it."""
    name = "rollout/train/visits_distance"
    known = [row.metrics[name] for row in summary.rows if name in row.metrics]
    return sum(known) / len(known) if known else None


def over_seeds(
    found: Sequence[RunResult], arm: str, measure: str, confidence: float = 0.95
) -> Interval | None:
    """An arm's mean and interval on a measure, as a report states it; None if no seed has it."""
    known = [item.rate(measure) for item in found if item.arm == arm and measure in item.final]
    return over_runs(known, confidence) if known else None


def findings(study: Study, found: Sequence[RunResult]) -> list[Finding]:
    """Every claim, by the differences of the seeds that both arms have."""
    return [_finding(claim, found, study.confidence) for claim in study.plan.claims]


def _finding(claim: Claim, found: Sequence[RunResult], confidence: float) -> Finding:
    first, second = (_by_seed(end, claim.measure, found) for end in (claim.first, claim.second))
    seeds = sorted(set(first) & set(second))
    if not seeds:
        return Finding(claim, None, 0, None, None)
    difference = student([first[seed] - second[seed] for seed in seeds], confidence)
    ours, theirs = (sum(end[seed] for seed in seeds) / len(seeds) for end in (first, second))
    learning = _learning(claim, found, confidence)
    return Finding(claim, difference, len(seeds), ours, theirs, learning)


def _learning(claim: Claim, found: Sequence[RunResult], confidence: float) -> Interval | None:
    if "/" in claim.first + claim.second:
        return None
    first, second = (_by_seed(end, "training", found) for end in (claim.first, claim.second))
    seeds = sorted(set(first) & set(second))
    return student([first[seed] - second[seed] for seed in seeds], confidence) if seeds else None


def _by_seed(end: str, measure: str, found: Sequence[RunResult]) -> dict[int, float]:
    arm, _, own = end.partition("/")
    values = {item.seed: item.measure(own or measure) for item in found if item.arm == arm}
    return {seed: value for seed, value in values.items() if value is not None}
