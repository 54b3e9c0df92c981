"""The step's side of an update on several nodes: place the order, create or adopt the TrainJob,
follow it, take the result.

The job's name says what it makes, so a step that died and is repeated finds the job of the one
before. Imports no model library.
"""

import json
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from components.cluster import ClusterError, connect
from components.errors import RolewiseError
from components.process import stoppable
from components.state import TrainingState
from components.step import StepContext
from components.update.exchange import Updated
from components.update.nodes.follow import PATIENCE_S, POLL_S, Follower, patiently
from components.update.nodes.jobs import ClusterAway, TrainJobs, outcome
from components.update.nodes.order import Desk, Order
from components.update.nodes.pod import NodePod
from components.update.nodes.trainjob import ATTEMPT, job_name, train_job

GOODBYE_S = 120.0
"""How long a job that was deleted may take to go."""


class ForeignJob(ClusterError):
    """A job has the name of ours, and is not."""


@dataclass(frozen=True)
class Launch:
    """One order and the job that does it."""

    context: StepContext
    pod: NodePod
    jobs: TrainJobs
    desk: Desk
    name: str
    poll_s: float = POLL_S
    patience_s: float = PATIENCE_S

    def adopted(self) -> str | None:
        """The attempt of a job of that name that runs or is complete; a failed one is removed."""
        found = self._patiently(lambda: self.jobs.get(self.name))
        if found is None:
            return None
        attempt = found["metadata"].get("annotations", {}).get(ATTEMPT)
        if outcome(found).state == "Failed" or found["metadata"].get("deletionTimestamp"):
            self._remove()
            return None
        if attempt is None:
            raise ForeignJob(
                f"TrainJob {self.name} was made by somebody else: it has no annotation {ATTEMPT}; "
                "delete it"
            )
        if self.jobs.cluster.owner is not None:
            self.jobs.own(self.name, self.jobs.cluster.owner)
        return str(attempt)

    def create(self, body: dict[str, Any]) -> bool:
        """False if another step made it at the same time."""
        return self._patiently(lambda: self.jobs.create(body)) is not None

    def follower(self, attempt: str) -> Follower:
        num_nodes = self.context.config.update.num_nodes
        return Follower(
            self.jobs, self.desk, self.name, attempt, num_nodes, self.pod.timeout_s,
            self.poll_s, self.patience_s,
        )  # fmt: skip

    def body(self, attempt: str) -> dict[str, Any]:
        """Of the TrainJob."""
        config = self.context.config
        arguments = [
            "--storage", json.dumps(config.storage.model_dump(mode="json", exclude_defaults=True)),
            "--order", self.desk.prefix, "--attempt", attempt,
        ]  # fmt: skip
        labels = {
            "app.kubernetes.io/part-of": "rolewise", "rolewise.dev/run": self.context.run,
            "rolewise.dev/iteration": str(self.context.iteration),
            "rolewise.dev/step": self.context.name,
        }  # fmt: skip
        update, owner = config.update, self.jobs.cluster.owner
        return train_job(
            self.name, self.pod, update.num_nodes, update.num_processes, arguments, labels,
            attempt, owner,
        )  # fmt: skip

    def _remove(self) -> None:
        self.jobs.delete(self.name)
        pause_s = min(self.poll_s, 1.0)

        def gone() -> None:
            if self.jobs.get(self.name) is not None:
                raise ClusterAway(f"TrainJob {self.name} was deleted and is still there")

        patiently(gone, GOODBYE_S, pause_s)

    def _patiently(self, call: Any) -> Any:
        return patiently(call, self.patience_s, self.poll_s)


def train_on_nodes(
    context: StepContext, state: TrainingState, samples: str, names: Sequence[str], key: str,
    pod: NodePod, jobs: TrainJobs | None = None, poll_s: float = POLL_S,
    patience_s: float = PATIENCE_S,
) -> dict[str, Updated]:  # fmt: skip
    """Train the named policies on `update.num_nodes` nodes; `key` is the step's manifest.

    RolewiseError if the cluster refuses the job, the job fails, or its time is over.
    """
    jobs = jobs or TrainJobs(connect())
    desk = Desk(context.store, key.removesuffix("manifest.json") + "nodes/")
    name = job_name(context.run, context.iteration, context.name, key.split("/")[-2])
    launch = Launch(context, pod, jobs, desk, name, poll_s, patience_s)
    if desk.result() is None:
        order = Order(
            context.config.to_json(), context.run, context.iteration, context.name, list(names)
        )
        with stoppable():
            _work(launch, order, state, samples)
    else:
        jobs.delete(name)  # the step before died behind the goal
    results = desk.result()
    if results is None:
        raise RolewiseError(
            f"TrainJob {name} is Complete, but left no result in {desk.store.uri}/{desk.prefix}; "
            "do its pods see the same storage?"
        )
    desk.clear()
    return results


def _work(launch: Launch, order: Order, state: TrainingState, samples: str) -> None:
    """Until the order's job is complete. Whatever else ends this takes the job along."""
    try:
        attempt = launch.adopted()
        if attempt is None:
            launch.desk.clear()
            with TemporaryDirectory(prefix="rolewise-order-") as scratch:
                launch.desk.place(order, state, samples, Path(scratch))
            attempt = secrets.token_hex(4)
            if not launch.create(launch.body(attempt)):  # another step was quicker
                attempt = launch.adopted() or attempt
        launch.follower(attempt).wait()
    except ForeignJob:
        raise
    except BaseException:
        with suppress(RolewiseError):  # what ended it is told, not this
            launch.jobs.delete(launch.name)
        raise
