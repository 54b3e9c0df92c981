"""Whether the cluster can run an update on several nodes: Kubeflow Trainer and its runtime.

Asks the Kubernetes API that kubeconfig (or a pod's account) names; what cannot be asked is a
warning, since the account of the runs may do what this one may not.
"""

from collections.abc import Callable, Iterator
from typing import Any

from components.cluster import Cluster, ClusterError, connect, refusal
from components.preflight.findings import Finding, ok, warn

GROUP, VERSION = "trainer.kubeflow.org", "v1alpha1"
TIMEOUT_S = 15
"""An int, as in components/cluster.py."""
_INSTALL = "install Kubeflow Trainer 2.3 or newer, or set update.num_nodes to 1"


def check_trainer(
    num_nodes: int, runtime: str, kind: str, namespace: str | None = None
) -> Iterator[Finding]:
    """One finding; none if one node trains."""
    if num_nodes == 1:
        return
    try:
        cluster = connect()
    except ClusterError as error:
        yield warn("trainer", f"update.num_nodes is {num_nodes}, not checked", str(error))
        return
    place = namespace or cluster.namespace
    yield _asked(cluster, runtime, kind, place)


def _asked(cluster: Cluster, runtime: str, kind: str, namespace: str) -> Finding:
    from kubernetes import client

    api = client.CustomObjectsApi(cluster.client)
    jobs = _status(
        lambda: api.list_namespaced_custom_object(
            GROUP, VERSION, namespace, "trainjobs", limit=1, _request_timeout=TIMEOUT_S
        )
    )
    if jobs.startswith("404"):
        return warn("trainer", f"no TrainJobs on this cluster ({jobs})", _INSTALL)
    if jobs:
        fix = "look with an account that may"
        return warn("trainer", f"TrainJobs of {namespace} cannot be listed: {jobs}", fix)
    plural = f"{kind.lower()}s"
    found = _status(
        (lambda: api.get_namespaced_custom_object(
            GROUP, VERSION, namespace, plural, runtime, _request_timeout=TIMEOUT_S))
        if kind == "TrainingRuntime"
        else (lambda: api.get_cluster_custom_object(
            GROUP, VERSION, plural, runtime, _request_timeout=TIMEOUT_S))
    )  # fmt: skip
    if found:
        fix = f"kubectl apply -n {namespace} -k images/deepspeed/runtime"
        return warn("trainer", f"{kind} {runtime} in {namespace}: {found}", fix)
    return ok("trainer", f"TrainJobs and {kind} {runtime} are in namespace {namespace}")


def _status(call: Callable[[], Any]) -> str:
    """Empty if the call is answered, else the refusal."""
    from kubernetes.client import ApiException
    from urllib3.exceptions import HTTPError

    try:
        call()
    except ApiException as error:
        return refusal(error)
    except HTTPError as error:
        return f"the API does not answer: {error}"
    return ""
