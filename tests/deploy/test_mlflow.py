"""The command and settings of MLflow's deployment start a real server that knows its own name."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml

from tests.deploy.rendered import FOLDER

pytestmark = pytest.mark.full
_START_S = 120.0


def _container() -> Any:
    (_, deployment) = yaml.safe_load_all((FOLDER / "mlflow" / "deployment.yaml").read_text())
    return deployment["spec"]["template"]["spec"]["containers"][0]


def _settings(folder: Path) -> dict[str, str]:
    """settings.env with the places of this machine."""
    lines = (FOLDER / "mlflow" / "settings.env").read_text().splitlines()
    found = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    assert found["MLFLOW_BACKEND_STORE_URI"] == "sqlite:////data/mlflow.db"
    found["MLFLOW_BACKEND_STORE_URI"] = f"sqlite:///{folder}/mlflow.db"
    found["MLFLOW_ARTIFACTS_DESTINATION"] = str(folder / "artifacts")
    return found


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("mlflow")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    container = _container()
    program, *rest = [*container["command"], *container["args"]]
    assert program == "python" and "--host=0.0.0.0" in rest and "--port=5000" in rest
    places = {"--host=0.0.0.0": "--host=127.0.0.1", "--port=5000": f"--port={port}"}
    command = [sys.executable, *(places.get(word, word) for word in rest)]
    environment = {**os.environ, **_settings(folder), "HOME": str(folder)}
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(
            command, stdout=log, stderr=log, cwd=folder, env=environment, start_new_session=True
        ) as child,
    ):
        try:
            _wait(f"http://127.0.0.1:{port}", child, folder / "log")
            yield f"http://127.0.0.1:{port}"
        finally:
            os.killpg(child.pid, signal.SIGTERM)
            child.wait(30)


def _wait(uri: str, child: "subprocess.Popen[bytes]", log: Path) -> None:
    path = _container()["readinessProbe"]["httpGet"]["path"]
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and child.poll() is None:
        try:  # as the kubelet asks, by the pod's address
            if requests.get(uri + path, headers={"Host": "10.1.2.3:5000"}, timeout=5).ok:
                return
        except requests.ConnectionError:
            time.sleep(0.5)
    raise AssertionError(f"no MLflow server: {log.read_text()[-2000:]}")


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("mlflow:5000", 200),
        ("mlflow.rolewise:5000", 200),
        ("mlflow.kubeflow.svc.cluster.local:5000", 200),
        ("localhost:5000", 200),
        ("elsewhere.example", 403),
        ("10.1.2.3:5000", 403),
    ],
)
def test_it_answers_to_its_own_names(server: str, host: str, status: int) -> None:
    path = "/api/2.0/mlflow/experiments/search?max_results=1"
    answer = requests.get(server + path, headers={"Host": host}, timeout=30)
    assert answer.status_code == status, answer.text


def test_artifacts_go_through_the_server(server: str) -> None:
    path = "/api/2.0/mlflow-artifacts/artifacts/0/note.txt"
    assert requests.put(server + path, data=b"kept", timeout=30).ok
    assert requests.get(server + path, timeout=30).content == b"kept"
