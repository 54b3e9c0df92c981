"""The pipeline `training`: the driver as a step, stopped, and started again."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipelines.access import Access
from pipelines.api import Api
from pipelines.compiling import compile
from pipelines.training import train
from tests.doubles.kfp_api import Execute, KfpApi, Posted, locally, serving
from tests.pipelines.experiment import make_config
from tests.pipelines.on_cluster import Commits
from tests.pipelines.test_cluster import wait_for

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


@dataclass
class Stage:
    """A stand-in that really executes the driver, whose runs commit at once."""

    api: KfpApi
    client: Api
    package: Path
    commits: Commits

    def start(self, **parameters: Any) -> Posted:
        values = {"run": "r", "endpoint": self.api.url, "retries": 0} | parameters
        experiment = self.client.experiment("ui")
        self.client.create(experiment, "a name from the UI", self.package, values, "")
        return self.api.runs[-1]

    def of(self, iteration: int) -> list[Posted]:
        return self.api.named(f"r-iteration-{iteration:06d}")


def split(driver: Execute, others: Execute) -> Execute:
    return lambda run: (driver if run.pipeline.endswith("training") else others)(run)


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    config = make_config(storage={"uri": f"file://{tmp_path}/store"}, iterations=1)
    monkeypatch.setenv("PYTHONWARNINGS", "ignore")
    package, commits = tmp_path / "training.yaml", Commits(config)
    compile(config, "cpu", package, "training")
    with serving(split(locally(tmp_path / "driver"), commits)) as api:
        yield Stage(api, Api(Access(api.url)), package, commits)


def test_it_can_be_stopped_and_started_again(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "driver").mkdir()
    stage.commits.hold = "iteration-000002"
    first = stage.start(iterations=2)
    wait_for(lambda: bool(stage.of(2)), 60)
    stage.client.terminate(first.body["run_id"])
    wait_for(lambda: first.state == "CANCELED", 30)
    assert stage.of(2)[0].state == "RUNNING"
    second = stage.start(iterations=2)
    wait_for(lambda: second.state == "RUNNING" and bool(second.tasks), 30)
    stage.commits.release.set()
    wait_for(lambda: second.state in ("SUCCEEDED", "FAILED"), 60)
    assert second.state == "SUCCEEDED", second.body
    assert [len(stage.of(iteration)) for iteration in (1, 2, 3)] == [1, 1, 0]
    experiments = {e["experiment_id"]: e["display_name"] for e in stage.api.experiments}
    assert experiments[stage.of(2)[0].body["experiment_id"]] == "wired"
    (page,) = (tmp_path / "driver").rglob("html")
    assert "<html" in page.read_text()


def test_every_parameter_is_documented() -> None:
    inputs = train.component_spec.inputs
    assert len(inputs) == 10
    assert [name for name, value in inputs.items() if not value.description] == []


@pytest.mark.full
def test_stopping_it_can_end_the_iteration_too(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "driver").mkdir()
    stage.commits.hold = "iteration"
    run = stage.start(terminate_on_stop=True)
    wait_for(lambda: bool(stage.of(1)), 60)
    stage.client.terminate(run.body["run_id"])
    wait_for(lambda: stage.of(1)[0].state == "CANCELED", 30)


@pytest.mark.full
@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"iterations": 0}, "train (run r, iteration all): iterations is 0: expected a whole numb"),
        ({"retries": -1}, "train (run r, iteration all): retries is -1: expected a whole number"),
        ({"run": "a b"}, "run name 'a b': expected 1-100 letters, digits"),
        ({"endpoint": "http://127.0.0.1:9"}, "http://127.0.0.1:9: no answer from the Kubeflow"),
    ],
)
def test_a_wrong_parameter_is_one_sentence(
    stage: Stage, tmp_path: Path, parameters: dict[str, Any], words: str
) -> None:
    (tmp_path / "driver").mkdir()
    run = stage.start(**parameters)
    wait_for(lambda: run.state == "FAILED", 60)
    assert words in run.fault
    assert len(stage.api.runs) == 1
