"""Adds the update to a pipeline: a task that trains in its own pod, or one that has several nodes
do it as a TrainJob."""

from typing import Any

from kfp import kubernetes

from components.config import ExperimentConfig
from components.update.component import update, update_on_nodes
from pipelines.booking import Add
from pipelines.nodes import node_pod
from pipelines.profile import Profile

GRACE_S = 600
"""By which the task outlives the TrainJob it waits for: it has to say why that ended."""


def add_update(add: Add, config: ExperimentConfig, profile: Profile, **inputs: Any) -> Any:
    """One update task; `inputs` are those of the component `update`."""
    if config.update.num_nodes == 1:
        return add(update, **inputs)
    pod = node_pod(profile)
    task = add(update_on_nodes, pod=pod.to_json(), **inputs)
    kubernetes.set_timeout(task, pod.timeout_s + GRACE_S)
    return task
