"""Controllers for the Kubernetes stand-in that run Deployments as processes of this machine.

A Deployment of one replica becomes a pod object and a process group with the container's command
and environment; it is started again when it ends; its readiness probe is asked. A Service gets an
address of loopback of its own, at which its pod listens. Left out: images, volumes, resources.
"""

import itertools
import os
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.doubles.kubernetes_api import Event, Kind, KubernetesApi, Place

GRACE_S = 15.0
RESTART_S = 0.5


@dataclass
class Processes:
    """The controllers' memory. `attach` it to an API before anything is created."""

    api: KubernetesApi
    folder: Path
    """For logs."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Of all containers, beside their own."""
    arguments: tuple[str, ...] = ()
    """Added to the command of all containers."""
    pods: dict[Place, "Pod"] = field(default_factory=dict)
    _addresses: Any = field(default_factory=lambda: itertools.count(2))

    def attach(self) -> "Processes":
        self.api.admit["services"] = self._assign
        self.api.control("deployments", self._deployment)
        return self

    def log(self, name: str) -> str:
        """What the pods of a Deployment said."""
        path = self.folder / f"{name}.log"
        return path.read_text() if path.exists() else ""

    def running(self) -> list[int]:
        """Process ids of containers that have not ended."""
        return [
            pod.child.pid
            for pod in list(self.pods.values())
            if pod.child and pod.child.poll() is None
        ]

    def _assign(self, service: dict[str, Any]) -> None:
        number = next(self._addresses)
        service["spec"]["clusterIP"] = f"127.77.{number // 250}.{number % 250 + 1}"

    def _deployment(self, event: Event) -> None:
        known = self.pods.get(event.place)
        wanted = event.type != "DELETED" and event.item["spec"].get("replicas", 1) > 0
        if wanted and known is None:
            self.pods[event.place] = Pod(self, event.item, event.place).start()
        elif known is not None and not wanted:
            self.pods.pop(event.place).stop()


@dataclass
class Pod:
    """A Deployment's only pod."""

    processes: Processes
    item: dict[str, Any]
    place: Place
    child: "subprocess.Popen[bytes] | None" = None
    stopped: threading.Event = field(default_factory=threading.Event)
    thread: threading.Thread | None = None
    restarts: int = 0

    @property
    def container(self) -> dict[str, Any]:
        return dict(self.item["spec"]["template"]["spec"]["containers"][0])

    def start(self) -> "Pod":
        owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": self.place.name}
        owner["uid"] = self.item["metadata"]["uid"]
        labels = self.item["spec"]["template"]["metadata"]["labels"]
        name = f"{self.place.name}-0"
        body = {
            "apiVersion": "v1", "kind": "Pod", "spec": self.item["spec"]["template"]["spec"],
            "metadata": {"name": name, "labels": labels, "ownerReferences": [owner]},
        }  # fmt: skip
        self.processes.api.create(Kind("", "v1", self.place.namespace, "pods"), body)
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()
        return self

    def stop(self) -> None:
        """As a kubelet: SIGTERM, seconds to end, SIGKILL."""
        self.stopped.set()
        if self.child and self.child.poll() is None:
            self.child.send_signal(signal.SIGTERM)
            try:
                self.child.wait(GRACE_S)
            except subprocess.TimeoutExpired:
                os.killpg(self.child.pid, signal.SIGKILL)
        if self.thread and self.thread is not threading.current_thread():
            self.thread.join(GRACE_S)

    def _run(self) -> None:
        address = self._address()
        while not self.stopped.is_set():
            self._begin(address)
            ready = False
            while self.child and self.child.poll() is None and not self.stopped.wait(0.1):
                now_ready = self._is_ready(address)
                if now_ready != ready:
                    ready = now_ready
                    self._tell({"readyReplicas": int(ready), "replicas": 1})
            self._tell({"readyReplicas": 0, "replicas": 1})
            self.restarts += 1
            self.stopped.wait(RESTART_S)

    def _begin(self, address: str) -> None:
        command = [*self.container["command"], *self.processes.arguments]
        command[0] = sys.executable if command[0] == "python" else command[0]
        environment = dict(os.environ) | dict(self.processes.environment)
        for entry in self.container.get("env", []):
            path = entry.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
            value = address if path == "status.podIP" else entry.get("value")
            if value is not None:
                environment[entry["name"]] = value
        with open(self.processes.folder / f"{self.place.name}.log", "ab") as log:
            self.child = subprocess.Popen(
                command, env=environment, stdout=log, stderr=log, start_new_session=True
            )

    def _address(self) -> str:
        """That of the Service that selects this pod."""
        labels = self.item["spec"]["template"]["metadata"]["labels"].items()
        for service in self.processes.api.find("services"):
            if service["spec"]["selector"].items() <= labels:
                return str(service["spec"]["clusterIP"])
        return "127.0.0.1"

    def _is_ready(self, address: str) -> bool:
        probe = self.container.get("readinessProbe", {}).get("httpGet")
        if probe is None:
            return True
        try:
            url = f"http://{address}:{probe['port']}{probe['path']}"
            with urllib.request.urlopen(url, timeout=2.0):
                return True
        except OSError:
            return False

    def _tell(self, status: dict[str, Any]) -> None:
        self.processes.api.set_status(self.place, status)
