"""What a run did, as plain rows: read from the store's step manifests, nothing is computed again.

Row i is about the team that iteration i made: its success is measured by the rollout of
iteration i + 1, which loads it, or by the final evaluation; row 0 is the start of the run.
"""

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

from components.config import ExperimentConfig
from components.manifests import StepManifest, committed, merged_metrics, read_output
from components.reporting.signal import Signal, signals
from components.reporting.solving import turns_to_solve
from components.reporting.unread import of, or_left_out
from components.state import latest_iteration
from components.storage import Store

FINAL = ("evaluate", "promote")
"""Steps that look at the team their own iteration made."""
UNTIMED = ("load_state",)


@dataclass(frozen=True)
class Result:
    """One team on one benchmark."""

    success: float
    """Share of solved tasks, in [0, 1]."""
    low: float
    high: float
    """Bounds of the confidence interval of `success`."""
    turns_mean: float
    num_tasks: int


@dataclass(frozen=True)
class IterationRow:
    """One iteration, and the team it made."""

    iteration: int
    """0 is the start, before any update."""
    success: float | None
    """On held-out tasks, in [0, 1]; None if this team was not evaluated."""
    low: float | None
    high: float | None
    turns_mean: float | None
    """Turns per held-out episode."""
    reward: Mapping[str, float]
    """role -> mean reward of the answers trained on; empty at iteration 0."""
    step_s: Mapping[str, float]
    """step -> wall seconds, in order of completion; repeated steps are added up."""
    metrics: Mapping[str, float] = field(default_factory=dict)
    """All metrics of the iteration's steps, by full name."""
    held_out: Mapping[str, Result] = field(default_factory=dict)
    """Benchmark -> result of this team; of several environments also `validation/<env>`."""
    turns_to_solve: float | None = None
    """Mean turns of the held-out episodes that were solved; None if none was, or unknown."""
    signals: Sequence[Signal] = ()
    """Statistics of the iteration's groups, by role and turn."""


@dataclass(frozen=True)
class RunSummary:
    """One run, for its table and its page."""

    run: str
    config: ExperimentConfig
    rows: Sequence[IterationRow]
    final: Mapping[str, Result] = field(default_factory=dict)
    """Benchmark -> result of the last final evaluation: `validation`, `validation/reference`,
    `validation/swapped`, `test`."""
    final_iteration: int | None = None
    """Whose team `final` is about: the last one, unless the run went on after an evaluation."""
    verdict: Mapping[str, Any] | None = None
    """Promotion's answer (`promoted`, `reasons`, `gain`, `low`, `high`); None if never asked; of
    an answer that cannot be read only `reasons`, which say so."""

    @property
    def roles(self) -> list[str]:
        """In the configuration's order."""
        return list(self.config.roles)

    @property
    def overtaken(self) -> bool:
        """Whether the run went on after its final evaluation: `final` is an earlier team's."""
        return self.final_iteration not in (None, self.rows[-1].iteration if self.rows else None)

    @property
    def evaluated(self) -> list[IterationRow]:
        """Rows whose team was evaluated."""
        return [row for row in self.rows if row.success is not None]


Found = list[tuple[str, StepManifest]]
"""(key, manifest) of one iteration's committed steps, in order of completion."""


def collect(store: Store, config: ExperimentConfig, run: str) -> RunSummary:
    """Summarise the committed iterations of a run; no rows if it has none."""
    latest = latest_iteration(store, run)
    if latest is None:
        return RunSummary(run, config, [])
    with ThreadPoolExecutor(store_threads(config)) as pool:
        steps = list(pool.map(lambda i: committed(store, run, i), range(latest + 2)))
        rows = list(pool.map(lambda i: _row(store, i, steps), range(latest + 1)))
    closing = [i for i in range(latest + 1) if _of(steps[i], "evaluate")]
    last = closing[-1] if closing else None
    final = {} if last is None else results(merged(_evaluations(steps[last])))
    return RunSummary(run, config, rows, final, last, _verdict(store, steps))


def store_threads(config: ExperimentConfig) -> int:
    """Reads side by side."""
    return config.storage.concurrency


def _row(store: Store, iteration: int, steps: Sequence[Found]) -> IterationRow:
    """The row with what is not among the metrics: solved episodes' turns, groups' statistics."""
    own, following = steps[iteration], steps[iteration + 1]
    row = make_row(iteration, own, following)
    playing = [*(item for item in following if item[1].step not in FINAL), *_of(own, "evaluate")]
    return replace(row, turns_to_solve=turns_to_solve(store, playing), signals=signals(store, own))


def make_row(iteration: int, own: Found, following: Found) -> IterationRow:
    """The row of one iteration; `following` are the steps of the next, which evaluate its team."""
    training = [item for item in own if item[1].step not in FINAL]
    metrics = merged_metrics(manifest.metrics for _, manifest in training)
    seen = results(merged(following, without=FINAL)) | results(merged(_of(own, "evaluate")))
    result = seen.get("validation")
    return IterationRow(
        iteration=iteration,
        success=result.success if result else None,
        low=result.low if result else None,
        high=result.high if result else None,
        turns_mean=result.turns_mean if result else None,
        reward=rewards(metrics),
        step_s=seconds(own),
        metrics=metrics,
        held_out=seen,
    )


def merged(found: Found, without: Sequence[str] = ()) -> dict[str, float]:
    """Metrics of several steps; of a repeated name the last counts."""
    metrics: dict[str, float] = {}
    for _, manifest in found:
        if manifest.step not in without:
            metrics |= manifest.metrics
    return metrics


def results(metrics: Mapping[str, float]) -> dict[str, Result]:
    """Benchmark -> result, from metrics `evaluation/<benchmark>/<name>`."""
    ending = "/success"
    benchmarks = [
        name.removeprefix("evaluation/").removesuffix(ending)
        for name in metrics
        if name.startswith("evaluation/") and name.endswith(ending)
    ]
    return {benchmark: _result(metrics, f"evaluation/{benchmark}") for benchmark in benchmarks}


def rewards(metrics: Mapping[str, float]) -> dict[str, float]:
    """role -> mean reward, from metrics `rollout/<role>/reward/mean`."""
    return series(metrics, "rollout", "reward/mean")


def series(metrics: Mapping[str, float], step: str, name: str) -> dict[str, float]:
    """The middle part of `<step>/<middle>/<name>` -> value."""
    start, end = f"{step}/", f"/{name}"
    return {
        key.removeprefix(start).removesuffix(end): value
        for key, value in metrics.items()
        if key.startswith(start) and key.endswith(end) and len(key) > len(start + end)
    }


def seconds(found: Found) -> dict[str, float]:
    """step -> wall seconds; several tasks of one step (`update-tool`, `update-planner`) add up."""
    total: dict[str, float] = {}
    for _, manifest in found:
        step = manifest.step.split("-")[0]
        if step not in UNTIMED:
            spent = manifest.metrics.get(f"system/{manifest.step}/wall_s", 0.0)
            total[step] = total.get(step, 0.0) + spent
    return total


def _result(metrics: Mapping[str, float], prefix: str) -> Result:
    success = metrics[f"{prefix}/success"]
    return Result(
        success,
        metrics.get(f"{prefix}/success_low", success),
        metrics.get(f"{prefix}/success_high", success),
        metrics.get(f"{prefix}/turns/mean", 0.0),
        int(metrics.get(f"{prefix}/num_tasks", 0)),
    )


def _of(found: Found, step: str) -> Found:
    return [item for item in found if item[1].step == step]


def _evaluations(found: Found) -> Found:
    """An iteration's closing evaluations, at the end the one that its last promotion judged: a
    later one, against another champion, must not stand beside that verdict."""
    asked = _of(found, "promote")
    judged = asked[-1][1].inputs.get("report") if asked else None

    def is_judged(item: tuple[str, StepManifest]) -> bool:
        report = item[1].outputs.get("report")
        return report is not None and report.sha256 == judged

    return sorted(_of(found, "evaluate"), key=is_judged)


def _verdict(store: Store, steps: Sequence[Found]) -> dict[str, Any] | None:
    """The last promotion's verdict."""
    asked = [item for found in steps for item in _of(found, "promote")]
    if not asked:
        return None
    key, item = asked[-1]
    text = or_left_out("the words", of(item), lambda: read_output(store, key, "verdict"))
    return {"reasons": ["its answer cannot be read"]} if text is None else dict(json.loads(text))
