"""Where the API of Kubeflow Pipelines is and who asks: arguments, environment, or the pod's own."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

IN_CLUSTER = "http://ml-pipeline.kubeflow.svc.cluster.local:8888"
CLUSTER_TOKEN = "/var/run/secrets/kubeflow/pipelines/token"
"""Where Kubeflow puts a pod's token, if the pod is labelled `access-ml-pipeline`."""


@dataclass(frozen=True)
class Access:
    """Where the API is and who asks."""

    endpoint: str
    token_file: str | None = None
    """Read before every call: tokens in files are renewed."""
    token: str | None = field(default=None, repr=False)
    namespace: str | None = None
    """Of the runs, where Kubeflow has several users."""
    ca_file: str | None = None


def find_access(
    endpoint: str | None = None,
    token_file: str | None = None,
    namespace: str | None = None,
    ca_file: str | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Access | None:
    """What was given, else kfp's environment variables, else the place inside a cluster.

    None if there is no endpoint and this is no pod.
    """
    token_file = token_file or environment.get("KF_PIPELINES_SA_TOKEN_PATH")
    in_pod = "KUBERNETES_SERVICE_HOST" in environment
    if in_pod and not token_file and Path(CLUSTER_TOKEN).exists():
        token_file = CLUSTER_TOKEN
    endpoint = endpoint or environment.get("KF_PIPELINES_ENDPOINT")
    if not endpoint and not in_pod:
        return None
    endpoint = endpoint or IN_CLUSTER
    token = environment.get("KF_PIPELINES_TOKEN") or None
    return Access(endpoint.rstrip("/"), token_file, token, namespace, ca_file)
