"""The step's side without training: a stand-in cluster whose nodes do what the test says."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from components.cluster import Cluster
from components.meter import Meter
from components.policies import PolicyRef
from components.state import TrainingState
from components.step import StepContext
from components.storage import open_store
from components.update.exchange import Updated
from components.update.nodes.jobs import TrainJobs
from components.update.nodes.main import Launch, train_on_nodes
from components.update.nodes.order import Desk
from components.update.nodes.pod import NodePod
from components.update.nodes.trainjob import ATTEMPT, job_name
from tests.components.update.world import make_config
from tests.doubles.kubernetes_api import Event, KubernetesApi, serving
from tests.doubles.trainer_controller import ROOT, TRAINJOBS, condition

KEY = "runs/r/steps/000001/update/" + "0a" * 32 + "/manifest.json"
OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "step", "uid": "u1"}
REF = PolicyRef("solo", 0, "file:///x", "ab" * 32, 1)
TRAINED = {"solo": Updated(REF, REF.folder, {"loss": 1.0})}
RUNTIME = yaml.safe_load((ROOT / "images" / "deepspeed" / "runtime" / "runtime.yaml").read_text())


@dataclass
class Stage:
    """A cluster, a store and a step that trains `solo` on two nodes."""

    api: KubernetesApi
    folder: Path
    client: Any
    pod: NodePod = NodePod("image", timeout_s=30)
    owner: dict[str, Any] | None = None
    patience_s: float = 0.3
    asked: list[str] = field(default_factory=list)
    """Attempts that nodes began."""

    def __post_init__(self) -> None:
        config = make_config(self.folder, {"tool": "solo"}, num_nodes=2)
        self.store = open_store(config.storage)
        self.context = StepContext(
            config, "r", 1, self.store, "update", self.folder / "cache", Meter()
        )
        self.desk = Desk(self.store, KEY.removesuffix("manifest.json") + "nodes/")
        self.name = job_name("r", 1, "update", KEY.split("/")[-2])
        (self.folder / "samples").write_text("rows")

    def nodes_do(self, act: Callable[[Event, str], None]) -> None:
        """`act(event, attempt)` when a TrainJob is created."""

        def changed(event: Event) -> None:
            if event.type == "ADDED":
                attempt = event.item["metadata"]["annotations"][ATTEMPT]
                self.asked.append(attempt)
                act(event, attempt)

        self.api.control("trainjobs", changed)

    def succeed(self, event: Event, attempt: str) -> None:
        """What good nodes do."""
        self.desk.report(attempt, "progress step=update-solo done=3 total=3 unit=steps")
        self.desk.finish(TRAINED)
        event.sets_status(condition("Complete", "AllJobsCompleted", "done"))

    def jobs(self) -> TrainJobs:
        return TrainJobs(Cluster(self.client, "default", self.owner))

    def train(self) -> dict[str, Updated]:
        state = TrainingState("r", 0, "d", {"solo": REF}, {}, {"solo": REF}, 0)
        samples = str(self.folder / "samples")
        return train_on_nodes(
            self.context,
            state,
            samples,
            ["solo"],
            KEY,
            self.pod,
            self.jobs(),
            0.05,
            self.patience_s,
        )

    def old_job(self, attempt: str = "old") -> Event:
        """The job of a step that died; returns the event of its creation."""
        launch = Launch(self.context, self.pod, self.jobs(), self.desk, self.name)
        self.api.create(TRAINJOBS, launch.body(attempt))
        return next(event for event in reversed(self.api.events) if event.name == self.name)

    @property
    def left(self) -> list[Any]:
        """TrainJobs on the cluster."""
        return self.api.find("trainjobs")


@contextmanager
def stage(folder: Path, **options: Any) -> Iterator[Stage]:
    with serving(**options) as api, api.client() as client:
        yield Stage(api, folder, client)
