"""MLflow runs: found again by tag, so that resuming continues a series instead of starting one.

One training run per experiment run holds the series (step = iteration). One run per iteration is
nested under it; if Kubeflow's MLflow plugin opened a run for the pipeline, that one is adopted.
"""

import math
import time
from collections.abc import Mapping
from typing import Any

from components.config import ExperimentConfig
from components.tracking import description
from components.tracking.connection import artifact_location, tracking_uri

MAX_BATCH = 1000
"""Metrics per call that MLflow accepts."""
BEGUN = "rolewise.iteration_begun"
"""Tag: the last iteration whose points may be in the run; set before they are written."""


def experiment_id(client: Any, config: ExperimentConfig) -> str:
    """The experiment, made at first use. Under Kubeflow's plugin: the plugin's, unless named."""
    import os

    injected = os.environ.get("MLFLOW_EXPERIMENT_ID")
    if injected and config.tracking.experiment is None:
        return injected
    name = config.tracking.experiment or config.name
    found = client.get_experiment_by_name(name)
    if found is not None:
        return str(found.experiment_id)
    where = artifact_location(tracking_uri(config.tracking), name)
    note = (
        f"Teams of `{config.env_names}` trained with Rolewise: one run per training, "
        "its iterations nested below."
    )
    tags = {"mlflow.note.content": note, "mlflow.experimentKind": "custom_model_development"}
    return str(client.create_experiment(name, artifact_location=where, tags=tags))


def existing_run(client: Any, run_id: str | None) -> Any | None:
    """The run of this id; None if there is none here, as after a change of `tracking.uri`."""
    from mlflow.exceptions import MlflowException

    try:
        return client.get_run(run_id) if run_id else None
    except MlflowException as error:
        if error.error_code != "RESOURCE_DOES_NOT_EXIST":
            raise
        return None


def training_run(
    client: Any,
    config: ExperimentConfig,
    run: str,
    iteration: int,
    previous: Mapping[str, str],
    experiment: str,
    seconds: float,
) -> str:
    """The id of the run that holds the series; made with its description if there is none.

    A made run begins `seconds` ago: what its first iteration took.

    Without `previous` ids, a run of another configuration, or with points of later iterations,
    belongs to another history of the same name (its store was deleted): it is left alone.
    """
    tags = {"rolewise.run": run, "rolewise.kind": "training"}
    known = previous.get("training_run_id")
    for found in _find(client, experiment, tags):
        begun = int(found.data.tags.get(BEGUN, -1))
        digest = found.data.tags.get("rolewise.config_digest", config.digest())
        same = begun <= iteration and digest == config.digest()
        if found.info.run_id == known or (not known and same):
            if "rolewise.config_digest" not in found.data.tags:
                _describe(client, config, run, found.info.run_id)
            return str(found.info.run_id)
    begin = int((time.time() - seconds) * 1000)
    made = client.create_run(experiment, start_time=begin, tags=tags, run_name=run)
    _describe(client, config, run, made.info.run_id)
    return str(made.info.run_id)


def iteration_run(
    client: Any,
    config: ExperimentConfig,
    run: str,
    iteration: int,
    training: str,
    experiment: str,
    injected: str | None,
    seconds: float,
) -> str:
    """The id of the iteration's run: adopted (`injected` is the task's run id), found, or made.

    A made run begins `seconds` ago: what the iteration's steps took.
    """
    tags = description.run_tags(config, run) | {
        "rolewise.kind": "iteration",
        "rolewise.iteration": str(iteration),
        "rolewise.training_run": training,
    }
    if injected:
        return _adopt(client, injected, training, tags)
    match = {name: tags[name] for name in ("rolewise.training_run", "rolewise.iteration")}
    for found in _find(client, experiment, match):
        return str(found.info.run_id)
    begin = int((time.time() - seconds) * 1000)
    name = f"{run} iteration {iteration:03d}"
    tags["mlflow.parentRunId"] = training
    made = client.create_run(experiment, start_time=begin, tags=tags, run_name=name)
    _log_streams(client, config, made.info.run_id)
    return str(made.info.run_id)


def log_points(client: Any, run_id: str, iteration: int, metrics: Mapping[str, float]) -> None:
    """Points at step `iteration`, in batches; on a repetition only those that are missing.

    The tag BEGUN is written first, so that a repetition after a crash knows to look.
    """
    from mlflow.entities import Metric, RunTag

    tags = client.get_run(run_id).data.tags
    values = {description.legal(name): float(value) for name, value in metrics.items()}
    values = {name: value for name, value in values.items() if math.isfinite(value)}
    if int(tags.get(BEGUN, -1)) >= iteration:
        values = {k: v for k, v in values.items() if not _has_step(client, run_id, k, iteration)}
    else:
        client.log_batch(run_id, tags=[RunTag(BEGUN, str(iteration))])
    now = int(time.time() * 1000)
    points = [Metric(name, value, now, iteration) for name, value in values.items()]
    for start in range(0, len(points), MAX_BATCH):
        client.log_batch(run_id, metrics=points[start : start + MAX_BATCH])


def set_tags(client: Any, run_id: str, tags: Mapping[str, str]) -> None:
    """All tags in one call (100 at most)."""
    from mlflow.entities import RunTag

    client.log_batch(run_id, tags=[RunTag(name, value) for name, value in tags.items()])


def _describe(client: Any, config: ExperimentConfig, run: str, run_id: str) -> None:
    """Parameters, artifacts, datasets, then the tags, whose presence says that all is there."""
    from mlflow.entities import Param

    values = [Param(name, value) for name, value in description.params(config).items()]
    for start in range(0, len(values), 100):
        client.log_batch(run_id, params=values[start : start + 100])
    client.log_text(run_id, description.config_yaml(config), "config.yaml")
    _log_streams(client, config, run_id)
    source = {"mlflow.source.name": "python -m pipelines run", "mlflow.source.type": "PROJECT"}
    note = {"mlflow.note.content": description.training_note(config, run)}
    set_tags(client, run_id, source | note | description.run_tags(config, run))


def _log_streams(client: Any, config: ExperimentConfig, run_id: str) -> None:
    from mlflow.entities import Dataset, DatasetInput, InputTag

    inputs = [
        DatasetInput(
            Dataset(item.name, item.digest, "rolewise", item.source),
            [InputTag("mlflow.data.context", item.context)],
        )
        for item in description.streams(config)
    ]
    client.log_inputs(run_id, datasets=inputs)


def _adopt(client: Any, injected: str, training: str, tags: Mapping[str, str]) -> str:
    """Tag the pipeline's run (the parent of the task's run) as the iteration's run."""
    task = client.get_run(injected)
    parent = task.data.tags.get("mlflow.parentRunId")
    adopted = client.get_run(parent) if parent else task
    own = {name: value for name, value in tags.items() if not name.startswith("mlflow.")}
    if "mlflow.parentRunId" not in adopted.data.tags:
        own["mlflow.parentRunId"] = training
    set_tags(client, adopted.info.run_id, own | {"rolewise.adopted": "true"})
    return str(adopted.info.run_id)


def _find(client: Any, experiment: str, tags: Mapping[str, str]) -> list[Any]:
    """Runs with all these tags, newest first."""
    terms = " and ".join(f"tags.`{name}` = '{value}'" for name, value in tags.items())
    return list(client.search_runs([experiment], terms, order_by=["attributes.start_time DESC"]))


def _has_step(client: Any, run_id: str, name: str, step: int) -> bool:
    return any(point.step == step for point in client.get_metric_history(run_id, name))
