"""Commits an iteration: merge the updates, log to the tracking server, write the state last.

Killed anywhere before the state is written, the step leaves the last committed iteration as it
was, and a repetition gives the same state.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from components import records
from components.commit.merge import next_state
from components.config import ExperimentConfig, parse_config
from components.errors import PolicyError, RecordError
from components.policies import PolicyRef
from components.records import Episode, Sample
from components.state import (
    TrainingState,
    load_state,
    register_run,
    save_state,
    write_state,
)
from components.step import (
    StepContext,
    announcing_errors,
    merged_metrics,
    read_manifest,
    read_output,
    run_step,
)
from components.storage import open_store


def commit(
    config: str,
    run: str,
    iteration: int,
    inputs: Mapping[str, str],
    outputs: Mapping[str, str],
    *,
    updates: Sequence[str],
) -> dict[str, float]:
    """Write the training state of `iteration`.

    inputs: state (of the iteration before), samples, certificate, episodes, evaluation. outputs:
    new_state. `updates`: store keys of the committed update steps; together they must have
    updated every trainable policy once. Returns the step's metrics.
    """

    def compute(step: StepContext) -> Mapping[str, float]:
        results = [json.loads(read_output(step.store, key, "result")) for key in updates]
        state = next_state(load_state(inputs["state"]), step.config, iteration, results)
        ids = _log(step, inputs, state)
        save_state(outputs["new_state"], replace(state, mlflow=ids))
        return {"commit/next_task": state.next_task}

    keys = {"updates": sorted(updates)}
    metrics = run_step("commit", config, run, iteration, inputs, outputs, compute, extra=keys)
    _publish("commit", config, run, iteration, outputs["new_state"])
    return metrics


def commit_initial(
    config: str, run: str, iteration: int, inputs: Mapping[str, str], outputs: Mapping[str, str]
) -> dict[str, float]:
    """Write the training state of iteration 0 and bind the run's name to its configuration.

    inputs: policies (JSON `{"policies": {name: PolicyRef}}`). outputs: state. ConfigError if the
    name belongs to another configuration, TrackingError if the team's champion has other roles.
    What the preparation measured goes to MLflow, step 0.
    """
    from components import tracking

    def compute(step: StepContext) -> Mapping[str, float]:
        with step.meter.measure("tracking"):
            tracking.check_succession(step.config)  # the evaluation would say so, weeks later
        register_run(step.store, run, step.config)
        policies = _initial_policies(inputs["policies"], step.config)
        digest = step.config.digest()
        state = TrainingState(run, 0, digest, policies, {}, policies, next_task=0)
        save_state(outputs["state"], replace(state, mlflow=_log_preparation(step)))
        return {"commit/num_policies": len(policies)}

    metrics = run_step("commit_initial", config, run, iteration, inputs, outputs, compute)
    _publish("commit_initial", config, run, iteration, outputs["state"])
    return metrics


def _log(step: StepContext, inputs: Mapping[str, str], state: TrainingState) -> dict[str, str]:
    """Log the iteration's metrics, samples and episodes; the ids of the tracking server's runs."""
    from components import tracking

    metrics = _metrics(step)
    samples = records.read(inputs["samples"], Sample)
    episodes = records.read(inputs["episodes"], Episode)
    with step.meter.measure("tracking"):
        return tracking.log_iteration(
            step.config, step.run, step.iteration, metrics,
            samples=samples, episodes=episodes, previous=state.mlflow,
        )  # fmt: skip


def _log_preparation(step: StepContext) -> dict[str, str]:
    """Log the metrics of the steps before the first iteration: models made, warm start."""
    from components import tracking

    with step.meter.measure("tracking"):
        return tracking.log_iteration(
            step.config, step.run, step.iteration, _metrics(step),
            samples=None, episodes=None, previous={},
        )  # fmt: skip


def _metrics(step: StepContext) -> dict[str, float]:
    """Of all committed steps of the iteration."""
    manifests = read_manifest(step.store, step.run, step.iteration).values()
    return merged_metrics(manifest.metrics for manifest in manifests)


def _publish(name: str, config: str, run: str, iteration: int, path: str) -> None:
    """Write the state to the store: after this, and only then, the iteration has happened."""
    with announcing_errors(name, run, iteration):
        write_state(open_store(parse_config(config).storage), load_state(path))


def _initial_policies(path: str, config: ExperimentConfig) -> dict[str, PolicyRef]:
    """The configuration's policies, all of them and no others."""
    try:
        content: Any = json.loads(Path(path).read_text())["policies"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RecordError(f'{path}: expected JSON {{"policies": ...}}: {error}') from error
    policies = {name: PolicyRef.from_json(value) for name, value in content.items()}
    if set(policies) != set(config.policies):
        raise PolicyError(
            f"policies to begin with are {sorted(policies)}, expected {sorted(config.policies)}"
        )
    return policies
