"""Drives a training run: one pipeline per iteration, from what is committed, until all are done.

The driver only reads the store, but for the run's name; every state is written by a pipeline.
So it can be stopped anywhere and started again with the same command.
"""

import json
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from components.config import ExperimentConfig
from components.errors import ConfigError
from components.manifests import committed, merged_metrics, read_manifest, read_output
from components.mixture import RESERVED
from components.state import last_committed, latest_iteration, register_run
from components.storage import Store, open_store
from pipelines.display import Display, duration
from pipelines.presence import announced
from pipelines.runner import Kind, Runner, RunStopped, StepFailed
from pipelines.warm.choice import with_servers

Call = tuple[str, int, Mapping[str, Any]]
"""Pipeline, iteration, arguments."""
CLOSING = ("evaluate", "promote")
"""Steps about the team that an iteration made; the rollout's evaluation is of the one before."""
Start = Callable[[str, int, Mapping[str, Any]], None]
"""Runs one pipeline to its end; StepFailed if a step fails."""


@dataclass(frozen=True)
class Options:
    """How to run."""

    name: str | None = None
    runner: Kind = "local"
    retries: int = 0
    """Of a whole pipeline run."""
    announced: bool = False
    """Whether `status` and `stop` of this machine find this process, and others keep off."""
    keep_artifacts: bool = False
    """Whether the files that steps hand to each other outlive their pipeline's success."""

    def presence(
        self, run: str, config: ExperimentConfig, passing: bool = False
    ) -> AbstractContextManager[None]:
        """What surrounds the driving of a run; `passing`: of a part that makes no iteration."""
        if not self.announced:
            return nullcontext()
        return announced(run, config.storage.uri, config.iterations, passing)


def run_name(config: ExperimentConfig, name: str | None) -> str:
    """The given name, or the experiment's with 8 hex digits of the configuration's digest."""
    return name or f"{config.name}-{config.digest()[:8]}"


def train(
    config: ExperimentConfig, options: Options, display: Display, start: Start | None = None
) -> str:
    """Run what is missing of `config.iterations` iterations and the closing promotion.

    `start` runs one pipeline, by default as `options.runner` says. Returns the run's name.
    StepFailed after the last retry; what is committed stays.
    """
    run = run_name(config, options.name)
    store = open_store(config.storage)
    register_run(store, run, config)
    start = start or Runner(config, run, options.runner, display, options.keep_artifacts)
    with options.presence(run, config), with_servers(config, run, start, display) as warm:
        _run_missing(config, options, warm, display, store, run)
    return run


def _run_missing(
    config: ExperimentConfig, options: Options, start: Start, display: Display, store: Store,
    run: str,
) -> None:  # fmt: skip
    steps = missing(config, store, run)
    if not steps:
        display.say(f"{run}: all {config.iterations} iterations are done, nothing was run")
    for number, (pipeline, iteration) in enumerate(steps):
        label = f"iteration {iteration}/{config.iterations}" if iteration else pipeline
        display.begin(label, len(steps) - number if pipeline == "iteration" else 0)
        arguments = call_arguments(pipeline, iteration, config.iterations)
        _with_retries(start, (pipeline, iteration, arguments), options.retries, display)
        seconds = display.end()
        if pipeline == "iteration":
            display.say(summary(label, metrics_of(store, run, iteration, CLOSING), seconds))


def promote(
    config: ExperimentConfig, options: Options, iteration: int | None, display: Display
) -> dict[str, Any]:
    """Run the promotion pipeline for an iteration's team (None: the latest); return the verdict."""
    chosen = run_closing("promotion", config, options, iteration, display)
    run = run_name(config, options.name)
    return verdict(open_store(config.storage), run, chosen) or {}


def run_closing(
    pipeline: str, config: ExperimentConfig, options: Options, iteration: int | None,
    display: Display,
) -> int:  # fmt: skip
    """Run `promotion` or `evaluation` for an iteration's team (None: the latest); returns which.

    ConfigError or TrackingError before anything is played: of a configuration that is not the
    run's, of a champion that is mixed, not settled, or has other roles.
    """
    from components.promotion import audit
    from components.promotion.main import check_settled
    from components.tracking.succession import check_succession

    run, store = run_name(config, options.name), open_store(config.storage)
    chosen = _existing(store, run, iteration)
    register_run(store, run, config)
    entries = audit.history(store, config.team_name)  # first: then the aliases are no older
    check_settled(config, entries, check_succession(config), f"{run}/{chosen}/")
    start = Runner(config, run, options.runner, display, options.keep_artifacts)
    call: Call = (pipeline, chosen, {"iteration": chosen})
    with options.presence(run, config, passing=True):
        display.begin(f"{pipeline} of iteration {chosen}", 0)
        _with_retries(start, call, options.retries, display)
        display.end()
    return chosen


def _existing(store: Store, run: str, iteration: int | None) -> int:
    """The iteration that was asked for, or the latest. ConfigError if it has no state."""
    latest = last_committed(store, run)
    if iteration is not None and not 0 <= iteration <= latest:
        raise ConfigError(
            f"--iteration {iteration}: run {run!r} has no state of it in {store.uri}; "
            f"expected 0 to {latest}, or train on with `python -m pipelines run`"
        )
    return latest if iteration is None else iteration


def verdict(store: Store, run: str, iteration: int) -> dict[str, Any] | None:
    """What the gate said about an iteration's team; None if it was not asked."""
    found = committed(store, run, iteration, "promote")
    return dict(json.loads(read_output(store, found[-1][0], "verdict"))) if found else None


def metrics_of(
    store: Store, run: str, iteration: int, without: Collection[str] = ()
) -> dict[str, float]:
    """Metrics of all committed steps of an iteration, but for those steps."""
    manifests = read_manifest(store, run, iteration).items()
    return merged_metrics(manifest.metrics for step, manifest in manifests if step not in without)


def summary(label: str, metrics: Mapping[str, float], seconds: float) -> str:
    """One line: validation success of the team that played, and what its training play earned."""
    parts = [duration(seconds)]
    rewards = [
        f"{name.split('/')[1]} {value:.3f}"
        for name, value in metrics.items()
        if name.startswith("rollout/") and name.endswith("/reward/mean")
    ]
    if rewards:
        parts.insert(0, f"reward {', '.join(rewards)}")
    if "rollout/train/turns/mean" in metrics:
        parts.insert(0, f"{metrics['rollout/train/turns/mean']:.2f} turns")
    success = metrics.get("evaluation/validation/success")
    if success is not None:
        low = metrics.get("evaluation/validation/success_low", success)
        high = metrics.get("evaluation/validation/success_high", success)
        span = "; ".join([f"{low:.1%} to {high:.1%}", *_each(metrics)])
        parts.insert(0, f"success before it {success:.1%} ({span})")
    return f"{label}: {' | '.join(parts)}"


def _each(metrics: Mapping[str, float]) -> list[str]:
    """Success in every environment, where there are several."""
    prefix, found = "evaluation/validation/", []
    for name, value in metrics.items():
        env, _, rest = name.removeprefix(prefix).partition("/")
        if name.startswith(prefix) and rest == "success" and env not in RESERVED:
            found.append(f"{env} {value:.1%}")
    return found


def missing(config: ExperimentConfig, store: Store, run: str) -> list[tuple[str, int]]:
    """(pipeline, iteration) of all that is still to run."""
    latest = latest_iteration(store, run)
    steps = [("preparation", 0)] if latest is None else []
    steps += [("iteration", i) for i in range((latest or 0) + 1, config.iterations + 1)]
    closed = latest == config.iterations
    if closed and verdict(store, run, config.iterations) is None:
        steps.append(("promotion", config.iterations))
    return steps


def call_arguments(pipeline: str, iteration: int, last: int) -> dict[str, Any]:
    """The run parameters of a pipeline, besides the run's name."""
    if pipeline == "preparation":
        return {}
    if pipeline == "promotion":
        return {"iteration": iteration}
    return {"iteration": iteration, "promote": iteration == last}


def _with_retries(start: Start, call: Call, retries: int, display: Display) -> None:
    """Run a pipeline; a failure is repeated, the last one rises, and so does a stop."""
    for attempt in range(retries + 1):
        try:
            start(*call)
            return
        except StepFailed as error:
            if attempt == retries or isinstance(error, RunStopped):
                raise
            display.say(f"{error}\nretry {attempt + 1} of {retries}")
