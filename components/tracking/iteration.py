"""What one iteration leaves in MLflow: points of the series, its own nested run, traces.

Called before the training state is written. If MLflow fails, TrackingError rises and the
iteration does not happen: every other step's output is already committed in object storage, so
the same command repeats only this part. Traces alone may fail without stopping training; the
failure then stands in the iteration run's tag `rolewise.traces`.
"""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from components.config import ExperimentConfig
from components.tracking import runs, traces
from components.tracking.connection import (
    open_client,
    tracking_uri,
    translated,
    without_active_run,
)

if TYPE_CHECKING:
    import pyarrow as pa


def log_iteration(
    config: ExperimentConfig,
    run: str,
    iteration: int,
    metrics: Mapping[str, float],
    *,
    samples: "pa.Table | None",
    episodes: "pa.Table | None",
    previous: Mapping[str, str],
) -> dict[str, str]:
    """Log an iteration; again with the same arguments it changes nothing.

    `metrics` by name (`<step>/<role or benchmark>/<name>`), `samples` and `episodes` as the
    records' tables, `previous` the ids of the last iteration's state (empty at first).
    Returns the state's ids: experiment_id, training_run_id, iteration_run_id. TrackingError.
    """
    uri = tracking_uri(config.tracking)
    client = open_client(config.tracking)
    with (
        translated(uri, f"logging iteration {iteration} of run {run!r}"),
        without_active_run() as own,
    ):
        experiment = runs.experiment_id(client, config)
        seconds = _seconds(metrics)
        training = runs.training_run(client, config, run, iteration, previous, experiment, seconds)
        nested = runs.iteration_run(
            client, config, run, iteration, training, experiment, own, seconds
        )
        runs.log_points(client, nested, iteration, metrics)
        runs.log_points(client, training, iteration, metrics)
        ids = {
            "experiment_id": experiment, "training_run_id": training, "iteration_run_id": nested,
        }  # fmt: skip
        if samples is not None and episodes is not None:
            _log_traces(client, config, run, iteration, samples, episodes, ids)
        _close(client, config, iteration, ids, adopted=bool(own))
    return ids


def _log_traces(
    client: Any,
    config: ExperimentConfig,
    run: str,
    iteration: int,
    samples: "pa.Table",
    episodes: "pa.Table",
    ids: Mapping[str, str],
) -> None:
    """Traces are for reading: their failure is recorded, not raised."""
    from mlflow.exceptions import MlflowException

    try:
        count = traces.log_traces(config, run, iteration, samples, episodes, ids)
        outcome = str(count)
    except MlflowException as error:
        outcome = f"failed: {' '.join(str(error).split())[:500]}"
        print(f"warning: traces of iteration {iteration} (run {run}): {outcome}", flush=True)
    runs.set_tags(client, ids["iteration_run_id"], {"rolewise.traces": outcome})


def _close(
    client: Any, config: ExperimentConfig, iteration: int, ids: Mapping[str, str], adopted: bool
) -> None:
    """End the iteration's run, unless the plugin will; the training run ends with its last."""
    if not adopted:
        client.set_terminated(ids["iteration_run_id"])
    progress = {"rolewise.iteration": str(iteration), "rolewise.iterations": str(config.iterations)}
    runs.set_tags(client, ids["training_run_id"], progress)
    if iteration >= config.iterations:
        client.set_terminated(ids["training_run_id"])
    elif client.get_run(ids["training_run_id"]).info.status != "RUNNING":
        client.update_run(ids["training_run_id"], status="RUNNING")


def _seconds(metrics: Mapping[str, float]) -> float:
    """What the steps took, in seconds: the sum of `system/<step>/wall_s`."""
    return sum(v for k, v in metrics.items() if re.fullmatch(r"system/.+/wall_s", k))
