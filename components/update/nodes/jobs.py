"""TrainJobs through the Kubernetes API: create or adopt, look, delete, and what pods say.

Only the calls and the words of their refusals; `follow` decides when to make them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from components.cluster import TIMEOUT_S, Cluster, ClusterError, refusal
from components.update.launch import error_line
from components.update.nodes.trainjob import GROUP, PLURAL, VERSION

LOG_LINES = 200
_OF_JOB = "jobset.sigs.k8s.io/jobset-name"
_PASSING = (0, 408, 429, 500, 502, 503, 504)
T = TypeVar("T")


class ClusterAway(ClusterError):
    """The API does not answer, or is busy: the same call may work later."""


@dataclass(frozen=True)
class Outcome:
    """What a TrainJob's status says."""

    state: str
    """Complete, Failed, Suspended or an empty text while it runs."""
    words: str
    """The condition's reason and message."""

    @property
    def ended(self) -> bool:
        return self.state in ("Complete", "Failed")


def outcome(job: Mapping[str, Any]) -> Outcome:
    """The condition that decides; the terminal ones come first."""
    conditions = {item["type"]: item for item in job.get("status", {}).get("conditions", [])}
    for state in ("Failed", "Complete", "Suspended"):
        found = conditions.get(state)
        if found and found.get("status") == "True":
            return Outcome(state, f"{found.get('reason', '')}: {found.get('message', '')}")
    return Outcome("", "")


class TrainJobs:
    """The TrainJobs of one namespace."""

    def __init__(self, cluster: Cluster) -> None:
        from kubernetes import client

        self.cluster, self._client = cluster, client
        self._custom = client.CustomObjectsApi(cluster.client)
        self._core = client.CoreV1Api(cluster.client)
        self._place = (GROUP, VERSION, cluster.namespace, PLURAL)

    def create(self, body: Mapping[str, Any]) -> dict[str, Any] | None:
        """The new job; None if there is one of that name. ClusterError says what to do."""
        call = lambda: self._custom.create_namespaced_custom_object(  # noqa: E731
            *self._place, dict(body), field_validation="Strict", _request_timeout=TIMEOUT_S
        )
        return self._answer(call, "create", body["metadata"]["name"], absent_at=409)

    def get(self, name: str) -> dict[str, Any] | None:
        """The job; None if there is none."""
        call = lambda: self._custom.get_namespaced_custom_object(  # noqa: E731
            *self._place, name, _request_timeout=TIMEOUT_S
        )
        return self._answer(call, "get", name, absent_at=404)

    def own(self, name: str, owner: Mapping[str, Any]) -> None:
        """Make this step's pod the job's owner: the pod before may be gone, and the job with it."""
        patch = {"metadata": {"ownerReferences": [dict(owner)]}}
        call = lambda: self._custom.patch_namespaced_custom_object(  # noqa: E731
            *self._place, name, patch, _request_timeout=TIMEOUT_S
        )
        self._answer(call, "patch", name, absent_at=404)

    def delete(self, name: str) -> None:
        """Remove the job with its pods; nothing happens if there is none."""
        call = lambda: self._custom.delete_namespaced_custom_object(  # noqa: E731
            *self._place, name, propagation_policy="Background", _request_timeout=TIMEOUT_S
        )
        self._answer(call, "delete", name, absent_at=404)

    def num_running(self, name: str) -> int | None:
        """Nodes that have begun; None if the account may not list pods."""
        pods = self._pods(name)
        return None if pods is None else sum(_phase(pod) not in ("", "Pending") for pod in pods)

    def words_of_pods(self, name: str) -> str:
        """Why pods ended, from their status and the end of their logs; empty if nobody knows."""
        for pod in self._pods(name) or []:
            ended = _ended(pod)
            if ended and ended.exit_code != 0:
                index = (pod.metadata.labels or {}).get("batch.kubernetes.io/job-completion-index")
                where = f"node {index}" if index else f"pod {pod.metadata.name}"
                log = self._log(pod.metadata.name)
                said = f": {error_line(log)}" if log else ""
                return f"{where} {ended.reason or 'ended'} (exit code {ended.exit_code}){said}"
        return ""

    def words_of_events(self, name: str) -> str:
        """The last warning about the job, what it made and its pods; empty if there is none."""
        listed = self._may(
            lambda: self._core.list_namespaced_event(
                self.cluster.namespace, field_selector="type=Warning", _request_timeout=TIMEOUT_S
            )
        )
        mine = [
            item for item in (listed.items if listed else [])
            if (item.involved_object.name or "").startswith(name)
        ]  # fmt: skip
        return " ".join(f"{mine[-1].reason}: {mine[-1].message}".split()) if mine else ""

    def _pods(self, name: str) -> list[Any] | None:
        listed = self._may(
            lambda: self._core.list_namespaced_pod(
                self.cluster.namespace, label_selector=f"{_OF_JOB}={name}",
                _request_timeout=TIMEOUT_S,
            )
        )  # fmt: skip
        return listed.items if listed else None

    def _log(self, pod: str) -> str:
        found = self._may(
            lambda: self._core.read_namespaced_pod_log(
                pod, self.cluster.namespace, tail_lines=LOG_LINES, _request_timeout=TIMEOUT_S
            )
        )
        return found or ""

    def _may(self, call: Callable[[], T]) -> T | None:
        """What is good to know but not needed: None if it is refused or the API is away."""
        from urllib3.exceptions import HTTPError

        try:
            return call()
        except (self._client.ApiException, HTTPError):
            return None

    def _answer(
        self, call: Callable[[], Any], verb: str, name: str, absent_at: int
    ) -> dict[str, Any] | None:
        from urllib3.exceptions import HTTPError

        try:
            return dict(call())
        except HTTPError as error:
            raise ClusterAway(f"the Kubernetes API does not answer: {error}") from error
        except self._client.ApiException as error:
            if error.status == absent_at and _is_of_object(error, verb):
                return None
            kind = ClusterAway if error.status in _PASSING else ClusterError
            raise kind(self._sentence(error, verb, name)) from error

    def _sentence(self, error: Any, verb: str, name: str) -> str:
        said, namespace = refusal(error), self.cluster.namespace
        where = f"{verb} TrainJob {namespace}/{name}: {said}"
        if error.status == 404:
            return f"{where}; install Kubeflow Trainer 2.3 or newer, or set update.num_nodes to 1"
        if error.status == 403 and "quota" in said:
            return f"{where}; raise the quota of namespace {namespace}, or lower update.num_nodes"
        if error.status == 403 and "admission webhook" not in said:
            return f"{where}; apply deploy/components/trainjobs to namespace {namespace}"
        if "unknown field" in said:
            return f"{where}; the cluster's Kubeflow Trainer is older than 2.3: upgrade it"
        if "runtime" in said.lower() and "not found" in said.lower():
            return f"{where}; apply images/deepspeed/runtime to namespace {namespace}"
        return where


def _is_of_object(error: Any, verb: str) -> bool:
    """A 404 may mean that there is no such object, or no such kind on this cluster."""
    return error.status != 404 or verb == "delete" or '" not found' in refusal(error)


def _phase(pod: Any) -> str:
    return (pod.status and pod.status.phase) or ""


def _ended(pod: Any) -> Any:
    statuses = (pod.status and pod.status.container_statuses) or []
    return next((s.state.terminated for s in statuses if s.state and s.state.terminated), None)
