"""Warm servers on a cluster: a Deployment and a Service each, by the Kubernetes client.

Names are the same for every driver of a run, so one that was killed is followed by one that adopts.
"""

from collections.abc import Callable
from typing import Any

import urllib3

from components.cluster import TIMEOUT_S, Cluster, ClusterError, refusal
from components.rollout.warm.layout import Server
from components.rollout.warm.process import Plan
from components.server_settings import ServerConfig
from pipelines.profile import Profile
from pipelines.warm import manifest
from pipelines.warm.places import Begun

NOT_FOUND, TAKEN = 404, 409
NO_HELP = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "CreateContainerConfigError")
"""Reasons for which a container waits until somebody changes something."""


class KubernetesPlace:
    """Implements Place by the Kubernetes API."""

    def __init__(
        self, cluster: Cluster, run: str, settings: ServerConfig, profile: Profile
    ) -> None:
        from kubernetes import client

        self._cluster, self._run, self._settings, self._profile = cluster, run, settings, profile
        self._apps, self._core = client.AppsV1Api(cluster.client), client.CoreV1Api(cluster.client)

    def begin(self, server: Server, plan: Plan, holder: str) -> Begun:
        """See Place. `holder` does not matter: any driver of the run may go on with the server."""
        space = self._cluster.namespace
        wanted = self._owned(
            manifest.deployment(server, self._run, plan, self._settings, self._profile)
        )
        service = self._owned(manifest.service(server, self._run, self._settings))
        made = self._ask(self._core.create_namespaced_service, space, service, allow=TAKEN)
        if made is None:
            made = self._ask(
                self._core.patch_namespaced_service, server.name, space, _owners(service)
            )
        created = self._ask(self._apps.create_namespaced_deployment, space, wanted, allow=TAKEN)
        adopted = not created and self._adopt(server, wanted)
        host = made.spec.cluster_ip
        if not host or host == "None":
            host = f"{server.name}.{space}.svc"
        address = f"[{host}]" if ":" in host else host
        return Begun(f"http://{address}:{self._settings.port}", adopted)

    def _adopt(self, server: Server, wanted: dict[str, Any]) -> bool:
        """Go on with a server of the same plan: True; one of another plan makes way."""
        space = self._cluster.namespace
        found = self._ask(
            self._apps.read_namespaced_deployment, server.name, space, allow=NOT_FOUND
        )
        plan = wanted["metadata"]["annotations"][manifest.PLAN]
        same = found and (found.metadata.annotations or {}).get(manifest.PLAN) == plan
        if same and found.spec.replicas and not found.metadata.deletion_timestamp:
            self._ask(self._apps.patch_namespaced_deployment, server.name, space, _owners(wanted))
            return True
        self._delete(self._apps.delete_namespaced_deployment, server.name)
        self._ask(self._apps.create_namespaced_deployment, space, wanted)
        return False

    def is_ready(self, server: Server) -> bool:
        """See Place."""
        found = self._ask(
            self._apps.read_namespaced_deployment,
            server.name, self._cluster.namespace, allow=NOT_FOUND,
        )  # fmt: skip
        return bool(found and found.status and found.status.ready_replicas)

    def fault(self, server: Server) -> str | None:
        """See Place: why the pod does not run."""
        space = self._cluster.namespace
        found = self._ask(
            self._apps.read_namespaced_deployment, server.name, space, allow=NOT_FOUND
        )
        if found is None:
            return "its Deployment is gone"
        conditions = (found.status and found.status.conditions) or []
        for condition in conditions:
            if condition.type == "ReplicaFailure" and condition.status == "True":
                return f"{condition.reason}: {condition.message}"
        selector = f"{manifest.LABEL}={server.name}"
        for pod in self._ask(self._core.list_namespaced_pod, space, label_selector=selector).items:
            for status in (pod.status and pod.status.container_statuses) or []:
                waiting = status.state and status.state.waiting
                if waiting and waiting.reason in NO_HELP:
                    return f"{waiting.reason}: {waiting.message or self._profile.images}"
                if status.restart_count and status.restart_count >= 3:
                    return (
                        f"pod {pod.metadata.name} ended {status.restart_count} times: see its log"
                    )
        return None

    def stop(self, name: str) -> None:
        """See Place."""
        self._delete(self._core.delete_namespaced_service, name)
        self._delete(self._apps.delete_namespaced_deployment, name)

    def _delete(self, call: Callable[..., Any], name: str) -> None:
        body = {"propagationPolicy": "Background"}
        self._ask(call, name, self._cluster.namespace, body=body, allow=NOT_FOUND)

    def _owned(self, item: dict[str, Any]) -> dict[str, Any]:
        """With this driver's pod as owner: when that is deleted, so is the item."""
        if self._cluster.owner:
            item["metadata"]["ownerReferences"] = [self._cluster.owner]
        return item

    def _ask(self, call: Callable[..., Any], *given: Any, allow: int = 0, **named: Any) -> Any:
        """A call's answer; None if the status is `allow`. ClusterError for other refusals."""
        from kubernetes.client.exceptions import ApiException

        try:
            return call(*given, **named, _request_timeout=TIMEOUT_S)
        except ApiException as error:
            if error.status == allow:
                return None
            raise ClusterError(
                f"warm servers in namespace {self._cluster.namespace!r}: {refusal(error)}"
            ) from error
        except urllib3.exceptions.HTTPError as error:
            raise ClusterError(
                f"warm servers: the Kubernetes API does not answer: {error}"
            ) from error


def _owners(item: dict[str, Any]) -> dict[str, Any]:
    """A patch that makes the item's owners those of today's driver."""
    return {"metadata": {"ownerReferences": item["metadata"].get("ownerReferences")}}
