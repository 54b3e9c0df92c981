"""A whole iteration tracked by a real MLflow server: with a run of our own, and with the run that
Kubeflow's MLflow plugin made."""

import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from components.tracking.connection import open_client
from tests.e2e.workplace import Workplace, words_experiment

pytestmark = [
    pytest.mark.full,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:torch"),
]
_START_S = 120.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`mlflow server` on a database of its own; the URI."""
    folder = tmp_path_factory.mktemp("mlflow")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port),
        "--backend-store-uri", f"sqlite:///{folder}/mlflow.db", "--workers", "1",
        "--artifacts-destination", str(folder / "artifacts"),
    ]  # fmt: skip
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True) as child,
    ):
        try:
            uri = f"http://127.0.0.1:{port}"
            _wait(uri, child, folder / "log")
            yield uri
        finally:
            child.terminate()
            child.wait(30)


def _wait(uri: str, child: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and child.poll() is None:
        try:
            with urllib.request.urlopen(f"{uri}/health", timeout=5) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.5)
    raise AssertionError(f"no MLflow server: {log.read_text()[-2000:]}")


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


def test_both_ways_record_the_same_metrics(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own").mkdir()
    (tmp_path / "adopted").mkdir()
    client, own_training, own = _train(tmp_path / "own", server, "own")

    experiment = client.create_experiment("kubeflow")
    pipeline = client.create_run(experiment, run_name="pipeline").info.run_id
    task = client.create_run(experiment, tags={"mlflow.parentRunId": pipeline}).info.run_id
    monkeypatch.setenv("MLFLOW_EXPERIMENT_ID", experiment)
    monkeypatch.setenv("MLFLOW_RUN_ID", task)
    _, adopted_training, adopted = _train(tmp_path / "adopted", server, "adopted")

    assert adopted.info.run_id == pipeline and adopted.info.status == "RUNNING"
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
