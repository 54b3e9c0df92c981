"""The TrainJob (trainer.kubeflow.org/v1alpha1) of an update: its name and its body.

Every node runs `components.update.nodes.agent`. The runtime is a torch one, so each finds the
PET_ variables that torchrun reads. Pure functions; nothing is asked of a cluster.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from components.update.nodes.pod import NodePod

GROUP, VERSION, PLURAL = "trainer.kubeflow.org", "v1alpha1", "trainjobs"
NODE = "node"
"""Name of the replicated job and of its container, as Trainer's torch policy wants them."""
ATTEMPT = "rolewise.dev/attempt"
"""Annotation: under which key of the order the nodes leave what belongs to this job alone."""
_MANAGER = "rolewise.dev/update"
_LONGEST = 44
"""Pods are named `<job>-node-0-<index>-<5 letters>`, in 63 characters."""
_QUEUE = "kueue.x-k8s.io/"


def job_name(run: str, iteration: int, step: str, digest: str) -> str:
    """`rw-<run>-<iteration>-<step>-<10 of digest>`, an RFC 1035 label: the same for every attempt
    at the same work, another for any other."""
    words = re.sub(r"[^a-z0-9]+", "-", f"rw-{run}-{iteration}-{step}".lower())
    return f"{words[: _LONGEST - 11].rstrip('-')}-{digest[:10]}"


def train_job(
    name: str, pod: NodePod, num_nodes: int, num_processes: int, arguments: Sequence[str],
    labels: Mapping[str, str], attempt: str, owner: Mapping[str, Any] | None,
) -> dict[str, Any]:  # fmt: skip
    """The body to post."""
    queues = {key: value for key, value in pod.labels.items() if key.startswith(_QUEUE)}
    metadata: dict[str, Any] = {
        "name": name,
        "labels": {**{key: label(value) for key, value in labels.items()}, **queues},
        "annotations": {ATTEMPT: attempt},
    }
    if owner is not None:
        metadata["ownerReferences"] = [dict(owner)]
    spec: dict[str, Any] = {
        "runtimeRef": {"apiGroup": GROUP, "kind": pod.runtime_kind, "name": pod.runtime},
        "trainer": _trainer(pod, num_nodes, num_processes, arguments),
        "activeDeadlineSeconds": pod.timeout_s,
    }
    if patches := _patches(pod):
        spec["runtimePatches"] = [patches]
    return {
        "apiVersion": f"{GROUP}/{VERSION}", "kind": "TrainJob", "metadata": metadata, "spec": spec,
    }  # fmt: skip


def label(text: str) -> str:
    """Text as a label's value."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text)[:63].strip("._-")


def _trainer(
    pod: NodePod, num_nodes: int, num_processes: int, arguments: Sequence[str]
) -> dict[str, Any]:
    booked = {"cpu": pod.cpu, "memory": pod.memory}
    if pod.accelerator:
        booked[pod.accelerator] = str(pod.num_accelerators)
    booked = {key: value for key, value in booked.items() if value}
    trainer: dict[str, Any] = {
        "image": pod.image,
        "command": ["python3", "-m", "components.update.nodes.agent"],
        "args": list(arguments),
        "numNodes": num_nodes,
        "numProcPerNode": num_processes,
        "env": _env(pod),
    }
    if booked:
        trainer["resourcesPerNode"] = {"limits": booked, "requests": booked}
    return trainer


def _env(pod: NodePod) -> list[dict[str, Any]]:
    plain: list[dict[str, Any]] = [{"name": key, "value": pod.env[key]} for key in sorted(pod.env)]
    for secrets, more in ((pod.secrets, {}), (pod.optional_secrets, {"optional": True})):
        plain += [
            {"name": name, "valueFrom": {"secretKeyRef": {"name": secret, "key": key, **more}}}
            for secret, keys in sorted(secrets.items())
            for key, name in sorted(keys.items())
        ]
    return plain


def _patches(pod: NodePod) -> dict[str, Any]:
    """What of the pod is no field of `trainer`. Queues take the whole job, not its pods."""
    labels = {key: value for key, value in pod.labels.items() if not key.startswith(_QUEUE)}
    spec: dict[str, Any] = {}
    if pod.node_selector:
        spec["nodeSelector"] = dict(pod.node_selector)
    if pod.tolerations:
        spec["tolerations"] = [dict(item) for item in pod.tolerations]
    if pod.image_pull_secrets:
        spec["imagePullSecrets"] = [{"name": name} for name in pod.image_pull_secrets]
    if pod.shm:
        memory = {"medium": "Memory", "sizeLimit": pod.shm}
        mount = {"name": "shm", "mountPath": "/dev/shm"}
        spec["volumes"] = [{"name": "shm", "emptyDir": memory}]
        spec["containers"] = [{"name": NODE, "volumeMounts": [mount]}]
    template = {"metadata": {"labels": labels}} if labels else {}
    template |= {"spec": spec} if spec else {}
    if not template:
        return {}
    job = {"name": NODE, "template": {"spec": {"template": template}}}
    runtime = {"template": {"spec": {"replicatedJobs": [job]}}}
    return {"manager": _MANAGER, "trainingRuntimeSpec": runtime}
