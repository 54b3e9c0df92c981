"""A whole iteration tracked by a real MLflow server: with a run of our own, and with the run that
Kubeflow's MLflow plugin made."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from components.tracking.connection import open_client
from pipelines.runner import Runner
from tests.e2e.tracking_server import serving
from tests.e2e.workplace import Workplace, words_experiment

pytestmark = [
    pytest.mark.full,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:torch"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`mlflow server` on a database of its own; the URI."""
    with serving(tmp_path_factory.mktemp("mlflow")) as uri:
        yield uri


def _train(folder: Path, uri: str, name: str) -> tuple[Any, Any, Any]:
    """One iteration and its promotion; (client, training run, iteration run)."""
    place = Workplace(folder)
    tracking = {"uri": uri, "num_traces": 1}
    place.write(
        words_experiment(
            roles={"first": "a", "second": "b"}, tracking=tracking, promotion={"team": name}
        )
    )
    assert place.call("run", "--name", name, "--runner", "inprocess") == 0
    client = open_client(place.config.tracking)
    ids = place.state(name, 1).mlflow
    return client, client.get_run(ids["training_run_id"]), client.get_run(ids["iteration_run_id"])


def _inject(client: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """As the plugin does: a run for every pipeline and one for its task. pipeline -> its run."""
    experiment = client.create_experiment("kubeflow")
    monkeypatch.setenv("MLFLOW_EXPERIMENT_ID", experiment)
    pipelines: dict[str, str] = {}
    start = Runner.__call__

    def injected(self: Runner, pipeline: str, *arguments: Any) -> None:
        pipelines[pipeline] = client.create_run(experiment, run_name=pipeline).info.run_id
        parent = {"mlflow.parentRunId": pipelines[pipeline]}
        monkeypatch.setenv("MLFLOW_RUN_ID", client.create_run(experiment, tags=parent).info.run_id)
        start(self, pipeline, *arguments)

    monkeypatch.setattr(Runner, "__call__", injected)
    return pipelines


def test_both_ways_record_the_same_metrics(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own").mkdir()
    (tmp_path / "adopted").mkdir()
    client, own_training, own = _train(tmp_path / "own", server, "own")

    pipelines = _inject(client, monkeypatch)
    _, adopted_training, adopted = _train(tmp_path / "adopted", server, "adopted")

    assert adopted.info.run_id == pipelines["iteration"] and adopted.info.status == "RUNNING"
    assert adopted.data.tags["rolewise.training_run"] == adopted_training.info.run_id
    assert own.info.status == "FINISHED"
    assert own.data.tags["mlflow.parentRunId"] == own_training.info.run_id
    names = {name for name in own.data.metrics if not name.endswith("_per_s")}
    assert names == {name for name in adopted.data.metrics if not name.endswith("_per_s")}
    decided = [name for name in names if "/reward/" in name or name.endswith(("loss", "success"))]
    assert len(decided) > 5
    for name in decided:
        assert own.data.metrics[name] == pytest.approx(adopted.data.metrics[name], abs=1e-6)
    assert set(own_training.data.metrics) == set(adopted_training.data.metrics)


def test_a_team_is_registered_with_the_server(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server refuses file:// sources: the tag says where the weights are."""
    monkeypatch.chdir(tmp_path)
    client, training, _ = _train(tmp_path, server, "served")
    (version,) = client.search_model_versions("name = 'served.first'")
    assert version.run_id == training.info.run_id
    assert version.tags["rolewise.uri"].startswith("file://")
