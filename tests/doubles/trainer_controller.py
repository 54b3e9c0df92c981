"""Kubeflow Trainer's part of the Kubernetes stand-in: TrainJobs become processes.

A job is checked against Trainer's own schema and rules; then its command is started once per node,
with the PET_ variables that the torch runtime sets, each in a folder of its own (no shared disk but
object storage), and its pods, logs and conditions are written as the real controllers do. A job
that is deleted takes its processes along. Left out: queues, restarts, initialisers.

    with serving() as api:
        controller = Trainer(api, tmp_path)
"""

import json
import os
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jsonschema
import psutil

from tests.doubles.kubernetes_api import Event, Kind, KubernetesApi, now

ROOT = Path(__file__).parents[2]
SCHEMAS = Path(__file__).parent / "trainer_crd"
GROUP, VERSION = "trainer.kubeflow.org", "v1alpha1"
RESERVED = {
    "PET_NNODES",
    "PET_NPROC_PER_NODE",
    "PET_NODE_RANK",
    "PET_MASTER_ADDR",
    "PET_MASTER_PORT",
}
DROPPED = ("KUBERNETES_SERVICE_HOST", "KUBECONFIG", "KFP_POD_NAME", "KFP_POD_UID", "WORLD_SIZE")
GRACE_S = 20.0
TRAINJOBS = Kind(GROUP, VERSION, "default", "trainjobs")
PODS = Kind("", "v1", "default", "pods")


def faults(plural: str, item: Any) -> list[str]:
    """What Trainer's schema has against an object; unknown fields count, as with strict checks."""
    schema = _strict(json.loads((SCHEMAS / f"{plural}.json").read_text()))
    found = jsonschema.Draft202012Validator(schema).iter_errors(item)
    return [f"{'.'.join(map(str, fault.path))}: {fault.message}" for fault in found]


def _strict(schema: Any) -> Any:
    """Objects with known fields take no others. Metadata is the server's own affair."""
    if isinstance(schema, list):
        return [_strict(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    result = {key: _strict(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and "additionalProperties" not in schema:
        result["additionalProperties"] = False
    return result


@dataclass
class Trainer:
    """The controller. `images` that nodes may have; others never start, as with a missing image."""

    api: KubernetesApi
    folder: Path
    starts: bool = True
    """False: no node ever starts, as without room in the cluster."""
    before: Any = None
    """Called with the node's number and its environment before it starts."""
    faults: list[str] = field(default_factory=list)
    jobs: dict[str, list[subprocess.Popen[bytes]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.api.control("trainjobs", self._changed)

    def add_runtime(self, item: Any) -> None:
        """Install a training runtime."""
        self.faults += faults("trainingruntimes", item)
        self.api.create(Kind(GROUP, VERSION, "default", "trainingruntimes"), item)

    @property
    def processes(self) -> list[psutil.Process]:
        """All that still run for a job."""
        found = []
        for child in [process for job in self.jobs.values() for process in job]:
            with suppress(psutil.NoSuchProcess):
                parent = psutil.Process(child.pid)
                if parent.status() != psutil.STATUS_ZOMBIE:
                    found += [parent, *parent.children(recursive=True)]
        return found

    def _changed(self, event: Event) -> None:
        if event.type == "ADDED":
            self._admit(event)
        elif event.type == "DELETED":
            self._end(event.name)

    def _admit(self, event: Event) -> None:
        found = faults("trainjobs", {k: v for k, v in event.item.items() if k != "status"})
        trainer, ref = event.item["spec"]["trainer"], event.item["spec"]["runtimeRef"]
        names = {item["name"] for item in trainer.get("env", [])}
        found += [f"env {name} is reserved" for name in sorted(names & RESERVED)]
        plural = f"{ref['kind'].lower()}s"
        if not self.api.find(plural, ref["name"]):
            found.append(f"{ref['kind']} {ref['name']} not found")
        self.faults += found
        if found:
            event.sets_status(condition("Failed", "TrainingRuntimeNotSupported", "; ".join(found)))
        elif self.starts:
            self._start(event)

    def _start(self, event: Event) -> None:
        trainer = event.item["spec"]["trainer"]
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            port = taken.getsockname()[1]
        nodes = range(trainer["numNodes"])
        self.jobs[event.name] = [self._node(event, node, port) for node in nodes]
        threading.Thread(target=self._watch, args=(event,), daemon=True).start()

    def _node(self, event: Event, node: int, port: int) -> "subprocess.Popen[bytes]":
        trainer = event.item["spec"]["trainer"]
        folder = self.folder / event.item["metadata"]["uid"] / str(node)
        (folder / "tmp").mkdir(parents=True)
        given = {item["name"]: item.get("value", "from-a-secret") for item in trainer["env"]}
        environment = {key: value for key, value in os.environ.items() if key not in DROPPED} | {
            "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "TMPDIR": str(folder / "tmp"),
            "PET_NNODES": str(trainer["numNodes"]), "PET_NODE_RANK": str(node),
            "PET_NPROC_PER_NODE": str(trainer["numProcPerNode"]),
            "PET_MASTER_ADDR": "127.0.0.1", "PET_MASTER_PORT": str(port), **given,
        }  # fmt: skip
        if self.before:
            self.before(node, environment)
        self.api.create(PODS, self._pod(event, node))
        command = [*trainer["command"], *trainer.get("args", [])]
        command[0] = sys.executable if command[0] == "python3" else command[0]
        with (folder / "log").open("wb") as log:
            return subprocess.Popen(
                command, cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True
            )

    def _pod(self, event: Event, node: int) -> Any:
        labels = {
            "jobset.sigs.k8s.io/jobset-name": event.name,
            "batch.kubernetes.io/job-completion-index": str(node),
        }
        owner = {"apiVersion": event.item["apiVersion"], "kind": "TrainJob", "name": event.name,
                 "uid": event.item["metadata"]["uid"]}  # fmt: skip
        metadata = {
            "name": pod_name(event.name, node),
            "labels": labels,
            "ownerReferences": [owner],
        }
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": []}}

    def _watch(self, event: Event) -> None:
        """Until all nodes ended well, or one did not."""
        running = dict(enumerate(self.jobs[event.name]))
        for node in running:
            self._set_pod(event, node, {"phase": "Running"})
        while running:
            for node, process in list(running.items()):
                with suppress(subprocess.TimeoutExpired):
                    code = process.wait(0.05)
                    del running[node]
                    self._ended(event, node, code)
                    if code != 0:
                        words = f"jobset failed due to one or more job failures (node {node})"
                        self._end(event.name)
                        event.sets_status(condition("Failed", "FailedJobs", words))
                        return
        done = condition("Complete", "AllJobsCompleted", "jobset completed successfully")
        event.sets_status(done)

    def _ended(self, event: Event, node: int, code: int) -> None:
        folder = self.folder / event.item["metadata"]["uid"] / str(node)
        self.api.logs[pod_name(event.name, node)] = (folder / "log").read_text()
        reason = "Completed" if code == 0 else "OOMKilled" if code == -9 else "Error"
        ended = {"exitCode": 128 - code if code < 0 else code, "reason": reason}
        status = {"name": "node", "image": "", "imageID": "", "ready": False, "restartCount": 0,
                  "state": {"terminated": ended}}  # fmt: skip
        phase = "Succeeded" if code == 0 else "Failed"
        self._set_pod(event, node, {"phase": phase, "containerStatuses": [status]})

    def _set_pod(self, event: Event, node: int, status: Any) -> None:
        for place in list(self.api.objects):
            if place.plural == "pods" and place.name == pod_name(event.name, node):
                self.api.set_status(place, status)

    def _end(self, name: str) -> None:
        """SIGTERM, a grace period, SIGKILL, as a kubelet does."""
        processes = self.processes if name in self.jobs else []
        for process in self.jobs.get(name, []):
            process.terminate()
        for process in self.jobs.get(name, []):
            with suppress(subprocess.TimeoutExpired):
                process.wait(GRACE_S)
        for left in processes:
            with suppress(psutil.NoSuchProcess):
                left.kill()


def condition(kind: str, reason: str, message: str) -> Any:
    """A status with one condition that holds."""
    found = {"type": kind, "status": "True", "reason": reason, "message": message,
             "lastTransitionTime": now()}  # fmt: skip
    return {"conditions": [found]}


def pod_name(job: str, node: int) -> str:
    return f"{job}-node-0-{node}-abcde"
