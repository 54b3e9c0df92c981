"""What a study found: every run as points over its sampling budget, and what it measured.

Read from the store's step manifests; nothing is played again.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from components.config import sentence
from components.errors import ConfigError
from components.intervals import Interval
from components.reporting.summary import RunSummary, collect, series
from components.storage import Store
from pipelines.finding import read_config
from pipelines.study.code import codes_of
from pipelines.study.plan import Study
from pipelines.study.running import ArmsFailed, Job, count, is_done, jobs_of, store_of

_SPENT = re.compile(r"system/[^/]+/cpu_s")
_CHECKS = ConfigDict(extra="forbid", allow_inf_nan=False)
Share = Annotated[float, Field(ge=0, le=1 + 1e-9)]  # means of 1.0 may round up
Natural = Annotated[int, Field(ge=0)]


@dataclass(frozen=True)
class Point:
    """A team on the way: how much had been generated for it, and how good it was."""

    __pydantic_config__ = _CHECKS
    iteration: Natural
    candidates: Natural
    """Generated in training up to this team, that of the arms it starts from included."""
    tokens: Natural
    success: Share | None
    """Greedy play on the validation tasks, in [0, 1]; None if it was not evaluated."""
    turns: float | None
    """Turns per validation episode."""
    turns_to_solve: float | None
    """The same of the solved ones."""
    reward: Mapping[str, float]
    """role -> mean reward of the answers that the update before this team was made of."""
    zero_variance: Mapping[str, float]
    """role -> share of groups without signal, of the same."""
    train_success: Share | None = None
    """Of the training episodes before this team's update, which follow the pick."""
    train_turns: float | None = None
    """Turns per episode of the same."""
    num_updates: float | None = None
    """Optimiser steps of this team's update, mean over its trained policies."""


@dataclass(frozen=True)
class RunResult:
    """One arm with one seed."""

    __pydantic_config__ = _CHECKS
    arm: str
    seed: int
    points: Annotated[Sequence[Point], Field(min_length=1)]
    final: Mapping[str, Share]
    """Benchmark -> success of the last team; `start` is the first team on validation, unless others
    had trained it, `training` the mean over the way between, see `over_training`."""
    num_tasks: Mapping[str, int]
    cpu_s: float
    """Of all training steps, those of the arms it starts from included; no warm start, no closing
    evaluation."""
    visits: float | None = None
    """How far training's prompts were from greedy play's: the mean over iterations of
    `rollout/train/visits_distance`; None where no rollout evaluated its team."""
    bounds: Mapping[str, tuple[Share, Share]] = field(default_factory=dict)
    """Benchmark -> the interval of `final` over this run's tasks."""
    digest: str = ""
    """Of the configuration and the budget that it was trained with, see `Study.digest`."""
    code: Sequence[str] = field(default_factory=list)
    """Versions that trained it and the arms it starts from; none of runs before this was noted."""

    @property
    def num_iterations(self) -> int:
        """Of its training."""
        return self.points[-1].iteration

    @property
    def num_updates(self) -> float | None:
        """Optimiser steps per trained policy; None where nothing was trained."""
        known = [point.num_updates for point in self.points if point.num_updates is not None]
        return sum(known) if known else None

    @property
    def longer(self) -> float | None:
        """How many turns training's episodes are longer than greedy play's of the same team."""
        return mean(
            after.train_turns - before.turns
            for before, after in pairwise(self.points)
            if after.train_turns is not None and before.turns is not None
        )

    def measure(self, name: str) -> float | None:
        """Success on a benchmark; None if it was not played."""
        return self.final.get(name)

    def rate(self, name: str) -> Interval:
        """Success on a benchmark with its interval over tasks; without bounds where unknown."""
        return Interval(self.final[name], *self.bounds.get(name, (-math.inf, math.inf)))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; a code that is unknown is left out, as it always was."""
        content = asdict(self)
        return content if self.code else {k: v for k, v in content.items() if k != "code"}


def parse_results(text: str) -> list[RunResult]:
    """A list of what `to_json` gave, as JSON. ValueError naming the run, field and value."""
    try:
        return TypeAdapter(list[RunResult]).validate_json(text, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        if len(first["loc"]) < 2:
            raise ValueError(sentence(first)) from error
        entry = json.loads(text)[first["loc"][0]]
        whose = f"{entry.get('arm', 'arm missing')}, seed {entry.get('seed', 'missing')}"
        raise ValueError(f"{whose}: {sentence({**first, 'loc': first['loc'][1:]})}") from error


def results(
    study: Study,
    say: Callable[[str], None] = print,
    arms: Sequence[str] = (),
    seeds: Sequence[int] = (),
) -> list[RunResult]:
    """All arms that are shown and seeds that are done, in the plan's order; of `arms` and `seeds`
    alone where some are given.

    Runs of other settings are left out, and `say` is told.
    """
    store, found = store_of(study), []
    for job in ((arm, seed) for arm in study.plan.arms for seed in study.plan.seeds):
        if not study.plan.arms[job[0]].shown or not chosen(job, arms, seeds):
            continue
        try:
            if is_done(study, store, job):
                found.append(run_result(study, store, *job))
        except (ConfigError, ArmsFailed) as error:
            say(f"left out: {error}")
    return found


def chosen(job: Job, arms: Sequence[str], seeds: Sequence[int]) -> bool:
    """Whether an arm and seed is among those that were asked for; of none, all are."""
    return (not arms or job[0] in arms) and (not seeds or job[1] in seeds)


def run_result(study: Study, store: Store, arm: str, seed: int) -> RunResult:
    """The result of one run that is done."""
    run = study.run_name(arm, seed)
    config = read_config(store, run, study.storage)
    summary = collect(store, config, run)
    measured, before = dict(summary.final), inherited(study, store, (arm, seed))
    if "validation" in summary.rows[0].held_out and not before.candidates:
        measured["start"] = summary.rows[0].held_out["validation"]
    way = points(summary, before)
    final = {name: result.success for name, result in measured.items()}
    if (area := over_training(way, study.budget(arm))) is not None:
        final["training"] = area
    return RunResult(
        arm=arm, seed=seed, points=way, final=final,
        num_tasks={name: result.num_tasks for name, result in measured.items()},
        cpu_s=before.cpu_s + cpu_seconds(summary), visits=mean_visits(summary),
        bounds={name: (result.low, result.high) for name, result in measured.items()},
        digest=study.digest(arm, seed),
        code=codes_of(store, (study.run_name(*job) for job in jobs_of(study, [arm], [seed]))),
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
                row.iteration, candidates, tokens, row.success, row.turns_mean, row.turns_to_solve,
                dict(row.reward), series(row.metrics, "grouping", "frac_reward_zero_std"),
                row.metrics.get("rollout/train/success"),
                row.metrics.get("rollout/train/turns/mean"),
                mean(series(row.metrics, "update", "num_steps").values()),
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
    """CPU seconds of all training steps; not of the warm start, which is alike for all arms."""
    return sum(
        value
        for row in summary.rows
        for name, value in row.metrics.items()
        if _SPENT.fullmatch(name) and name != "system/warm_start/cpu_s"
    )


def mean_visits(summary: RunSummary) -> float | None:
    """The mean over the iterations that have it."""
    name = "rollout/train/visits_distance"
    return mean(row.metrics[name] for row in summary.rows if name in row.metrics)


def mean(values: Iterable[float]) -> float | None:
    """Arithmetic; None of nothing."""
    known = list(values)
    return sum(known) / len(known) if known else None
