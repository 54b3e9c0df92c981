"""Runs and series in a real SQLite MLflow."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from components.config import ExperimentConfig
from components.errors import TrackingError
from components.tracking import log_iteration, runs
from components.tracking.connection import open_client, tracking_uri
from components.tracking.description import streams
from tests.components.tracking.stores import Tracked, points

METRICS = {"rollout/A/reward/mean": 0.5, "system/rollout/wall_s": 3.0}


def log(
    config: ExperimentConfig,
    iteration: int,
    previous: Mapping[str, str] | None = None,
    metrics: Mapping[str, float] = METRICS,
) -> dict[str, str]:
    return log_iteration(
        config, "r", iteration, metrics, samples=None, episodes=None, previous=previous or {}
    )


def all_runs(client: Any, experiment: str) -> list[Any]:
    return list(client.search_runs([experiment]))


def test_series_over_iterations_in_one_training_run(tracked: Tracked) -> None:
    config = tracked()
    ids: dict[str, str] = {}
    for iteration in (1, 2, 3):
        ids = log(config, iteration, ids, METRICS | {"rollout/A/reward/mean": 0.1 * iteration})
    client = open_client(config.tracking)
    found = points(client, ids["training_run_id"], "rollout/A/reward/mean")
    assert found == [(1, pytest.approx(0.1)), (2, pytest.approx(0.2)), (3, pytest.approx(0.3))]
    assert len(all_runs(client, ids["experiment_id"])) == 4


def test_iteration_runs_are_nested(tracked: Tracked) -> None:
    config = tracked()
    ids = log(config, 1)
    client = open_client(config.tracking)
    nested = client.get_run(ids["iteration_run_id"])
    assert nested.data.tags["mlflow.parentRunId"] == ids["training_run_id"]
    assert nested.data.tags["rolewise.iteration"] == "1"
    assert nested.info.status == "FINISHED"
    assert nested.info.end_time - nested.info.start_time >= 3000
    assert nested.data.metrics == METRICS


def test_training_run_says_what_it_is(tracked: Tracked) -> None:
    config = tracked()
    ids = log(config, 1)
    client = open_client(config.tracking)
    run = client.get_run(ids["training_run_id"])
    assert run.info.run_name == "r"
    assert run.data.tags["rolewise.config_digest"] == config.digest()
    assert len(run.data.tags["rolewise.git_commit"]) == 40
    assert "python -m pipelines run" in run.data.tags["mlflow.note.content"]
    assert run.data.params["rollout.num_candidates"] == "4"
    assert "iterations" not in run.data.params
    assert [item.path for item in client.list_artifacts(run.info.run_id)] == ["config.yaml"]
    inputs = {item.dataset.name: item.tags[0].value for item in run.inputs.dataset_inputs}
    assert set(inputs.values()) == {"training", "validation", "test"}


def test_held_out_tasks_are_the_same_dataset_for_every_seed(tracked: Tracked) -> None:
    config = tracked()
    other = config.model_copy(update={"seed": config.seed + 1})
    same = [a.digest == b.digest for a, b in zip(streams(config), streams(other), strict=True)]
    assert [stream.context for stream in streams(config)] == ["training", "validation", "test"]
    assert same == [False, True, True]


def test_same_iteration_again_adds_nothing(tracked: Tracked) -> None:
    config = tracked()
    first = log(config, 1)
    again = log(config, 1)
    client = open_client(config.tracking)
    assert again == first
    for run_id in (first["training_run_id"], first["iteration_run_id"]):
        assert points(client, run_id, "rollout/A/reward/mean") == [(1, 0.5)]


def test_a_crash_after_some_batches_is_made_good(tracked: Tracked) -> None:
    config = tracked()
    many = {f"rollout/A/n{number:04d}": float(number) for number in range(1500)}
    client = open_client(config.tracking)
    experiment = runs.experiment_id(client, config)
    half = runs.training_run(client, config, "r", 1, {}, experiment, 0.0)
    runs.log_points(client, half, 1, dict(list(many.items())[:1000]))
    ids = log(config, 1, metrics=many)
    assert ids["training_run_id"] == half
    assert client.get_run(half).data.metrics == many
    assert points(client, half, "rollout/A/n0000") == [(1, 0.0)]
    assert points(client, half, "rollout/A/n1499") == [(1, 1499.0)]


def test_a_half_written_iteration_is_completed_without_duplicates(tracked: Tracked) -> None:
    config = tracked()
    ids = log(config, 1, metrics={"a/b": 1.0})
    log(config, 1, metrics={"a/b": 1.0, "a/c": 2.0})
    client = open_client(config.tracking)
    assert points(client, ids["training_run_id"], "a/b") == [(1, 1.0)]
    assert points(client, ids["training_run_id"], "a/c") == [(1, 2.0)]


def test_same_name_in_a_new_store_begins_a_new_run(tracked: Tracked) -> None:
    config = tracked()
    first = log(config, 2, log(config, 1))
    second = log(config, 1)
    assert second["training_run_id"] != first["training_run_id"]
    assert log(config, 2, second)["training_run_id"] == second["training_run_id"]


def test_last_iteration_ends_the_training_run_and_more_reopen_it(tracked: Tracked) -> None:
    short, longer = tracked(iterations=1), tracked(iterations=2)
    ids = log(short, 1)
    client = open_client(short.tracking)
    assert client.get_run(ids["training_run_id"]).info.status == "FINISHED"
    log(longer.model_copy(update={"iterations": 3}), 2, ids)
    assert client.get_run(ids["training_run_id"]).info.status == "RUNNING"


def test_plugin_run_is_adopted(
    tracked: Tracked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tracked()
    client = open_client(config.tracking)
    experiment = client.create_experiment("kubeflow", artifact_location=str(tmp_path / "artifacts"))
    pipeline = client.create_run(experiment, run_name="pipeline").info.run_id
    task = client.create_run(experiment, tags={"mlflow.parentRunId": pipeline}).info.run_id
    monkeypatch.setenv("MLFLOW_EXPERIMENT_ID", experiment)
    monkeypatch.setenv("MLFLOW_RUN_ID", task)
    ids = log(config, 1)
    adopted = client.get_run(pipeline)
    assert ids["iteration_run_id"] == pipeline
    assert ids["experiment_id"] == experiment
    assert adopted.data.tags["rolewise.training_run"] == ids["training_run_id"]
    assert adopted.info.status == "RUNNING"  # the plugin ends its own runs
    assert adopted.info.run_name == "pipeline"
    assert "mlflow.parentRunId" not in client.get_run(ids["training_run_id"]).data.tags
    assert os.environ["MLFLOW_RUN_ID"] == task


def test_names_that_mlflow_rejects_are_rewritten(tracked: Tracked) -> None:
    config = tracked()
    ids = log(config, 1, metrics={"rollout/a(b)@c/x": 1.0})
    client = open_client(config.tracking)
    assert points(client, ids["training_run_id"], "rollout/a_b__c/x") == [(1, 1.0)]


def test_unreachable_server_is_one_line_with_a_fix(
    tracked: Tracked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    config = tracked(tracking={"uri": "http://user:secret@127.0.0.1:9"})
    with pytest.raises(TrackingError, match="127.0.0.1:9.*start the server") as caught:
        log(config, 1)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_uri_of_the_configuration_then_the_environment_then_sqlite(
    tracked: Tracked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plain = tracked(tracking={}).tracking
    assert tracking_uri(plain) == "sqlite:///build/mlflow.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/new/folder/x.db")
    assert tracking_uri(plain).endswith("new/folder/x.db")
    assert tracking_uri(tracked().tracking) == f"sqlite:///{tmp_path}/mlflow.db"


def test_the_preparation_is_step_0_of_the_same_series(tracked: Tracked) -> None:
    config = tracked()
    start = log(config, 0, metrics={"warm_start/A/loss": 0.7, "system/warm_start/wall_s": 9.0})
    ids = log(config, 1, start)
    client = open_client(config.tracking)
    assert ids["training_run_id"] == start["training_run_id"]
    assert ids["iteration_run_id"] != start["iteration_run_id"]
    training = ids["training_run_id"]
    assert points(client, training, "warm_start/A/loss") == [(0, 0.7)]
    assert points(client, training, "rollout/A/reward/mean") == [(1, 0.5)]
    assert client.get_run(training).data.params["rollout.num_candidates"] == "4"
    assert client.get_run(start["iteration_run_id"]).data.tags["rolewise.iteration"] == "0"


def test_another_configuration_under_the_same_name_begins_a_new_run(tracked: Tracked) -> None:
    first = log(tracked(), 0)
    other = log(tracked(rollout={"num_candidates": 8, "num_tasks": 2}), 0)
    assert other["training_run_id"] != first["training_run_id"]
    again = log(tracked(), 0)
    assert again["training_run_id"] == first["training_run_id"]
