"""The Kubernetes API: how a step reaches it, who it is there, and its refusals in one line.

A pod uses its service account; a laptop its kubeconfig. What is asked for is the callers' affair.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from components.errors import RolewiseError

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where a pod finds the token and the namespace of its service account."""
TIMEOUT_S = 30
"""Of one call. An int: the client takes a float without a word, and then waits for ever."""


class ClusterError(RolewiseError):
    """The Kubernetes API cannot be reached or refused a call."""


@dataclass(frozen=True)
class Cluster:
    """A connection."""

    client: Any
    """An ApiClient of the package `kubernetes`."""
    namespace: str
    """Of this pod, or of kubeconfig's context."""
    owner: dict[str, Any] | None
    """Owner reference to this pod; None outside a cluster. What has it goes when the pod goes."""


def connect() -> Cluster:
    """The cluster that this process runs in, or that kubeconfig names.

    ClusterError if there is neither.
    """
    from kubernetes import client, config

    settings = client.Configuration()
    try:
        if "KUBERNETES_SERVICE_HOST" in os.environ and ACCOUNT.is_dir():
            config.load_incluster_config(client_configuration=settings)
            namespace = (ACCOUNT / "namespace").read_text().strip()
        else:
            config.load_kube_config(_kubeconfig(), client_configuration=settings)
            namespace = _context_namespace()
    except (config.ConfigException, OSError) as error:
        raise ClusterError(
            f"no Kubernetes API: neither a pod's service account nor a kubeconfig ({error}); "
            "run on a cluster, or set KUBECONFIG"
        ) from error
    settings.retries = False
    return Cluster(client.ApiClient(settings), namespace, own_pod())


def own_pod() -> dict[str, Any] | None:
    """Owner reference to the pod of this step, as Kubeflow's launcher names it."""
    name, uid = os.environ.get("KFP_POD_NAME"), os.environ.get("KFP_POD_UID")
    if not name or not uid:
        return None
    return {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid}


def refusal(error: Any) -> str:
    """What the API says in an ApiException: its own sentence, else the HTTP reason."""
    try:
        message = json.loads(error.body)["message"]
    except (TypeError, ValueError, KeyError):
        message = error.reason or "no reason given"
    return f"{error.status}: {' '.join(str(message).split())}"


def _context_namespace() -> str:
    from kubernetes import config

    _, active = config.list_kube_config_contexts(_kubeconfig())
    return str((active or {}).get("context", {}).get("namespace") or "default")


def _kubeconfig() -> str | None:
    """As the environment says now: the client looks at it once, when it is imported."""
    return os.environ.get("KUBECONFIG") or None
