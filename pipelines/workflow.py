"""The pods of a run, as the Argo Workflow behind it tells: which step, how far, and why not."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_ATTEMPT = re.compile(r"\(\d+\)$")
_FORMAT = "workflows.argoproj.io/pod-name-format"
ENDED_BADLY = ("Failed", "Error")


@dataclass(frozen=True)
class Pod:
    """One attempt at a step, or one of Kubeflow's own pods."""

    step: str
    """The task's name in the pipeline, e.g. `sample-turn-2`; own pods end in `-driver`."""
    name: str
    phase: str
    """Argo's word: Pending, Running, Succeeded, Failed, Error, Skipped or Omitted."""
    message: str
    """Why it waits or failed, in the words of Argo or Kubernetes; empty if there is nothing."""
    started: str
    finished: str

    @property
    def own(self) -> bool:
        """Whether it is Kubeflow's, not a step's."""
        return self.step.endswith("-driver")


def pods(workflow: Mapping[str, Any]) -> list[Pod]:
    """All pods that a workflow has made or tries to make, oldest first."""
    nodes = (workflow.get("status") or {}).get("nodes") or {}
    found = [_pod(workflow, node) for node in nodes.values() if node.get("type") == "Pod"]
    return sorted(found, key=lambda pod: (pod.started, pod.name))


def last_attempts(found: list[Pod]) -> dict[str, Pod]:
    """Step -> its last pod: earlier ones were retried."""
    return {pod.step: pod for pod in found}


def _pod(workflow: Mapping[str, Any], node: Mapping[str, Any]) -> Pod:
    return Pod(
        _step(workflow, str(node.get("name", ""))), _pod_name(workflow, node),
        str(node.get("phase", "")), " ".join(str(node.get("message") or "").split()),
        str(node.get("startedAt") or ""), str(node.get("finishedAt") or ""),
    )  # fmt: skip


def _step(workflow: Mapping[str, Any], path: str) -> str:
    """`<workflow>.root.rollout.executor(0)` is an attempt at `rollout`."""
    prefix = f"{workflow['metadata']['name']}."
    parts = _ATTEMPT.sub("", path.removeprefix(prefix)).split(".")
    return parts[-2] if parts[-1] == "executor" and len(parts) > 1 else parts[-1]


def _pod_name(workflow: Mapping[str, Any], node: Mapping[str, Any]) -> str:
    """Argo names pods by workflow, template and the node's hash, older versions by the node."""
    metadata = workflow["metadata"]
    if (metadata.get("annotations") or {}).get(_FORMAT) == "v1":
        return str(node["id"])
    template = "" if ".inline" in node.get("name", "") else f"-{node.get('templateName')}"
    return f"{metadata['name']}{template}-{str(node['id']).rpartition('-')[2]}"
