"""An update on several nodes: what preflight says of the cluster's Kubeflow Trainer."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from components.preflight import trainer
from components.preflight.trainer import check_trainer
from tests.doubles.kubernetes_api import Call, Kind, KubernetesApi, serving
from tests.doubles.kubernetes_rules import Refused
from tests.doubles.silence import hurry, silent_cluster, soon
from tests.doubles.trainer_controller import GROUP, ROOT, VERSION

NAME = "rolewise-deepspeed"


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[KubernetesApi]:
    with serving() as made:
        monkeypatch.setenv("KUBECONFIG", str(made.kubeconfig(tmp_path / "config")))
        yield made


def line(kind: str = "TrainingRuntime") -> str:
    (finding,) = check_trainer(2, NAME, kind)
    return f"{finding.level.value} {finding.message}; {finding.fix}"


def test_one_node_asks_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    assert list(check_trainer(1, NAME, "TrainingRuntime")) == []
    assert "warn update.num_nodes is 2, not checked; no Kubernetes API" in line()


def test_a_cluster_without_trainer_is_a_warning(api: KubernetesApi) -> None:
    api.refuse = lambda call: Refused(404, "NotFound", "the server could not find the resource")
    assert "no TrainJobs on this cluster" in line() and "install Kubeflow Trainer" in line()

    def forbidden(call: Call) -> Refused | None:
        return Refused(403, "Forbidden", "no list for you")

    api.refuse = forbidden
    assert "cannot be listed: 403: no list for you" in line()


def test_a_silent_cluster_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch, trainer)
    with silent_cluster() as connection, soon():
        monkeypatch.setattr(trainer, "connect", lambda: connection)
        assert line().startswith("warn ")


def test_the_runtime_must_be_there(api: KubernetesApi) -> None:
    assert "kubectl apply -n default -k images/deepspeed/runtime" in line()
    path = ROOT / "images" / "deepspeed" / "runtime" / "runtime.yaml"
    api.create(
        Kind(GROUP, VERSION, "default", "trainingruntimes"), yaml.safe_load(path.read_text())
    )
    assert line().startswith("ok TrainJobs and TrainingRuntime rolewise-deepspeed are in")
    assert line("ClusterTrainingRuntime").startswith("warn ClusterTrainingRuntime")
